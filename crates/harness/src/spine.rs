//! The path of data, on one screen: contract, decision, copy, run, result, verification, report, bundle, ledger entry.

use std::path::PathBuf;

use contract::statement::SealedBy;
use contract::{Report, RunId};
use evidence::seal::Sealed;
use ledger::{AppendEntryError, FIRST_EPOCH};
use serde_json::{Value, json};

use crate::gather::decide::DecidedRun;
use crate::home::ask::Ask;
use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::file::{OpenRunError, RunFile, Stopped};
use crate::run::halt::HaltLookout;
use crate::run::harness::Harness;
use crate::run::lease::{ClaimedTurn, has_lost_epoch};
use crate::run::stop_run::StopQuestion;
use crate::seal::dead::{RecoverError, seal_stopped};
use crate::seal::landing::{RecoveredLanding, settle_landing};
use crate::seal::report::{Evidence, remove_work};
use crate::work::engines::{Attempted, Prepared};

/// A governed run. Each step consumes the one before it and is the only constructor of the next, so that neither an
/// ungated run nor a report without evidence can be written down.
fn follow(run: RunFile<'_>) -> Result<Sealed, Stopped> {
    let evidence: Evidence<'_> = match run.decide_run(&hold_beside)? {
        DecidedRun::Refused(refused) => refused.into(),
        DecidedRun::Preflight(admitted) => admitted.into(),
        DecidedRun::Admitted(admitted, target) => match admitted.prepare_engine(*target)? {
            Prepared::Blocked(blocked) => (*blocked).into(),
            Prepared::Ready(workspace) => match workspace.work()? {
                Attempted::Blocked(blocked) => (*blocked).into(),
                Attempted::Worked(worked) => {
                    let captured = worked.capture()?;
                    let verified = captured.verify()?;
                    verified.land()?.into()
                }
            },
        },
    };
    evidence.report()?.seal_run(SealedBy::Run)
}

/// Governs the run that another one is compared with.
pub(crate) fn hold_beside(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<Report, ErrorCause> {
    govern(harness, task, ask, watch).map(|outcome| outcome.sealed.report).map_err(Into::into)
}

/// Result of a run that started.
#[derive(Debug)]
pub struct RunOutcome {
    pub sealed: Sealed,
    /// A signal ended it.
    pub interrupted: bool,
}

/// Reason why there is no bundle to show.
#[derive(Debug, thiserror::Error)]
pub enum GovernError {
    /// The run never started: nothing is left behind.
    #[error(transparent)]
    Open(OpenRunError),
    /// The run started and could not be sealed now; the next command tries again.
    #[error(transparent)]
    Seal(RecoverError),
    /// Another instance took it over and seals it. Evidence of this one is kept apart and counts for nothing.
    #[error(
        "run {run_id} lost its lease, and another instance on the ledger sealed it; its own evidence is in {kept}{}",
        tell_landing(landing.as_deref())
    )]
    Late { run_id: RunId, kept: PathBuf, landing: Option<Box<RecoveredLanding>> },
}

fn tell_landing(landing: Option<&RecoveredLanding>) -> String {
    landing.map(|landing| format!("; {}", landing.sentence())).unwrap_or_default()
}

/// Runs a task and seals the result. A run that cannot go on is sealed all the same, as interrupted.
pub fn govern(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<RunOutcome, GovernError> {
    govern_turn(harness, task, ask, watch, None)
}

/// Runs a task of the queue in the same way, under the id that it was submitted with and the epoch of its claim.
pub fn govern_claimed(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    watch: Watch<'_>,
    turn: &ClaimedTurn,
) -> Result<RunOutcome, GovernError> {
    let governed = govern_turn(harness, task, ask, watch, Some(turn));
    if let Err(GovernError::Open(OpenRunError::Ledger(AppendEntryError::TurnRefused { .. }))) = &governed {
        record_refused(harness, &turn.run_id, turn.epoch, &json!({"step": "start"}));
    }
    governed
}

fn govern_turn(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    watch: Watch<'_>,
    turn: Option<&ClaimedTurn>,
) -> Result<RunOutcome, GovernError> {
    let lookout = HaltLookout::new(&harness.switch, watch.cancel);
    let outcome = lookout.during(|cancel| {
        let run = RunFile::open_run(harness, task, ask, Watch { cancel, ..watch }, turn).map_err(GovernError::Open)?;
        let (run_id, epoch) = (run.id().clone(), turn.map_or(FIRST_EPOCH, |turn| turn.epoch));
        let question = StopQuestion(harness.home.stop_path(&run_id));
        lookout.heed_stop(question.0.clone());
        match harness.keeping_lease(&run_id, epoch, || lookout.lose_lease(), || follow(run)) {
            Ok(sealed) => Ok(RunOutcome { sealed, interrupted: false }),
            Err(stopped) => {
                // Whatever stopped it: a run that another instance has by now is not ours to seal.
                if has_lost_epoch(harness, &run_id, epoch) {
                    return Err(late(harness, run_id, epoch));
                }
                let stopped = lookout.cause(stopped);
                let interrupted = matches!(stopped, Stopped::Cancelled);
                let sealed = seal_stopped(harness, &run_id, &stopped).map_err(GovernError::Seal)?;
                Ok(RunOutcome { sealed, interrupted })
            }
        }
    });
    harness.supervisor.settle_stages();
    outcome
}

/// Notes in the ledger that an epoch came too late; a ledger that cannot be reached now has refused it all the same.
fn record_refused(harness: &Harness, run_id: &RunId, epoch: u64, detail: &Value) {
    if let Ok(clock) = RunClock::start_clock() {
        let _ = harness.ledger().late_refused(run_id, epoch, clock.started(), detail);
    }
}

/// Puts the evidence of a run that lost its lease aside, and takes back what it has landed.
fn late(harness: &Harness, run_id: RunId, epoch: u64) -> GovernError {
    let landing = settle_landing(&harness.home, &run_id).map(|landing| Box::new(landing.ended));
    let landed = landing.as_deref().map(RecoveredLanding::sentence);
    record_refused(harness, &run_id, epoch, &json!({"landing": landed, "step": "result"}));
    let bundles = harness.home.bundles();
    let kept = bundles.late_dir(&run_id);
    remove_work(&harness.home, &run_id);
    match bundles.keep_late(&run_id, &harness.home.active_run(&run_id)) {
        Ok(()) => GovernError::Late { run_id, kept, landing },
        Err(error) => GovernError::Seal(RecoverError::Io(kept, error)),
    }
}
