//! `cto status`: one screen with what waits for the operator, what runs, and how far each
//! engine is proven.

use std::fmt::Write as _;

use contract::text::show_controls;
use contract::{RunId, Stage, Stamp, Status, TaskId};
use harness::{People, Policies};
use serde::Serialize;
use serde_json::json;
use views::{LadderView, LiveRun, Liveness, RequestQuery, RequestRules, RequestState, RungStatus};

use super::ladder::{LABELS, cut_text, painted};
use crate::approvals_view::age_text;
use crate::context::Context;
use crate::error::CommandError;
use crate::ladder_view::{Climber, LadderScene};
use crate::output::{Output, count_text};

/// Requests that one screen lists; `cto approvals --open` lists all.
const MOST_REQUESTS: usize = 50;
/// Passes without an outcome that one screen lists, the newest.
const MOST_OUTCOMES: usize = 50;
/// Width of the column that says how far a ladder is validated.
const REACHED: usize = 20;

/// A kind of thing that waits for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WaitingFor {
    Decision,
    Outcome,
    Recovery,
    Resume,
}

impl WaitingFor {
    /// Spelling in JSON output.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Outcome => "outcome",
            Self::Recovery => "recovery",
            Self::Resume => "resume",
        }
    }
}

/// One thing that waits, and the command that answers it.
#[derive(Debug, Serialize)]
pub(super) struct Waiting {
    pub(super) waits_for: WaitingFor,
    /// Request or run.
    pub(super) subject: String,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<Stamp>,
    pub(super) remedy: String,
}

/// One ladder in a line.
#[derive(Debug, Serialize)]
struct LadderLine {
    engine: String,
    source_id: Option<String>,
    model: Option<String>,
    /// The highest stage up to which every rung is validated.
    validated_up_to: Option<Stage>,
    next_stage: Option<Stage>,
    next_status: Option<RungStatus>,
    missing: Option<String>,
    remedy: Option<String>,
    #[serde(skip)]
    label: String,
}

/// All that is listed as waiting.
#[derive(Debug)]
struct Waits {
    waiting: Vec<Waiting>,
    older: OlderWaiting,
}

/// Things that wait and are not listed.
#[derive(Debug, Clone, Copy)]
struct OlderWaiting {
    requests: bool,
    outcomes: bool,
}

impl OlderWaiting {
    /// Each kind of which there is more: its word, a sentence, and the command that lists all.
    fn rows(self) -> impl Iterator<Item = (WaitingFor, &'static str, &'static str)> {
        let requests = (WaitingFor::Decision, "older requests wait for a decision too", "cto approvals --open");
        let outcomes = (WaitingFor::Outcome, "older passes wait for an outcome too", "cto runs --status pass");
        let both = [(self.requests, requests), (self.outcomes, outcomes)];
        both.into_iter().filter_map(|(is_so, row)| is_so.then_some(row))
    }

    fn is_any(self) -> bool {
        self.requests || self.outcomes
    }
}

#[derive(Debug, Serialize)]
struct RunningRun {
    run_id: RunId,
    task_id: TaskId,
    engine: String,
    stage: Stage,
    started_at: Stamp,
    phase: views::RunPhase,
}

/// Prints one screen with everything that waits or runs.
pub(crate) fn show_status(context: &Context) -> Result<u8, CommandError> {
    let scene = LadderScene::open_scene(context)?;
    let live = scene.views.list_live(scene.now)?;
    let (running, dead): (Vec<LiveRun>, Vec<LiveRun>) =
        live.into_iter().partition(|run| run.state == Liveness::Running);
    let mut waiting = halted(context);
    let (requests, older_requests) = requests(context, &scene)?;
    waiting.extend(requests);
    let (outcomes, older_outcomes) = outcomes(&scene)?;
    waiting.extend(outcomes);
    let older = OlderWaiting { requests: older_requests, outcomes: older_outcomes };
    waiting.extend(dead.into_iter().map(interrupted));
    let running: Vec<RunningRun> = running.into_iter().map(RunningRun::from).collect();
    let ladders = ladders(&scene)?;
    let output = context.output;
    if output.json {
        output.print_json(&json!({
            "ladders": ladders,
            "older_requests": older_requests,
            "older_waiting": older.is_any(),
            "running": running,
            "runtime_default_activation": false,
            "status": verdict(&waiting),
            "waiting": waiting,
        }))?;
    } else if output.terminal {
        output.print(&screen(output, scene.now, &Waits { waiting, older }, &running, &ladders));
    } else {
        output.print(&lines(&Waits { waiting, older }, &running, &ladders));
    }
    Ok(0)
}

fn verdict(waiting: &[Waiting]) -> &'static str {
    if waiting.is_empty() { "clear" } else { "waiting" }
}

/// Entry for a set kill switch.
pub(super) fn halted(context: &Context) -> Vec<Waiting> {
    let halted = harness::halted(&context.config.home);
    let waiting = halted.map(|halted| Waiting {
        waits_for: WaitingFor::Resume,
        subject: "halt".to_owned(),
        text: format!("the kill switch is {halted}"),
        since: None,
        remedy: "cto resume".to_owned(),
    });
    waiting.into_iter().collect()
}

/// Entries for the newest undecided requests; and true if there are older ones.
pub(super) fn requests(context: &Context, scene: &LadderScene<'_>) -> Result<(Vec<Waiting>, bool), CommandError> {
    let people = People::read_lists(&context.config.records)?;
    let policies = Policies::read_files(&context.config.records)?;
    let rules = RequestRules {
        standing: &|key, namespace, at| people.judge_key(key, namespace, at),
        terms: &|stage, target| policies.terms(stage, target),
    };
    let query = RequestQuery { open_only: true, limit: MOST_REQUESTS, ..RequestQuery::default() };
    let page = scene.views.list_requests(&query, &rules, scene.now)?;
    let has_older = page.next.is_some();
    let waiting = page.requests.into_iter().map(|request| {
        let target = request.target.map_or_else(String::new, |target| format!(" against {target}"));
        let remedy = match request.state {
            RequestState::Held => format!("cto hold {} --release --reason \"...\"", request.request),
            _ => format!("cto packet {}", request.request),
        };
        Waiting {
            waits_for: WaitingFor::Decision,
            text: format!("{} request of {}{target}, stage {}", request.state.as_str(), request.task_id, request.stage),
            subject: request.request,
            since: Some(request.requested_at),
            remedy,
        }
    });
    Ok((waiting.collect(), has_older))
}

/// The newest passes that wait for an outcome, oldest first; and true if there are older ones.
pub(super) fn outcomes(scene: &LadderScene<'_>) -> Result<(Vec<Waiting>, bool), CommandError> {
    let mut rows = scene.views.list_unanswered(MOST_OUTCOMES + 1)?;
    let has_older = rows.len() > MOST_OUTCOMES;
    rows.truncate(MOST_OUTCOMES);
    let waiting = rows.into_iter().rev().map(|row| Waiting {
        waits_for: WaitingFor::Outcome,
        text: format!("{} passed at stage {}, which does not count without an outcome", row.task_id, row.stage),
        remedy: format!("cto outcome {} accept --reason \"...\"", row.run_id.suffix()),
        subject: row.run_id.to_string(),
        since: row.finished_at,
    });
    Ok((waiting.collect(), has_older))
}

/// Entry for an interrupted run.
pub(super) fn interrupted(run: LiveRun) -> Waiting {
    Waiting {
        waits_for: WaitingFor::Recovery,
        subject: run.row.run_id.to_string(),
        text: format!("{} was interrupted and is not sealed", run.row.task_id),
        since: Some(run.row.started_at),
        remedy: "cto recover".to_owned(),
    }
}

impl From<LiveRun> for RunningRun {
    fn from(LiveRun { row, phase, .. }: LiveRun) -> Self {
        let (run_id, task_id, engine) = (row.run_id, row.task_id, row.engine);
        Self { run_id, task_id, engine, stage: row.stage, started_at: row.started_at, phase }
    }
}

fn ladders(scene: &LadderScene<'_>) -> Result<Vec<LadderLine>, CommandError> {
    scene.climbers(None)?.iter().map(|climber| Ok(in_a_line(scene, climber, &scene.ladder(climber)?))).collect()
}

fn in_a_line(scene: &LadderScene<'_>, climber: &Climber, ladder: &LadderView) -> LadderLine {
    let next = ladder.next_rung();
    let validated = ladder.rungs.iter().take_while(|rung| rung.status == RungStatus::Validated).last();
    LadderLine {
        engine: climber.engine.clone(),
        source_id: climber.source_id.clone(),
        model: climber.model.as_ref().map(ToString::to_string),
        validated_up_to: validated.map(|rung| rung.stage),
        next_stage: next.map(|rung| rung.stage),
        next_status: next.map(|rung| rung.status),
        missing: next.and_then(|rung| Some(rung.gap.as_ref()?.sentence())),
        remedy: next.and_then(|rung| scene.rung_remedy(climber, rung)),
        label: climber.label(),
    }
}

fn lines(waits: &Waits, running: &[RunningRun], ladders: &[LadderLine]) -> String {
    let waiting = &waits.waiting;
    let mut text = format!("{} {} running={}\n", verdict(waiting), waiting.len(), running.len());
    for (waits_for, _, command) in waits.older.rows() {
        let _ = writeln!(text, "older {} {command}", waits_for.as_str());
    }
    for one in waiting {
        let _ = writeln!(
            text,
            "waits {} {} {}",
            one.waits_for.as_str(),
            show_controls(&one.subject),
            show_controls(&one.remedy)
        );
    }
    for run in running {
        let _ = writeln!(text, "running {} {} {} {}", run.run_id, run.task_id, run.engine, run.stage);
    }
    for ladder in ladders {
        let reached = ladder.validated_up_to.map_or_else(|| "0".to_owned(), |stage| stage.to_string());
        let model = show_controls(ladder.model.as_deref().unwrap_or("-"));
        let next = ladder.next_status.map_or("-", RungStatus::as_str);
        let _ = writeln!(text, "ladder {} {model} validated={reached} next={next}", ladder.engine);
    }
    text
}

fn screen(output: Output, now: Stamp, waits: &Waits, running: &[RunningRun], ladders: &[LadderLine]) -> String {
    let paint = output.paint;
    let (words, painted_words) = match (waits.waiting.len(), waits.older.is_any()) {
        (0, _) => ("nothing waits for you".to_owned(), paint.like(Status::Pass, "nothing waits for you")),
        (number, has_older) => {
            let more = if has_older { "more than " } else { "" };
            let words = format!("{more}{} for you", count_text(number, "thing waits", "things wait"));
            (words.clone(), paint.like(Status::Blocked, &words))
        }
    };
    let mut text = format!("{}\n", output.headline(&painted_words, words.chars().count(), "no engine is a default"));
    waits.waiting.iter().for_each(|one| text.push_str(&waiting_lines(output, now, one)));
    for (_, sentence, command) in waits.older.rows() {
        let _ = write!(text, "\n  {}\n{}", output.hang(2, sentence), output.command_line(4, command));
    }
    text.push_str(&match running {
        [] => format!("\n{}\n", paint.dim("nothing runs")),
        running => format!("\n{}\n", count_text(running.len(), "run goes on", "runs go on")),
    });
    for run in running {
        let facts = format!("{}  {}  {} stage {}", run.run_id.suffix(), run.task_id, run.engine, run.stage);
        let _ = writeln!(text, "  {}", output.hang(2, &facts));
    }
    text.push_str("\nladder\n");
    let labels = ladders.iter().map(|ladder| ladder.label.chars().count()).max().unwrap_or(0).min(LABELS);
    ladders.iter().for_each(|ladder| text.push_str(&ladder_lines(output, ladder, labels)));
    let _ = writeln!(text, "\n{}  {}", paint.dim("next"), paint.command("cto ladder"));
    text
}

fn waiting_lines(output: Output, now: Stamp, one: &Waiting) -> String {
    let since = one.since.map_or_else(String::new, |since| {
        let seconds = u64::try_from(now.unix_seconds() - since.unix_seconds()).unwrap_or(0);
        format!(", {}", age_text(seconds))
    });
    let sentence = format!("{}{since}", show_controls(&one.text));
    format!("\n  {}\n{}", output.hang(2, &sentence), output.command_line(4, &show_controls(&one.remedy)))
}

/// One ladder; what it lacks is on a line of its own where it does not fit.
fn ladder_lines(output: Output, ladder: &LadderLine, labels: usize) -> String {
    let paint = output.paint;
    let (words, is_validated) = match ladder.validated_up_to {
        Some(stage) => (format!("validated to stage {stage}"), true),
        None => ("no rung validated".to_owned(), false),
    };
    let padded = format!("{words:<REACHED$}");
    let reached = if is_validated { paint.like(Status::Pass, &padded) } else { paint.dim(&padded) };
    let label = cut_text(&ladder.label, labels);
    let mut line = format!("  {label:<labels$}  {reached}");
    let mut width = labels + REACHED + 4;
    if let (Some(stage), Some(status)) = (ladder.next_stage, ladder.next_status) {
        let _ = write!(line, "  {stage} {}", painted(paint, status));
        width += 4 + status.words().chars().count();
    }
    let missing = show_controls(ladder.missing.as_deref().unwrap_or_default());
    match missing.chars().count() {
        0 => format!("{}\n", line.trim_end()),
        long if width + 2 + long <= output.width => format!("{line}  {}\n", paint.dim(&missing)),
        _ => format!("{}\n    {}\n", line.trim_end(), paint.dim(&output.hang(4, &missing))),
    }
}
