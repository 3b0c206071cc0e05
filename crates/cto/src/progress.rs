//! Progress of a run on a terminal: redrawn in place on stderr, gone when done. A run that is played back is drawn the same way,
//! so everything drawn comes from what was told, and no clock is looked at.

use std::io::{self, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use contract::Report;
use contract::text::shown;
use harness::{Ask, Step, StepState, Task, Told, WatchRun};

use crate::output::{Output, duration};

/// What is told of a step is a few words; more would not fit on its line.
const DETAIL: usize = 60;

/// Draws the steps of one run.
#[derive(Debug)]
pub(crate) struct Progress {
    output: Output,
    title: String,
    drawn: Mutex<Drawn>,
}

#[derive(Debug, Default)]
struct Drawn {
    lines: Vec<Line>,
    height: usize,
}

#[derive(Debug)]
struct Line {
    began: Duration,
    last: Told,
}

impl Progress {
    /// Of a run that goes on.
    pub(crate) fn live(output: Output, task: &Task, ask: &Ask) -> Self {
        Self::new(output, format!("{}  {}  stage {}", task.contract.task_id, ask.engine, ask.stage))
    }

    /// Of a run that is over.
    pub(crate) fn replayed(output: Output, report: &Report) -> Self {
        Self::new(output, format!("{}  {}  stage {}", report.task_id, shown(&report.backend), report.stage))
    }

    fn new(output: Output, title: String) -> Self {
        Self { output, title, drawn: Mutex::new(Drawn::default()) }
    }

    /// Wipes what was drawn, so that the result stands alone.
    pub(crate) fn clear(&self) {
        if let Ok(mut drawn) = self.drawn.lock() {
            let _ = write!(io::stderr().lock(), "{}", wipe(drawn.height));
            drawn.height = 0;
        }
    }

    fn draw(&self, drawn: &mut Drawn, now: Duration) {
        let paint = self.output.paint_errors;
        let mut text = wipe(drawn.height);
        text.push_str(&format!("{}  {}   {}\n", paint.running(), self.title, paint.dim(&duration(now))));
        for step in Step::ALL {
            text.push_str(&self.line(*step, drawn.lines.iter().find(|line| line.last.step == *step)));
        }
        drawn.height = Step::ALL.len() + 1;
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }

    fn line(&self, step: Step, known: Option<&Line>) -> String {
        let paint = self.output.paint_errors;
        let Some(Line { began, last }) = known else { return format!("    {}\n", paint.dim(step.name())) };
        let mark = match last.state {
            StepState::Began => return format!("  • {:<11}\n", step.name()),
            StepState::Ended => paint.tick(),
            StepState::Refused => paint.cross(),
            StepState::Idle => return format!("  • {:<11}  {}\n", step.name(), paint.dim(&shown(&last.detail))),
        };
        let detail: String = shown(&last.detail).chars().take(DETAIL).collect();
        let took = duration(last.at.saturating_sub(*began));
        format!("  {mark} {:<11}  {detail}  {}\n", step.name(), paint.dim(&took))
    }
}

fn wipe(height: usize) -> String {
    if height == 0 { String::new() } else { format!("\x1b[{height}A\x1b[J") }
}

impl WatchRun for Progress {
    fn step(&self, told: &Told) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        match drawn.lines.iter_mut().find(|line| line.last.step == told.step) {
            Some(line) => line.last = told.clone(),
            None => drawn.lines.push(Line { began: told.at, last: told.clone() }),
        }
        self.draw(&mut drawn, told.at);
    }
}
