//! The path of data, on one screen: contract, decision, copy, run, result, verification, report, bundle, ledger entry.

use std::path::PathBuf;

use contract::statement::SealedBy;
use contract::{Report, RunId};
use evidence::seal::Sealed;

use crate::gather::decide::Decided;
use crate::home::ask::Ask;
use crate::home::cause::ErrorCause;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::file::{OpenRunError, RunFile, Stopped};
use crate::run::halt::Lookout;
use crate::run::harness::Harness;
use crate::run::lease::is_lost;
use crate::seal::dead::{RecoverError, seal_stopped};
use crate::seal::report::{Evidence, remove_work};
use crate::work::engines::{Attempted, Prepared};

/// A governed run. Each step consumes the one before it and is the only constructor of the next, so that neither an
/// ungated run nor a report without evidence can be written down.
fn follow(run: RunFile<'_>) -> Result<Sealed, Stopped> {
    let evidence: Evidence<'_> = match run.decide(&hold_beside)? {
        Decided::Refused(refused) => refused.into(),
        Decided::Preflight(admitted) => admitted.into(),
        Decided::Admitted(admitted, target) => match admitted.prepare(*target)? {
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
    evidence.report()?.seal(SealedBy::Run)
}

/// Governs the run that another one is compared with.
pub(crate) fn hold_beside(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<Report, ErrorCause> {
    govern(harness, task, ask, watch).map(|outcome| outcome.sealed.report).map_err(Into::into)
}

/// What came of a run that started.
#[derive(Debug)]
pub struct Outcome {
    pub sealed: Sealed,
    /// A signal ended it.
    pub interrupted: bool,
}

/// Why there is no bundle to show.
#[derive(Debug, thiserror::Error)]
pub enum GovernError {
    /// It never started: nothing is left behind.
    #[error(transparent)]
    Open(OpenRunError),
    /// It started and could not be sealed now; the next command tries again.
    #[error(transparent)]
    Seal(RecoverError),
    /// Another instance took it over and seals it. Evidence of this one is kept apart and counts for nothing.
    #[error(
        "run {run_id} lost its lease, and another instance on the same ledger has sealed it; its own evidence lies in {kept}"
    )]
    Late { run_id: RunId, kept: PathBuf },
}

/// Runs a task and seals what came of it. A run that cannot go on is sealed all the same, as interrupted.
pub fn govern(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<Outcome, GovernError> {
    let lookout = Lookout::new(&harness.switch, watch.cancel);
    let outcome = lookout.during(|cancel| {
        let run = RunFile::open(harness, task, ask, Watch { cancel, ..watch }).map_err(GovernError::Open)?;
        let run_id = run.id().clone();
        match harness.keeping_lease(&run_id, || lookout.lose_lease(), || follow(run)) {
            Ok(sealed) => Ok(Outcome { sealed, interrupted: false }),
            Err(stopped) => {
                // Whatever stopped it: a run that another instance has by now is not ours to seal.
                if is_lost(harness, &run_id) {
                    return Err(late(harness, run_id));
                }
                let stopped = lookout.cause(stopped);
                let interrupted = matches!(stopped, Stopped::Cancelled);
                let sealed = seal_stopped(harness, &run_id, &stopped).map_err(GovernError::Seal)?;
                Ok(Outcome { sealed, interrupted })
            }
        }
    });
    harness.supervisor.settle();
    outcome
}

/// Puts the evidence of a run that lost its lease aside.
fn late(harness: &Harness, run_id: RunId) -> GovernError {
    let bundles = harness.home.bundles();
    let kept = bundles.late_dir(&run_id);
    remove_work(&harness.home, &run_id);
    match bundles.keep_late(&run_id, &harness.home.active_run(&run_id)) {
        Ok(()) => GovernError::Late { run_id, kept },
        Err(error) => GovernError::Seal(RecoverError::Io(kept, error)),
    }
}
