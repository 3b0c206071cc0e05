//! `cto compare`: any set of runs side by side.

use views::{FoundRun, LaneComparison};

use crate::context::Context;
use crate::error::CommandError;
use crate::lane_table;
use crate::output::count_text;
use crate::seek::{BundleFinder, trusted_for_review};

/// Compares verified runs side by side.
pub(crate) fn compare_runs(context: &Context, runs: &[String]) -> Result<u8, CommandError> {
    let keys = trusted_for_review(context, &[])?.keys;
    let mut places = BundleFinder::new(context);
    let found = runs.iter().map(|run| places.locate(run)).collect::<Result<Vec<FoundRun>, _>>()?;
    let comparison = views::compare_runs(&found, &keys)?;
    let output = context.output;
    if output.json {
        output.print_json(&comparison)?;
    } else if output.terminal {
        output.print(&format!(
            "{}\n\n{}",
            heading(&comparison),
            lane_table::lane_table(output, &comparison.lanes, comparison.task_id.as_ref())
        ));
    } else {
        output.print(&lane_table::lane_lines(&comparison.lanes));
    }
    Ok(0)
}

fn heading(comparison: &LaneComparison) -> String {
    let runs = count_text(comparison.lanes.len(), "run", "runs");
    match (&comparison.task_id, comparison.contract_digest) {
        (Some(task), Some(_)) => format!("{runs} of {task}, under one contract"),
        (Some(task), None) => format!("{runs} of {task}, under several contracts"),
        (None, _) => format!("{runs} of several tasks"),
    }
}
