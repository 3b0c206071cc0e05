//! Runs that go on while the console of a demo is open: one after the other, each governed and sealed as any other.
//!
//! The engine is `fake`. Its script runs commands in its workspace, says what it runs in the words of another engine, and applies
//! the patch of a built-in case.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::Status;
use contract::case::FakeSteps;
use contract::claim::Speech;
use contract::fake::FakeStep;
use harness::{Ask, Harness, Quiet, Task, Watch, govern};

use super::history::{governed, missing};
use crate::commands::stage_checks::TrialHome;
use crate::error::CommandError;

/// The case that is worked on.
const CASE: &str = "r1-slugify-punctuation";
const SCRIPT: &str = include_str!("at_work.py");
/// Pause of the script between two steps, in seconds; a run takes about two minutes.
const PACE: &str = "2";
/// Runs of one demo, so that a demo that nobody ends fills no disk.
const MOST_RUNS: usize = 100;
/// Time between two runs, and between two looks whether the demo has ended.
const PAUSE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// Work that starts once the history is made.
pub(super) struct WorkAhead {
    harness: Harness,
    task: Task,
    ask: Ask,
}

impl WorkAhead {
    /// Prepares the work in the home of a demo.
    pub(super) fn in_home(trial: &TrialHome<'_>) -> Result<Self, CommandError> {
        let mut task = Task::builtin(CASE).ok_or_else(|| missing(CASE))??;
        let patch = task.fake.take().map(|fake| fake.steps).unwrap_or_default();
        let steps = [vec![script_step("look")], patch, vec![script_step("check")]].concat();
        task.fake = Some(FakeSteps { steps, speaks: Some(Speech::Codex), ..FakeSteps::default() });
        let ask = governed(trial, CASE, task.default_stage(), None);
        Ok(Self { harness: trial.harness()?, task, ask })
    }

    /// Starts one run after the other until `cancel` is set, or one does not pass: a machine that cannot pass it, or a kill switch,
    /// would end each of them alike.
    pub(super) fn run_until(&self, cancel: &AtomicBool) {
        for _ in 0..MOST_RUNS {
            let ended = govern(&self.harness, &self.task, &self.ask, Watch { cancel, observer: &Quiet });
            if !ended.is_ok_and(|run| run.sealed.report.status == Status::Pass) {
                return;
            }
            let mut waited = Duration::ZERO;
            while waited < PAUSE && !cancel.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                waited += LOOK;
            }
            if cancel.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

fn script_step(part: &str) -> FakeStep {
    let argv = ["python3", "-B", "-c", SCRIPT, part, PACE];
    FakeStep::Run { argv: argv.map(str::to_owned).to_vec() }
}
