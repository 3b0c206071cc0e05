//! Recovery: every run that ever started gets a complete bundle, also one whose process died.
//!
//! A dead run is known by its lock, which the kernel releases. Its bundle is made afresh from the ledger's intents: the
//! unbroken beginning of its events is kept byte for byte, everything else it left lies under `backend/recovered`. Made
//! beside the old folder and moved into place by one rename, so that a recovery that dies is simply done again.

mod remains;
mod restored;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::decision::Profile;
use contract::statement::SealedBy;
use contract::{Digest, Purpose, Report, RunId, Stage, TaskContract};
use evidence::artifact::take_over;
use evidence::names;
use evidence::seal::Sealed;
use ledger::{Entry, EntryKind, OpenRun};
use serde::Deserialize;

use crate::cause::ErrorCause;
use crate::clock::RunClock;
use crate::decide::Ask;
use crate::gc::seize;
use crate::harness::Harness;
use crate::home::Home;
use crate::journal::{Journal, sweep_journals};
use crate::lease::{Belongs, HeldLease, belongs, is_lost, keep_late};
use crate::model::ModelAsk;
use crate::report::{Evidence, ledger_entry, remove_work};
use crate::reserve::Reserve;
use crate::run::Stopped;
use crate::supervise::MARKER;
use crate::take::{TAKE, recover_take};
use crate::task::{Origin, Task};
use crate::watch::{Quiet, Watch};

pub(crate) use remains::Remains;
use remains::Scene;
pub(crate) use restored::Restored;
use untrusted_fs::own_files::{self, OwnPath as _};

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

/// Why recovery could not finish.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("cannot look at {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error("{0}")]
    Ledger(#[source] ErrorCause),
    /// The run could not be sealed; it stays where it is.
    #[error("run {0} cannot be sealed now: {1}")]
    Seal(String, #[source] ErrorCause),
}

/// The intent of a run, as the ledger has it.
#[derive(Deserialize)]
struct Intent {
    engine: String,
    stage: Stage,
    purpose: Purpose,
    detail: Detail,
}

#[derive(Deserialize)]
struct Detail {
    boot_id: String,
    contract: TaskContract,
    sandbox: Profile,
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

/// A run whose process is gone, or that another instance no longer speaks for.
#[derive(Default)]
struct Dead<'a> {
    /// Its folder and the lock on it.
    left: Option<(PathBuf, File)>,
    /// The way it ended, where that was in this very process.
    stopped: Option<&'a Stopped>,
    lease: Option<HeldLease>,
    /// It was another instance's, whose lease has lapsed.
    lapsed: bool,
}

impl Dead<'_> {
    fn cause(&self, same_boot: bool) -> String {
        match self.stopped {
            Some(stopped) => stopped.to_string(),
            None if self.lapsed => "the instance that ran it has let its lease lapse".to_owned(),
            None if same_boot => "the harness process was killed".to_owned(),
            None => "the machine was restarted".to_owned(),
        }
    }
}

/// The lease that this home still has on a run of its own.
fn own_lease(harness: &Harness, run_id: &RunId) -> Result<Option<HeldLease>, RecoverError> {
    let lease = harness.ledger().lease(run_id).map_err(|error| RecoverError::Ledger(error.into()))?;
    Ok(lease.map(|lease| HeldLease { owner: lease.owner, epoch: lease.epoch }))
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
    if harness.home.bundle(run_id).own_exists() {
        remove_all(&dir)?;
        record_bundle(harness, run_id)?;
        done.recorded.push(run_id.to_string());
        return Ok(());
    }
    if is_lost(harness, run_id) {
        Reserve::release(&harness.home, run_id);
        remove_work(&harness.home, run_id);
        keep_late(&harness.home, run_id).map_err(|error| RecoverError::Io(dir, error))?;
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

fn remove_all(dir: &Path) -> Result<(), RecoverError> {
    // Something else in the place of a folder is nobody's to remove.
    let removed = match untrusted_fs::open_root(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened.and_then(|_| untrusted_fs::remove_tree(dir)),
    };
    removed.map_err(|error| RecoverError::Io(dir.to_owned(), error))
}

fn entries(harness: &Harness, run_id: &RunId) -> Result<Vec<Entry>, RecoverError> {
    harness.ledger().run_entries(run_id).map_err(|error| RecoverError::Ledger(error.into()))
}

/// A bundle that is in place but not in the ledger, because the run died between the two.
fn record_bundle(harness: &Harness, run_id: &RunId) -> Result<bool, RecoverError> {
    let dir = harness.home.bundle(run_id);
    if !dir.own_exists() {
        return Ok(false);
    }
    let sealed = read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error))?;
    let now = RunClock::start().map_err(|error| RecoverError::Ledger(error.into()))?.now();
    let lease = own_lease(harness, run_id)?;
    harness
        .ledger()
        .run_sealed(&ledger_entry(&sealed, now, lease))
        .map_err(|error| RecoverError::Ledger(error.into()))?;
    remove_work(&harness.home, run_id);
    Journal::of(&harness.home, run_id).remove();
    Ok(true)
}

/// What `seal` returned when the bundle was made.
fn read_sealed(dir: &Path) -> io::Result<Sealed> {
    let report_bytes = own_files::read(dir.join(names::REPORT))?;
    let report: Report = serde_json::from_slice(&report_bytes)?;
    let attestation_sha256 = Digest::of(&own_files::read(dir.join(names::ATTESTATION))?);
    let files = report.artifact_paths.len();
    Ok(Sealed { dir: dir.to_owned(), report, report_bytes, attestation_sha256, files })
}

/// Seals a run of this very process that could not go on.
pub(crate) fn seal_stopped(harness: &Harness, run_id: &RunId, stopped: &Stopped) -> Result<Sealed, RecoverError> {
    let dir = harness.home.active_run(run_id);
    match take_over(&dir) {
        Ok(Some(lock)) if !harness.home.bundle(run_id).own_exists() => {
            let lease = own_lease(harness, run_id)?;
            seal_dead(harness, run_id, Dead { left: Some((dir, lock)), stopped: Some(stopped), lease, lapsed: false })
        }
        // Another process saw that nobody held the run and seals it.
        _ => wait_for_bundle(harness, run_id),
    }
}

fn wait_for_bundle(harness: &Harness, run_id: &RunId) -> Result<Sealed, RecoverError> {
    let dir = harness.home.bundle(run_id);
    for _ in 0..200 {
        if dir.own_exists() {
            record_bundle(harness, run_id)?;
            return read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(RecoverError::Seal(run_id.to_string(), "another process holds it".into()))
}

/// Makes the bundle of a dead run.
fn seal_dead(harness: &Harness, run_id: &RunId, dead: Dead<'_>) -> Result<Sealed, RecoverError> {
    let failed = |error: ErrorCause| RecoverError::Seal(run_id.to_string(), error);
    sandbox::sweep(&(MARKER.to_owned(), run_id.mark()));
    Reserve::release(&harness.home, run_id);
    let entries = entries(harness, run_id)?;
    let started = entries
        .iter()
        .find(|entry| entry.is(EntryKind::RunStarted))
        .ok_or_else(|| failed("the ledger has no intent of it".into()))?;
    let intent: Intent = serde_json::from_value(started.body.clone()).map_err(|error| failed(error.into()))?;
    let engine_intent = entries.iter().find(|entry| entry.is(EntryKind::EngineStarting));
    let same_boot = intent.detail.boot_id == crate::host::boot_id();
    let why = dead.cause(same_boot);
    let ask = Ask {
        engine: intent.engine,
        stage: intent.stage,
        purpose: intent.purpose,
        sandbox: intent.detail.sandbox,
        timeout_seconds: None,
        keep_workspace: false,
        model: ModelAsk::default(),
    };
    let origin = Origin::Repository(PathBuf::new());
    let task = Task { contract: intent.detail.contract, origin, fake: None, required_events: Vec::new(), expect: None };
    let cancel = AtomicBool::new(false);
    let scene =
        Scene { harness, task: &task, ask: &ask, watch: Watch { cancel: &cancel, observer: &Quiet }, same_boot };
    let old = dead.left.as_ref().map(|(dir, _)| dir.as_path());
    let sealed = scene.remains(run_id, started, engine_intent, old, &why, &dead);
    let sealed = sealed
        .and_then(|remains| Evidence::from(remains).report()?.seal(SealedBy::Recover))
        .map_err(|error| failed(error.into()))?;
    if let Some((dir, _)) = &dead.left {
        remove_all(dir)?;
    }
    remove_work(&harness.home, run_id);
    Ok(sealed)
}
