//! Reads and writes by path, for files that only the harness, the operator or the kernel writes: the home, the ledger's
//! folder, the configuration, `/proc` and `/sys`. In crates that meet files of untrusted programs `clippy.toml` bans all
//! others, so that each use of this module says whose file it takes it for.

use std::fs::{self, File, Metadata, OpenOptions, Permissions, ReadDir};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    fs::read(path)
}

pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read_to_string(path)
}

pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    fs::read_dir(path)
}

pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::read_link(path)
}

pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    fs::copy(from, to)
}

pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    fs::metadata(path)
}

pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    fs::symlink_metadata(path)
}

pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    fs::set_permissions(path, permissions)
}

/// Writes a file anew. A link of its name is refused, whoever put it there.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(bytes.as_ref())
}

/// Opens a file anew for writing. A link of its name is refused.
pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(no_link).open(path)
}

pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path)
}

/// Opens a file that is there, to write into it. A link of its name is refused.
pub fn open_to_write(path: impl AsRef<Path>) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(no_link).open(path)
}

/// Opens a folder, to lock it or to look into it. A link of its name is refused, and a pipe does not block.
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
