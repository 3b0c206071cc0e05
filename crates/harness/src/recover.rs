//! Recovery: every run that ever started gets a complete bundle, also one whose process died.
//!
//! A dead run is known by its lock, which the kernel releases. Its bundle is made afresh from the ledger's intents: the
//! unbroken beginning of its events is kept byte for byte, everything else it left lies under `backend/recovered`. Made
//! beside the old folder and moved into place by one rename, so that a recovery that dies is simply done again.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::decision::{Inputs, Profile, SettingFacts};
use contract::statement::{SealedBy, SignedLedger};
use contract::{Digest, Purpose, Reason, Report, RunId, Stage, Stamp, TaskContract};
use evidence::artifact::take_over;
use evidence::seal::Sealed;
use evidence::{Censor, Draft, chain, names};
use ledger::Entry;
use serde::Deserialize;
use serde_json::json;

use crate::clock::RunClock;
use crate::decide::Ask;
use crate::findings::Findings;
use crate::home::Home;
use crate::model::ModelAsk;
use crate::report::{Evidence, ledger_entry, remove_work};
use crate::reserve::Reserve;
use crate::run::{Harness, Run, Stopped};
use crate::supervise::MARKER;
use crate::task::{Origin, Task};
use crate::watch::{Quiet, Watch};

/// What was found and done.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Runs that are sealed now.
    pub sealed: Vec<Report>,
    /// Bundles whose ledger entry was missing.
    pub recorded: Vec<String>,
    /// Runs that are still going on.
    pub alive: Vec<String>,
    /// Folders of runs that never started.
    pub removed: Vec<String>,
    /// Runs that could not be sealed now, and why; the next command tries again.
    pub failed: Vec<(String, String)>,
}

/// Why recovery could not finish.
#[derive(Debug)]
pub enum RecoverError {
    Io(PathBuf, io::Error),
    Ledger(String),
    /// The run could not be sealed; it stays where it is.
    Seal(String, String),
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "cannot look at {}: {error}", path.display()),
            Self::Ledger(error) => f.write_str(error),
            Self::Seal(run, error) => write!(f, "run {run} cannot be sealed now: {error}"),
        }
    }
}

impl std::error::Error for RecoverError {}

/// A run that somebody else began and that is over.
pub(crate) struct Remains<'a> {
    pub(crate) run: Run<'a>,
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

#[derive(Deserialize)]
struct EngineIntent {
    inputs: Option<Inputs>,
}

/// Seals what was interrupted. Cheap when there is nothing: one folder is listed and one index is asked.
pub fn recover(harness: &Harness) -> Result<Recovered, RecoverError> {
    let mut done = Recovered::default();
    for run_id in active_runs(&harness.home)? {
        let tried = recover_active(harness, &run_id, &mut done);
        done.note_failure(&run_id, tried);
    }
    let open = harness.ledger().runs_open().map_err(|error| RecoverError::Ledger(error.to_string()))?;
    for row in open {
        let Ok(run_id) = RunId::try_from(row.run_id) else { continue };
        if harness.home.active_run(&run_id).exists() {
            continue;
        }
        let tried = recover_vanished(harness, &run_id, &mut done);
        done.note_failure(&run_id, tried);
    }
    Ok(done)
}

/// A run that the ledger calls running and whose folder is gone.
fn recover_vanished(harness: &Harness, run_id: &RunId, done: &mut Recovered) -> Result<(), RecoverError> {
    if record_bundle(harness, run_id)? {
        done.recorded.push(run_id.to_string());
    } else {
        done.sealed.push(seal_dead(harness, run_id, None, None)?.report);
    }
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
    let entries = fs::read_dir(&active).map_err(|error| RecoverError::Io(active.clone(), error))?;
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
    if harness.home.bundle(run_id).exists() {
        remove_all(&dir)?;
        record_bundle(harness, run_id)?;
        done.recorded.push(run_id.to_string());
        return Ok(());
    }
    if entries(harness, run_id)?.is_empty() {
        Reserve::release(&harness.home, run_id);
        remove_all(&dir)?;
        done.removed.push(run_id.to_string());
        return Ok(());
    }
    let sealed = seal_dead(harness, run_id, Some((dir, lock)), None)?;
    done.sealed.push(sealed.report);
    Ok(())
}

fn remove_all(dir: &Path) -> Result<(), RecoverError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RecoverError::Io(dir.to_owned(), error)),
        _ => Ok(()),
    }
}

fn entries(harness: &Harness, run_id: &RunId) -> Result<Vec<Entry>, RecoverError> {
    harness.ledger().run_entries(run_id.as_str()).map_err(|error| RecoverError::Ledger(error.to_string()))
}

/// A bundle that is in place but not in the ledger, because the run died between the two.
fn record_bundle(harness: &Harness, run_id: &RunId) -> Result<bool, RecoverError> {
    let dir = harness.home.bundle(run_id);
    if !dir.exists() {
        return Ok(false);
    }
    let sealed = read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error))?;
    let now = RunClock::start().map_err(|error| RecoverError::Ledger(error.to_string()))?.now().to_string();
    harness
        .ledger()
        .run_sealed(&ledger_entry(&sealed, &now))
        .map_err(|error| RecoverError::Ledger(error.to_string()))?;
    remove_work(&harness.home, run_id);
    Ok(true)
}

/// What `seal` returned when the bundle was made.
fn read_sealed(dir: &Path) -> io::Result<Sealed> {
    let report_bytes = fs::read(dir.join(names::REPORT))?;
    let report: Report = serde_json::from_slice(&report_bytes)?;
    let attestation_sha256 = Digest::of(&fs::read(dir.join(names::ATTESTATION))?);
    let files = report.artifact_paths.len();
    Ok(Sealed { dir: dir.to_owned(), report, report_bytes, attestation_sha256, files })
}

/// Seals a run of this very process that could not go on.
pub(crate) fn seal_stopped(harness: &Harness, run_id: &RunId, stopped: &Stopped) -> Result<Sealed, RecoverError> {
    let dir = harness.home.active_run(run_id);
    match take_over(&dir) {
        Ok(Some(lock)) if !harness.home.bundle(run_id).exists() => {
            seal_dead(harness, run_id, Some((dir, lock)), Some(stopped))
        }
        // Another process saw that nobody held the run and seals it.
        _ => wait_for_bundle(harness, run_id),
    }
}

fn wait_for_bundle(harness: &Harness, run_id: &RunId) -> Result<Sealed, RecoverError> {
    let dir = harness.home.bundle(run_id);
    for _ in 0..200 {
        if dir.exists() {
            record_bundle(harness, run_id)?;
            return read_sealed(&dir).map_err(|error| RecoverError::Io(dir, error));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(RecoverError::Seal(run_id.to_string(), "another process holds it".to_owned()))
}

/// Makes the bundle of a run whose process is gone.
fn seal_dead(
    harness: &Harness,
    run_id: &RunId,
    left: Option<(PathBuf, File)>,
    stopped: Option<&Stopped>,
) -> Result<Sealed, RecoverError> {
    let failed = |error: String| RecoverError::Seal(run_id.to_string(), error);
    sandbox::sweep(&(MARKER.to_owned(), run_id.to_string()));
    Reserve::release(&harness.home, run_id);
    let entries = entries(harness, run_id)?;
    let started = entries
        .iter()
        .find(|entry| entry.kind == ledger::kind::RUN_STARTED)
        .ok_or_else(|| failed("the ledger has no intent of it".to_owned()))?;
    let intent: Intent = serde_json::from_value(started.body.clone()).map_err(|error| failed(error.to_string()))?;
    let engine_intent = entries.iter().find(|entry| entry.kind == ledger::kind::ENGINE_STARTING);
    let why = stopped.map_or_else(|| cause(&intent.detail.boot_id), ToString::to_string);
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
    let scene = Scene { harness, task: &task, ask: &ask, watch: Watch { cancel: &cancel, observer: &Quiet } };
    let sealed =
        scene.remains(run_id, started, engine_intent, left.as_ref().map(|(dir, _)| dir.as_path()), &why, stopped);
    let sealed = sealed
        .and_then(|remains| Evidence::from(remains).report()?.seal(SealedBy::Recover))
        .map_err(|error| failed(error.to_string()))?;
    if let Some((dir, _)) = &left {
        remove_all(dir)?;
    }
    remove_work(&harness.home, run_id);
    Ok(sealed)
}

fn cause(boot_id: &str) -> String {
    if boot_id == crate::host::boot_id() {
        "the harness process was killed".to_owned()
    } else {
        "the machine was restarted".to_owned()
    }
}

/// What a run is made of beside its own folder.
struct Scene<'a> {
    harness: &'a Harness,
    task: &'a Task,
    ask: &'a Ask,
    watch: Watch<'a>,
}

impl<'a> Scene<'a> {
    fn remains(
        &self,
        run_id: &RunId,
        started: &Entry,
        engine: Option<&Entry>,
        old: Option<&Path>,
        why: &str,
        stopped: Option<&Stopped>,
    ) -> Result<Remains<'a>, Stopped> {
        let old_events = old.map(|old| fs::read(old.join(names::EVENTS)).unwrap_or_default()).unwrap_or_default();
        let read = chain::read(&old_events, Some(run_id));
        let start = Stamp::try_from(started.time.clone())
            .map_err(|error| Stopped::Io(run_id.as_str().into(), io::Error::other(error)))?;
        let last = read.events.last().map_or(start, |event| event.time);
        let clock = RunClock::resume(start, last)
            .map_err(|error| Stopped::Io(run_id.as_str().into(), io::Error::other(error)))?;
        let draft = new_draft(&self.harness.home, run_id, clock.started())?;
        let id = self.harness.ledger().ledger_id().to_owned();
        let head = started.prev.parse().unwrap_or(Digest::ZERO);
        let ledger_at_start = SignedLedger { id, head, seq: started.seq.saturating_sub(1) };
        let contract_digest = self.task.contract.digest()?;
        let work = self.harness.home.work_run(run_id);
        let findings = Findings::default();
        let mut run = Run {
            canary: String::new(),
            layer: None,
            link: None,
            equipped: None,
            reserve: None,
            harness: self.harness,
            task: self.task,
            ask: self.ask,
            watch: self.watch,
            clock,
            ledger_at_start,
            contract_digest,
            draft,
            work,
            stage: None,
            findings,
        };
        run.draft.continue_chain(&old_events, last)?;
        run.findings.engine.started = engine.is_some();
        adopt(&mut run, old)?;
        settle_decision(&mut run, engine)?;
        run.catch_up()?;
        match stopped {
            Some(Stopped::Halted(_)) => run.findings.block(Reason::Halted, format!("the run was {why}"), names::TRACE),
            _ => {
                let text = format!("the run was interrupted: {why}");
                run.findings.block(Reason::HarnessInterrupted, text, names::TRACE);
            }
        }
        if let Some(Stopped::Write(error)) = stopped {
            run.trace("artifact.failed", json!({"error": error.error.to_string(), "path": error.name}))?;
            run.findings.block(Reason::ArtifactWriteFailure, error.to_string(), names::TRACE);
        }
        run.trace("recovered", json!({"events_kept": read.head.count, "why": why}))?;
        Ok(Remains { run })
    }
}

fn new_draft(home: &Home, run_id: &RunId, at: Stamp) -> Result<Draft, Stopped> {
    let dir = home.active().join(format!("{run_id}.recover"));
    remove_all(&dir).map_err(|error| Stopped::Io(dir.clone(), io::Error::other(error.to_string())))?;
    let lock = Draft::claim(&dir).map_err(|error| Stopped::Io(dir.clone(), error))?;
    // What the dead run wrote went through its own censor, which knew more.
    Ok(Draft::begin(dir, run_id.clone(), lock, at, Censor::new(Vec::new()))?)
}

/// Everything the dead run left, under `backend/recovered`.
fn adopt(run: &mut Run<'_>, old: Option<&Path>) -> Result<(), Stopped> {
    let Some(old) = old else { return Ok(()) };
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let dir = old.join(&below);
        let failed = |error| Stopped::Io(dir.clone(), error);
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{below}{name}");
            // Deeper than anything a run writes; a bundle may not be deeper than what `verify` reads.
            if kind.is_dir() && name.matches('/').count() < 20 {
                folders.push(format!("{name}/"));
            } else if kind.is_file() {
                let at = run.clock.now();
                run.draft.adopt(&entry.path(), &format!("backend/recovered/{name}"), at)?;
            }
        }
    }
    Ok(())
}

/// The decision the run rested on: from the intent of the engine's start, or one that says how far it came.
fn settle_decision(run: &mut Run<'_>, engine: Option<&Entry>) -> Result<(), Stopped> {
    let intent: Option<EngineIntent> = engine.and_then(|entry| serde_json::from_value(entry.body.clone()).ok());
    let inputs = intent.and_then(|intent| intent.inputs).unwrap_or_else(|| Inputs {
        contract_digest: run.contract_digest,
        engine: run.ask.engine.clone(),
        stage: run.ask.stage,
        purpose: run.ask.purpose,
        time: run.clock.started(),
        settings: unknown_settings(run.ask.sandbox),
        target: None,
        answer: None,
    });
    let decision = gate::decide(&run.task.contract, inputs)?;
    let at = run.clock.now();
    run.draft.write_json(names::CONTRACT, &run.task.contract, at)?;
    run.draft.write_json(names::DECISION, &decision, at)?;
    run.findings.baseline_commit = decision.inputs.target.as_ref().and_then(|target| target.baseline_commit.clone());
    run.findings.baseline_tree = decision.inputs.target.as_ref().and_then(|target| target.baseline_tree.clone());
    for refusal in &decision.refusals {
        run.findings.block_with(refusal.reason, refusal.text.clone(), &refusal.remedy, names::DECISION);
    }
    run.findings.decision = Some(decision);
    Ok(())
}

fn unknown_settings(sandbox_asked: Profile) -> SettingFacts {
    SettingFacts {
        gated: false,
        engine_unavailable: None,
        missing_programs: Vec::new(),
        halted: false,
        sandbox_asked,
        sandbox_available: vec![Profile::None, Profile::Strict],
        sandbox_shortfall: None,
        hidden_programs: Vec::new(),
        environment_problems: Vec::new(),
        environment_unavailable: Vec::new(),
        engine: None,
        model: None,
    }
}
