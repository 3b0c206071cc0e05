//! Litter: files that tools leave beside the work. It is taken out first, listed, and never
//! counts as a verdict.

use std::collections::HashSet;

use contract::paths::{PathRules, PathSet, PathVerdict};
use contract::product::{lock_file, marks_cache_folder};
use contract::text::path_text;
use tree::{Listing, ObjectDatabase, PathChange, PathMode, TreeError, folders_above};

use super::TakenResult;
use crate::gather::engine::equip::Equipped;
use crate::judge::copy::Copy;
use crate::run::file::{RunFile, Stopped};

/// Files of an engine's litter that are kept; the others are named.
const MOST_LITTER: usize = 500;
/// Larger files mark no folder.
const LARGEST_MARK: usize = 64 << 10;

impl TakenResult {
    /// Takes out new files that ignore rules hide or that lie in a cache which its tool
    /// marks. By the baseline's rules they are litter, by other rules that the run added
    /// they are dirt.
    pub(super) fn without_litter(
        &mut self,
        run: &mut RunFile<'_>,
        copy: &Copy,
        mut listing: Listing,
    ) -> Result<Listing, Stopped> {
        let baseline = &copy.baseline.listing;
        let new: Vec<Vec<u8>> = listing.0.keys().filter(|path| !baseline.0.contains_key(*path)).cloned().collect();
        let store = &copy.baseline.store;
        let marked = marked_folders(store, baseline, &listing, &new)?;
        let scratch = |name: &str| run.work().join(format!("ignore-{name}"));
        let by_baseline = tree::ignored(store, baseline, &new, &scratch("baseline"))?;
        let by_result = tree::ignored(store, &listing, &new, &scratch("result"))?;
        for ((path, by_baseline), dirt) in new.iter().zip(by_baseline).zip(by_result) {
            if by_baseline || lies_in(path, &marked) {
                self.litter.push(path_text(path));
            } else if dirt {
                self.add_dirty(&mut run.standing, path_text(path), "is ignored only by rules this run added");
            } else {
                continue;
            }
            listing.0.remove(path);
        }
        Ok(listing)
    }

    /// Puts lock files back that a tool wrote by itself: those that the contract does not
    /// allow to change and that no changed manifest needs.
    pub(super) fn with_lock_files_of_baseline(
        &mut self,
        baseline: &Listing,
        mut listing: Listing,
        rules: &PathRules,
    ) -> Listing {
        let changes = tree::changes(baseline, &listing);
        let is_changed = |manifest: &&'static str| {
            let name = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(manifest.as_bytes());
            changes.iter().any(|change| name(&change.path))
        };
        for change in &changes {
            let written = lock_file(&change.path).filter(|_| change.after.is_some());
            let wanted = matches!(rules.judge_path(&change.path), PathVerdict::Allowed | PathVerdict::Forbidden);
            if wanted || written.is_none_or(|lock| lock.manifests.iter().any(is_changed)) {
                continue;
            }
            match change.before {
                Some(before) => drop(listing.0.insert(change.path.clone(), before)),
                None => drop(listing.0.remove(&change.path)),
            }
            self.litter.push(path_text(&change.path));
        }
        listing
    }

    /// Takes out what the engine is known to leave in a repository, which is no part of its
    /// work: it is moved to `backend/`. A file of that kind that the baseline has is put
    /// back, unless the contract allows or forbids its change by name.
    pub(super) fn without_engine_litter(
        &mut self,
        run: &mut RunFile<'_>,
        equipped: Option<&Equipped>,
        copy: &Copy,
        mut listing: Listing,
        rules: &PathRules,
    ) -> Result<Listing, Stopped> {
        let patterns = equipped.map(|equipped| equipped.engine.definition.litter.clone()).unwrap_or_default();
        if patterns.is_empty() {
            return Ok(listing);
        }
        let litter = PathSet::rooted(&patterns)?;
        let is_litter = |change: &PathChange| {
            let verdict = rules.judge_path(&change.path);
            let told = change.before.is_some() && matches!(verdict, PathVerdict::Allowed | PathVerdict::Forbidden);
            litter.is_match(&change.path) && !told
        };
        let changes = tree::changes(&copy.baseline.listing, &listing);
        for (number, change) in changes.iter().filter(|change| is_litter(change)).enumerate() {
            let name = path_text(&change.path);
            let kept = change.after.filter(|entry| matches!(entry.mode, PathMode::File | PathMode::Executable));
            if let Some(entry) = kept.filter(|_| number < MOST_LITTER) {
                let bytes = copy.baseline.store.blob(entry.oid)?;
                run.write_artifact(&format!("backend/litter/{name}"), &bytes)?;
            }
            match change.before {
                Some(before) => drop(listing.0.insert(change.path.clone(), before)),
                None => drop(listing.0.remove(&change.path)),
            }
            self.litter.push(name);
        }
        Ok(listing)
    }
}

/// Folders that their tool marks as its own and of which the baseline has nothing.
fn marked_folders(
    store: &ObjectDatabase,
    baseline: &Listing,
    listing: &Listing,
    new: &[Vec<u8>],
) -> Result<HashSet<Vec<u8>>, TreeError> {
    let mut reader = store.reader();
    let mut marked = HashSet::new();
    for path in new {
        let Some(slash) = path.iter().rposition(|byte| *byte == b'/') else { continue };
        let (folder, name) = (&path[..slash], &path[slash + 1..]);
        let is_mark = matches!(name, b".gitignore" | b"CACHEDIR.TAG");
        let entry = listing.0.get(path).filter(|entry| is_mark && entry.mode == PathMode::File);
        let Some(entry) = entry.filter(|_| !baseline.has_below(folder) && !baseline.0.contains_key(folder)) else {
            continue;
        };
        let bytes = reader.blob(entry.oid)?;
        if bytes.len() <= LARGEST_MARK && marks_cache_folder(name, &bytes) {
            marked.insert(folder.to_vec());
        }
    }
    Ok(marked)
}

fn lies_in(path: &[u8], folders: &HashSet<Vec<u8>>) -> bool {
    !folders.is_empty() && folders_above(path).any(|folder| folders.contains(folder))
}
