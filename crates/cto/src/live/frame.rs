//! One picture of a board: lines that fit the terminal. Pure, so that a width can be tested without a terminal.

use std::time::Duration;

use contract::text::money_text;
use harness::{LiveUsage, Step, StepState};

use super::board::{BoardStep, RunBoard, clock_text};
use super::columns::{cut_end, cut_middle, text_width};
use crate::output::{Paint, duration};

/// Columns of a step's name, its mark and the spaces around them.
const NAME: usize = 15;

/// Below this width a step that has ended shows no time.
const NARROW: usize = 80;

/// Answers to Ctrl-C, which fit the narrowest terminal: before the run is over, and after.
const SEALS_AS_INTERRUPTED: &str = "ends the programs and seals the run as interrupted";
const SEALS_ITS_END: &str = "the run is over already; it is sealed as it ended";

/// Surroundings of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameStyle {
    pub(crate) width: usize,
    pub(crate) paint: Paint,
    /// Somebody asked for the end of the run.
    pub(crate) is_stopping: bool,
}

impl FrameStyle {
    /// A line with a right-hand column. The left part is cut to leave room for it.
    pub(crate) fn two_columns(self, left: &str, right: &str) -> (String, String) {
        if right.is_empty() {
            return (cut_middle(left, self.width), String::new());
        }
        let room = self.width.saturating_sub(text_width(right) + 2);
        let left = cut_middle(left, room);
        let pad = self.width.saturating_sub(text_width(&left) + text_width(right));
        (left, format!("{}{}", " ".repeat(pad), self.paint.dim(right)))
    }

    fn bullet(self) -> &'static str {
        if self.paint.unicode { "•" } else { "*" }
    }
}

/// The lines of a run: a headline, its steps, and under the current one what goes on in it.
pub(crate) fn draw_board(board: &RunBoard, style: FrameStyle, now: Duration) -> Vec<String> {
    let mut lines = vec![headline(board, style, now)];
    lines.extend(draw_steps(board, style, now));
    lines
}

fn headline(board: &RunBoard, style: FrameStyle, now: Duration) -> String {
    let (word, painted) = match style.is_stopping {
        true => ("stopping", style.paint.stopping()),
        false => ("running", style.paint.running()),
    };
    let title = match &board.run_id {
        Some(run_id) => format!("{}  {}", board.title, run_id.suffix()),
        None => board.title.clone(),
    };
    let room = FrameStyle { width: style.width.saturating_sub(word.len() + 2), ..style };
    let (title, right) = room.two_columns(&title, &clock_text(now));
    format!("{painted}  {title}{right}")
}

/// The steps without a headline.
pub(crate) fn draw_steps(board: &RunBoard, style: FrameStyle, now: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    let current = board.current().map(|step| step.last.step);
    let is_current = |step: &BoardStep| Some(step.last.step) == current;
    for step in Step::ALL {
        match board.steps.iter().find(|known| known.last.step == *step) {
            None => lines.push(format!("    {}", style.paint.dim(step.name()))),
            Some(known) if is_current(known) => lines.extend(draw_current(board, known, style, now)),
            // A step that ends only after a later one has begun.
            Some(known) if known.is_open() => lines.push(format!("  {} {}", style.bullet(), step.name())),
            Some(known) => lines.push(draw_ended(known, style)),
        }
    }
    if style.is_stopping {
        let text = if current == Some(Step::Seal) { SEALS_ITS_END } else { SEALS_AS_INTERRUPTED };
        lines.push(style.paint.dim(&cut_end(text, style.width)));
    }
    lines
}

fn draw_ended(step: &BoardStep, style: FrameStyle) -> String {
    let paint = style.paint;
    let mark = if step.last.state == StepState::Refused { paint.cross() } else { paint.tick() };
    let took = duration(step.last.at.saturating_sub(step.began));
    let right = if style.width < NARROW { "" } else { took.as_str() };
    let room = FrameStyle { width: style.width.saturating_sub(NAME), ..style };
    let (detail, right) = room.two_columns(&contract::text::show_controls(&step.last.detail), right);
    // Where the locale has no tick the mark is a word of two letters.
    let name_width = if paint.unicode { 11 } else { 10 };
    format!("  {mark} {:<name_width$}{detail}{right}", step.last.step.name()).trim_end().to_owned()
}

fn draw_current(board: &RunBoard, step: &BoardStep, style: FrameStyle, now: Duration) -> Vec<String> {
    let room = FrameStyle { width: style.width.saturating_sub(NAME), ..style };
    let (act, right) = room.two_columns(board.current_act().unwrap_or_default(), &time_text(board, step, now));
    let mut lines = vec![format!("  {} {:<11}{act}{right}", style.bullet(), step.last.step.name())];
    let is_engine = step.last.step == Step::Engine;
    let used = board.used.filter(|_| is_engine).map(usage_text);
    let below = used.into_iter().chain(board.quiet_text(now)).chain(board.tail_lines().map(str::to_owned));
    let indent = " ".repeat(NAME);
    lines.extend(below.map(|line| format!("{indent}{}", style.paint.dim(&cut_end(&line, room.width)))));
    lines
}

/// Time of the current program and its limit, or of the step.
fn time_text(board: &RunBoard, step: &BoardStep, now: Duration) -> String {
    match &board.program {
        Some(program) => {
            format!("{} of {}", clock_text(now.saturating_sub(program.began)), clock_text(program.limit))
        }
        None => clock_text(now.saturating_sub(step.began)),
    }
}

/// `4 requests, 1 open   61k tokens   $0.051`.
pub(crate) fn usage_text(used: LiveUsage) -> String {
    let LiveUsage { requests, open, tokens, cost_micros, is_partly_unpriced } = used;
    let open = if open > 0 { format!(", {open} open") } else { String::new() };
    let tokens = if tokens < 10_000 { tokens.to_string() } else { format!("{}k", tokens / 1000) };
    let cost = match (cost_micros, is_partly_unpriced) {
        (0, true) => "unpriced".to_owned(),
        (micros, true) => format!("{}+", money_text(micros)),
        (micros, false) => money_text(micros),
    };
    let word = if requests == 1 { "request" } else { "requests" };
    format!("{requests} {word}{open}   {tokens} tokens   {cost}")
}

#[cfg(test)]
mod tests {
    use contract::RunId;
    use harness::{LiveFact, StepReport};

    use super::*;

    fn board() -> RunBoard {
        let mut board = RunBoard::new("r1-slugify-punctuation  codex  stage 2".to_owned());
        let run_id = RunId::try_from("20261115T003955Z-r1-slugify-punctuation-b9tc".to_owned()).unwrap();
        let seconds = Duration::from_secs;
        board.hear_fact(&LiveFact::Opened { run_id }, seconds(0));
        let step = |step, state, detail: &str, at| StepReport { step, state, detail: detail.to_owned(), at };
        board.hear_step(&step(Step::Gates, StepState::Began, "", seconds(0)));
        board.hear_step(&step(Step::Gates, StepState::Ended, "14 of 14", Duration::from_millis(8)));
        board.hear_step(&step(Step::Engine, StepState::Began, "", seconds(1)));
        board.hear_fact(
            &LiveFact::ProgramStarted { name: "codex".to_owned(), limit: seconds(600), began: None },
            seconds(1),
        );
        board.hear_fact(
            &LiveFact::Acted { text: "runs python3 -m pytest -q tests/test_a.py::test_one -x --tb=short".to_owned() },
            seconds(2),
        );
        let used = LiveUsage { requests: 4, open: 1, tokens: 61_204, cost_micros: 51_400, is_partly_unpriced: false };
        board.hear_fact(&LiveFact::ModelUsed(used), seconds(3));
        board
    }

    fn style(width: usize) -> FrameStyle {
        FrameStyle { width, paint: Paint { color: false, unicode: true, links: false }, is_stopping: false }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_all_facts_are_there() {
        for width in [40, 60, 80, 100, 160] {
            let lines = draw_board(&board(), style(width), Duration::from_secs(41));
            assert!(lines.iter().all(|line| text_width(line) <= width), "{width}: {lines:#?}");
            let text = lines.join("\n");
            for fact in ["running", "b9tc", "0:41", "0:40 of 10:00", "4 requests", "quiet for 0:38"] {
                assert!(text.contains(fact), "{width}: no `{fact}` in\n{text}");
            }
        }
    }

    #[test]
    fn a_picture_at_eighty_columns() {
        let lines = draw_board(&board(), style(80), Duration::from_secs(20));
        insta::assert_snapshot!(lines.join("\n"), @r"
        running  r1-slugify-punctuation  codex  stage 2  b9tc                       0:20
          ✓ gates      14 of 14                                                     8 ms
            workspace
          • engine     runs python3 -m pytest -…y::test_one -x --tb=short  0:19 of 10:00
                       4 requests, 1 open   61k tokens   $0.051
            diff
            verify
            seal
        ");
    }
}
