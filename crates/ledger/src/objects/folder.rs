//! Objects in a folder of this machine: one file each, linked into place so that a name is taken once.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use untrusted_fs::own_files::{self, OwnOptions as _};

use super::Creation;
use crate::open_error::new_ledger_id;

/// The folder for files that are not linked into place yet.
const INCOMING: &str = "incoming";

/// Objects as files of one folder.
#[derive(Debug, Clone)]
pub(super) struct FolderObjects {
    root: PathBuf,
}

impl FolderObjects {
    /// Objects below a folder, which is made with the first of them.
    pub(super) fn in_folder(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes the bytes aside, makes them durable and gives them their name, which fails where it is taken.
    pub(super) fn create_object(&self, name: &str, bytes: &[u8]) -> io::Result<Creation> {
        let (to, aside) = (self.root.join(name), self.root.join(INCOMING));
        let folder = to.parent().unwrap_or(&self.root);
        for folder in [folder, &aside] {
            DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        let from = aside.join(new_ledger_id()?);
        let written = write_durably(&from, bytes).and_then(|()| match fs::hard_link(&from, &to) {
            Ok(()) => own_files::open_folder(folder)?.sync_all().map(|()| Creation::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Creation::Exists),
            Err(error) => Err(error),
        });
        let _ = fs::remove_file(&from);
        written
    }

    /// Nothing where there is no plain file of at most this size.
    pub(super) fn read_object(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        untrusted_fs::read_plain(&self.root, name.as_bytes(), limit)
    }

    /// Writes over an object; only the probe tries to.
    pub(super) fn overwrite_object(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        own_files::write_file(self.root.join(name), bytes)
    }

    /// Removes an object; only the probe tries to.
    pub(super) fn remove_object(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(name))
    }
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
