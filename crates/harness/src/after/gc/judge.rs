//! Choice of the bundles that may go: every reason to keep one is examined first, and the
//! bundle itself last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use contract::signer::SignerStanding;
use contract::{RunId, TaskId};
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use ledger::{Ledger, RunRow, RunStatus, SealedFolder};
use views::{RungSource, RungTerms, VerifyMemo, WorkerKeys, asked_run};

use super::{Clock, CollectError, Kept, Retention, names_in};
use crate::home::layout::Home;

/// The files of bundles about other bundles, each with its list of runs; and more than any has.
const COLLECTIONS: &[(&str, &str)] =
    &[("report.json", "bundles"), ("matrix.json", "cases"), ("comparison.json", "lanes"), ("repeat.json", "runs")];
const LARGEST_COLLECTION: u64 = 64 << 20;

/// One thing under `harness-runs/`.
pub(super) struct Present {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    /// The ledger's row, if it has one.
    pub(super) row: Option<RunRow>,
    pub(super) kept: Option<Kept>,
    pub(super) detail: Option<String>,
    /// Size of a bundle that goes.
    pub(super) bytes: u64,
    /// The ledger said before that it goes: only what was done since speaks for it.
    pub(super) collected: bool,
}

/// The home as it is judged.
pub(super) struct Judge<'a> {
    pub(super) home: &'a Home,
    pub(super) ledger: &'a Ledger,
    pub(super) keys: Vec<PublicKey>,
    pub(super) clock: Clock,
}

impl Judge<'_> {
    /// Everything under `harness-runs/`. What is not kept here may go if it is whole.
    pub(super) fn survey(&self, retention: &Retention) -> Result<Vec<Present>, CollectError> {
        let mut all = self.present()?;
        self.keep_stated(&mut all)?;
        self.keep_latest_passes(&mut all);
        self.keep_rungs(&mut all, retention.passes_required)?;
        self.keep_young(&mut all);
        keep_recent(&mut all, retention.keep);
        self.keep_named(&mut all);
        Ok(all)
    }

    fn present(&self) -> Result<Vec<Present>, CollectError> {
        let here = self.home.bundles().list_sealed().map_err(CollectError::ListBundles)?;
        let mut rows: BTreeMap<String, (PathBuf, Option<RunRow>)> =
            here.into_iter().map(|SealedFolder { name, dir }| (name, (dir, None))).collect();
        let placed = self.ledger.runs_each(|row| {
            if let Some((_, place)) = rows.get_mut(row.run_id.as_str()) {
                *place = Some(row);
            }
        });
        placed.map_err(CollectError::ReadLedger)?;
        Ok(rows.into_iter().map(|(name, (dir, row))| Self::admit(name, dir, row)).collect())
    }

    fn admit(name: String, dir: PathBuf, row: Option<RunRow>) -> Present {
        let kept = match &row {
            None => Some(Kept::Unrecorded),
            Some(row) if row.status == RunStatus::Running => Some(Kept::Unsealed),
            Some(_) => None,
        };
        let collected = row.as_ref().is_some_and(|row| row.collected_seq.is_some());
        Present { name, dir, row, kept, detail: None, bytes: 0, collected }
    }

    fn keep_stated(&self, all: &mut [Present]) -> Result<(), CollectError> {
        let spoken_of = self.ledger.runs_spoken_of().map_err(CollectError::ReadLedger)?;
        for one in all.iter_mut().filter(|one| one.kept.is_none()) {
            if spoken_of.contains(&one.name) || self.is_stated(&one.name) {
                one.kept = Some(Kept::Stated);
            }
        }
        Ok(())
    }

    /// True if a signed statement about the run exists. In doubt the answer is true, so
    /// that the bundle stays.
    pub(super) fn is_stated(&self, name: &str) -> bool {
        let Ok(run_id) = RunId::try_from(name.to_owned()) else { return true };
        names_in(&self.home.bundles().statements_dir(&run_id)).map_or(true, |statements| !statements.is_empty())
    }

    /// Keeps the latest intact pass of each task, engine and stage. A damaged pass cannot
    /// support anything.
    fn keep_latest_passes(&self, all: &mut [Present]) {
        let passes = all.iter_mut().filter(|one| !one.collected && one.row().is_some_and(is_pass));
        let mut passes: Vec<&mut Present> = passes.collect();
        newest_first(&mut passes);
        let mut found = BTreeSet::new();
        for one in passes {
            let Some(row) = &one.row else { continue };
            let kind = (row.task_id.clone(), row.engine.clone(), row.stage);
            if found.contains(&kind) || self.whole(row).is_err() {
                continue;
            }
            found.insert(kind);
            if one.kept.is_none() {
                one.kept = Some(Kept::LatestPass);
            }
        }
    }

    /// Whatever a rung of any engine rests on, under any identity.
    fn keep_rungs(&self, all: &mut [Present], passes_required: u32) -> Result<(), CollectError> {
        let (memo, anybody) = (VerifyMemo::default(), |_: &_, _: &str, _| SignerStanding::Allowed);
        let workers = WorkerKeys::read_keys(self.ledger, &anybody)?;
        let source = RungSource {
            ledger: self.ledger,
            bundles: self.home.bundles(),
            keys: &self.keys,
            memo: &memo,
            shared_as: self.home.shares_ledger().then(|| self.home.instance().ok()).flatten(),
            // Outcomes stand in the ledger beside the run's id, which alone keeps a bundle:
            // the signer of an outcome changes no rung here.
            terms: RungTerms { passes_required, standing: &anybody, workers: &workers },
        };
        let engines: BTreeSet<String> = all.iter().filter_map(|one| Some(one.row()?.engine.clone())).collect();
        let mut resting = BTreeSet::new();
        for engine in engines {
            resting.extend(source.find_resting(&engine)?.iter().map(ToString::to_string));
        }
        for one in all.iter_mut().filter(|one| one.kept.is_none() && !one.collected && resting.contains(&one.name)) {
            one.kept = Some(Kept::Rung);
        }
        Ok(())
    }

    fn keep_young(&self, all: &mut [Present]) {
        for one in all.iter_mut().filter(|one| one.kept.is_none() && !one.collected) {
            let finished = one.row().and_then(|row| row.finished_at);
            if !finished.is_some_and(|time| self.clock.is_old(time.unix_seconds())) {
                one.kept = Some(Kept::Young);
            }
        }
    }

    /// Keeps bundles that a matrix, comparison or repetition names which stays itself.
    fn keep_named(&self, all: &mut [Present]) {
        let staying = all.iter().filter(|one| one.kept.is_some());
        let named: BTreeSet<String> = staying.flat_map(|one| named_in(&one.dir)).collect();
        for one in all.iter_mut().filter(|one| one.kept.is_none() && !one.collected && named.contains(&one.name)) {
            one.kept = Some(Kept::Named);
        }
    }

    /// Checks that a bundle is the sealed one; the error names the fault.
    pub(super) fn whole(&self, row: &RunRow) -> Result<(), String> {
        let bundle = self.home.bundles().bundle_dir(&row.run_id);
        let asked = asked_run(row);
        VerifiedBundle::verify_dir(&bundle, &self.keys, Some(&asked)).map(drop).map_err(|error| error.to_string())
    }
}

impl Present {
    fn row(&self) -> Option<&RunRow> {
        self.row.as_ref()
    }
}

fn is_pass(row: &RunRow) -> bool {
    row.status == RunStatus::Pass
}

fn newest_first(runs: &mut [&mut Present]) {
    runs.sort_by_cached_key(|one| std::cmp::Reverse(one.row().map(|row| row.seq)));
}

/// The latest of each task, as many as wanted.
fn keep_recent(all: &mut [Present], keep: usize) {
    let mut runs: Vec<&mut Present> = all.iter_mut().filter(|one| one.row.is_some() && !one.collected).collect();
    newest_first(&mut runs);
    let mut seen: BTreeMap<Option<TaskId>, usize> = BTreeMap::new();
    for one in runs {
        let task = one.row().map(|row| row.task_id.clone());
        let count = seen.entry(task).or_default();
        *count += 1;
        if *count <= keep && one.kept.is_none() {
            one.kept = Some(Kept::Recent);
        }
    }
}

/// Runs that a bundle names. An unreadable bundle names none.
fn named_in(bundle: &Path) -> Vec<String> {
    COLLECTIONS.iter().flat_map(|(file, list)| named(bundle, file, list)).collect()
}

fn named(bundle: &Path, file: &str, list: &str) -> Vec<String> {
    let Some(bytes) = untrusted_fs::read_plain(bundle, file.as_bytes(), LARGEST_COLLECTION) else { return Vec::new() };
    let document: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let runs = document[list].as_array().into_iter().flatten();
    runs.filter_map(|run| run["run_id"].as_str().map(str::to_owned)).collect()
}
