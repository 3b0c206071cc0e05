//! A folder under `work/` that is gone when it is done with.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use crate::harness::Harness;
use crate::run::suffix;

pub(crate) struct Work(pub(crate) PathBuf);

impl Work {
    /// `what` it is for becomes part of its name.
    pub(crate) fn make(harness: &Harness, what: &str) -> io::Result<Self> {
        let path = harness.home.work().join(format!("{what}-{}-{}", std::process::id(), suffix()?));
        DirBuilder::new().mode(0o700).recursive(true).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = untrusted_fs::remove_tree(&self.0);
    }
}
