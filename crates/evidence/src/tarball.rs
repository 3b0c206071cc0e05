//! Tar files, the same bytes for the same content: a header is a function of name, kind and
//! size, and of where the tar belongs.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use tar::{EntryType, Header};

/// Bytes of a header, and what content is padded to.
pub const TAR_BLOCK: usize = 512;

/// Bytes of a name that a header has room for.
const NAME_ROOM: usize = 100;

/// Name of an entry whose content is a name or a link target that the next header has no
/// room for, as GNU tar writes it.
const LONG_TEXT: &[u8] = b"././@LongLink";

/// Place of a tar file in the formats. Headers differ between the three, and each is fixed
/// by what was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TarForm {
    /// Archive of `cto export`: ustar headers, owner 0.
    Archive,
    /// `baseline.tar` of a bundle: ustar headers that leave owner and kind of a file blank.
    BundleBaseline,
    /// `baseline.tar` beside the bundle in an archive: headers of GNU tar, owner 0.
    CarriedBaseline,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TarKind<'a> {
    File,
    Executable,
    /// Symbolic link with its raw target: the crate `tar` would normalise the path, which
    /// changes the content.
    Link(&'a [u8]),
}

impl TarForm {
    /// Blocks before the content of an entry: its header, behind whatever that has no room for.
    pub fn head(self, name: &[u8], kind: TarKind<'_>, size: u64) -> io::Result<Vec<u8>> {
        let mut header = self.blank(kind, size);
        let mut blocks = Vec::new();
        if let TarKind::Link(target) = kind
            && header.set_link_name_literal(target).is_err()
        {
            blocks.extend(long_text(EntryType::GNULongLink, target));
        }
        let mut named = header.clone();
        match named.set_path(Path::new(OsStr::from_bytes(name))) {
            Ok(()) => header = named,
            Err(error) if name.len() < NAME_ROOM => return Err(error),
            Err(_) => {
                blocks.extend(long_text(EntryType::GNULongName, name));
                // A baseline keeps the parts of the name that were tried, as in those that
                // are signed; readers take the long name.
                if self != Self::Archive {
                    header = named;
                }
                let cut = cut_to_text(&name[..NAME_ROOM]);
                header.as_old_mut().name[..cut.len()].copy_from_slice(cut);
            }
        }
        header.set_cksum();
        blocks.extend_from_slice(header.as_bytes());
        Ok(blocks)
    }

    fn blank(self, kind: TarKind<'_>, size: u64) -> Header {
        let mut header = match self {
            Self::Archive | Self::BundleBaseline => Header::new_ustar(),
            Self::CarriedBaseline => Header::new_gnu(),
        };
        header.set_mode(if kind == TarKind::Executable { 0o755 } else { 0o644 });
        header.set_size(size);
        if self != Self::BundleBaseline {
            header.set_entry_type(EntryType::Regular);
            header.set_uid(0);
            header.set_gid(0);
        }
        if let TarKind::Link(_) = kind {
            header.set_entry_type(EntryType::Symlink);
        }
        header
    }
}

/// An entry that holds a name or a link target for the next one.
fn long_text(kind: EntryType, text: &[u8]) -> Vec<u8> {
    let size = text.len() as u64 + 1;
    let mut header = TarForm::CarriedBaseline.blank(TarKind::File, size);
    header.set_entry_type(kind);
    header.as_old_mut().name[..LONG_TEXT.len()].copy_from_slice(LONG_TEXT);
    header.set_cksum();
    let mut blocks = header.as_bytes().to_vec();
    blocks.extend_from_slice(text);
    blocks.resize(blocks.len() + 1 + padding(size), 0);
    blocks
}

/// The longest beginning that is text, so that no character is cut in two.
fn cut_to_text(bytes: &[u8]) -> &[u8] {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    &bytes[..valid]
}

/// Zeros after content of this size.
pub fn padding(size: u64) -> usize {
    (TAR_BLOCK - (size % TAR_BLOCK as u64) as usize) % TAR_BLOCK
}

/// Writes a tar file, in the order in which entries are added.
#[derive(Debug)]
pub struct TarWriter<W> {
    form: TarForm,
    out: W,
}

impl<W: Write> TarWriter<W> {
    /// Starts a tar file of the given form; nothing is written yet.
    pub const fn new(form: TarForm, out: W) -> Self {
        Self { form, out }
    }

    /// Adds an entry; `content` is empty for a link.
    pub fn add_entry(&mut self, name: &[u8], kind: TarKind<'_>, content: &[u8]) -> io::Result<()> {
        let size = content.len() as u64;
        self.add_from(name, kind, size, content).map(drop)
    }

    /// Adds an entry of this size. Returns false if there was more or less to read; the tar
    /// file is then invalid.
    pub fn add_from(&mut self, name: &[u8], kind: TarKind<'_>, size: u64, content: impl Read) -> io::Result<bool> {
        self.out.write_all(&self.form.head(name, kind, size)?)?;
        let copied = io::copy(&mut content.take(size + 1), &mut self.out)?;
        self.out.write_all(&[0; TAR_BLOCK][..padding(size)])?;
        Ok(copied == size)
    }

    /// Writes the end.
    pub fn write_end(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * TAR_BLOCK])?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use contract::Digest;

    use super::*;

    const FORMS: [TarForm; 3] = [TarForm::Archive, TarForm::BundleBaseline, TarForm::CarriedBaseline];

    /// Name and content of each entry; the content of a link is its target.
    type Sample = (String, &'static str, Vec<u8>);

    /// Entries of every length at which a header is another one, and links where the form has them.
    fn samples(form: TarForm) -> Vec<Sample> {
        let lengths = [1, 99, 100, 101, 155, 156, 255, 256, 257, 400, 511, 512, 513, 900];
        let names = |length: usize| ["a".repeat(length), format!("{}b", "a/".repeat(length / 2))];
        let kind = |length| if length % 2 == 0 && form != TarForm::Archive { "executable" } else { "file" };
        let of = |length| names(length).map(|name| (name, kind(length), vec![b'x'; length]));
        let mut samples: Vec<Sample> = lengths.into_iter().flat_map(of).collect();
        if form == TarForm::CarriedBaseline {
            let accents = "\u{e9}".repeat(80);
            samples.push(("l".to_owned(), "link", b"./a//b/../".to_vec()));
            samples.push((accents.clone(), "link", "../".repeat(100).into_bytes()));
            samples.push((format!("x{accents}"), "file", b"y".to_vec()));
        }
        samples
    }

    fn written(form: TarForm) -> Vec<u8> {
        let mut tar = TarWriter::new(form, Vec::new());
        for (name, kind, content) in samples(form) {
            let (kind, content) = match kind {
                "link" => (TarKind::Link(&content), &[][..]),
                "executable" => (TarKind::Executable, content.as_slice()),
                _ => (TarKind::File, content.as_slice()),
            };
            tar.add_entry(name.as_bytes(), kind, content).unwrap();
        }
        tar.write_end().unwrap()
    }

    /// An import compares the headers of an archive byte by byte, and the baseline of a bundle is signed.
    #[test]
    fn the_same_content_is_the_same_bytes_for_ever() {
        let digests = [
            "f0d597634f40db43bda425d387d51b15f2bead0e368beb9ed8e202b2f70b9b2e",
            "7da6072da9f70cd3e4d13cced08d7171d6e8926aab2ede7cb8e195c6144cb7ee",
            "32cc286b29cd84f28bd28412b99d0a44f5ae0b94a0666e2e4c078b57f6abedea",
        ];
        for (form, digest) in FORMS.into_iter().zip(digests) {
            assert_eq!(Digest::of_bytes(&written(form)).to_string(), digest, "{form:?}");
        }
    }

    fn read_back(entry: io::Result<tar::Entry<'_, &[u8]>>) -> Sample {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        if entry.header().entry_type() == EntryType::Symlink {
            return (name, "link", entry.link_name_bytes().unwrap().into_owned());
        }
        let kind = if entry.header().mode().unwrap() == 0o755 { "executable" } else { "file" };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (name, kind, content)
    }

    /// Any tar reads what is written.
    #[test]
    fn entries_of_every_length_come_back() {
        for form in FORMS {
            let bytes = written(form);
            assert_eq!(bytes.len() % TAR_BLOCK, 0, "{form:?}");
            let read: Vec<Sample> = tar::Archive::new(&bytes[..]).entries().unwrap().map(read_back).collect();
            assert_eq!(read, samples(form), "{form:?}");
        }
    }

    /// The signed tar has the bytes that would be written for its files today.
    #[test]
    fn the_baselines_of_golden_bundles_are_written_again() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cto/tests/golden");
        for folder in ["v1.0/pass", "v1.1/pass", "v1.1-rules-1.1/pass", "v1.1-rules-1.1/fail"] {
            let bytes = std::fs::read(golden.join(folder).join(crate::names::BASELINE)).unwrap();
            let mut again = TarWriter::new(TarForm::BundleBaseline, Vec::new());
            for entry in tar::Archive::new(&bytes[..]).entries().unwrap() {
                let (name, kind, content) = read_back(entry);
                let kind = if kind == "executable" { TarKind::Executable } else { TarKind::File };
                again.add_entry(name.as_bytes(), kind, &content).unwrap();
            }
            assert!(again.write_end().unwrap() == bytes, "{folder}");
        }
    }

    #[test]
    fn what_has_another_size_is_told() {
        for (content, is_whole) in [(&b"12"[..], false), (b"123", true), (b"1234", false)] {
            let mut tar = TarWriter::new(TarForm::Archive, Vec::new());
            assert_eq!(tar.add_from(b"a", TarKind::File, 3, content).unwrap(), is_whole);
        }
    }
}
