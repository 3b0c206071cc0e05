//! The contract's `build` in a judged tree: never kept, never with network, and never a
//! word in the exam.
//!
//! A build runs code of the patch. Files of the exam set that the tree has are put back
//! afterwards as the tree has them. A new file that runs unasked or configures a runner or
//! a build is taken out, unless the build of the baseline makes it too: an interpreter's
//! startup file wherever it lies, a package that announces a plugin of pytest, and what the
//! exam set calls configuration where the tree has folders of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use contract::Digest;
use contract::exam::is_configuration;
use contract::paths::PathRules;
use contract::text::path_text;
use rustix::fs::FileType;
use tree::{Listing, folders_above};
use untrusted_fs::{Bounds, Met, Next, WalkEntry, grant_owner, kind, open_root, read_beneath, remove_tree_at, walk};

use super::Examiner;
use super::exam_tree::ExamTree;
use super::faults::last_lines;
use crate::judge::environment::uncover_folder;
use crate::run::file::Stopped;

/// Time to look through what one build wrote.
const RESTORING: Duration = Duration::from_secs(600);
/// Files that run without being named, wherever they lie on the way to a test.
const HOOKS: &[&[u8]] = &[b"conftest.py", b"sitecustomize.py", b"usercustomize.py"];
/// The file by which an installed package announces plugins, and the group of those that
/// pytest loads unasked.
const ENTRY_POINTS: &[u8] = b"entry_points.txt";
const PLUGINS_OF_PYTEST: &[u8] = b"pytest11";
/// Size of a file up to which it is compared.
const LARGEST: u64 = 64 << 20;

impl Examiner<'_> {
    /// Builds what is under test. If that fails, the exam tree keeps the cause, and no command runs
    /// in it.
    pub(super) fn build_tested(
        &mut self,
        exam_tree: &mut ExamTree,
        listing: &Listing,
        name: &str,
    ) -> Result<(), Stopped> {
        let contract = self.setting.contract;
        for (index, command) in contract.environment.build.iter().enumerate() {
            let name = format!("{name} build {}", index + 1);
            let ran = self.run_logged(exam_tree, command, &name)?;
            exam_tree.attempts.extend(self.tried());
            if ran.ended_well() {
                continue;
            }
            let how = match ran.exit {
                _ if ran.timed_out => format!("did not end within {} s", command.timeout_seconds),
                Some(exit) => format!("ended with exit {exit}"),
                None => "did not start".to_owned(),
            };
            let end = last_lines(&ran.output).replace('\n', " | ");
            let end = if end.is_empty() { end } else { format!("; it ends with: {end}") };
            exam_tree.unready = Some(format!("build {}: `{}` {how}{end}", index + 1, command.argv.join(" ")));
            return Ok(());
        }
        let Some(changes) = exam_tree.changes().filter(|_| !contract.environment.build.is_empty()) else {
            return Ok(());
        };
        let failed = |error: io::Error| Stopped::Io(changes.to_owned(), error);
        let is_baseline = self.before.commands.is_empty();
        let restoring = Restoring {
            listing,
            rules: self.trees.rules,
            of_baseline: (!is_baseline).then(|| self.before.hooks_built()),
            rewritten: Vec::new(),
            restored: Vec::new(),
            hooks: BTreeMap::new(),
            made: BTreeSet::new(),
        };
        let Restoring { rewritten, restored, hooks, made, .. } = restoring.restore(changes).map_err(failed)?;
        (exam_tree.rewritten, exam_tree.hooks, exam_tree.made) = (rewritten, hooks, made);
        for path in restored {
            self.say(&format!("{name}: the build wrote `{path}`, which belongs to the exam set and is ignored"));
        }
        Ok(())
    }
}

/// Takes what a build wrote over the exam set out of its changes.
struct Restoring<'a> {
    listing: &'a Listing,
    rules: &'a PathRules,
    /// Hooks that the build of the baseline makes; None while that is the one.
    of_baseline: Option<BTreeMap<String, Digest>>,
    /// Files of the tree that the build wrote.
    rewritten: Vec<Vec<u8>>,
    restored: Vec<String>,
    /// New files that run unasked or configure something, and stay.
    hooks: BTreeMap<String, Digest>,
    /// Files, and folders whole, that the build of the baseline leaves where the tree has
    /// nothing.
    made: BTreeSet<String>,
}

impl Restoring<'_> {
    fn restore(mut self, changes: &Path) -> io::Result<Self> {
        grant_owner(changes)?;
        let cut = walk(open_root(changes)?, &Bounds::within(RESTORING), |met| match met {
            Met::Entry(entry) => self.restore_entry(&entry),
            Met::Left { dir, path } => self.leave(dir, path),
            Met::Shut { why, .. } => Err(why.into()),
            Met::TooDeep { .. } => Err(io::Error::other("directories too deep")),
        })?;
        match cut {
            None => Ok(self),
            Some(cut) => Err(io::Error::other(cut.in_words())),
        }
    }

    fn restore_entry(&mut self, entry: &WalkEntry<'_>) -> io::Result<Next> {
        let is_folder = kind(entry.stat) == FileType::Directory;
        let of_tree = self.listing.0.contains_key(entry.path);
        let is_exam = match of_tree {
            true => self.rules.is_protected(entry.path),
            false => !is_folder && self.is_hook(entry)? && !self.stays(entry)?,
        };
        // A file, a link or a hole where the tree has a folder of the exam.
        let covers = !is_folder && self.has_exam_below(entry.path);
        if covers || is_exam && (of_tree || !is_folder) {
            remove_tree_at(entry.dir, entry.name)?;
            self.restored.push(path_text(entry.path));
            return Ok(Next::Pass);
        }
        if of_tree && kind(entry.stat) == FileType::RegularFile {
            self.rewritten.push(entry.path.to_vec());
        }
        self.note_made(entry.path, is_folder);
        Ok(if is_folder { Next::Enter } else { Next::Pass })
    }

    /// Writes down what is new in the tree of the baseline, a folder before what lies in it.
    fn note_made(&mut self, path: &[u8], is_folder: bool) {
        let of_tree = self.listing.0.contains_key(path) || is_folder && self.listing.has_below(path);
        if self.of_baseline.is_none() && !of_tree && !lies_in(&self.made, path) {
            self.made.insert(path_text(path));
        }
    }

    /// True for a new file that runs unasked wherever it lies, or that configures a runner
    /// or a build in a folder that the tree has.
    fn is_hook(&self, entry: &WalkEntry<'_>) -> io::Result<bool> {
        if entry.name == ENTRY_POINTS {
            let content = read_entry(entry)?;
            return Ok(content.windows(PLUGINS_OF_PYTEST.len()).any(|window| window == PLUGINS_OF_PYTEST));
        }
        let folder = entry.path.strip_suffix(entry.name).map(|folder| folder.strip_suffix(b"/").unwrap_or(folder));
        let in_tree = folder.is_some_and(|folder| folder.is_empty() || self.listing.has_below(folder));
        let is_known = HOOKS.contains(&entry.name) || in_tree && is_configuration(entry.path);
        Ok(is_known && self.rules.is_protected(entry.path))
    }

    /// True for a hook that the build of the baseline makes as well. Code that runs unasked
    /// must have the same bytes; configuration that is generated may follow what it is
    /// generated from. What the baseline's build makes is written down.
    fn stays(&mut self, entry: &WalkEntry<'_>) -> io::Result<bool> {
        let (path, digest) = (path_text(entry.path), Digest::of_bytes(&read_entry(entry)?));
        let runs_unasked = HOOKS.contains(&entry.name) || entry.name == ENTRY_POINTS;
        let stays = match &self.of_baseline {
            None => kind(entry.stat) == FileType::RegularFile,
            Some(known) => known.get(&path).is_some_and(|before| !runs_unasked || *before == digest),
        };
        if stays {
            self.hooks.insert(path, digest);
        }
        Ok(stays)
    }

    fn has_exam_below(&self, path: &[u8]) -> bool {
        let folder = [path, b"/"].concat();
        let below = self.listing.0.range(folder.clone()..).take_while(|(name, _)| name.starts_with(&folder));
        below.into_iter().any(|(name, _)| self.rules.is_protected(name))
    }

    /// A folder that was made anew hides nothing of the exam.
    fn leave(&mut self, dir: BorrowedFd<'_>, path: &[u8]) -> io::Result<Next> {
        if !path.is_empty() && self.has_exam_below(path) {
            uncover_folder(dir.as_fd())?;
        }
        Ok(Next::Pass)
    }
}

/// True for a path that is named or lies in a folder that is.
pub(super) fn lies_in(named: &BTreeSet<String>, path: &[u8]) -> bool {
    folders_above(path).chain([path]).any(|path| named.contains(&path_text(path)))
}

/// The content of a plain file; nothing of any other kind.
fn read_entry(entry: &WalkEntry<'_>) -> io::Result<Vec<u8>> {
    if kind(entry.stat) != FileType::RegularFile {
        return Ok(Vec::new());
    }
    Ok(read_beneath(entry.dir, entry.name, LARGEST)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
