//! `cto demo --serve`: a team's history in a home that nobody keeps, and the console on it.
//!
//! Every run is a governed run of `fake`, or one of the stand-in for Case with a model that
//! answers from a script; every decision is signed by a key that lives as long as the home. One run after the other goes on while the
//! console is open.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bridge::UseLimits;
use contract::approval::HoldState;
use contract::{Purpose, Stage, Status};
use harness::{Ask, Engines, FAKE, Task};
use ledger::RequestStep;

use super::at_work::WorkAhead;
use crate::approvals_view::{Deciding, sentence_of};
use crate::args::{ApproveArgs, DemoArgs, ServeArgs};
use crate::commands::approve::grant;
use crate::commands::health::{Lab, Trial};
use crate::commands::request::{AskedRequest, make_request};
use crate::commands::stage_checks::{TrialHome, TrialRun, TrialStop};
use crate::commands::{INTERRUPTED, serve};
use crate::context::Context;
use crate::error::CommandError;

/// Cases that are run at their own stage: passes, failures, refusals.
const RUNS: [&str; 9] = [
    "r1-string-slugify",
    "shell-script-rotate-logs",
    "fail-no-diff",
    "fail-cheat-edits-tests",
    "r1-src-string-slugify",
    "fail-failed-tests",
    "fail-missing-test-command",
    "fail-reviewer-reject",
    "r1-slugify-punctuation",
];
/// The case that climbs.
const CLIMBED: &str = "r1-string-slugify";
/// Limits of a day, so that model use is accounted for.
const LIMITS: UseLimits = UseLimits { requests: Some(200), tokens: Some(2_000_000), money_micros: None };

/// A decision on a request, and whether the run is tried afterwards.
struct DecisionRow {
    case: &'static str,
    steps: &'static [DemoStep],
    is_run: bool,
}

/// An act of the operator on a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DemoStep {
    Approve,
    /// Approves for one second, and waits until that is over.
    ApproveBriefly,
    Deny,
    Hold,
    Revoke,
}

/// Requests at stage 4, one in each state: used, denied, held, revoked, expired, approved,
/// open.
const DECISIONS: [DecisionRow; 7] = [
    DecisionRow { case: CLIMBED, steps: &[DemoStep::Approve], is_run: true },
    DecisionRow { case: "r1-src-string-slugify", steps: &[DemoStep::Deny], is_run: true },
    DecisionRow { case: "r1-slugify-punctuation", steps: &[DemoStep::Hold], is_run: false },
    DecisionRow { case: "shell-script-rotate-logs", steps: &[DemoStep::Approve, DemoStep::Revoke], is_run: true },
    DecisionRow { case: "fail-no-diff", steps: &[DemoStep::ApproveBriefly], is_run: true },
    DecisionRow { case: "fail-reviewer-reject", steps: &[DemoStep::Approve], is_run: false },
    DecisionRow { case: "fail-failed-tests", steps: &[], is_run: false },
];

/// Makes the history and serves it until a signal.
pub(super) fn serve_history(context: &Context, arguments: &DemoArgs) -> Result<u8, CommandError> {
    context.refuse_when_halted()?;
    if !arguments.listen.ip().is_loopback() {
        return Err(
            CommandError::usage("the console of a demo listens on loopback alone").hint("--listen 127.0.0.1:4170")
        );
    }
    context.output.print_note("making a history of real runs in a temporary home\n");
    let trial = TrialHome::make_home(context, Engines::default())?;
    match play_history(context, &trial) {
        Ok(()) => {}
        Err(TrialStop::Interrupted) => return Ok(INTERRUPTED),
        Err(TrialStop::Failed(error)) => return Err(error),
    }
    let work = WorkAhead::in_home(&trial)?;
    let (mut shown, _folder) = trial.into_parts();
    shown.output = context.output;
    shown.config.models.limits_per_day = LIMITS;
    std::thread::scope(|scope| {
        let working = scope.spawn(|| work.run_until(&context.cancel));
        let served = serve::serve_console(shown, &ServeArgs::on_loopback(arguments.listen, arguments.open));
        // The run that goes on is sealed as interrupted before its home is removed.
        context.cancel.store(true, Ordering::Relaxed);
        let _ = working.join();
        served
    })
}

fn play_history(context: &Context, trial: &TrialHome<'_>) -> Result<(), TrialStop> {
    trial.make_signer()?;
    let say = |text: &str| context.output.print_note(&format!("{text}\n"));
    say("  runs of built-in cases");
    for case in RUNS {
        run_case(trial, case, None)?;
    }
    say("  the stand-in for Case with a model that answers from a script");
    ask_model(trial)?;
    say("  the ladder up to an owned repository");
    for stage in [Stage::GATED_ENGINE, Stage::ARTIFICIAL_FIXTURE, Stage::COPIED_REPOSITORY] {
        run_case(trial, CLIMBED, Some(stage))?;
    }
    say("  requests in every state");
    for row in &DECISIONS {
        decide_row(trial, row)?;
    }
    let first = land(trial, "billing-api")?;
    if first.report.status == Status::Pass {
        trial.accept(&first.report)?;
    }
    let _ = land(trial, "web-frontend")?;
    Ok(())
}

/// A governed run of `fake`.
fn run_case(trial: &TrialHome<'_>, case: &str, stage: Option<Stage>) -> Result<TrialRun, TrialStop> {
    let plain = Task::builtin(case).ok_or_else(|| missing(case))?.map_err(CommandError::from)?;
    let stage = stage.unwrap_or_else(|| plain.default_stage());
    let task = if stage == Stage::COPIED_REPOSITORY { trial.load_case(case, stage, "copied")? } else { plain };
    trial.run_task(&task, &governed(trial, case, stage, None))
}

pub(super) fn missing(case: &str) -> CommandError {
    CommandError::fail(format!("the built-in case `{case}` is missing"))
}

pub(super) fn governed(trial: &TrialHome<'_>, case: &str, stage: Stage, target: Option<&Path>) -> Ask {
    let request_command = format!("cto request {case} --stage {stage}");
    Ask { purpose: Purpose::Governed, request_command, ..trial.ask_run(FAKE, stage, target) }
}

/// Runs the stand-in: refused at a closed gate and for a model without an admission, and
/// twice up a rung in this home.
fn ask_model(trial: &TrialHome<'_>) -> Result<(), TrialStop> {
    let mut lab = Lab::build_lab(&trial.context)?.in_home(trial.context.config.home.clone()).limited(LIMITS);
    let governed = || Trial { purpose: Purpose::Governed, ..Trial::default() };
    let _ = lab.run_trial(governed())?;
    lab.open_gate(1)?;
    let _ = lab.run_trial(Trial { stage: 1, ..governed() })?;
    lab.open_gate(2)?;
    for admitted in [true, false, true] {
        let _ = lab.run_trial(Trial { admitted, ..governed() })?;
    }
    Ok(())
}

fn decide_row(trial: &TrialHome<'_>, row: &DecisionRow) -> Result<(), TrialStop> {
    let stage = Stage::DISPOSABLE_REPOSITORY;
    let task = trial.load_case(row.case, stage, row.case)?;
    let ask = governed(trial, row.case, stage, None);
    let Some(request) = request(trial, &task, &ask)? else { return Ok(()) };
    for step in row.steps {
        decide(trial, &request, *step)?;
    }
    if row.is_run {
        let _ = trial.run_task(&task, &ask)?;
    }
    Ok(())
}

/// Name of the request; none where another gate refuses the plan.
fn request(trial: &TrialHome<'_>, task: &Task, ask: &Ask) -> Result<Option<String>, CommandError> {
    Ok(match make_request(&trial.context, &trial.harness()?, task, ask, None)? {
        AskedRequest::Recorded(_, record) => Some(record.name()),
        AskedRequest::Refused(_) => None,
    })
}

fn decide(trial: &TrialHome<'_>, request: &str, step: DemoStep) -> Result<(), CommandError> {
    let kind = match step {
        DemoStep::Approve | DemoStep::ApproveBriefly => RequestStep::Granted,
        DemoStep::Deny => RequestStep::Denied,
        DemoStep::Hold => RequestStep::Held,
        DemoStep::Revoke => RequestStep::Revoked,
    };
    let deciding = Deciding::open_request(&trial.context, request, None, kind)?;
    let key = deciding.key.fingerprint();
    match step {
        DemoStep::Approve | DemoStep::ApproveBriefly => {
            let ttl = (step == DemoStep::ApproveBriefly).then_some(1);
            let arguments = ApproveArgs { ttl, ..ApproveArgs::with_request(deciding.request()) };
            let _ = grant(&deciding, sentence_of(&deciding.opened), &arguments)?;
            std::thread::sleep(Duration::from_millis(1100 * ttl.unwrap_or(0)));
        }
        DemoStep::Deny => {
            let denial = deciding.opened.draft_denial(&key, "the release branch is frozen until Monday")?;
            let _ = deciding.record_document(kind, &denial, false)?;
        }
        DemoStep::Hold => {
            let hold = deciding.opened.draft_hold(&key, HoldState::Held, "waits for the owner of the module")?;
            let _ = deciding.record_document(kind, &hold, false)?;
        }
        DemoStep::Revoke => {
            let revocation = deciding.opened.draft_revocation(&key, "approved the wrong baseline")?;
            let _ = deciding.record_document(kind, &revocation, false)?;
        }
    }
    Ok(())
}

/// A run at stage 5 on an admitted repository, approved; its result is one commit there.
fn land(trial: &TrialHome<'_>, name: &str) -> Result<TrialRun, TrialStop> {
    let stage = Stage::OWNED_REPOSITORY;
    let repository = trial.make_repository(name, CLIMBED)?;
    let target = trial.admit_target(&repository, &[])?;
    let task = trial.load_case(CLIMBED, stage, name)?;
    let ask = governed(trial, CLIMBED, stage, Some(&target));
    if let Some(request) = request(trial, &task, &ask)? {
        decide(trial, &request, DemoStep::Approve)?;
    }
    trial.run_task(&task, &ask)
}
