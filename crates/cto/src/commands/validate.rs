//! `cto validate stage N`: the validators of a stage and of every stage below it.

use std::fmt::Write as _;
use std::time::Instant;

use contract::text::show_controls;
use contract::{Stage, Status};
use harness::{FAKE, run_in_parallel};
use serde::Serialize;

use super::INTERRUPTED;
use super::stage_checks::{NamedCheck, ProofRow, ReportRow, StageFindings, TrialStop, check_stage, worst};
use super::validate_workspace::validate_workspace;
use crate::args::ValidateCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text, duration, wrap};

/// A check that does not hold, or could not be held.
#[derive(Debug, Serialize)]
struct ValidationError {
    check: String,
    stage: Stage,
    status: Status,
    text: String,
}

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct Validation {
    ok: bool,
    checked: usize,
    errors: Vec<ValidationError>,
    pass_reports: Vec<ReportRow>,
    failure_reports: Vec<ReportRow>,
    baseline: Option<ReportRow>,
    proofs: Vec<ProofRow>,
}

impl Validation {
    /// All stages together, lowest first.
    fn of(stages: Vec<(Stage, StageFindings)>) -> Self {
        let mut all = Self {
            ok: true,
            checked: 0,
            errors: Vec::new(),
            pass_reports: Vec::new(),
            failure_reports: Vec::new(),
            baseline: None,
            proofs: Vec::new(),
        };
        for (stage, findings) in stages {
            all.checked += findings.checks.len();
            all.errors.extend(findings.checks.iter().filter_map(|check| describe_error(stage, check)));
            all.pass_reports.extend(findings.pass_reports);
            all.failure_reports.extend(findings.failure_reports);
            all.proofs.extend(findings.proofs);
            if stage == Stage::ARTIFICIAL_FIXTURE {
                all.baseline = findings.baseline;
            }
        }
        all.ok = all.errors.is_empty();
        all
    }

    fn status(&self) -> Status {
        worst(self.errors.iter().map(|error| error.status))
    }
}

fn describe_error(stage: Stage, (name, check): &NamedCheck) -> Option<ValidationError> {
    let status = check.verdict();
    let text = check.problem().unwrap_or("it does not hold").to_owned();
    (status != Status::Pass).then(|| ValidationError { check: name.clone(), stage, status, text })
}

/// Validates a stage, the workspace or the summary.
pub(crate) fn validate(context: &Context, command: &ValidateCommand) -> Result<u8, CommandError> {
    let (stage, engine) = match command {
        ValidateCommand::Workspace(arguments) => return validate_workspace(context, arguments),
        ValidateCommand::Summary { file } => return super::summary::validate_summary(context, file.as_deref()),
        ValidateCommand::Stage { stage, engine } => (stage, engine),
    };
    let stage = Stage::try_from(*stage).map_err(CommandError::usage)?;
    let engine = engine.as_deref();
    if let Some(engine) = engine {
        context.known_engine(engine)?;
    }
    if engine == Some(FAKE) {
        let hint = format!("cto validate stage {stage}     without --engine tries the harness with fake");
        return Err(CommandError::usage("`fake` is the yardstick and climbs nothing").hint(hint));
    }
    context.refuse_when_halted()?;
    let began = Instant::now();
    let stages: Vec<Stage> = (1..=stage.number()).filter_map(|number| Stage::try_from(number).ok()).collect();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let found = run_in_parallel(&stages, jobs, |stage| {
        check_stage(context, *stage, engine).map(|findings| Some((*stage, findings)))
    });
    let found = match found {
        Ok(found) => found,
        Err(TrialStop::Interrupted) => return Ok(INTERRUPTED),
        Err(TrialStop::Failed(error)) => return Err(error),
    };
    let validation = Validation::of(found);
    let output = context.output;
    if output.json {
        output.print_json(&validation)?;
    } else if output.terminal {
        output.print(&show(output, stage, engine, &validation, &duration(began.elapsed())));
    } else {
        output.print(&lines(stage, engine, &validation));
    }
    Ok(validation.status().exit_code())
}

fn lines(stage: Stage, engine: Option<&str>, validation: &Validation) -> String {
    let engine = engine.map_or_else(String::new, |engine| format!(" engine={engine}"));
    let (failed, blocked) = count_errors(validation);
    let mut out = format!("{} stage={stage}{engine} checked={}", validation.status(), validation.checked);
    let _ = writeln!(out, " failed={failed} blocked={blocked}");
    for error in &validation.errors {
        let word = if error.status == Status::Fail { "failed" } else { "blocked" };
        let _ = writeln!(out, "{word} stage={} {} {}", error.stage, error.check, show_controls(&error.text));
    }
    out
}

fn count_errors(validation: &Validation) -> (usize, usize) {
    let failed = validation.errors.iter().filter(|error| error.status == Status::Fail).count();
    (failed, validation.errors.len() - failed)
}

fn show(output: Output, stage: Stage, engine: Option<&str>, validation: &Validation, took: &str) -> String {
    let paint = output.paint;
    let held = validation.checked - validation.errors.len();
    let of = engine.map_or_else(String::new, |engine| format!(" for {engine}"));
    let tail = format!("{held} of {} checks hold, stages 1 to {stage}{of}", validation.checked);
    let status = validation.status();
    let left = format!("{}  {tail}", paint.paint_status(status));
    let mut out = format!("{}\n", output.headline(&left, status.as_str().len() + 2 + tail.len(), took));
    for error in &validation.errors {
        let head = format!("stage {} {}", error.stage, error.check);
        let _ = writeln!(out, "\n  {} {head}", paint.like(error.status, error.status.as_str()));
        for line in wrap(&show_controls(&error.text), output.width.saturating_sub(4)) {
            let _ = writeln!(out, "    {line}");
        }
    }
    let passes = count_text(validation.pass_reports.len(), "pass", "passes");
    let failures = count_text(validation.failure_reports.len(), "failure", "failures");
    let proofs = count_text(validation.proofs.len(), "proof", "proofs");
    let _ = writeln!(out, "\n  {} {passes}, {failures}, {proofs}", paint.dim("rests on"));
    out
}
