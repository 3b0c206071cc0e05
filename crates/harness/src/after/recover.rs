//! Recovery of everything that was interrupted: dead runs are sealed, folders of killed commands are cleared.
//!
//! Cheap when there is nothing to do. One run that cannot be sealed now keeps no other from being sealed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::{Report, RunId};
use evidence::artifact::take_over;
use ledger::OpenRun;
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::after::take::{TAKE, recover_take};
use crate::home::layout::Home;
use crate::home::lock::seize;
use crate::home::reserve::Reserve;
use crate::run::harness::Harness;
use crate::run::journal::sweep_journals;
use crate::run::lease::{Belongs, belongs, is_lost};
use crate::seal::dead::{Dead, RecoverError, entries, own_lease, record_bundle, remove_all, seal_dead};
use crate::seal::report::remove_work;

/// What was found and done.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Runs that are sealed now.
    pub sealed: Vec<Report>,
    /// Bundles whose ledger entry was missing.
    pub recorded: Vec<String>,
    /// Runs that are still going on.
    pub alive: Vec<String>,
    /// Runs of this home that another instance has sealed; what they left is kept under `late/`.
    pub late: Vec<String>,
    /// Folders of runs that never started.
    pub removed: Vec<String>,
    /// Folders of other commands that were killed, with what those had begun brought to an end.
    pub cleared: Vec<String>,
    /// Runs that could not be sealed now, and why; the next command tries again.
    pub failed: Vec<(String, String)>,
}

/// Seals what was interrupted. Cheap when there is nothing: one folder is listed and one index is asked.
pub fn recover(harness: &Harness) -> Result<Recovered, RecoverError> {
    let mut done = Recovered::default();
    for run_id in active_runs(&harness.home)? {
        let tried = recover_active(harness, &run_id, &mut done);
        done.note_failure(&run_id, tried);
    }
    let open = harness.ledger().runs_open().map_err(|error| RecoverError::Ledger(error.into()))?;
    for run in open {
        if !harness.home.active_run(&run.row.run_id).own_exists() {
            let tried = recover_vanished(harness, &run, &mut done);
            done.note_failure(&run.row.run_id, tried);
        }
    }
    clear_work(harness, &mut done);
    sweep_journals(&harness.home);
    Ok(done)
}

/// True where a command was killed that left a folder to work in.
pub fn left_work(home: &Home) -> bool {
    work_folders(home).any(|(_, path)| seize(&path).is_some())
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
        let Some(_dead) = seize(&path) else { continue };
        let ended = if name.starts_with(TAKE) { recover_take(harness, &path) } else { Ok(()) };
        match ended.and_then(|()| remove_left(&path).map_err(|error| error.to_string())) {
            Ok(()) => done.cleared.push(name),
            Err(error) => done.failed.push((name, error)),
        }
    }
}

/// A git of the dead command may still be writing there, for the moment until it finds that nobody reads.
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

/// A run that the ledger calls running and that has no folder here: it is gone, or another instance's.
fn recover_vanished(harness: &Harness, run: &OpenRun, done: &mut Recovered) -> Result<(), RecoverError> {
    let run_id = &run.row.run_id;
    let dead = match belongs(harness, run).map_err(RecoverError::Ledger)? {
        Belongs::Elsewhere => {
            done.alive.push(run_id.to_string());
            return Ok(());
        }
        Belongs::Here(_) if record_bundle(harness, run_id)? => {
            done.recorded.push(run_id.to_string());
            return Ok(());
        }
        Belongs::Here(lease) => Dead { lease, ..Dead::default() },
        Belongs::TakenOver(lease) => Dead { lease: Some(lease), lapsed: true, ..Dead::default() },
    };
    done.sealed.push(seal_dead(harness, run_id, dead)?.report);
    Ok(())
}

impl Recovered {
    /// One run that cannot be sealed now keeps no other from being sealed.
    fn note_failure(&mut self, run_id: &RunId, tried: Result<(), RecoverError>) {
        if let Err(error) = tried {
            self.failed.push((run_id.to_string(), error.to_string()));
        }
    }
}

fn active_runs(home: &Home) -> Result<Vec<RunId>, RecoverError> {
    let active = home.active();
    let entries = own_files::read_dir(&active).map_err(|error| RecoverError::Io(active.clone(), error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| RunId::try_from(name).ok()).collect())
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
    if harness.home.bundles().has_bundle(run_id) {
        remove_all(&dir)?;
        record_bundle(harness, run_id)?;
        done.recorded.push(run_id.to_string());
        return Ok(());
    }
    if is_lost(harness, run_id) {
        Reserve::release(&harness.home, run_id);
        remove_work(&harness.home, run_id);
        harness.home.bundles().keep_late(run_id, &dir).map_err(|error| RecoverError::Io(dir, error))?;
        done.late.push(run_id.to_string());
        return Ok(());
    }
    if entries(harness, run_id)?.is_empty() {
        Reserve::release(&harness.home, run_id);
        remove_all(&dir)?;
        done.removed.push(run_id.to_string());
        return Ok(());
    }
    let lease = own_lease(harness, run_id)?;
    let sealed = seal_dead(harness, run_id, Dead { left: Some((dir, lock)), lease, ..Dead::default() })?;
    done.sealed.push(sealed.report);
    Ok(())
}
