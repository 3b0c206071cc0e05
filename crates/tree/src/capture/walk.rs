//! The walk through a workspace that holds everything itself.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Stat};

use super::before::EarlierTree;
use super::intake::{Intake, Opened};
use super::refuse::judge_intake;
use super::{Capture, CaptureLimits, RefusedWhy};
use crate::error::TreeError;
use crate::object::listing::{ListingEntry, PathMode};
use crate::object::name::{descend, folds_to_git};
use crate::store::ObjectDatabase;
use crate::worktree::fsdir::kind;
use crate::worktree::manifest::Manifest;
use crate::worktree::stat::FileStat;

/// Walk through a complete work tree.
pub(super) struct Walk<'a> {
    intake: Intake<'a>,
}

impl<'a> Walk<'a> {
    /// Starts with the manifest that was made when the work tree was laid out.
    pub(super) fn new(manifest: &'a Manifest, store: &'a ObjectDatabase, limits: &'a CaptureLimits) -> Walk<'a> {
        Walk { intake: Intake::new(EarlierTree::Manifest(manifest), store, limits) }
    }

    /// Walks everything below the root and judges the result.
    pub(super) fn run_walk(mut self, top: &Opened) -> Result<Capture, TreeError> {
        self.directory(top, &mut Vec::new(), 0)?;
        judge_intake(self.intake)
    }

    /// Walks one open directory; whether anything in it was carried.
    fn directory(&mut self, at: &Opened, path: &mut Vec<u8>, depth: usize) -> Result<bool, TreeError> {
        self.intake.require_depth(depth, path)?;
        let mut carried = false;
        for name in &at.names {
            if name == b".git" {
                if depth > 0 {
                    self.intake.out.nested_repositories.push(path.clone());
                }
                continue;
            }
            let length = descend(path, name);
            carried |= self.entry(&at.dir, name, path, depth)?;
            path.truncate(length);
        }
        Ok(carried)
    }

    fn entry(&mut self, dir: &OwnedFd, name: &[u8], path: &mut Vec<u8>, depth: usize) -> Result<bool, TreeError> {
        let Some(stat) = self.intake.look_at(dir, name, path)? else { return Ok(false) };
        self.intake.count_entry(path)?;
        if folds_to_git(name) {
            self.intake.refuse_path(path, RefusedWhy::GitName);
            return Ok(false);
        }
        match kind(&stat) {
            FileType::Directory => self.subdirectory(dir, name, path, depth),
            FileType::Symlink => self.link(dir, name, path),
            FileType::RegularFile => self.regular(dir, name, path, &stat),
            _ => {
                self.intake.out.special_files.push(path.clone());
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
        let Some(below) = self.intake.enter(dir, name, path)? else { return Ok(false) };
        if let Some(entry) = self.intake.before.entry(path).filter(|entry| entry.mode == PathMode::Gitlink) {
            return self.gitlink(&below, path, entry);
        }
        let reported = self.intake.out.empty_directories.len();
        let carried = self.directory(&below, path, depth + 1)?;
        if !carried {
            self.intake.out.empty_directories.truncate(reported);
            self.intake.out.empty_directories.push(path.clone());
        }
        Ok(carried)
    }

    /// A submodule was made as an empty directory and must have stayed one.
    fn gitlink(&mut self, below: &Opened, path: &[u8], entry: ListingEntry) -> Result<bool, TreeError> {
        if !below.names.is_empty() {
            self.intake.refuse_path(path, RefusedWhy::GitlinkChanged);
        }
        self.carry(path, entry)
    }

    fn link(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> Result<bool, TreeError> {
        let target = self.intake.target(dir, name, path)?;
        let oid = self.intake.keep_content(path, &target)?;
        self.intake.links.insert(path.to_vec(), target);
        self.carry(path, ListingEntry { mode: PathMode::Link, oid })
    }

    fn regular(&mut self, dir: &OwnedFd, name: &[u8], path: &[u8], stat: &Stat) -> Result<bool, TreeError> {
        let now = FileStat::of_stat(stat);
        if let Some(entry) = self.intake.before.unchanged(path, &now) {
            return self.carry(path, entry);
        }
        let Some(bytes) = self.intake.content(dir, name, path, &now)? else { return Ok(false) };
        let oid = self.intake.keep_content(path, &bytes)?;
        self.carry(path, ListingEntry { mode: now.regular_mode(), oid })
    }

    fn carry(&mut self, path: &[u8], entry: ListingEntry) -> Result<bool, TreeError> {
        self.intake.carry(path, entry);
        Ok(true)
    }
}
