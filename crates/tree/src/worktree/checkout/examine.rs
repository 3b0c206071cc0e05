//! The full examination of a checkout: everything in its manifest exists unchanged, and
//! nothing else does.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Stat, readlinkat};
use untrusted_fs::own_files;

use crate::error::{Doing, TreeError};
use crate::object::listing::PathMode;
use crate::object::name::descend;
use crate::oid::Oid;
use crate::worktree::fsdir::{kind, lstat, open_dir, open_regular, open_root, sorted_names};
use crate::worktree::manifest::{Manifest, RecordedPath};
use crate::worktree::stat::FileStat;

struct Examination<'a> {
    root: &'a Path,
    manifest: &'a Manifest,
    seen: usize,
}

/// Compares a checkout with its manifest; the first difference is an error.
pub(super) fn examine_checkout(root: &Path, manifest: &Manifest) -> Result<(), TreeError> {
    let mut examination = Examination { root, manifest, seen: 0 };
    examination.directory(&open_root(root)?, &mut Vec::new())?;
    match examination.seen == manifest.recorded.len() {
        true => Ok(()),
        false => Err(examination.damaged(&examination.missing(), "is not there any more")),
    }
}

impl Examination<'_> {
    fn directory(&mut self, dir: &OwnedFd, path: &mut Vec<u8>) -> Result<(), TreeError> {
        for name in sorted_names(dir).doing_at("reading directory", path)? {
            let length = descend(path, &name);
            let stat = lstat(dir, &name).doing_at("looking at", path)?;
            let recorded = self.manifest.recorded.get(path.as_slice()).copied();
            match recorded {
                Some(recorded) => {
                    self.seen += 1;
                    self.entry(dir, &name, path, &stat, &recorded)?;
                }
                // Known directories only, so no deeper than what was built.
                None if kind(&stat) == FileType::Directory && self.manifest.knows(path) => {
                    self.directory(&open_dir(dir, &name).doing_at("opening directory", path)?, path)?;
                }
                None => return Err(self.damaged(path, "was not there")),
            }
            path.truncate(length);
        }
        Ok(())
    }

    fn entry(
        &self,
        dir: &OwnedFd,
        name: &[u8],
        path: &[u8],
        stat: &Stat,
        recorded: &RecordedPath,
    ) -> Result<(), TreeError> {
        let now = FileStat::of_stat(stat);
        let entry = recorded.entry;
        // The kind of a file is part of its mode.
        if now.mode != recorded.stat.mode {
            return Err(self.damaged(path, "has another mode"));
        }
        if entry.mode == PathMode::Gitlink {
            let held = sorted_names(open_dir(dir, name).doing_at("opening directory", path)?);
            return match held.doing_at("reading directory", path)?.is_empty() {
                true => Ok(()),
                false => Err(self.damaged(path, "is no empty directory any more")),
            };
        }
        if self.manifest.unchanged(path, &now).is_some() {
            return Ok(());
        }
        let oid = match entry.mode {
            PathMode::Link => {
                Oid::of_object("blob", readlinkat(dir, name, Vec::new()).doing_at("reading link", path)?.as_bytes())
            }
            _ => {
                open_regular(dir, name).and_then(|(file, _)| Oid::of_file(file, now.size)).doing_at("reading", path)?
            }
        };
        if oid == entry.oid { Ok(()) } else { Err(self.damaged(path, "has other content")) }
    }

    /// A path of the manifest that is not in the checkout.
    fn missing(&self) -> Vec<u8> {
        let gone = |path: &&Vec<u8>| own_files::symlink_metadata(self.at(path)).is_err();
        self.manifest.recorded.keys().filter(gone).min().cloned().unwrap_or_default()
    }

    fn at(&self, path: &[u8]) -> std::path::PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.root.join(std::ffi::OsStr::from_bytes(path))
    }

    fn damaged(&self, path: &[u8], problem: &'static str) -> TreeError {
        TreeError::Damaged { path: self.at(path), problem }
    }
}
