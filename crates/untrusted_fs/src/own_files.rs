//! Reads and writes by path, for files that only the harness, the operator or the kernel writes: the home, the ledger's
//! folder, the configuration, `/proc` and `/sys`. In crates that meet files of untrusted programs `clippy.toml` bans all
//! others, so that each use of this module says whose file it takes it for.

use std::fs::{self, File, Metadata, OpenOptions, Permissions, ReadDir};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Whole content of a file of the harness, the operator or the kernel.
pub fn read_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// Same as [`read_file`], as UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Entries of a folder that only trusted programs write.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    fs::read_dir(path)
}

/// Target of a link that only trusted programs write.
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::read_link(path)
}

/// Copies content and permissions. Links are followed on both sides.
pub fn copy_file(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    fs::copy(from, to)
}

/// Metadata of the file behind any links.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    fs::metadata(path)
}

/// Metadata of the entry itself, also if it is a link.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    fs::symlink_metadata(path)
}

/// Absolute path without links. The answer holds only as long as nobody else writes there.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Sets the permissions of the file behind any links.
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    fs::set_permissions(path, permissions)
}

/// Writes a new file. A link of its name is refused, even one of the operator.
pub fn write_file(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create_file(path)?.write_all(bytes.as_ref())
}

/// Opens a file anew for writing. A link of its name is refused.
pub fn create_file(path: impl AsRef<Path>) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(no_link).open(path)
}

/// Opens a file for reading, following links.
pub fn open_file(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path)
}

/// Opens an existing file for writing. A link of its name is refused.
pub fn open_to_write(path: impl AsRef<Path>) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(no_link).open(path)
}

/// Opens a folder, to lock it or to look into it. A link of its name is refused, and a pipe
/// does not block.
pub fn open_folder(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// True while the path still names the open file.
pub fn is_at(open: &File, path: impl AsRef<Path>) -> bool {
    let identity = |stat: Metadata| (stat.dev(), stat.ino());
    let (open, found) = (open.metadata().map(identity), symlink_metadata(path).map(identity));
    matches!((open, found), (Ok(open), Ok(found)) if open == found)
}

/// Questions about a path of the harness's own.
pub trait OwnPath {
    fn own_exists(&self) -> bool;
    fn own_is_file(&self) -> bool;
    fn own_is_dir(&self) -> bool;
}

impl OwnPath for Path {
    fn own_exists(&self) -> bool {
        self.exists()
    }

    fn own_is_file(&self) -> bool {
        self.is_file()
    }

    fn own_is_dir(&self) -> bool {
        self.is_dir()
    }
}

/// Opens a path of the harness's own.
pub trait OwnOptions {
    fn own_open(&self, path: impl AsRef<Path>) -> io::Result<File>;
}

impl OwnOptions for OpenOptions {
    fn own_open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open(path)
    }
}
