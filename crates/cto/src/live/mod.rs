//! A run on a terminal while it goes on. Facts change a board, and a screen draws the board on time. Where progress is asked for as
//! plain lines, each step is one line and nothing is redrawn.

pub(crate) mod board;
pub(crate) mod columns;
pub(crate) mod frame;
pub(crate) mod lanes;
pub(crate) mod screen;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use contract::Report;
use contract::text::show_controls;
use harness::{Ask, GovernError, Harness, LiveFact, RunOutcome, StepReport, StepState, Task, Watch, WatchRun, govern};

use crate::output::{Output, duration};
use board::RunBoard;
use frame::{FrameStyle, draw_board};
use screen::{DrawLines, LiveScreen};

/// A board and the clock of its run.
pub(crate) struct TimedBoard {
    pub(crate) board: RunBoard,
    clock: BoardClock,
}

/// Time of a board.
enum BoardClock {
    /// The moment at which the run started.
    Since(Instant),
    /// Time that a recording says.
    Told(Duration),
}

impl TimedBoard {
    /// Board of a run that starts now.
    pub(crate) fn starting(title: String) -> Self {
        Self { board: RunBoard::new(title), clock: BoardClock::Since(Instant::now()) }
    }

    /// Time on the board's clock.
    pub(crate) fn now(&self) -> Duration {
        match self.clock {
            BoardClock::Since(start) => start.elapsed(),
            BoardClock::Told(at) => at,
        }
    }

    /// Takes a step that happens now: its time sets the clock by the run's own.
    pub(crate) fn hear_step(&mut self, told: &StepReport) {
        self.clock = match self.clock {
            BoardClock::Since(start) => BoardClock::Since(Instant::now().checked_sub(told.at).unwrap_or(start)),
            BoardClock::Told(_) => BoardClock::Told(told.at),
        };
        self.board.hear_step(told);
    }

    /// Takes a fact of the run, at the board's time.
    pub(crate) fn hear_fact(&mut self, fact: &LiveFact) {
        self.board.hear_fact(fact, self.now());
    }

    /// Sets the clock of a run that started so long ago.
    pub(crate) fn set_age(&mut self, age: Duration) {
        let now = Instant::now();
        self.clock = BoardClock::Since(now.checked_sub(age).unwrap_or(now));
    }
}

impl DrawLines for TimedBoard {
    fn draw(&self, style: FrameStyle) -> Vec<String> {
        draw_board(&self.board, style, self.now())
    }
}

/// Display of one run.
pub(crate) enum RunDisplay {
    Screen(LiveScreen<TimedBoard>),
    Lines(Output),
    Nothing,
}

impl RunDisplay {
    /// Display of a run that is about to start.
    pub(crate) fn of_run(output: Output, task: &Task, ask: &Ask, cancel: &Arc<AtomicBool>) -> Self {
        Self::titled(output, format!("{}  {}  stage {}", task.contract.task_id, ask.engine, ask.stage), cancel)
    }

    /// Display of a run that is over and is played back.
    pub(crate) fn of_recording(output: Output, report: &Report, cancel: &Arc<AtomicBool>) -> Self {
        let title = format!("{}  {}  stage {}", report.task_id, show_controls(&report.backend), report.stage);
        let subject = TimedBoard { board: RunBoard::new(title), clock: BoardClock::Told(Duration::ZERO) };
        Self::of_board(output, subject, cancel)
    }

    /// Display with a title of its own.
    pub(crate) fn titled(output: Output, title: String, cancel: &Arc<AtomicBool>) -> Self {
        Self::of_board(output, TimedBoard::starting(title), cancel)
    }

    fn of_board(output: Output, subject: TimedBoard, cancel: &Arc<AtomicBool>) -> Self {
        if output.progress {
            Self::Screen(LiveScreen::open_screen(subject, output.paint_errors, Arc::clone(cancel)))
        } else if output.step_lines {
            Self::Lines(output)
        } else {
            Self::Nothing
        }
    }

    /// Runs the task and shows what goes on, until it is over.
    pub(crate) fn watch_run(
        self,
        harness: &Harness,
        task: &Task,
        ask: &Ask,
        cancel: &AtomicBool,
    ) -> Result<RunOutcome, GovernError> {
        let outcome = govern(harness, task, ask, Watch { cancel, observer: &self });
        self.close_display();
        outcome
    }

    /// Draws now. A recording is played faster than the screen is drawn by itself, and each step of it is to be seen.
    pub(crate) fn redraw(&self) {
        if let Self::Screen(screen) = self {
            screen.redraw();
        }
    }

    /// Wipes what was drawn, so that the result stands alone.
    pub(crate) fn close_display(&self) {
        if let Self::Screen(screen) = self {
            screen.close_screen();
        }
    }
}

impl WatchRun for RunDisplay {
    fn step(&self, told: &StepReport) {
        match self {
            Self::Screen(screen) => screen.subject().hear_step(told),
            Self::Lines(output) => output.print_note(&step_line(told)),
            Self::Nothing => {}
        }
    }

    fn live(&self, fact: &LiveFact) {
        match (self, fact) {
            (Self::Screen(screen), _) => screen.subject().hear_fact(fact),
            (Self::Lines(output), LiveFact::ProgramStarted { name, limit, .. }) => {
                output.print_note(&format!("program {} limit {}\n", show_controls(name), duration(*limit)));
            }
            _ => {}
        }
    }

    fn is_live(&self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// A step as a line that is never redrawn.
pub(crate) fn step_line(told: &StepReport) -> String {
    let state = match told.state {
        StepState::Began => "begins",
        StepState::Ended => "done",
        StepState::Refused => "refused",
        StepState::Idle => "idle",
    };
    let line = format!("{} {} {state} {}", duration(told.at), told.step.name(), show_controls(&told.detail));
    format!("{}\n", line.trim_end())
}
