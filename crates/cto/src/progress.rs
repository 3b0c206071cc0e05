//! Progress of a run on a terminal: redrawn in place on stderr, gone when done.

use std::io::{self, Write as _};
use std::sync::Mutex;
use std::time::Instant;

use harness::{Step, StepState, WatchRun};

use crate::output::{Output, duration};

/// Draws the steps of one run.
#[derive(Debug)]
pub(crate) struct Progress {
    output: Output,
    title: String,
    began: Instant,
    drawn: Mutex<Drawn>,
}

#[derive(Debug, Default)]
struct Drawn {
    lines: Vec<(Step, StepState, String, Instant, Option<Instant>)>,
    height: usize,
}

impl Progress {
    pub(crate) fn new(output: Output, title: &str) -> Self {
        Self { output, title: title.to_owned(), began: Instant::now(), drawn: Mutex::new(Drawn::default()) }
    }

    /// Wipes what was drawn, so that the result stands alone.
    pub(crate) fn clear(&self) {
        if let Ok(mut drawn) = self.drawn.lock() {
            let _ = write!(io::stderr().lock(), "{}", wipe(drawn.height));
            drawn.height = 0;
        }
    }

    fn draw(&self, drawn: &mut Drawn) {
        let paint = self.output.paint_errors;
        let mut text = wipe(drawn.height);
        text.push_str(&format!(
            "{}  {}   {}\n",
            paint.running(),
            self.title,
            paint.dim(&duration(self.began.elapsed()))
        ));
        for step in Step::ALL {
            let line = match drawn.lines.iter().find(|(known, ..)| known == step) {
                Some((_, StepState::Began, ..)) => format!("  • {:<11}\n", step.name()),
                Some((_, state, detail, from, to)) => {
                    let mark = if *state == StepState::Refused { paint.cross() } else { paint.tick() };
                    let took = to.map(|to| duration(to - *from)).unwrap_or_default();
                    format!("  {mark} {:<11}  {detail}  {}\n", step.name(), paint.dim(&took))
                }
                None => format!("    {}\n", paint.dim(step.name())),
            };
            text.push_str(&line);
        }
        drawn.height = Step::ALL.len() + 1;
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }
}

fn wipe(height: usize) -> String {
    if height == 0 { String::new() } else { format!("\x1b[{height}A\x1b[J") }
}

impl WatchRun for Progress {
    fn step(&self, step: Step, state: StepState, detail: &str) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        let now = Instant::now();
        match drawn.lines.iter_mut().find(|(known, ..)| *known == step) {
            Some(line) => (line.1, line.2, line.4) = (state, detail.to_owned(), Some(now)),
            None => drawn.lines.push((step, state, detail.to_owned(), now, None)),
        }
        self.draw(&mut drawn);
    }
}
