//! Text, in whatever encoding.

/// True if bytes are text: UTF-8 without NUL, UTF-16 behind its byte order mark, or another
/// encoding without control bytes.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(text) => !text.contains('\0'),
        Err(_) => is_utf16(bytes) || !bytes.iter().any(|byte| is_control(u32::from(*byte))),
    }
}

fn is_utf16(bytes: &[u8]) -> bool {
    let (is_little, rest) = match bytes {
        [0xff, 0xfe, rest @ ..] => (true, rest),
        [0xfe, 0xff, rest @ ..] => (false, rest),
        _ => return false,
    };
    let unit = |two: &[u8; 2]| if is_little { u16::from_le_bytes(*two) } else { u16::from_be_bytes(*two) };
    let (pairs, odd) = rest.as_chunks::<2>();
    let mut read = char::decode_utf16(pairs.iter().map(unit));
    odd.is_empty() && read.all(|read| read.is_ok_and(|character| !is_control(u32::from(character))))
}

/// Control bytes that no text has. Bytes from 0x80 on are letters in most encodings of one
/// byte.
fn is_control(character: u32) -> bool {
    let of_text = [0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x1a, 0x1b];
    (character < 0x20 && !of_text.contains(&character)) || character == 0x7f
}
