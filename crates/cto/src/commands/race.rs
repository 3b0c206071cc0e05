//! `cto race`: the same contract in lanes, one engine each.

use std::time::{Duration, Instant};

use contract::{Purpose, Status, TaskId};
use harness::{Ask, Harness, Task, Watch, run_in_parallel, run_lane, seal_race};
use views::{Lane, LaneComparison};

use super::INTERRUPTED;
use crate::args::RaceArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::lane_table;
use crate::live::lanes::{LaneDisplay, LaneObserver};
use crate::output::{Output, duration};

/// Runs one task with several engines and compares the lanes.
pub(crate) fn race(context: &Context, arguments: &RaceArgs) -> Result<u8, CommandError> {
    let began = Instant::now();
    let mut task = context.load_task(arguments.task(), arguments.repo())?;
    context.fill_owner(&mut task)?;
    let harness = context.harness()?;
    let jobs = usize::from(arguments.jobs);
    let title = task.contract.task_id.to_string();
    let display = LaneDisplay::open_display(context.output, title, arguments.engines.clone(), &context.cancel);
    let lane = |(at, engine): &(usize, String)| -> Result<Option<Lane>, CommandError> {
        let ask = context.build_ask(&arguments.lane(engine), &task, Purpose::Governed);
        let ask = ask.map(|ask| Ask { timeout_seconds: arguments.timeout, ..ask });
        match ask.and_then(|ask| run_shown_lane(context, &harness, &task, &ask, &display.lane(*at))) {
            Ok(lane) => Ok(lane),
            // A lane that cannot run is a row, and no reason to stop the others.
            Err(error) => {
                display.lane(*at).end_lane(Status::Blocked, None);
                Ok(Some(Lane::impossible(engine, error.message, error.hint)))
            }
        }
    };
    let engines: Vec<(usize, String)> = arguments.engines.iter().cloned().enumerate().collect();
    let lanes = run_in_parallel(&engines, jobs, lane);
    display.close_display();
    let lanes = lanes?;
    if lanes.len() < arguments.engines.len() {
        return Ok(INTERRUPTED);
    }
    let comparison = LaneComparison::of_lanes(lanes);
    let sealed = seal_race(&harness, &task.contract.task_id, &comparison)?.to_string();
    let output = context.output;
    if output.json {
        output.print_json(&comparison)?;
    } else if output.terminal {
        output.print(&view(output, &task.contract.task_id, &comparison, &sealed, began.elapsed()));
    } else {
        output.print(&format!("{} {sealed}\n{}", comparison.status, lane_table::lane_lines(&comparison.lanes)));
    }
    Ok(comparison.status.exit_code())
}

/// One governed run as a lane; none when a signal ended it. Its row of the display follows it.
pub(super) fn run_shown_lane(
    context: &Context,
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    observer: &LaneObserver<'_>,
) -> Result<Option<Lane>, CommandError> {
    let lane = run_lane(harness, task, ask, Watch { cancel: &context.cancel, observer })?;
    if let Some(lane) = &lane {
        observer.end_lane(lane.status, lane.duration_ms);
    }
    Ok(lane)
}

fn view(output: Output, task: &TaskId, comparison: &LaneComparison, sealed: &str, took: Duration) -> String {
    let paint = output.paint;
    let ran = comparison.lanes.iter().filter(|lane| lane.engine_started).count();
    let tail = format!("{ran} of {} lanes ran on {task}", comparison.lanes.len());
    let width = comparison.status.as_str().len() + 2 + tail.chars().count();
    let left = format!("{}  {tail}", paint.paint_status(comparison.status));
    let head = output.headline(&left, width, &duration(took));
    let table = lane_table::lane_table(output, &comparison.lanes, Some(task));
    let suffix = sealed.rsplit('-').next().unwrap_or(sealed);
    let (bundle, next) = (paint.dim("bundle"), paint.dim("next"));
    let command = paint.command(&format!("cto repeat {task} -n 10     one run is an anecdote"));
    format!("{head}\n\n{table}\n  {bundle}    {suffix}  sealed\n\n{next}  {command}\n")
}
