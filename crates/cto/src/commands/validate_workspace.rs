//! `cto validate workspace`: every record of the workspace, with a place and a remedy for
//! each finding.

use std::path::Path;
use std::time::Duration;

use contract::Status;
use contract::core_route::CorePromotionDecision;
use contract::text::show_controls;
use cortex::{RecordRow, check_model_admission, check_target_admission, list_records};
use harness::{Harness, HomePlace, Look, look_around};
use schemars::JsonSchema;
use serde::Serialize;
use workboard::{CheckRule, Finding, PROTOCOLS, Severity, WorkspaceCheck, apply_fixes, sarif_document};

use crate::args::ValidateWorkspaceArgs;
use crate::config::ValidatorFile;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::{Output, count_text};
use crate::workspace_scene::WorkspaceScene;

const DECISION: &str = "decisions/core-promotion.yaml";
/// Time that an external validator may take.
const LONGEST_VALIDATOR: Duration = Duration::from_secs(300);

/// Output of `--json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Workspace validation")]
pub(crate) struct WorkspaceValidation {
    pub(crate) ok: bool,
    /// Files that were looked at.
    checked: usize,
    pub(crate) errors: Vec<Finding>,
    advice: Vec<Finding>,
    /// External validators of harness.yaml, in order.
    validators: Vec<ValidatorResult>,
    /// Files that `--fix` changed.
    fixed: Vec<String>,
}

/// Result of an external validator.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ValidatorResult {
    name: String,
    passed: bool,
    exit: Option<i32>,
}

impl WorkspaceValidation {
    fn status(&self) -> Status {
        if self.ok { Status::Pass } else { Status::Fail }
    }
}

/// Checks the workspace, and fixes it first if asked to.
pub(super) fn validate_workspace(context: &Context, arguments: &ValidateWorkspaceArgs) -> Result<u8, CommandError> {
    let mut scene = WorkspaceScene::open_scene(context)?;
    let mut fixed = Vec::new();
    if arguments.fix {
        let applied = apply_fixes(&scene.root, &scene.files, &scene.check().findings);
        fixed = applied.map_err(|error| CommandError::blocked_with(error).hint("repeat the command"))?;
        scene = WorkspaceScene::open_scene(context)?;
    }
    let validation = judge_workspace(context, &scene, fixed)?;
    let output = context.output;
    if arguments.sarif {
        let all: Vec<Finding> = validation.errors.iter().chain(&validation.advice).cloned().collect();
        output.print_json(&sarif_document(env!("CARGO_PKG_VERSION"), &all))?;
    } else if output.json {
        output.print_json(&validation)?;
    } else if output.terminal {
        output.print(&show(output, &validation));
    } else {
        output.print(&lines(&validation));
    }
    Ok(validation.status().exit_code())
}

/// Everything that a workspace is judged by: its documents and board, its records, its
/// external validators.
pub(crate) fn judge_workspace(
    context: &Context,
    scene: &WorkspaceScene,
    fixed: Vec<String>,
) -> Result<WorkspaceValidation, CommandError> {
    let validators = run_validators(context, scene, |_| true)?;
    let mut check = check_documents(context, scene)?;
    let failed = validators.iter().filter(|result| !result.passed).map(|result| {
        let exit = result.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
        let message = format!("the validator `{}` does not pass: {exit}", show_controls(&result.name));
        Finding::about_file(
            "harness.yaml",
            CheckRule::ValidatorFailed,
            message,
            "run it yourself with `cto sandbox --` and fix what it names",
        )
    });
    check.add_findings(failed.collect());
    let checked = check.checked;
    let (errors, advice): (Vec<Finding>, Vec<Finding>) =
        check.findings.into_iter().partition(|finding| finding.severity == Severity::Error);
    Ok(WorkspaceValidation { ok: errors.is_empty(), checked, errors, advice, validators, fixed })
}

/// Findings about documents, board and records; nothing is started.
pub(crate) fn check_documents(context: &Context, scene: &WorkspaceScene) -> Result<WorkspaceCheck, CommandError> {
    let mut check = scene.check();
    check.add_findings(check_records(context, scene)?);
    Ok(check)
}

/// Records that cannot be used, those under the protocols among them.
fn check_records(context: &Context, scene: &WorkspaceScene) -> Result<Vec<Finding>, CommandError> {
    let mut rows = list_records(&context.config.records, scene.now)?;
    for (path, text) in scene.files.texts() {
        let is_admission = path.starts_with(PROTOCOLS)
            && path.to_uppercase().ends_with(".JSON")
            && path.to_uppercase().contains("ADMISSION");
        if !is_admission {
            continue;
        }
        let (places, file) = (&context.config.records, scene.root.join(path));
        rows.push(match text.contains("\"target_repository_path\"") {
            true => check_target_admission(places, &file, scene.now),
            false => check_model_admission(places, &file, scene.now),
        });
    }
    let decision = scene.files.text_of(DECISION).and_then(|text| {
        let problems = contract::source::load::<CorePromotionDecision>(DECISION, text.as_bytes()).err()?;
        let problem = problems.problems.into_iter().next()?;
        let remedy = "cto schema core-promotion-decision     every field";
        Some(Finding::at_place(
            DECISION,
            (problem.line, problem.column),
            CheckRule::RecordInvalid,
            problem.message,
            remedy,
        ))
    });
    Ok(rows.iter().filter_map(|row| describe_row(&scene.root, row)).chain(decision).collect())
}

fn describe_row(root: &Path, row: &RecordRow) -> Option<Finding> {
    let problem = row.problem.as_ref()?;
    let file = row.file.strip_prefix(root).unwrap_or(&row.file).display().to_string();
    let (place, message) = split_place(problem);
    let remedy = format!("cto record check {}", show_controls(&file));
    Some(Finding::at_place(&file, place, CheckRule::RecordInvalid, message, remedy))
}

/// Line and column of a text such as `a.json: a.json:3:5: error: ...`, and the rest of it.
fn split_place(problem: &str) -> ((usize, usize), String) {
    let Some((place, message)) = problem.split_once(": error: ") else { return ((1, 1), problem.to_owned()) };
    let mut parts = place.rsplit(':');
    let numbers = (parts.next().and_then(|text| text.parse().ok()), parts.next().and_then(|text| text.parse().ok()));
    match numbers {
        (Some(column), Some(line)) => ((line, column), message.to_owned()),
        _ => ((1, 1), problem.to_owned()),
    }
}

/// Runs the validators of harness.yaml, read-only and in the sandbox; their exit codes judge.
/// A harness writes its key, recovers what was interrupted and keeps its work in its home. So
/// this one has a home that nobody keeps, and a check changes nothing.
pub(super) fn run_validators(
    context: &Context,
    scene: &WorkspaceScene,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<ValidatorResult>, CommandError> {
    let wanted: Vec<_> = context.config.validators.iter().filter(|validator| is_wanted(&validator.name)).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let home = tempfile::Builder::new().prefix("cto-validators-").tempdir()?;
    let harness = context.harness_at(&HomePlace::from(home.path().join("home")))?;
    let mut results = Vec::new();
    for validator in wanted {
        let result = run_validator(context, &harness, validator, &scene.root)?;
        scene.evidence.note_validator(&result.name, result.passed);
        results.push(result);
    }
    Ok(results)
}

/// A test build may be told to be less patient.
fn longest_validator() -> Duration {
    if evidence::stop::has_defect("validators_hurried") { Duration::from_secs(2) } else { LONGEST_VALIDATOR }
}

fn run_validator(
    context: &Context,
    harness: &Harness,
    validator: &ValidatorFile,
    root: &Path,
) -> Result<ValidatorResult, CommandError> {
    let look = Look {
        argv: validator.argv.clone(),
        folder: root.to_owned(),
        shown: Vec::new(),
        contract: None,
        stdin: None,
        wall: longest_validator(),
    };
    let exit = match look_around(harness, &look, &context.cancel, &mut |_| {}) {
        Ok(looked) if !looked.timed_out => looked.exit,
        Ok(_) => None,
        Err(error) => return Err(CommandError::blocked_with(error).hint("cto doctor")),
    };
    Ok(ValidatorResult { name: validator.name.clone(), passed: exit == Some(0), exit })
}

fn lines(validation: &WorkspaceValidation) -> String {
    let WorkspaceValidation { checked, errors, advice, .. } = validation;
    let mut out =
        format!("{} checked={checked} errors={} advice={}\n", validation.status(), errors.len(), advice.len());
    validation.fixed.iter().for_each(|file| out.push_str(&format!("fixed {}\n", show_controls(file))));
    errors.iter().chain(advice).for_each(|finding| out.push_str(&format!("{}\n", finding.plain_line())));
    out
}

fn show(output: Output, validation: &WorkspaceValidation) -> String {
    let (paint, status) = (output.paint, validation.status());
    let WorkspaceValidation { checked, errors, advice, fixed, .. } = validation;
    let files = count_text(*checked, "file", "files");
    let mut out = format!(
        "{}  {files}, {}, {} of advice\n",
        paint.paint_status(status),
        count_text(errors.len(), "error", "errors"),
        advice.len()
    );
    fixed.iter().for_each(|file| out.push_str(&format!("  {} {}\n", paint.dim("fixed"), show_controls(file))));
    for finding in errors.iter().chain(advice) {
        let word = match finding.severity {
            Severity::Error => paint.like(Status::Fail, &finding.rule),
            Severity::Advice => paint.dim(&finding.rule),
        };
        out.push_str(&format!("\n  {}:{}:{}  {word}\n", show_controls(&finding.file), finding.line, finding.column));
        out.push_str(&format!("    {}\n", output.hang(4, &show_controls(&finding.message))));
        out.push_str(&output.command_line(4, &show_controls(&finding.remedy)));
    }
    out
}
