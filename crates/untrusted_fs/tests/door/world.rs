//! A directory that an engine could have filled, beside a file that it must not get.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};

pub(crate) const SECRET: &[u8] = b"root:secret";

pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        // In memory where there is such a place: thousands of directories come and go here.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        fs::create_dir_all(dir.path().join("host")).unwrap();
        fs::create_dir_all(dir.path().join("engine")).unwrap();
        fs::write(dir.path().join("host/secret"), SECRET).unwrap();
        Self { dir }
    }

    /// Folder that the engine writes to.
    pub(crate) fn engine(&self) -> PathBuf {
        self.dir.path().join("engine")
    }

    /// Folder that the engine must not read.
    pub(crate) fn host(&self) -> PathBuf {
        self.dir.path().join("host")
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.host().join("secret")
    }

    /// Everything of the host is as it was.
    pub(crate) fn check_host(&self) {
        assert_eq!(fs::read(self.secret()).unwrap(), SECRET);
        assert_eq!(fs::read_dir(self.host()).unwrap().count(), 1);
    }
}

/// Makes directories of one name within each other, deeper than any path may be long; gives the last.
pub(crate) fn dig(root: &Path, name: &str, depth: usize) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(rustix::fs::CWD, root, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(at.as_fd(), name, Mode::RWXU).unwrap();
        at = openat(at.as_fd(), name, flags, Mode::empty()).unwrap();
    }
    at
}
