//! `cto replay`: a recorded run, shown again by what shows a live one.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use contract::Report;
use evidence::names;
use harness::{StepReport, WatchRun as _, recorded_steps};

use super::INTERRUPTED;
use super::run::result;
use crate::context::Context;
use crate::error::CommandError;
use crate::live::RunDisplay;
use crate::seek::{BundleFinder, trusted_for_review};

/// Longest duration of a replay without a given speed: enough to see it, not to wait for
/// it.
const QUICK: Duration = Duration::from_secs(3);

/// Interval between two checks for a signal.
const SLICE: Duration = Duration::from_millis(20);

/// Shows the steps of a verified run again.
pub(crate) fn replay(context: &Context, run: &str, speed: Option<f64>, keys: &[PathBuf]) -> Result<u8, CommandError> {
    let found = BundleFinder::new(context).locate(run)?;
    let bound = found.bind_bundle(&trusted_for_review(context, keys)?.keys_of(&found))?;
    let report = bound.report();
    let output = context.output;
    if output.progress {
        let steps = recorded_steps(&bound).map_err(CommandError::fail)?;
        if steps.is_empty() {
            output.print_note("this bundle was made before steps were recorded; here is how it ended\n");
        }
        if !steps.is_empty() && !play_drawn(context, report, &steps, speed) {
            return Ok(INTERRUPTED);
        }
    }
    let bytes = bound.read_file(names::REPORT)?;
    // Where the bundle was when it was made: what is printed is what was printed then.
    let task = context.task_word(report, bound.dir());
    result(output, report, &bytes, report.run_artifact_dir.as_ref(), &task);
    Ok(0)
}

/// Draws the steps and wipes them; false if a signal ended it.
fn play_drawn(context: &Context, report: &Report, steps: &[StepReport], speed: Option<f64>) -> bool {
    let display = RunDisplay::of_recording(context.output, report, &context.cancel);
    let is_played = play(context, &display, steps, speed);
    display.close_display();
    is_played
}

/// Plays the steps; false if a signal ended it.
fn play(context: &Context, display: &RunDisplay, steps: &[StepReport], speed: Option<f64>) -> bool {
    let began = Instant::now();
    let whole = steps.iter().map(|told| told.at).max().unwrap_or_default();
    let speed = speed.unwrap_or_else(|| (whole.as_secs_f64() / QUICK.as_secs_f64()).max(1.0));
    for told in steps {
        let due = Duration::try_from_secs_f64(told.at.as_secs_f64() / speed).unwrap_or(Duration::MAX);
        while let Some(left) = due.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            if context.cancel.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(left.min(SLICE));
        }
        display.step(told);
        display.redraw();
    }
    true
}
