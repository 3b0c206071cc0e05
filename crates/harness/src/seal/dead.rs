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

use contract::start_detail::StartDetail;
use contract::statement::SealedBy;
use contract::{Digest, Purpose, Report, RunId, Stage};
use evidence::artifact::take_over;
use evidence::names;
use evidence::seal::Sealed;
use ledger::{Entry, EntryKind};
use serde::Deserialize;

use crate::home::ask::Ask;
use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::model_settings::ModelAsk;
use crate::home::reserve::Reserve;
use crate::home::task::{Task, TreeOrigin};
use crate::home::watch::{Quiet, Watch};
use crate::run::about::DocumentSubject;
use crate::run::file::Stopped;
use crate::run::harness::Harness;
use crate::run::journal::Journal;
use crate::run::lease::{HeldLease, RunOwnership, belongs_by_folder};
use crate::run::supervise::MARKER;
use crate::seal::landing::{RecoveredLanding, finished_landing, record_landing, settle_landing};
use crate::seal::report::{Evidence, ledger_entry, remove_work};

use remains::DeadScene;
pub(crate) use remains::Remains;
pub(crate) use restored::Restored;
use untrusted_fs::own_files;

/// Reason why recovery could not finish.
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
    detail: StartDetail,
}

/// A run whose process is gone, or that another instance no longer speaks for.
#[derive(Default)]
pub(crate) struct Dead<'a> {
    /// Its folder and the lock on it.
    pub(crate) left: Option<(PathBuf, File)>,
    /// The way it ended, where that was in this very process.
    pub(crate) stopped: Option<&'a Stopped>,
    pub(crate) lease: Option<HeldLease>,
    /// True for a run of another instance whose lease has lapsed.
    pub(crate) lapsed: bool,
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

/// The lease that this home still has on a run of its own. One that another instance took over is not ours to seal by.
pub(crate) fn own_lease(harness: &Harness, run_id: &RunId) -> Result<Option<HeldLease>, RecoverError> {
    match belongs_by_folder(harness, run_id).map_err(RecoverError::Ledger)? {
        RunOwnership::Here(lease) => Ok(lease),
        RunOwnership::TakenOver(lease) => Ok(Some(lease)),
        RunOwnership::Elsewhere => Err(RecoverError::Seal(run_id.to_string(), "another instance has it".into())),
    }
}

/// Removes a folder; one that is gone already is no error. Anything but a folder stays.
pub(crate) fn remove_all(dir: &Path) -> Result<(), RecoverError> {
    // Something else in the place of a folder is nobody's to remove.
    let removed = match untrusted_fs::open_root(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened.and_then(|_| untrusted_fs::remove_tree(dir)),
    };
    removed.map_err(|error| RecoverError::Io(dir.to_owned(), error))
}

/// Ledger entries of a run.
pub(crate) fn entries(harness: &Harness, run_id: &RunId) -> Result<Vec<Entry>, RecoverError> {
    harness.ledger().run_entries(run_id).map_err(|error| RecoverError::Ledger(error.into()))
}

/// Tells the ledger of a bundle that is in place and that it does not know, because the run died between the two; with the
/// landing that is thereby finished. None where there is no bundle. `held` is the lease that the caller has on the run already.
pub(crate) fn record_bundle(
    harness: &Harness,
    run_id: &RunId,
    held: Option<HeldLease>,
) -> Result<Option<RecordedBundle>, RecoverError> {
    if !harness.home.bundles().has_bundle(run_id) {
        return Ok(None);
    }
    let dir = harness.home.bundles().bundle_dir(run_id);
    let sealed = read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error))?;
    let lease = held.map_or_else(|| own_lease(harness, run_id), |held| Ok(Some(held)))?;
    let hand_in = || harness.home.bundles().hand_in(run_id, sealed.attestation_sha256);
    // A store that is away for long does not make a finished run another instance's to end.
    let handed_in = match lease {
        Some(lease) => harness.keeping_lease_now(run_id, lease.epoch, hand_in),
        None => hand_in(),
    };
    handed_in.map_err(|error| RecoverError::Seal(run_id.to_string(), error.into()))?;
    let now = RunClock::start_clock().map_err(|error| RecoverError::Ledger(error.into()))?.now();
    harness
        .ledger()
        .run_sealed(&ledger_entry(&sealed, now, lease))
        .map_err(|error| RecoverError::Ledger(error.into()))?;
    let landing = finish_landing(harness, run_id)?;
    remove_work(&harness.home, run_id);
    Journal::of_run(&harness.home, run_id).remove_notes();
    Ok(Some(RecordedBundle { landing }))
}

/// A bundle that the ledger knows of now.
pub(crate) struct RecordedBundle {
    pub(crate) landing: Option<RecoveredLanding>,
}

/// Tells the ledger of a landing whose run is sealed and that it does not know of; none where nothing is left to tell.
pub(crate) fn finish_landing(harness: &Harness, run_id: &RunId) -> Result<Option<RecoveredLanding>, RecoverError> {
    let Some(landing) = finished_landing(&harness.home, run_id) else { return Ok(None) };
    let dir = harness.home.bundles().bundle_dir(run_id);
    let sealed = read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error))?;
    let now = RunClock::start_clock().map_err(|error| RecoverError::Ledger(error.into()))?.now();
    record_landing(harness, &sealed, now).map_err(|error| RecoverError::Ledger(error.into()))?;
    // The bundle of a run that died in its landing has a note about its landing.
    Ok(sealed.report.target_commit.is_some().then_some(landing))
}

/// Sealed bundle as its `seal` returned it.
fn read_sealed(dir: &Path) -> io::Result<Sealed> {
    let report_bytes = own_files::read_file(dir.join(names::REPORT))?;
    let report: Report = serde_json::from_slice(&report_bytes)?;
    let attestation_sha256 = Digest::of_bytes(&own_files::read_file(dir.join(names::ATTESTATION))?);
    let files = report.artifact_paths.len();
    Ok(Sealed { dir: dir.to_owned(), report, report_bytes, attestation_sha256, files })
}

/// Seals a run of this very process that could not go on. Another process that saw that nobody held the run may be faster; one that
/// only looks holds it for a moment.
pub(crate) fn seal_stopped(harness: &Harness, run_id: &RunId, stopped: &Stopped) -> Result<Sealed, RecoverError> {
    let (dir, bundles) = (harness.home.active_run(run_id), harness.home.bundles());
    for _ in 0..200 {
        if let Ok(Some(lock)) = take_over(&dir)
            && !bundles.has_bundle(run_id)
        {
            let lease = own_lease(harness, run_id)?;
            let dead = Dead { left: Some((dir, lock)), stopped: Some(stopped), lease, lapsed: false };
            return seal_dead(harness, run_id, dead).map(|(sealed, _)| sealed);
        }
        if bundles.has_bundle(run_id) {
            record_bundle(harness, run_id, None)?;
            let dir = bundles.bundle_dir(run_id);
            return read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(RecoverError::Seal(run_id.to_string(), "another process holds it".into()))
}

/// Makes the bundle of a dead run; beforehand its landing, where it had begun one, is brought to its end.
pub(crate) fn seal_dead(
    harness: &Harness,
    run_id: &RunId,
    dead: Dead<'_>,
) -> Result<(Sealed, Option<RecoveredLanding>), RecoverError> {
    let failed = |error: ErrorCause| RecoverError::Seal(run_id.to_string(), error);
    sandbox::kill_marked(&(MARKER.to_owned(), run_id.mark()));
    Reserve::release(&harness.home, run_id);
    let entries = entries(harness, run_id)?;
    let started = entries
        .iter()
        .find(|entry| entry.is_kind(EntryKind::RunStarted))
        .ok_or_else(|| failed("the ledger has no intent of it".into()))?;
    let intent: Intent = serde_json::from_value(started.body.clone()).map_err(|error| failed(error.into()))?;
    let engine_intent = entries.iter().find(|entry| entry.is_kind(EntryKind::EngineStarting));
    let same_boot = intent.detail.host.boot_id == Some(crate::home::host::boot_id());
    let why = dead.cause(same_boot);
    let ask = Ask {
        engine: intent.engine,
        stage: intent.stage,
        purpose: intent.purpose,
        sandbox: intent.detail.sandbox,
        timeout_seconds: None,
        keep_workspace: false,
        model: ModelAsk::default(),
        target: None,
        request_command: String::new(),
        work: None,
        at: None,
    };
    let StartDetail { contract, document, .. } = intent.detail;
    let document = document.map(|document| DocumentSubject::of_kind(document.kind, document.bundles));
    let origin = TreeOrigin::Repository(PathBuf::new());
    let task = Task::from_contract(contract, origin);
    let cancel = AtomicBool::new(false);
    let landing = settle_landing(&harness.home, run_id);
    let watch = Watch { cancel: &cancel, observer: &Quiet };
    let scene = DeadScene { harness, task: &task, ask: &ask, document, watch, same_boot, landing: landing.as_ref() };
    let old = dead.left.as_ref().map(|(dir, _)| dir.as_path());
    let sealed = scene.remains(run_id, started, engine_intent, old, &why, &dead);
    let sealed = sealed
        .and_then(|remains| Evidence::from(remains).report()?.seal_run(SealedBy::Recover))
        .map_err(|error| failed(error.into()))?;
    if let Some((dir, _)) = &dead.left {
        remove_all(dir)?;
    }
    remove_work(&harness.home, run_id);
    Ok((sealed, landing.map(|landing| landing.ended)))
}
