//! Recovery of everything that was interrupted: dead runs are sealed, folders of killed
//! commands are cleared.
//!
//! Cheap when there is nothing to do. One run that cannot be sealed now keeps no other from
//! being sealed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::{Digest, Report, RunId};
use evidence::artifact::take_over;
use ledger::{EntryKind, LedgerProblem, OpenRun};
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::after::person_statements::STATEMENT;
use crate::after::rollback::ROLLBACK;
use crate::after::take::{TAKE, recover_begun};
use crate::home::layout::Home;
use crate::home::lock::{take_folder, wait_alone};
use crate::home::reserve::Reserve;
use crate::run::harness::Harness;
use crate::run::journal::{noted_landings, noted_runs, sweep_journals};
use crate::run::lease::{RunOwnership, belongs, belongs_by_folder, is_lost, wait_for_renewals};
use crate::run::used::find_mark_of;
use crate::seal::dead::{
    Dead, RecordedBundle, RecoverError, entries, finish_landing, record_bundle, remove_all, seal_dead,
};
use crate::seal::landing::{RecoveredLanding, settle_landing};
use crate::seal::report::remove_work;

/// Result of a recovery.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Runs that are sealed now.
    pub sealed: Vec<Report>,
    /// Bundles whose ledger entry was missing.
    pub recorded: Vec<String>,
    /// Runs that are still going on.
    pub alive: Vec<String>,
    /// Runs of this home that another instance has sealed; what they left is kept under
    /// `late/`.
    pub late: Vec<String>,
    /// Folders of runs that never started.
    pub removed: Vec<String>,
    /// Folders of other commands that were killed, with what those had begun brought to an end.
    pub cleared: Vec<String>,
    /// Runs that died between the use of their approval and a landing, with the request
    /// that they have used up.
    pub spent: Vec<(RunId, Digest)>,
    /// Landings in target repositories that were cut off, each brought to its end.
    pub landings: Vec<RecoveredLanding>,
    /// Runs that could not be sealed now, and why; the next command tries again.
    pub failed: Vec<(String, String)>,
    /// Rows of the ledger that cannot be read, and that were passed over.
    pub unreadable: Vec<LedgerProblem>,
}

/// Seals what was interrupted. Cheap when there is nothing: one folder is listed and one
/// index is asked.
pub fn recover_dead(harness: &Harness) -> Result<Recovered, RecoverError> {
    let mut done = Recovered::default();
    for run_id in active_runs(&harness.home)? {
        let tried = recover_active(harness, &run_id, &mut done);
        done.note_failure(&run_id, tried);
    }
    recover_all_vanished(harness, &mut done)?;
    for run_id in noted_landings(&harness.home) {
        let is_sealed = harness.home.bundles().has_bundle(&run_id) && !harness.home.active_run(&run_id).own_exists();
        if is_sealed && !is_lost(harness, &run_id) {
            match finish_landing(harness, &run_id) {
                Ok(landing) => done.landings.extend(landing),
                Err(error) => done.note_failure(&run_id, Err(error)),
            }
        }
    }
    clear_work(harness, &mut done);
    set_unknown_aside(harness, &mut done);
    sweep_journals(&harness.home);
    done.unreadable = harness.ledger().unreadable_rows();
    Ok(done)
}

/// True where a command was killed that left a folder to work in.
pub fn left_work(home: &Home) -> bool {
    work_folders(home).any(|(_, path)| take_folder(&path).is_some()) || has_left_landing(home)
}

/// True where a run died after its seal and before the ledger knew of its landing.
fn has_left_landing(home: &Home) -> bool {
    noted_landings(home).iter().any(|run_id| !home.active_run(run_id).own_exists())
}

/// Folders under `work/` that are no run's.
fn work_folders(home: &Home) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = own_files::read_dir(home.work()).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    named.filter(|(name, _)| !is_of_run(name))
}

/// Older versions named the folder by the run's id.
fn is_of_run(folder: &str) -> bool {
    RunId::is_mark(folder) || RunId::try_from(folder.to_owned()).is_ok()
}

fn clear_work(harness: &Harness, done: &mut Recovered) {
    for (name, path) in work_folders(&harness.home) {
        let Some(_dead) = take_folder(&path) else { continue };
        let has_begun = [TAKE, ROLLBACK, STATEMENT].iter().any(|what| name.starts_with(what));
        let ended = if has_begun { recover_begun(harness, &path) } else { Ok(None) };
        match ended.and_then(|cut| remove_left(&path).map(|()| cut).map_err(|error| error.to_string())) {
            Ok(cut) => {
                done.cleared.push(name);
                done.landings.extend(cut);
            }
            Err(error) => done.failed.push((name, error)),
        }
    }
}

/// Removes a folder of a dead command. A git child of it may still be writing for a moment,
/// until its pipe breaks.
fn remove_left(path: &Path) -> Result<(), RecoverError> {
    const TRIES: u32 = 50;
    let mut tried = remove_all(path);
    for _ in 0..TRIES {
        if tried.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        tried = remove_all(path);
    }
    tried
}

/// Open runs without a folder here.
fn vanished_runs(harness: &Harness) -> Result<Vec<OpenRun>, RecoverError> {
    let mut open = harness.ledger().runs_open().map_err(|error| RecoverError::Ledger(error.into()))?;
    open.retain(|run| !harness.home.active_run(&run.row.run_id).own_exists());
    Ok(open)
}

/// One process of a home at a time: without a folder such a run has no lock, and two that took it over in turn would write one bundle.
fn recover_all_vanished(harness: &Harness, done: &mut Recovered) -> Result<(), RecoverError> {
    let seen = vanished_runs(harness)?;
    if seen.is_empty() {
        return Ok(());
    }
    let leases: Vec<_> = seen.iter().filter_map(|run| run.lease).collect();
    wait_for_renewals(harness, &leases).map_err(RecoverError::Ledger)?;
    let active = harness.home.active();
    let alone = wait_alone(&active).map_err(|error| RecoverError::Io(active, error))?;
    if alone.is_none() {
        return Ok(());
    }
    // As it is now: who was before us may have sealed some of them.
    for run in vanished_runs(harness)? {
        let is_quiet = seen.iter().any(|before| before.row.run_id == run.row.run_id && before.lease == run.lease);
        let tried = recover_vanished(harness, &run, is_quiet, done);
        done.note_failure(&run.row.run_id, tried);
    }
    Ok(())
}

/// A run that the ledger calls running and that has no folder here: it is gone, or another
/// instance's.
fn recover_vanished(
    harness: &Harness,
    run: &OpenRun,
    is_quiet: bool,
    done: &mut Recovered,
) -> Result<(), RecoverError> {
    let run_id = &run.row.run_id;
    let dead = match belongs(harness, run, is_quiet).map_err(RecoverError::Ledger)? {
        RunOwnership::Elsewhere => {
            done.alive.push(run_id.to_string());
            return Ok(());
        }
        RunOwnership::Here(lease) => Dead { lease, ..Dead::default() },
        RunOwnership::TakenOver(lease) => Dead { lease: Some(lease), lapsed: true, ..Dead::default() },
    };
    if let Some(recorded) = record_bundle(harness, run_id, dead.lease)? {
        done.note_recorded(run_id, recorded);
        return Ok(());
    }
    let (sealed, landing) = seal_dead(harness, run_id, dead)?;
    done.note_sealed(harness, sealed.report, landing);
    Ok(())
}

/// The request that a run has used: by the ledger, or by its mark, which is made a moment
/// before.
fn find_spent(harness: &Harness, run_id: &RunId) -> Option<Digest> {
    let entries = entries(harness, run_id).unwrap_or_default();
    let used = entries.iter().find(|entry| entry.is_kind(EntryKind::ApprovalUsed));
    let named = used.and_then(|entry| entry.body["request"].as_str()?.parse().ok());
    named.or_else(|| find_mark_of(harness, run_id))
}

impl Recovered {
    fn note_recorded(&mut self, run_id: &RunId, recorded: RecordedBundle) {
        self.recorded.push(run_id.to_string());
        self.landings.extend(recorded.landing);
    }

    /// A run that died after it had used its approval and before it landed anything has
    /// spent that.
    fn note_sealed(&mut self, harness: &Harness, sealed: Report, landing: Option<RecoveredLanding>) {
        if landing.is_none()
            && let Some(request) = find_spent(harness, &sealed.run_id)
        {
            self.spent.push((sealed.run_id.clone(), request));
        }
        self.sealed.push(sealed);
        self.landings.extend(landing);
    }

    /// One run that cannot be sealed now keeps no other from being sealed.
    fn note_failure(&mut self, run_id: &RunId, tried: Result<(), RecoverError>) {
        if let Err(error) = tried {
            self.failed.push((run_id.to_string(), error.to_string()));
        }
    }
}

fn active_runs(home: &Home) -> Result<Vec<RunId>, RecoverError> {
    let active = home.active();
    let entries = own_files::read_dir(&active).map_err(|error| RecoverError::Io(active, error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| RunId::try_from(name).ok()).collect())
}

/// Puts what a run of this home left aside, because another instance has it, and takes back what it has landed.
fn set_aside(harness: &Harness, run_id: &RunId, done: &mut Recovered) -> Result<(), RecoverError> {
    done.landings.extend(settle_landing(&harness.home, run_id).map(|landing| landing.ended));
    let dir = harness.home.active_run(run_id);
    Reserve::release(&harness.home, run_id);
    remove_work(&harness.home, run_id);
    harness.home.bundles().keep_late(run_id, &dir).map_err(|error| RecoverError::Io(dir, error))?;
    done.late.push(run_id.to_string());
    Ok(())
}

/// Bundles of runs that died between taking their place and the entry about it, and that another instance has sealed since.
fn set_unknown_aside(harness: &Harness, done: &mut Recovered) {
    for run_id in noted_runs(&harness.home) {
        let is_left = harness.home.bundles().has_bundle(&run_id) && !harness.home.active_run(&run_id).own_exists();
        if is_left && is_lost(harness, &run_id) {
            let tried = set_aside(harness, &run_id, done);
            done.note_failure(&run_id, tried);
        }
    }
}

fn recover_active(harness: &Harness, run_id: &RunId, done: &mut Recovered) -> Result<(), RecoverError> {
    let dir = harness.home.active_run(run_id);
    let lock = match take_over(&dir) {
        Ok(Some(lock)) => lock,
        Ok(None) => {
            done.alive.push(run_id.to_string());
            return Ok(());
        }
        // Sealed and moved while we looked.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(RecoverError::Io(dir, error)),
    };
    if is_lost(harness, run_id) {
        return set_aside(harness, run_id, done);
    }
    if harness.home.bundles().has_bundle(run_id) {
        remove_all(&dir)?;
        if let Some(recorded) = record_bundle(harness, run_id, None)? {
            done.note_recorded(run_id, recorded);
        }
        return Ok(());
    }
    if entries(harness, run_id)?.is_empty() {
        Reserve::release(&harness.home, run_id);
        remove_all(&dir)?;
        done.removed.push(run_id.to_string());
        return Ok(());
    }
    let lease = match belongs_by_folder(harness, run_id).map_err(RecoverError::Ledger)? {
        RunOwnership::Here(lease) => lease,
        RunOwnership::TakenOver(lease) => Some(lease),
        RunOwnership::Elsewhere => {
            done.alive.push(run_id.to_string());
            return Ok(());
        }
    };
    let (sealed, landing) = seal_dead(harness, run_id, Dead { left: Some((dir, lock)), lease, ..Dead::default() })?;
    done.note_sealed(harness, sealed.report, landing);
    Ok(())
}
