//! One run: verdict, why, what next; then proof.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use contract::paths::PathVerdict;
use contract::report::{CheckResult, Report};
use contract::text::shown;
use ledger::RunStatus;
use views::VerifyResult;

use super::run_timeline::{EventRow, TimelineLane, draw_timeline};
use super::text::{millis_text, money_text};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::respond::html_page;
use crate::source::{PatchFile, PatchLineKind, RunFacts, RunState, verdict_word};
use crate::state::ConsoleState;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPageText {
    frame: Frame,
    run_id: String,
    word: &'static str,
    is_live: bool,
    is_sealed: bool,
    last_seq: String,
    meta: Vec<String>,
    reasons: Vec<ReasonRow>,
    next: Vec<String>,
    ident: Vec<IdentCell>,
    lanes: Vec<TimelineLane>,
    events: Vec<EventRow>,
    claims: Vec<ClaimRow>,
    patch: Vec<PatchFileRow>,
    passes: Vec<PassRow>,
    model: Vec<(&'static str, String)>,
    facts: RunFacts,
}

struct ReasonRow {
    code: &'static str,
    text: String,
    evidence: String,
    remedy: String,
}

struct IdentCell {
    label: &'static str,
    main: String,
    subs: Vec<String>,
}

struct ClaimRow {
    text: String,
    place: String,
    seen: String,
    verdict: &'static str,
}

struct PatchFileRow {
    path: String,
    verdict: &'static str,
    rule: &'static str,
    added: u64,
    removed: u64,
    lines: Vec<PatchLineRow>,
}

struct PatchLineRow {
    anchor: String,
    class: &'static str,
    old: String,
    new: String,
    sign: &'static str,
    text: String,
}

struct PassRow {
    kind: &'static str,
    ran_on: &'static str,
    command: String,
    executed: String,
    passed: String,
    failed: String,
    skipped: String,
    result: &'static str,
}

pub(crate) async fn run_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
) -> Response {
    match state.ask(move |source| source.view_run(&reference)).await {
        Ok(facts) => {
            let title = format!("{} {}", word_of(&facts), facts.row.task_id);
            html_page(StatusCode::OK, &RunPageText::of(Frame::new(&state, &viewer, "/runs", title), facts))
        }
        Err(error) => error_response(&state, &viewer, error),
    }
}

impl RunPageText {
    fn of(frame: Frame, facts: RunFacts) -> Self {
        let (lanes, events) = draw_timeline(&facts.events);
        Self {
            frame,
            run_id: facts.row.run_id.to_string(),
            word: word_of(&facts),
            is_live: facts.state == RunState::Running,
            is_sealed: matches!(facts.state, RunState::Sealed | RunState::Broken),
            last_seq: facts.events.last().map_or_else(String::new, |event| event.seq.to_string()),
            meta: meta_of(&facts),
            reasons: reasons_of(&facts),
            next: next_of(&facts),
            ident: ident_of(&facts),
            lanes,
            events,
            claims: facts.claims.iter().map(ClaimRow::of).collect(),
            patch: facts.patch.iter().enumerate().map(|(number, file)| PatchFileRow::of(number, file)).collect(),
            passes: facts.report.as_ref().map(passes_of).unwrap_or_default(),
            model: facts.report.as_ref().map(model_facts).unwrap_or_default(),
            facts,
        }
    }
}

/// The word of the banner. A bundle that does not verify has no verdict.
fn word_of(facts: &RunFacts) -> &'static str {
    match facts.state {
        RunState::Running => "running",
        RunState::Interrupted => "interrupted",
        RunState::Broken => "broken",
        RunState::Sealed | RunState::Collected => match facts.row.status {
            RunStatus::Pass => "pass",
            RunStatus::Fail => "fail",
            RunStatus::Blocked => "blocked",
            RunStatus::Running => "running",
        },
    }
}

fn meta_of(facts: &RunFacts) -> Vec<String> {
    let row = &facts.row;
    let mut meta = vec![row.task_id.to_string(), shown(&row.engine), format!("stage {}", row.stage)];
    meta.extend(row.duration_ms.map(|ms| format!("took {}", millis_text(ms))));
    meta.push(format!("started {}", row.started_at));
    meta.push(format!("purpose {}", row.purpose.as_str()));
    meta.extend(facts.phase.map(|phase| format!("now {phase:?}").to_lowercase()));
    meta.extend(facts.answer.as_ref().map(|answer| format!("outcome {}", answer.word())));
    meta
}

fn reasons_of(facts: &RunFacts) -> Vec<ReasonRow> {
    let Some(report) = &facts.report else { return Vec::new() };
    let rows = report.blockers.iter().map(|blocker| ReasonRow {
        code: blocker.reason.code(),
        text: shown(&blocker.text),
        evidence: shown(&blocker.evidence),
        remedy: shown(&name_run(report, &blocker.remedy)),
    });
    rows.collect()
}

/// A remedy speaks of `RUN`; here it is this one.
fn name_run(report: &Report, remedy: &str) -> String {
    remedy.replace("RUN", report.run_id.suffix()).replace("TASK", report.task_id.as_str())
}

fn next_of(facts: &RunFacts) -> Vec<String> {
    let name = facts.row.run_id.suffix();
    match facts.state {
        RunState::Running => vec!["cto halt --reason \"...\"".to_owned(), format!("cto show {name}")],
        RunState::Interrupted => vec!["cto recover".to_owned()],
        RunState::Collected => vec![format!("cto runs --task {}", facts.row.task_id)],
        RunState::Broken => vec![format!("cto verify {name}")],
        RunState::Sealed => vec![format!("cto show {name}"), format!("cto verify {name}"), format!("cto diff {name}")],
    }
}

fn ident_of(facts: &RunFacts) -> Vec<IdentCell> {
    let Some(report) = &facts.report else { return bare_ident(facts) };
    let model = report.model.as_ref();
    vec![
        IdentCell {
            label: "Contract",
            main: shown(&report.title),
            subs: vec![short(&report.contract_digest.to_string())],
        },
        IdentCell {
            label: "Engine",
            main: shown(&report.engine.id),
            subs: vec![shown(&report.engine.source_id), short(&report.engine.executable_sha256.to_string())],
        },
        IdentCell {
            label: "Model, from the wire",
            main: model
                .and_then(|model| model.requested.as_ref())
                .map_or("none".to_owned(), |pair| shown(&pair.to_string())),
            subs: model
                .map(|model| format!("{} of {} answered", model.used.answered, model.used.requests))
                .into_iter()
                .collect(),
        },
        IdentCell {
            label: "Sandbox, measured",
            main: report.sandbox.profile.to_string(),
            subs: vec![format!("asked for {}", report.sandbox.asked)],
        },
        IdentCell {
            label: "Approval",
            main: format!("{:?}", report.approval_status).to_lowercase().replace("notrequired", "not required"),
            subs: vec![report.allowed_mutation_scope.clone()],
        },
        IdentCell {
            label: "Signature",
            main: if facts.signer.is_some() { "valid".to_owned() } else { "unknown".to_owned() },
            subs: facts.signer.iter().map(|signer| short(signer)).collect(),
        },
    ]
}

/// The same cells of a run without a report.
fn bare_ident(facts: &RunFacts) -> Vec<IdentCell> {
    let none = || "not yet".to_owned();
    let cell = |label, main: String| IdentCell { label, main, subs: Vec::new() };
    vec![
        cell("Contract", facts.row.task_id.to_string()),
        cell("Engine", shown(&facts.row.engine)),
        cell("Model, from the wire", none()),
        cell("Sandbox, measured", none()),
        cell("Approval", none()),
        cell("Signature", none()),
    ]
}

fn short(digest: &str) -> String {
    shown(digest).chars().take(20).collect()
}

impl ClaimRow {
    fn of(judged: &contract::claim::JudgedClaim) -> Self {
        Self {
            text: shown(&judged.claim.saying.to_string()),
            place: shown(&judged.claim.found_in),
            seen: shown(&judged.seen),
            verdict: judged.verdict.as_str(),
        }
    }
}

impl PatchFileRow {
    fn of(number: usize, file: &PatchFile) -> Self {
        let lines = file.lines.iter().enumerate().map(|(line, patch)| PatchLineRow {
            anchor: format!("d{number}-{line}"),
            class: match patch.kind {
                PatchLineKind::Added => "add",
                PatchLineKind::Removed => "del",
                PatchLineKind::Hunk | PatchLineKind::Header => "hunk",
                PatchLineKind::Context => "",
            },
            old: patch.old.map_or_else(String::new, |line| line.to_string()),
            new: patch.new.map_or_else(String::new, |line| line.to_string()),
            sign: match patch.kind {
                PatchLineKind::Added => "+",
                PatchLineKind::Removed => "−",
                _ => " ",
            },
            text: shown(&patch.text),
        });
        let (added, removed, path) = (file.added, file.removed, shown(&file.path));
        let (verdict, rule) = (verdict_word(file.verdict), rule_text(file.verdict));
        Self { path, verdict, rule, added, removed, lines: lines.collect() }
    }
}

/// What the contract says of a path, in words.
const fn rule_text(verdict: PathVerdict) -> &'static str {
    match verdict {
        PathVerdict::Allowed => "An allowed path of the contract matches.",
        PathVerdict::Forbidden => "The contract forbids this path.",
        PathVerdict::Protected => "Protected: it was restored from the baseline before verification.",
        PathVerdict::Outside => "No allowed path of the contract matches.",
    }
}

fn passes_of(report: &Report) -> Vec<PassRow> {
    let row = |pass: &contract::report::VerificationPass| {
        let counts = pass.tests.result;
        let number = |get: fn(&contract::report::TestCounts) -> u64| {
            counts.as_ref().map_or_else(|| "–".to_owned(), |counts| get(counts).to_string())
        };
        PassRow {
            kind: pass.kind.as_str(),
            ran_on: pass.kind.ran_on(),
            command: shown(&pass.argv.join(" ")),
            executed: number(|counts| counts.executed),
            passed: number(|counts| counts.passed),
            failed: number(|counts| counts.failed),
            skipped: number(|counts| counts.skipped),
            result: match pass.result {
                CheckResult::Pass => "pass",
                CheckResult::Fail => "fail",
                CheckResult::NotRun => "not_started",
            },
        }
    };
    report.verification.passes.iter().map(row).collect()
}

fn model_facts(report: &Report) -> Vec<(&'static str, String)> {
    let Some(model) = &report.model else { return Vec::new() };
    let used = &model.used;
    let cost = match used.cost.unpriced_requests {
        0 => money_text(used.cost.micros),
        _ => "unpriced".to_owned(),
    };
    vec![
        ("Requests", used.requests.to_string()),
        ("Answered", used.answered.to_string()),
        ("Refused", used.refused.to_string()),
        ("Tokens in", used.tokens.prompt.to_string()),
        ("Cached", used.tokens.cached.to_string()),
        ("Tokens out", used.tokens.completion.to_string()),
        ("Cost", cost),
    ]
}

#[derive(Template)]
#[template(path = "verify.html")]
struct VerifyPage {
    frame: Frame,
    reference: String,
    word: &'static str,
    errors: Vec<(String, String)>,
    command: String,
    result: Arc<VerifyResult>,
}

/// Verifies the bundle now and shows the checks that do not hold.
pub(crate) async fn verify_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
) -> Response {
    let asked = reference.clone();
    let result = match state.ask(move |source| source.verify_run(&asked)).await {
        Ok(result) => result,
        Err(error) => return error_response(&state, &viewer, error),
    };
    let reference = shown(&reference);
    let errors = result.errors.iter().map(|error| {
        let text = format!("{}: expected {}, found {}", error.file, error.expected, error.found);
        (shown(&error.check), shown(&text))
    });
    let page = VerifyPage {
        frame: Frame::new(&state, &viewer, "/runs", "Verify"),
        word: if result.ok { "pass" } else { "fail" },
        command: format!("cto verify {reference}"),
        errors: errors.collect(),
        reference,
        result,
    };
    html_page(StatusCode::OK, &page)
}
