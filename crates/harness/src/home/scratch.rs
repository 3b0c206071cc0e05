//! The one way to a folder below `work/` that belongs to no run: it is removed after use.
//! Its lock, which the kernel releases with the process, marks it as used.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::home::layout::Home;
use crate::home::lock::take_folder;
use crate::home::token::random_suffix;

/// Tries at a folder: a recovery that looks between the making and the locking takes it for
/// a dead one's and removes it.
const TRIES: usize = 16;

/// Locked folder below `work/`; removed on drop.
#[derive(Debug)]
pub(crate) struct Work {
    path: PathBuf,
    _held: File,
}

impl Work {
    /// `what` it is for becomes part of its name.
    pub(crate) fn make_area(home: &Home, what: &str) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = home.work().join(format!("{what}-{}-{}", std::process::id(), random_suffix()?));
            DirBuilder::new().mode(0o700).recursive(true).create(&path)?;
            if let Some(held) = take_folder(&path) {
                return Ok(Self { path, _held: held });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Unique to this folder.
    pub(crate) fn token(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = untrusted_fs::remove_tree(&self.path);
    }
}
