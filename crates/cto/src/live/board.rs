//! State of one run on a live display, made from what the run tells. It knows no terminal and looks at no clock: times are given.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::time::Duration;

use contract::RunId;
use contract::text::show_controls;
use harness::{LiveFact, LiveUsage, Step, StepReport, StepState, redact_shapes};

use super::columns::strip_escapes;

/// Lines of output that are kept: the newest.
const TAIL: usize = 3;

/// Silence after which an engine is shown as idle.
const QUIET: Duration = Duration::from_secs(30);

/// Progress of one run.
#[derive(Debug, Default)]
pub(crate) struct RunBoard {
    pub(crate) title: String,
    pub(crate) run_id: Option<RunId>,
    pub(crate) steps: Vec<BoardStep>,
    pub(crate) program: Option<BoardProgram>,
    pub(crate) act: Option<ForeignLine>,
    pub(crate) tail: VecDeque<ForeignLine>,
    pub(crate) used: Option<LiveUsage>,
    /// Time of the last fact, on the run's clock.
    heard: Duration,
    /// The harness found no changed file either.
    is_idle: bool,
}

/// A line that a program wrote. It is made safe to print when it is first drawn, and once: a board is drawn many times, and of a flood of
/// lines only a few are.
#[derive(Debug)]
pub(crate) struct ForeignLine {
    raw: String,
    clean: OnceCell<String>,
}

impl ForeignLine {
    fn new(raw: &str) -> Self {
        Self { raw: raw.to_owned(), clean: OnceCell::new() }
    }

    fn clean(&self) -> &str {
        self.clean.get_or_init(|| clean_line(&self.raw))
    }
}

/// A step that was begun.
#[derive(Debug)]
pub(crate) struct BoardStep {
    pub(crate) began: Duration,
    pub(crate) last: StepReport,
}

impl BoardStep {
    /// True while the step goes on.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.last.state, StepState::Began | StepState::Idle)
    }
}

/// The program that runs now.
#[derive(Debug)]
pub(crate) struct BoardProgram {
    pub(crate) name: ForeignLine,
    pub(crate) limit: Duration,
    pub(crate) began: Duration,
}

impl RunBoard {
    /// Board before the first fact.
    pub(crate) fn new(title: String) -> Self {
        Self { title, ..Self::default() }
    }

    /// Takes a report about a step.
    pub(crate) fn hear_step(&mut self, told: &StepReport) {
        self.heard = self.heard.max(told.at);
        self.is_idle = told.state == StepState::Idle;
        if self.is_idle {
            // The harness looked at files as well, and silence is older than this word of it.
            self.heard = self.heard.min(told.at.saturating_sub(idle_time(&told.detail)));
        }
        if told.state != StepState::Idle {
            (self.program, self.act) = (None, None);
            self.tail.clear();
        }
        match self.steps.iter_mut().find(|step| step.last.step == told.step) {
            Some(step) => step.last = told.clone(),
            None => self.steps.push(BoardStep { began: told.at, last: told.clone() }),
        }
    }

    /// Takes a fact of the run, at the given time.
    pub(crate) fn hear_fact(&mut self, fact: &LiveFact, now: Duration) {
        (self.heard, self.is_idle) = (now, false);
        match fact {
            LiveFact::Opened { run_id } => self.run_id = Some(run_id.clone()),
            LiveFact::ProgramStarted { name, limit, began } => {
                self.program = Some(BoardProgram {
                    name: ForeignLine::new(name),
                    limit: *limit,
                    began: began.map_or(now, |began| began.min(now)),
                });
                self.tail.clear();
            }
            LiveFact::Printed { line } => self.keep_line(line),
            LiveFact::Acted { text } => self.act = Some(ForeignLine::new(text)),
            LiveFact::ModelUsed(used) => self.used = Some(*used),
        }
    }

    fn keep_line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.tail.push_back(ForeignLine::new(line));
        while self.tail.len() > TAIL {
            self.tail.pop_front();
        }
    }

    /// The step that goes on.
    pub(crate) fn current(&self) -> Option<&BoardStep> {
        self.steps.iter().rev().find(|step| step.is_open())
    }

    /// Current act of the step: an act of the engine, or the name of a program.
    pub(crate) fn current_act(&self) -> Option<&str> {
        let is_engine = self.current().is_some_and(|step| step.last.step == Step::Engine);
        let line = if is_engine { self.act.as_ref() } else { self.program.as_ref().map(|program| &program.name) };
        line.map(ForeignLine::clean)
    }

    /// The newest lines of a program's output, safe to print.
    pub(crate) fn tail_lines(&self) -> impl Iterator<Item = &str> {
        self.tail.iter().map(ForeignLine::clean)
    }

    /// `quiet for 0:34`, and what was not seen meanwhile.
    pub(crate) fn quiet_text(&self, now: Duration) -> Option<String> {
        let silent = now.saturating_sub(self.heard);
        let is_engine = self.current().is_some_and(|step| step.last.step == Step::Engine);
        if !is_engine || (silent < QUIET && !self.is_idle) {
            return None;
        }
        let files = if self.is_idle { ", no changed file" } else { "" };
        Some(format!("quiet for {}: no output, no model request{files}", clock_text(silent)))
    }
}

/// Seconds that a note about an idle engine names.
fn idle_time(detail: &str) -> Duration {
    let seconds = detail.split(' ').find_map(|word| word.parse().ok()).unwrap_or_default();
    Duration::from_secs(seconds)
}

/// Foreign text as one line: no escape sequence, nothing with the shape of a secret.
fn clean_line(text: &str) -> String {
    show_controls(&redact_shapes(strip_escapes(text).trim()))
}

/// `0:41`, `1:02:07`.
pub(crate) fn clock_text(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(step: Step, state: StepState, detail: &str, at: u64) -> StepReport {
        StepReport { step, state, detail: detail.to_owned(), at: Duration::from_secs(at) }
    }

    #[test]
    fn silence_of_an_engine_is_told_with_a_clock_that_moves() {
        let mut board = RunBoard::new("t".to_owned());
        board.hear_step(&told(Step::Engine, StepState::Began, "", 10));
        let quiet = |board: &RunBoard, at| board.quiet_text(Duration::from_secs(at));
        assert_eq!(quiet(&board, 39), None);
        assert_eq!(quiet(&board, 44).as_deref(), Some("quiet for 0:34: no output, no model request"));
        board.hear_step(&told(Step::Engine, StepState::Idle, "nothing for 60 s: no output", 70));
        let idle = quiet(&board, 75);
        assert_eq!(idle.as_deref(), Some("quiet for 1:05: no output, no model request, no changed file"));
        board.hear_fact(&LiveFact::Acted { text: "runs ls".to_owned() }, Duration::from_secs(76));
        assert_eq!(quiet(&board, 80), None, "it was heard again");
        board.hear_step(&told(Step::Engine, StepState::Ended, "exit 0", 80));
        assert_eq!(quiet(&board, 500), None, "control: it is over");
    }

    #[test]
    fn the_newest_lines_are_kept_without_colours_and_secrets() {
        let mut board = RunBoard::new("t".to_owned());
        board.hear_step(&told(Step::Gates, StepState::Began, "", 0));
        let key = ["AKIA", "Z7QXM3LKJ2PDW5RT"].concat();
        for line in ["one", "two", "", "\u{1b}[32mthree\u{1b}[0m", &format!("token {key}"), "\u{7}five"] {
            board.hear_fact(&LiveFact::Printed { line: line.to_owned() }, Duration::ZERO);
        }
        let lines: Vec<&str> = board.tail_lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, "three", "␇five"));
        assert!(!lines[1].contains(&key), "{lines:?}");
    }
}
