//! One picture: lines that fit the terminal. Pure, so that every size is tested without one.

use contract::Status;
use contract::text::{money_text, show_controls};
use ledger::RunStatus;
use views::{RunPhase, RunSummary, SpendRow};

use super::scene::{TopFacts, TopRun, since};
use crate::approvals_view::age_text;
use crate::live::board::clock_text;
use crate::live::columns::{cut_end, cut_middle, text_width};
use crate::output::Paint;

/// Rows of model use and of refusals at most.
const MOST_SPEND: usize = 4;
const MOST_REFUSED: usize = 6;
/// Columns of a left part below which the right one is left out.
const LEAST_LEFT: usize = 12;
/// Columns of a status.
const STATUS: usize = 8;

/// Size and colours of a picture.
#[derive(Clone, Copy)]
struct TopStyle {
    width: usize,
    paint: Paint,
}

impl TopStyle {
    /// A line with a right-hand column; the left part is cut to leave room for it.
    fn line(self, left: &str, right: &str) -> String {
        let room = self.width.saturating_sub(text_width(right) + 2);
        if room < LEAST_LEFT {
            return cut_end(left, self.width);
        }
        let left = cut_middle(left, room);
        let pad = self.width.saturating_sub(text_width(&left) + text_width(right));
        cut_end(&format!("{left}{}{right}", " ".repeat(pad)), self.width)
    }

    /// The same with a word in front, which alone is painted.
    fn marked(self, word: &str, painted: &str, left: &str, right: &str) -> String {
        let lead = STATUS + 2;
        let rest = Self { width: self.width.saturating_sub(lead), ..self }.line(left, right);
        let pad = " ".repeat(STATUS.saturating_sub(text_width(word)));
        if self.width <= lead { cut_end(word, self.width) } else { format!("  {painted}{pad}{rest}") }
    }

    fn title(self, text: &str) -> String {
        self.paint.dim(&cut_end(text, self.width))
    }
}

/// Never more lines than rows, and none wider than the columns.
pub(super) fn draw_top(facts: &TopFacts, columns: usize, rows: usize, paint: Paint) -> Vec<String> {
    let style = TopStyle { width: columns, paint };
    let mut lines = vec![headline(facts, style)];
    if let Some(problem) = &facts.problem {
        lines.push(style.marked("stale", &paint.like(Status::Blocked, "stale"), &show_controls(problem), ""));
    }
    if let Some(halted) = &facts.halted {
        lines.push(style.marked(
            "halted",
            &paint.like(Status::Blocked, "halted"),
            &show_controls(halted),
            "cto resume",
        ));
    }
    if facts.interrupted > 0 {
        let text = format!("{} without a process", facts.interrupted);
        lines.push(style.marked("dead", &paint.like(Status::Fail, "dead"), &text, "cto recover"));
    }
    lines.extend(draw_running(&facts.running, style, rows / 2));
    lines.extend(draw_spend(&facts.spend, style));
    lines.extend(draw_refused(facts, style));
    let room = rows.saturating_sub(lines.len() + 2);
    if room > 1 {
        lines.push(style.title("runs"));
        lines.extend(facts.recent.iter().take(room).map(|run| run_line(run, facts, style)));
    }
    lines.truncate(rows.saturating_sub(1));
    lines.push(style.title("q quits; looking changes nothing"));
    lines
}

fn headline(facts: &TopFacts, style: TopStyle) -> String {
    let time: String = facts.now.to_string().chars().skip(11).take(8).collect();
    style.line(&format!("cto top  {} runs, {} running", facts.total, facts.running.len()), &format!("{time} UTC"))
}

fn draw_running(running: &[TopRun], style: TopStyle, most: usize) -> Vec<String> {
    let mut lines = vec![style.title("running")];
    if running.is_empty() {
        lines.push(style.title("  nothing; a run is started with `cto run`"));
    }
    for run in running {
        let right = clock_text(run.age);
        let word = phase_word(run.phase);
        lines.push(style.marked(
            word,
            &style.paint.like_running(word),
            &format!("{}  {}", run.title, run.suffix),
            &right,
        ));
        let below = run.act.iter().chain(&run.usage).chain(&run.tail);
        let indent = " ".repeat(STATUS + 4);
        lines.extend(below.map(|text| cut_end(&format!("{indent}{}", show_controls(text)), style.width)));
    }
    if lines.len() > most.max(2) {
        lines.truncate(most.max(2) - 1);
        lines.push(style.title("  more goes on than fits here: cto status"));
    }
    lines
}

const fn phase_word(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::Deciding => "gates",
        RunPhase::Preparing => "prepares",
        RunPhase::Working => "works",
        RunPhase::Verifying => "verifies",
        RunPhase::Sealing => "seals",
    }
}

fn draw_spend(spend: &[SpendRow], style: TopStyle) -> Vec<String> {
    if spend.is_empty() {
        return Vec::new();
    }
    let line = |row: &SpendRow| {
        let engine = row.engine.as_deref().unwrap_or("unknown");
        let left = format!("  {}  {}", show_controls(engine), show_controls(&row.pair));
        style
            .line(&left, &format!("{} requests  {} tokens  {}", row.requests, row.tokens, money_text(row.money_micros)))
    };
    std::iter::once(style.title("spend today")).chain(spend.iter().take(MOST_SPEND).map(line)).collect()
}

/// The newest runs that did not pass, with the worst reason of each.
fn draw_refused(facts: &TopFacts, style: TopStyle) -> Vec<String> {
    let refused: Vec<&RunSummary> =
        facts.recent.iter().filter(|run| !run.row.reasons.is_empty()).take(MOST_REFUSED).collect();
    if refused.is_empty() {
        return Vec::new();
    }
    let line = |run: &&RunSummary| {
        let reason = run.row.reasons.first().map_or_else(String::new, ToString::to_string);
        let more = run.row.reasons.len().saturating_sub(1);
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        style.line(&format!("  {reason}{more}"), &format!("{}  {}", run.row.task_id, run.row.run_id.suffix()))
    };
    std::iter::once(style.title("refused")).chain(refused.iter().map(line)).collect()
}

fn run_line(run: &RunSummary, facts: &TopFacts, style: TopStyle) -> String {
    let row = &run.row;
    let (word, status) = match row.status {
        RunStatus::Pass => ("pass", Some(Status::Pass)),
        RunStatus::Fail => ("fail", Some(Status::Fail)),
        RunStatus::Blocked => ("blocked", Some(Status::Blocked)),
        RunStatus::Running if run.interrupted => ("dead", Some(Status::Fail)),
        RunStatus::Running => ("running", None),
    };
    let painted = status.map_or_else(|| style.paint.running(), |status| style.paint.like(status, word));
    let left = format!("{}  {}  stage {}  {}", row.task_id, show_controls(&row.engine), row.stage, row.run_id.suffix());
    style.marked(word, &painted, &left, &age_text(since(row.started_at, facts.now).as_secs()))
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use contract::{Purpose, Reason, RunId, Stage, Stamp, TaskId};
    use ledger::RunRow;

    use super::*;

    fn moment(seconds: u64) -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_794_960_000 + seconds)).unwrap()
    }

    fn summary(task: &str, suffix: &str, status: RunStatus, reasons: Vec<Reason>, age: u64) -> RunSummary {
        let row = RunRow {
            run_id: RunId::try_from(format!("20261118T000000Z-{task}-{suffix}")).unwrap(),
            task_id: TaskId::try_from(task.to_owned()).unwrap(),
            engine: "fake".to_owned(),
            stage: Stage::try_from(2).unwrap(),
            purpose: Purpose::Governed,
            status,
            started_at: moment(3600 - age),
            finished_at: None,
            duration_ms: None,
            reasons: reasons.into_iter().map(Into::into).collect(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: None,
            bundle: None,
            seq: 1,
            sealed_seq: None,
            owner: None,
            identity: None,
            collected_seq: None,
            outcome_seq: None,
        };
        RunSummary { row, kind: None, collected: None, interrupted: false, answer: None, break_glass: false }
    }

    /// Facts of a home for tests, with a hostile text in them.
    pub(in crate::commands::top) fn facts(hostile: &str) -> TopFacts {
        let running = TopRun {
            title: "r1-string-slugify  pi  stage 3".to_owned(),
            suffix: "b9tc".to_owned(),
            phase: RunPhase::Working,
            age: Duration::from_secs(41),
            act: Some(format!("runs python3 -m pytest -q {hostile}")),
            usage: Some("4 requests, 1 open   61k tokens   $0.051".to_owned()),
            tail: Some(format!("3 passed {hostile}")),
        };
        let spend = SpendRow {
            day: "2026-11-18".to_owned(),
            engine: Some(format!("pi{hostile}")),
            pair: format!("local/qwen3{hostile}"),
            runs: 3,
            open_runs: 1,
            requests: 41,
            tokens: 120_411,
            money_micros: 420_000,
        };
        TopFacts {
            now: moment(3600),
            total: 2,
            halted: None,
            running: vec![running],
            interrupted: 1,
            recent: vec![
                summary("fail-no-diff", "acdz", RunStatus::Fail, vec![Reason::NoDiff, Reason::EngineFailed], 90),
                summary("r1-string-slugify", "hgg8", RunStatus::Pass, Vec::new(), 3000),
            ],
            spend: vec![spend],
            problem: None,
        }
    }

    fn plain() -> Paint {
        Paint { color: false, unicode: true, links: false }
    }

    #[test]
    fn a_picture_at_eighty_columns() {
        let lines = draw_top(&facts("x"), 80, 24, plain());
        insta::assert_snapshot!(lines.join("\n"), @r"
        cto top  2 runs, 1 running                                          01:00:00 UTC
          dead    1 without a process                                        cto recover
        running
          works   r1-string-slugify  pi  stage 3  b9tc                              0:41
                    runs python3 -m pytest -q x
                    4 requests, 1 open   61k tokens   $0.051
                    3 passed x
        spend today
          pix  local/qwen3x                           41 requests  120411 tokens  $0.420
        refused
          no_diff +1                                                  fail-no-diff  acdz
        runs
          fail    fail-no-diff  fake  stage 2  acdz                                1 min
          pass    r1-string-slugify  fake  stage 2  hgg8                          50 min
        q quits; looking changes nothing
        ");
    }

    #[test]
    fn every_size_is_kept_and_the_first_facts_stay() {
        for (columns, rows) in [(20, 5), (40, 8), (60, 12), (80, 24), (200, 60)] {
            let lines = draw_top(&facts(""), columns, rows, plain());
            assert!(lines.len() <= rows, "{columns}x{rows}: {lines:#?}");
            assert!(lines.iter().all(|line| text_width(line) <= columns), "{columns}x{rows}: {lines:#?}");
            assert!(lines[0].contains("cto"), "{lines:#?}");
        }
    }

    #[test]
    fn foreign_text_moves_no_cursor() {
        let others = ["\u{1b}]8;;http://a\u{7}", "\r\n\u{8}", "日本語の名前日本語の名前"].map(str::to_owned);
        // The payloads that the pages are tried with.
        let payloads = crate::payloads::payloads().into_iter().map(|(_, text)| text);
        let all: Vec<String> = payloads.chain(others).collect();
        assert_eq!(all.len(), 63);
        for hostile in &all {
            let named: String = hostile.chars().take(60).collect();
            let text = || Some(hostile.clone());
            let shown = TopFacts { halted: text(), problem: text(), ..facts(hostile) };
            let lines = draw_top(&shown, 72, 24, plain());
            let text = lines.join("\n");
            let bare = text.chars().find(|it| *it != '\n' && show_controls(&it.to_string()) != it.to_string());
            assert_eq!(bare, None, "{named:?}");
            assert!(lines.len() <= 24 && lines.iter().all(|line| text_width(line) <= 72), "{named:?}: {lines:#?}");
        }
    }
}
