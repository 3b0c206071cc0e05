//! Pictures, fonts, sounds, films and pages: kinds that no tool of a build or a test loads
//! as code.

/// Endings of a kind, and the numbers that its files hold: each where it stands. One of the
/// rows must fit.
struct InertKind {
    endings: &'static [&'static str],
    magic: &'static [(usize, &'static [u8])],
}

const fn kind(endings: &'static [&'static str], magic: &'static [(usize, &'static [u8])]) -> InertKind {
    InertKind { endings, magic }
}

const INERT: &[InertKind] = &[
    kind(&["png", "apng"], &[(0, b"\x89PNG\r\n\x1a\n")]),
    kind(&["jpg", "jpeg", "jpe"], &[(0, b"\xff\xd8\xff")]),
    kind(&["gif"], &[(0, b"GIF87a"), (0, b"GIF89a")]),
    kind(&["bmp", "dib"], &[(0, b"BM")]),
    kind(&["webp"], &[(8, b"WEBP")]),
    kind(&["ico"], &[(0, b"\0\0\x01\0")]),
    kind(&["cur"], &[(0, b"\0\0\x02\0")]),
    kind(&["icns"], &[(0, b"icns")]),
    kind(&["tif", "tiff"], &[(0, b"II*\0"), (0, b"MM\0*")]),
    kind(&["avif", "heic", "heif"], &[(4, b"ftyp")]),
    kind(&["jxl"], &[(0, b"\xff\x0a"), (4, b"JXL ")]),
    kind(&["ttf"], &[(0, b"\0\x01\0\0"), (0, b"true")]),
    kind(&["otf"], &[(0, b"OTTO")]),
    kind(&["ttc", "otc"], &[(0, b"ttcf")]),
    kind(&["woff"], &[(0, b"wOFF")]),
    kind(&["woff2"], &[(0, b"wOF2")]),
    kind(&["mp3"], &[(0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\xff\xf2")]),
    kind(&["ogg", "oga", "ogv", "opus"], &[(0, b"OggS")]),
    kind(&["wav"], &[(8, b"WAVE")]),
    kind(&["flac"], &[(0, b"fLaC")]),
    kind(&["aif", "aiff"], &[(8, b"AIFF"), (8, b"AIFC")]),
    kind(&["mid", "midi"], &[(0, b"MThd")]),
    kind(&["mp4", "m4a", "m4v", "mov"], &[(4, b"ftyp")]),
    kind(&["webm", "mkv", "mka"], &[(0, b"\x1a\x45\xdf\xa3")]),
    kind(&["avi"], &[(8, b"AVI ")]),
    kind(&["pdf"], &[(0, b"%PDF-")]),
];

/// Marker at the end of a zip archive, and the distance from the end within which programs
/// look for it.
const ZIP_END: &[u8] = b"PK\x05\x06";
const ZIP_REACH: usize = 22 + 65535;

/// True if ending and bytes agree on an inert kind. A file with the directory of a zip
/// archive at its end is one of those too, whatever it begins with.
pub(super) fn is_inert(path: &[u8], bytes: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else { return false };
    let ending = name[dot + 1..].to_ascii_lowercase();
    let fits = |kind: &&InertKind| {
        let begins = |(at, magic): &(usize, &[u8])| bytes.get(*at..).is_some_and(|rest| rest.starts_with(magic));
        kind.endings.iter().any(|known| known.as_bytes() == ending) && kind.magic.iter().any(begins)
    };
    INERT.iter().any(|kind| fits(&kind)) && !ends_as_archive(bytes)
}

fn ends_as_archive(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(ZIP_REACH)..];
    tail.windows(ZIP_END.len()).any(|window| window == ZIP_END)
}
