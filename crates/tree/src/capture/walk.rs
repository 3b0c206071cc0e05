//! The walk through a captured workspace.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Stat, readlinkat};
use rustix::io::Errno;

use super::refuse::judge;
use super::{Capture, Limits, Refused, RefusedWhy};
use crate::error::{Doing, Limit, TreeError};
use crate::fsdir::{kind, lstat, names, open_dir, open_regular, read_limited};
use crate::link::Links;
use crate::listing::{Entry, Mode};
use crate::manifest::Manifest;
use crate::name::folds_to_git;
use crate::oid::Oid;
use crate::stat::FileStat;
use crate::store::Store;

pub(super) struct Walk<'a> {
    manifest: &'a Manifest,
    store: &'a Store,
    limits: &'a Limits,
    out: Capture,
    links: Links,
    entries: u64,
    bytes: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(manifest: &'a Manifest, store: &'a Store, limits: &'a Limits) -> Walk<'a> {
        Walk { manifest, store, limits, out: Capture::default(), links: Links::new(), entries: 0, bytes: 0 }
    }

    pub(super) fn run(mut self, top: OwnedFd) -> Result<Capture, TreeError> {
        self.directory(&top, &mut Vec::new(), 0)?;
        judge(&mut self.out, &self.links, self.manifest, self.store)?;
        Ok(self.out)
    }

    /// Walks one open directory; whether anything in it was carried.
    fn directory(&mut self, dir: &OwnedFd, path: &mut Vec<u8>, depth: usize) -> Result<bool, TreeError> {
        if depth > self.limits.depth {
            return Err(self.limit(Limit::Depth, path));
        }
        let mut carried = false;
        let length = path.len();
        for name in names(dir).doing_at("reading directory", path)? {
            if name == b".git" {
                if depth > 0 {
                    self.out.nested_repositories.push(path.clone());
                }
                continue;
            }
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            carried |= self.entry(dir, &name, path, depth)?;
            path.truncate(length);
        }
        Ok(carried)
    }

    fn entry(&mut self, dir: &OwnedFd, name: &[u8], path: &mut Vec<u8>, depth: usize) -> Result<bool, TreeError> {
        let stat = lstat(dir, name).doing_at("looking at", path)?;
        self.count_entry(path)?;
        if folds_to_git(name) {
            self.refuse(path, RefusedWhy::GitName);
            return Ok(false);
        }
        match kind(&stat) {
            FileType::Directory => self.subdirectory(dir, name, path, depth),
            FileType::Symlink => self.link(dir, name, path),
            FileType::RegularFile => self.regular(dir, name, path, &stat),
            _ => {
                self.out.special_files.push(path.clone());
                Ok(false)
            }
        }
    }

    fn subdirectory(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, TreeError> {
        let below = match open_dir(dir, name) {
            Ok(below) => below,
            Err(Errno::ACCESS) => {
                self.refuse(path, RefusedWhy::Unreadable);
                return Ok(false);
            }
            Err(e) => return Err(e).doing_at("opening directory", path),
        };
        if let Some(entry) = self.manifest.entry(path).filter(|entry| entry.mode == Mode::Gitlink) {
            return self.gitlink(&below, path, entry);
        }
        let reported = self.out.empty_directories.len();
        let carried = self.directory(&below, path, depth + 1)?;
        if !carried {
            self.out.empty_directories.truncate(reported);
            self.out.empty_directories.push(path.clone());
        }
        Ok(carried)
    }

    /// A submodule was made as an empty directory and must have stayed one.
    fn gitlink(&mut self, dir: &OwnedFd, path: &[u8], entry: Entry) -> Result<bool, TreeError> {
        if !names(dir).doing_at("reading directory", path)?.is_empty() {
            self.refuse(path, RefusedWhy::GitlinkChanged);
        }
        self.carry(path, entry)
    }

    fn link(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> Result<bool, TreeError> {
        let target = readlinkat(dir, name, Vec::new()).doing_at("reading link", path)?.into_bytes();
        let oid = self.keep(path, &target)?;
        self.links.insert(path.to_vec(), target);
        self.carry(path, Entry { mode: Mode::Link, oid })
    }

    fn regular(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8], stat: &Stat) -> Result<bool, TreeError> {
        let now = FileStat::of(stat);
        if let Some(entry) = self.manifest.unchanged(path, &now) {
            return self.carry(path, entry);
        }
        if now.size > self.limits.file_bytes {
            return Err(self.limit(Limit::FileBytes, path));
        }
        if !self.manifest.looks_alike(path, &now) {
            self.bytes = self.bytes.saturating_add(now.size);
        }
        if self.bytes > self.limits.total_bytes {
            return Err(self.limit(Limit::TotalBytes, path));
        }
        let content = match open_regular(dir, name) {
            Ok((file, _)) => read_limited(file, self.limits.file_bytes),
            Err(e) => Err(e),
        };
        match content {
            Ok(bytes) => {
                let mode = if now.mode & 0o100 != 0 { Mode::Executable } else { Mode::File };
                let oid = self.keep(path, &bytes)?;
                self.carry(path, Entry { mode, oid })
            }
            Err(e) if e.kind() == std::io::ErrorKind::FileTooLarge => Err(self.limit(Limit::FileBytes, path)),
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                self.refuse(path, RefusedWhy::Unreadable);
                Ok(false)
            }
            Err(e) => Err(e).doing_at("reading", path),
        }
    }

    /// Stores content, unless it is what the manifest already has.
    fn keep(&self, path: &[u8], bytes: &[u8]) -> Result<Oid, TreeError> {
        let oid = Oid::of("blob", bytes);
        match self.manifest.entry(path) {
            Some(entry) if entry.oid == oid => Ok(oid),
            _ => self.store.put_blob(bytes),
        }
    }

    fn carry(&mut self, path: &[u8], entry: Entry) -> Result<bool, TreeError> {
        self.out.listing.0.insert(path.to_vec(), entry);
        Ok(true)
    }

    fn refuse(&mut self, path: &[u8], why: RefusedWhy) {
        self.out.refused.push(Refused { path: path.to_vec(), why });
    }

    fn count_entry(&mut self, path: &[u8]) -> Result<(), TreeError> {
        self.entries += u64::from(!self.manifest.knows(path));
        if self.entries > self.limits.entries { Err(self.limit(Limit::Entries, path)) } else { Ok(()) }
    }

    fn limit(&self, limit: Limit, path: &[u8]) -> TreeError {
        TreeError::Limit { limit, path: path.to_vec() }
    }
}
