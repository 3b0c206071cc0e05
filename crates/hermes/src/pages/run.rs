//! One run: verdict, why, what next; then proof.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Form};
use contract::paths::PathVerdict;
use contract::report::{CheckResult, Report};
use contract::text::show_controls;
use contract::{Coverage, EventKind};
use ledger::RunStatus;
use serde::Deserialize;

use super::act::{AskedAct, make_act_token, perform_act};
use super::remedy::RemedyWords;
use super::run_ident::{IdentField, ident_of};
use super::run_timeline::{EventRow, TimelineLane, draw_timeline};
use super::text::{millis_text, money_text, time_text};
use super::{Frame, error_response};
use crate::access::Viewer;
use crate::page_cache::CachedPart;
use crate::respond::{html_page, see_other, tagged_page};
use crate::source::{
    OperatorActKind, PatchFile, PatchLineKind, RunFacts, RunMark, RunState, SourceError, verdict_word,
};
use crate::state::ConsoleState;

/// Values of the template of one run.
#[derive(Template)]
#[template(path = "run.html", blocks = ["main"])]
pub(super) struct RunPageText {
    frame: Frame,
    pub(super) run_id: String,
    /// True in a file: there is no server that a link could lead to.
    is_offline: bool,
    word: &'static str,
    is_live: bool,
    is_sealed: bool,
    is_past_policy: bool,
    last_seq: String,
    meta: Vec<String>,
    reasons: Vec<ReasonRow>,
    next: Vec<String>,
    ident: Vec<IdentField>,
    lanes: Vec<TimelineLane>,
    events: Vec<EventRow>,
    claims: Vec<ClaimRow>,
    patch: Vec<PatchFileRow>,
    passes: Vec<PassRow>,
    model: Vec<(&'static str, String)>,
    /// Form token for stopping; empty where the session has no such control.
    stop_token: String,
    /// Refusal of an act.
    said: Option<String>,
    facts: RunFacts,
}

struct ReasonRow {
    code: &'static str,
    text: String,
    evidence: String,
    remedy: RemedyWords,
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
    /// Glob of the contract or the exam set that decided.
    glob: String,
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

/// A page around a part that is the same for everybody.
#[derive(Template)]
#[template(path = "run_kept.html")]
struct KeptPage {
    frame: Frame,
    /// Rendered by [`RunPageText`], which escapes everything foreign.
    part: Arc<CachedPart>,
}

/// Page of one run; the part of a sealed run comes from the cache.
pub(crate) async fn run_page(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
) -> Response {
    let asked = reference.clone();
    // The mark is older than the facts, so that a change between the two makes the next
    // look a new one.
    let mark = state.ask_source(move |source| Ok(source.mark_run(&asked))).await.ok().flatten();
    if let Some(part) = mark.and_then(|mark| state.pages.recall(&reference, mark)) {
        return kept_page(&state, &viewer, part);
    }
    let asked = reference.clone();
    match state.ask_source(move |source| source.view_run(&asked)).await {
        Ok(facts) => show_run(&state, &viewer, facts, (&reference, mark)),
        Err(error) => error_response(&state, &viewer, error),
    }
}

/// Stops the run, which is then sealed as interrupted.
pub(crate) async fn stop_run(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Form(form): Form<StopForm>,
) -> Response {
    let name = reference.clone();
    let asked = AskedAct { act: OperatorActKind::Stop, subject: reference.clone(), token: form.token };
    match perform_act(&state, &viewer, asked, move |source, _| source.stop_run(&name)).await {
        Ok(()) => see_other(&format!("/runs/{reference}")),
        Err(error) => show_refusal(&state, &viewer, reference, &error).await,
    }
}

/// The page of the run, with what was not done and why.
async fn show_refusal(state: &Arc<ConsoleState>, viewer: &Viewer, run: String, refused: &SourceError) -> Response {
    let facts = match state.ask_source(move |source| source.view_run(&run)).await {
        Ok(facts) => facts,
        Err(error) => return error_response(state, viewer, error),
    };
    let mut page = RunPageText::of_session(state, viewer, facts);
    page.said = Some(refused.to_string());
    html_page(StatusCode::CONFLICT, &page)
}

/// Form that stops a run.
#[derive(Debug, Deserialize)]
pub(crate) struct StopForm {
    #[serde(default)]
    token: String,
}

/// Shows a run, and keeps the part of a sealed one that belongs to no session.
fn show_run(state: &ConsoleState, viewer: &Viewer, facts: RunFacts, asked: (&str, Option<RunMark>)) -> Response {
    let title = format!("{} {}", word_of(&facts), facts.row.task_id);
    let is_sealed = facts.state == RunState::Sealed;
    let page = RunPageText::of_session(state, viewer, facts);
    if !is_sealed {
        return html_page(StatusCode::OK, &page);
    }
    let Ok(text) = page.as_main().render() else { return html_page(StatusCode::OK, &page) };
    let part = Arc::new(CachedPart::new(title, text));
    if let (run, Some(mark)) = asked {
        state.pages.keep_part(run, mark, &part);
    }
    kept_page(state, viewer, part)
}

/// The whole page of one session, with a tag that is made of the session's own words and
/// the digest of the part.
fn kept_page(state: &ConsoleState, viewer: &Viewer, part: Arc<CachedPart>) -> Response {
    let frame = Frame::new(state, viewer, "/runs", part.title.as_str());
    let tagged = format!("{frame:?}{}", part.digest);
    tagged_page(&KeptPage { frame, part }, &tagged)
}

impl RunPageText {
    /// The page with what belongs to one session: its frame, and its right to stop a run.
    fn of_session(state: &ConsoleState, viewer: &Viewer, facts: RunFacts) -> Self {
        let title = format!("{} {}", word_of(&facts), facts.row.task_id);
        let mut page = Self::of(Frame::new(state, viewer, "/runs", title), facts);
        if page.is_live {
            page.stop_token = make_act_token(state, viewer);
        }
        page
    }

    /// The page as part of a file.
    pub(super) fn offline(frame: Frame, facts: RunFacts) -> Self {
        Self { is_offline: true, ..Self::of(frame, facts) }
    }

    /// Address of a file of the bundle.
    fn log_link(&self, name: &str) -> String {
        let name = percent_encoded(name);
        if self.is_offline { format!("#file:{name}") } else { format!("/runs/{}/log?name={name}", self.run_id) }
    }

    fn verify_link(&self) -> String {
        if self.is_offline { "#verifier".to_owned() } else { format!("/runs/{}/verify", self.run_id) }
    }

    fn of(frame: Frame, facts: RunFacts) -> Self {
        let (lanes, events) = draw_timeline(&facts.events);
        Self {
            frame,
            run_id: facts.row.run_id.to_string(),
            is_offline: false,
            word: word_of(&facts),
            is_live: facts.state == RunState::Running,
            is_sealed: matches!(facts.state, RunState::Sealed | RunState::Broken),
            is_past_policy: is_past_policy(&facts),
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
            stop_token: String::new(),
            said: None,
            facts,
        }
    }
}

/// True of a run that was approved past the policy, by its report or, while it goes on, by its events.
fn is_past_policy(facts: &RunFacts) -> bool {
    let by_report = facts.report.as_ref().is_some_and(|report| report.coverage.contains(&Coverage::BreakGlass));
    by_report || facts.events.iter().any(|event| event.kind == EventKind::ApprovalBreakGlass)
}

/// A name as part of an address. Askama's own filter writes to a template alone.
fn percent_encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
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
    let mut meta = vec![row.task_id.to_string(), show_controls(&row.engine), format!("stage {}", row.stage)];
    meta.extend(row.duration_ms.map(|ms| format!("took {}", millis_text(ms))));
    meta.push(format!("started {}", time_text(row.started_at)));
    meta.push(format!("purpose {}", row.purpose.as_str()));
    meta.extend(facts.phase.map(|phase| format!("now {phase:?}").to_lowercase()));
    meta.extend(facts.answer.as_ref().map(|answer| format!("outcome {}", answer.word())));
    meta.extend(facts.report.as_ref().and_then(landed_text));
    meta
}

/// Commit and branch of a run that landed one.
fn landed_text(report: &Report) -> Option<String> {
    let (branch, commit) = (report.result_branch.as_ref()?, report.result_commit.as_ref()?);
    Some(format!("landed {} on branch {}", commit.get(..12).unwrap_or(commit), show_controls(branch)))
}

fn reasons_of(facts: &RunFacts) -> Vec<ReasonRow> {
    let Some(report) = &facts.report else { return Vec::new() };
    let rows = report.blockers.iter().map(|blocker| ReasonRow {
        code: blocker.reason.code(),
        text: show_controls(&blocker.text),
        evidence: show_controls(&blocker.evidence),
        remedy: RemedyWords::of_text(&show_controls(&report.fill_remedy(&blocker.remedy))),
    });
    rows.collect()
}

fn next_of(facts: &RunFacts) -> Vec<String> {
    let name = facts.row.run_id.suffix();
    match facts.state {
        RunState::Running => vec![format!("cto stop {name}"), format!("cto show {name}")],
        RunState::Interrupted => vec!["cto recover".to_owned()],
        RunState::Collected => vec![format!("cto runs --task {}", facts.row.task_id)],
        RunState::Broken => vec![format!("cto verify {name}")],
        RunState::Sealed => vec![format!("cto show {name}"), format!("cto verify {name}"), format!("cto diff {name}")],
    }
}

impl ClaimRow {
    fn of(judged: &contract::claim::JudgedClaim) -> Self {
        Self {
            text: show_controls(&judged.claim.saying.to_string()),
            place: show_controls(&judged.claim.found_in),
            seen: show_controls(&judged.seen),
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
            text: show_controls(&patch.text),
        });
        let (added, removed, path) = (file.added, file.removed, show_controls(&file.path));
        let (verdict, glob) =
            (verdict_word(file.verdict), file.glob.as_deref().map_or_else(String::new, show_controls));
        let rule = rule_text(file.verdict, glob.is_empty());
        Self { path, verdict, rule, glob, added, removed, lines: lines.collect() }
    }
}

/// Judgement of the contract on a path, in words; the glob that decided is named behind it.
const fn rule_text(verdict: PathVerdict, is_bare: bool) -> &'static str {
    match (verdict, is_bare) {
        (PathVerdict::Allowed, false) => "Allowed by this line of the contract:",
        (PathVerdict::Allowed, true) => "An allowed path of the contract matches.",
        (PathVerdict::Forbidden, false) => "Forbidden by this line of the contract:",
        (PathVerdict::Forbidden, true) => "The contract forbids this path.",
        (PathVerdict::Protected, false) => "Protected, so restored from the baseline before verification, by the rule",
        (PathVerdict::Protected, true) => "Protected: it was restored from the baseline before verification.",
        (PathVerdict::Outside, _) => "No allowed path of the contract matches.",
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
            command: show_controls(&pass.argv.join(" ")),
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
