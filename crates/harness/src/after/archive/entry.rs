//! One entry, in the one form that is written.

use std::io;

use evidence::tarball::{TarForm, TarKind};
use tar::{EntryType, Header};

/// The blocks before the content of a file.
pub(super) fn header_blocks(name: &str, size: u64) -> io::Result<Vec<u8>> {
    TarForm::Archive.head(name.as_bytes(), TarKind::File, size)
}

/// Description of an entry that is no plain file, for people.
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
