//! Validators of the stages: gates, a pass, every failure class, nothing changed. Shared by
//! `cto validate` and `cto health`.
//!
//! The harness is shown by runs of `fake` in a home that nobody keeps (`trial_home.rs`),
//! with the failure classes of `classes.rs` and the gates of `gates.rs`. That an engine
//! passes is never shown by a stand-in: `earned.rs` reads it from the verified bundles of
//! the operator's own home. `candidate.rs` has the checks of stage 6.

mod candidate;
mod check;
mod classes;
mod earned;
mod gates;
mod repository;
mod rows;
mod trial_home;

use std::path::Path;

use contract::{Stage, Status};
use evidence::names;
use harness::{Engines, FAKE};
use ledger::RequestStep;

use crate::context::Context;
use crate::error::CommandError;
pub(super) use candidate::{CANDIDATE_CHECKS, check_refresh, close_failures};
pub(super) use check::{NamedCheck, StageCheck, TrialStop, check_of_error, ended_otherwise, not_refused, worst};
use classes::classes_of;
pub(super) use earned::pass_of_rung;
use gates::{check_dispatch, check_gates};
pub(super) use rows::{ProofRow, ReportRow};
pub(super) use trial_home::{TrialHome, TrialRun};

/// The built-in case that passes.
const PASS_CASE: &str = "r1-string-slugify";
/// The engine whose gates are tried where none is named.
const GATED: &str = "case";

/// Check in place of those of a trial that an error ended.
pub(super) const TRIAL_CHECK: &str = "trial";
/// Check in place of those of the operator's home that an error ended.
pub(super) const HOME_CHECK: &str = "home";

/// Every check of one stage, and the reports that they rest on.
#[derive(Debug, Default)]
pub(super) struct StageFindings {
    pub(super) checks: Vec<NamedCheck>,
    pub(super) pass_reports: Vec<ReportRow>,
    pub(super) failure_reports: Vec<ReportRow>,
    /// The fake engine's run on the same case.
    pub(super) baseline: Option<ReportRow>,
    pub(super) proofs: Vec<ProofRow>,
}

impl StageFindings {
    fn add(&mut self, name: &str, check: StageCheck) {
        self.checks.push((name.to_owned(), check));
    }

    /// Findings of a stage that an error kept from being tried.
    pub(super) fn of_error(error: &CommandError) -> Self {
        Self { checks: vec![(TRIAL_CHECK.to_owned(), check_of_error(error))], ..Self::default() }
    }
}

/// Holds the checks of one stage, without those of the stages below it.
pub(super) fn check_stage(context: &Context, stage: Stage, engine: Option<&str>) -> Result<StageFindings, TrialStop> {
    let mut findings = match try_harness(context, stage, engine.unwrap_or(GATED)) {
        Err(TrialStop::Failed(error)) => StageFindings::of_error(&error),
        other => other?,
    };
    if let Err(error) = look_at_home(context, stage, engine, &mut findings) {
        findings.add(HOME_CHECK, check_of_error(&error));
    }
    Ok(findings)
}

/// Adds what the operator's own home shows.
fn look_at_home(
    context: &Context,
    stage: Stage,
    engine: Option<&str>,
    findings: &mut StageFindings,
) -> Result<(), CommandError> {
    if stage == Stage::OWNED_REPOSITORY {
        findings.failure_reports.extend(rows::unanswered(context, engine)?);
    }
    let Some(engine) = engine else { return Ok(()) };
    rest_on_rung(context, stage, engine, findings)?;
    if stage == Stage::CANDIDATE_DEFAULT {
        findings.checks.extend(candidate::check_candidate(context, engine)?);
    }
    Ok(())
}

/// Gates, a pass of `fake`, the failure classes, and repositories that stay as they are.
fn try_harness(context: &Context, stage: Stage, engine: &str) -> Result<StageFindings, TrialStop> {
    let mut trial = TrialHome::make_home(context, Engines::default())?;
    if stage >= Stage::DISPOSABLE_REPOSITORY {
        trial.make_signer()?;
    }
    let mut findings = StageFindings { checks: check_gates(&mut trial, context, engine, stage)?, ..Default::default() };
    if stage == Stage::GATED_ENGINE {
        let (name, check) = check_dispatch(&mut trial, context)?;
        findings.add(&name, check);
    }
    trial.context.config.engines = Engines::default();
    match stage {
        Stage::CANDIDATE_DEFAULT => findings.add("rung_missing", candidate::refuse_unearned(&trial)?),
        _ => pass_with_fake(&trial, stage, &mut findings)?,
    }
    for class in classes_of(stage) {
        let (check, report) = class.hold_class(&trial, stage)?;
        findings.failure_reports.push(ReportRow::of_trial(stage, class.name, &report));
        findings.add(class.name, check);
    }
    findings.add("no_mutation", StageCheck::fact(trial.find_change()?));
    Ok(findings)
}

/// One pass of `fake` with its proof, which earns nothing.
fn pass_with_fake(trial: &TrialHome<'_>, stage: Stage, findings: &mut StageFindings) -> Result<(), TrialStop> {
    let task = trial.load_case(PASS_CASE, stage, "pass")?;
    let target = match stage {
        Stage::OWNED_REPOSITORY => Some(trial.admit_target(&trial.make_repository("pass", PASS_CASE)?, &[])?),
        _ => None,
    };
    let ask = trial.ask_run(FAKE, stage, target.as_deref());
    if stage.mutation_mode().needs_approval() {
        trial.decide_on(&task, &ask, RequestStep::Granted)?;
    }
    let run = trial.run_task(&task, &ask)?;
    let proof = proof_of(stage).map(|name| ProofRow::of_trial(stage, &run, name));
    let unproven = proof.as_ref().filter(|proof| !proof.passed).map(|proof| format!("{} does not hold", proof.name));
    let wrong = ended_otherwise(&run.report, Status::Pass, &[]).or(unproven).or_else(|| landed_otherwise(stage, &run));
    findings.add("fake_pass", StageCheck::of_report(&run.report, wrong));
    findings.pass_reports.push(ReportRow::of_trial(stage, "pass", &run.report));
    findings.proofs.extend(proof);
    findings.baseline = Some(ReportRow::of_trial(stage, "baseline", &run.report));
    let rung = pass_of_rung(&trial.context, FAKE, stage)?;
    let counted = rung.gap.is_none().then(|| format!("{} counts on the ladder", run.report.run_id));
    findings.add("validation_does_not_count", StageCheck::fact(counted));
    Ok(())
}

/// The proof that a pass of `fake` has at a stage.
fn proof_of(stage: Stage) -> Option<&'static str> {
    match stage {
        Stage::COPIED_REPOSITORY => Some(names::STAGE_3),
        Stage::DISPOSABLE_REPOSITORY => Some(names::STAGE_4),
        Stage::OWNED_REPOSITORY => Some(names::STAGE_5),
        _ => None,
    }
}

/// A commit in a target below stage 5, or none at it.
fn landed_otherwise(stage: Stage, run: &TrialRun) -> Option<String> {
    match (&run.report.target_commit, stage >= Stage::OWNED_REPOSITORY) {
        (None, true) => Some("its target got no commit".to_owned()),
        (Some(commit), false) => Some(format!("{commit} was put into a target")),
        _ => None,
    }
}

/// The pass of an engine: the rung that its bundles earn in the operator's own home.
fn rest_on_rung(
    context: &Context,
    stage: Stage,
    engine: &str,
    findings: &mut StageFindings,
) -> Result<(), CommandError> {
    let rung = pass_of_rung(context, engine, stage)?;
    let check = rung.check_earned();
    let is_earned = check.passed;
    findings.add(&format!("{engine}_pass"), check);
    if !is_earned {
        return Ok(());
    }
    for (run_id, dir) in &rung.bundles {
        findings.pass_reports.push(ReportRow::of_bundle(stage, run_id, dir)?);
        findings.proofs.extend(ProofRow::of_bundle(stage, run_id, dir)?);
        if stage == Stage::ARTIFICIAL_FIXTURE {
            findings.baseline = rows::baseline_of(&context.config.home, dir)?.or(findings.baseline.take());
        }
    }
    Ok(())
}

/// Reads a JSON document of a bundle that a rung has verified.
fn read_document<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, CommandError> {
    let bytes =
        std::fs::read(file).map_err(|error| CommandError::blocked_with(format!("{}: {error}", file.display())))?;
    Ok(serde_json::from_slice(&bytes)?)
}
