//! The walk through the layer that took a program's changes: paths outside of it are as in
//! the baseline.
//!
//! The result depends on the program's view and on its changes, never on the overlay's way
//! of recording them: a path that a setup layer showed and that the program left alike is
//! as in the baseline.

use rustix::fs::{FileType, Stat};

use super::before::EarlierTree;
use super::beneath::{LowerDirectory, LowerEntry, LowerLayers, require_plain_root};
use super::intake::{Intake, Opened};
use super::marks::{hides_beneath, is_whiteout, shows};
use super::refuse::{judge_intake, links_before};
use super::{Capture, CaptureLimits, RefusedWhy, unfinished};
use crate::error::TreeError;
use crate::object::listing::{ListingEntry, PathMode};
use crate::object::name::{descend, folds_to_git, parent};
use crate::store::ObjectDatabase;
use crate::worktree::fsdir::{kind, open_dir};
use crate::worktree::stat::FileStat;

/// Walk through one layer, with the tree beneath as its starting point.
pub(super) struct LayerWalk<'a> {
    beneath: &'a LowerLayers<'a>,
    intake: Intake<'a>,
    /// Directories of the layer that no setup layer has, each before what is in it.
    directories: Vec<Vec<u8>>,
    /// True if a link was added, removed or changed.
    links_moved: bool,
}

/// A directory of the layer.
struct Place {
    opened: Opened,
    under: LowerDirectory,
    /// True if the directory hides everything beneath it.
    covered: bool,
    depth: usize,
}

impl<'a> LayerWalk<'a> {
    /// Starts with the baseline's listing, to which the layer's changes are applied.
    pub(super) fn new(
        beneath: &'a LowerLayers<'a>,
        store: &'a ObjectDatabase,
        limits: &'a CaptureLimits,
    ) -> LayerWalk<'a> {
        let mut intake = Intake::new(EarlierTree::Listing(beneath.baseline), store, limits);
        intake.out.listing = beneath.baseline.clone();
        LayerWalk { beneath, intake, directories: Vec::new(), links_moved: false }
    }

    /// Walks the whole layer and judges the result.
    pub(super) fn run_walk(mut self, opened: Opened) -> Result<Capture, TreeError> {
        require_plain_root(&opened.dir)?;
        if let Ok(git) = open_dir(&opened.dir, b".git") {
            self.intake.out.unfinished = unfinished(&git, shows);
        }
        let top = Place { opened, under: LowerDirectory::root_of(self.beneath)?, covered: false, depth: 0 };
        self.directory(&top, &mut Vec::new())?;
        self.report_empty();
        self.complete_links()?;
        judge_intake(self.intake)
    }

    fn directory(&mut self, at: &Place, path: &mut Vec<u8>) -> Result<(), TreeError> {
        self.intake.require_depth(at.depth, path)?;
        if at.covered {
            self.cover(at, path)?;
        }
        for name in &at.opened.names {
            if name == b".git" {
                if at.depth > 0 && shows(&at.opened.dir, name) {
                    self.intake.out.nested_repositories.push(path.clone());
                }
                continue;
            }
            let length = descend(path, name);
            self.entry(at, name, path)?;
            path.truncate(length);
        }
        Ok(())
    }

    /// Removes every name of a directory that the layer does not hold. Applies only where
    /// nothing shows through.
    fn cover(&mut self, at: &Place, path: &mut Vec<u8>) -> Result<(), TreeError> {
        for name in self.beneath.baseline.children(path) {
            if at.opened.names.binary_search_by(|held| held.as_slice().cmp(name)).is_err() {
                let length = descend(path, name);
                self.gone(at, name, path)?;
                path.truncate(length);
            }
        }
        Ok(())
    }

    /// Removes a path, with everything that the baseline has at and below it. Returns false
    /// if nothing was visible there.
    fn gone(&mut self, at: &Place, name: &[u8], path: &[u8]) -> Result<bool, TreeError> {
        let seen = !matches!(at.under.look_at(name, path, self.beneath.baseline)?, LowerEntry::Nothing);
        if seen {
            self.take_away(path);
        }
        Ok(seen)
    }

    fn entry(&mut self, at: &Place, name: &[u8], path: &mut Vec<u8>) -> Result<(), TreeError> {
        let Some(stat) = self.intake.look_at(&at.opened.dir, name, path)? else {
            self.take_away(path);
            return Ok(());
        };
        if is_whiteout(&at.opened.dir, name, &stat, path)? {
            // A mark over nothing is not the kernel's work: it must not be had without end.
            return if self.gone(at, name, path)? { Ok(()) } else { self.intake.count_entry(path) };
        }
        self.intake.count_entry(path)?;
        if folds_to_git(name) {
            self.intake.refuse_path(path, RefusedWhy::GitName);
            return Ok(());
        }
        let seen = at.under.look_at(name, path, self.beneath.baseline)?;
        match kind(&stat) {
            FileType::Directory => self.subdirectory(at, name, path, seen),
            FileType::Symlink => self.link(at, name, path, &seen),
            FileType::RegularFile => self.regular(at, name, path, &seen, &stat),
            other => {
                if !seen.is_special(other) {
                    self.intake.out.special_files.push(path.clone());
                    self.take_away(path);
                }
                Ok(())
            }
        }
    }

    fn subdirectory(
        &mut self,
        at: &Place,
        name: &[u8],
        path: &mut Vec<u8>,
        seen: LowerEntry<'_>,
    ) -> Result<(), TreeError> {
        let Some(opened) = self.intake.enter(&at.opened.dir, name, path)? else {
            self.take_away(path);
            return Ok(());
        };
        let covered = hides_beneath(&opened.dir, path)? || at.covered;
        let under = match seen {
            LowerEntry::Directory(under) => under,
            LowerEntry::Nothing => LowerDirectory::nothing(),
            LowerEntry::Setup(..) | LowerEntry::Baseline => {
                self.take_away(path);
                LowerDirectory::nothing()
            }
        };
        if let Some(entry) = self.intake.before.entry(path).filter(|entry| entry.mode == PathMode::Gitlink) {
            return self.gitlink(&opened, path, entry);
        }
        if !under.is_setup() {
            self.directories.push(path.clone());
        }
        self.directory(&Place { opened, under, covered, depth: at.depth + 1 }, path)
    }

    /// A submodule is an empty directory in the checkout; what a setup layer put there is
    /// not the program's.
    fn gitlink(&mut self, opened: &Opened, path: &[u8], entry: ListingEntry) -> Result<(), TreeError> {
        if opened.names.iter().any(|name| shows(&opened.dir, name)) {
            self.intake.refuse_path(path, RefusedWhy::GitlinkChanged);
        }
        self.put(path, entry);
        Ok(())
    }

    fn link(&mut self, at: &Place, name: &[u8], path: &[u8], seen: &LowerEntry<'_>) -> Result<(), TreeError> {
        let target = self.intake.target(&at.opened.dir, name, path)?;
        if seen.is_link(name, &target, path)? {
            return Ok(());
        }
        let entry = ListingEntry { mode: PathMode::Link, oid: self.intake.keep_content(path, &target)? };
        self.links_moved |= self.intake.before.entry(path) != Some(entry);
        self.put(path, entry);
        self.intake.links.insert(path.to_vec(), target);
        Ok(())
    }

    fn regular(
        &mut self,
        at: &Place,
        name: &[u8],
        path: &[u8],
        seen: &LowerEntry<'_>,
        stat: &Stat,
    ) -> Result<(), TreeError> {
        let now = FileStat::of_stat(stat);
        let mode = now.regular_mode();
        let Some(bytes) = self.intake.content(&at.opened.dir, name, path, &now)? else {
            self.take_away(path);
            return Ok(());
        };
        if seen.is_file(name, mode, &bytes, path)? {
            return Ok(());
        }
        let oid = self.intake.keep_content(path, &bytes)?;
        self.put(path, ListingEntry { mode, oid });
        Ok(())
    }

    /// Carries an entry of the layer; what the baseline has in its way goes.
    fn put(&mut self, path: &[u8], entry: ListingEntry) {
        self.take_away(path);
        let mut above = parent(path);
        while !above.is_empty() {
            self.remove(above);
            above = parent(above);
        }
        self.intake.carry(path, entry);
    }

    fn take_away(&mut self, path: &[u8]) {
        let below: Vec<Vec<u8>> = self.intake.out.listing.paths_below(path).map(|(path, _)| path.clone()).collect();
        below.iter().for_each(|path| self.remove(path));
        self.remove(path);
    }

    fn remove(&mut self, path: &[u8]) {
        let removed = self.intake.out.listing.0.remove(path);
        self.links_moved |= removed.is_some_and(|entry| entry.mode == PathMode::Link);
    }

    /// The topmost directories with nothing that is carried; those of a setup layer were
    /// not left empty by the program.
    fn report_empty(&mut self) {
        let Capture { listing, empty_directories: empty, .. } = &mut self.intake.out;
        for path in std::mem::take(&mut self.directories) {
            let within = |top: &Vec<u8>| path.starts_with(top) && path.get(top.len()) == Some(&b'/');
            if !listing.has_below(&path) && !empty.last().is_some_and(within) {
                empty.push(path);
            }
        }
    }

    /// Adds the links the layer does not hold, where one that moved can lead another one out.
    fn complete_links(&mut self) -> Result<(), TreeError> {
        let Intake { before, store, out, links, .. } = &mut self.intake;
        if !self.links_moved {
            links.clear();
            return Ok(());
        }
        for (path, target) in links_before(*before, store)? {
            if out.listing.0.get(&path) == before.entry(&path).as_ref() {
                links.entry(path).or_insert(target);
            }
        }
        Ok(())
    }
}
