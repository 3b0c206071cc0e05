//! One entry, in the one form that is written: its header is a function of name and size.

use tar::{EntryType, Header};

/// Of a header, and what content is padded to.
pub(super) const BLOCK: usize = 512;

/// Where GNU tar puts a name that does not fit into a header.
const LONG_NAME: &str = "././@LongLink";

/// The blocks before the content of a file: one header, or three entries' worth where the name is long.
pub(super) fn blocks(name: &str, size: u64) -> Vec<u8> {
    let mut header = plain(size, EntryType::Regular);
    if header.set_path(name).is_ok() {
        return finished(header);
    }
    let mut long = Header::new_gnu();
    set(&mut long, name.len() as u64 + 1, EntryType::GNULongName);
    long.as_old_mut().name[..LONG_NAME.len()].copy_from_slice(LONG_NAME.as_bytes());
    let mut blocks = finished(long);
    blocks.extend_from_slice(name.as_bytes());
    blocks.resize(blocks.len() + padding(name.len() as u64 + 1) + 1, 0);
    let mut short = plain(size, EntryType::Regular);
    for (to, byte) in short.as_old_mut().name.iter_mut().zip(name.bytes()) {
        *to = byte;
    }
    blocks.extend(finished(short));
    blocks
}

fn plain(size: u64, kind: EntryType) -> Header {
    let mut header = Header::new_ustar();
    set(&mut header, size, kind);
    header
}

fn set(header: &mut Header, size: u64, kind: EntryType) {
    header.set_size(size);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
}

fn finished(mut header: Header) -> Vec<u8> {
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// Zeros after content of this size.
pub(super) fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

/// What an entry is that is not a plain file, for a person.
pub(super) fn kind(header: &Header) -> &'static str {
    match header.entry_type() {
        EntryType::Regular => "is a plain file",
        EntryType::Link => "is a hard link",
        EntryType::Symlink => "is a symbolic link",
        EntryType::Char | EntryType::Block => "is a device",
        EntryType::Directory => "is a directory",
        EntryType::Fifo => "is a pipe",
        EntryType::GNULongName | EntryType::GNULongLink => "is a long name for no file of that name",
        EntryType::GNUSparse => "is a sparse file",
        EntryType::XGlobalHeader | EntryType::XHeader => "is a pax header",
        _ => "is of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any tar reads what we write.
    #[test]
    fn names_of_every_length_come_back() {
        for length in [1, 99, 100, 101, 155, 156, 255, 256, 257, 400, 511, 512, 513, 900] {
            for name in ["a".repeat(length), format!("{}b", "a/".repeat(length / 2))] {
                let content = vec![b'x'; length];
                let mut bytes = blocks(&name, length as u64);
                bytes.extend_from_slice(&content);
                bytes.resize(bytes.len() + padding(length as u64) + 2 * BLOCK, 0);
                assert_eq!(bytes.len() % BLOCK, 0, "{length}");
                let mut archive = tar::Archive::new(bytes.as_slice());
                let mut entries = archive.entries().unwrap();
                let entry = entries.next().unwrap().unwrap();
                assert_eq!(*entry.path_bytes(), *name.as_bytes());
                assert_eq!((entry.size(), entry.header().entry_type()), (length as u64, EntryType::Regular));
                assert!(entries.next().is_none());
            }
        }
    }
}
