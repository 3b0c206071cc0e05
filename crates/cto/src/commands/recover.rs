//! `cto recover`: seals what was interrupted.

use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn recover(context: &Context) -> Result<u8, CommandError> {
    let harness = context.harness_at(&context.config.home)?;
    let done = harness::recover(&harness)?;
    let output = context.output;
    let sealed: Vec<_> =
        done.sealed.iter().map(|report| json!({"run_id": report.run_id, "status": report.status})).collect();
    if output.json {
        output.print_json(
            &json!({"alive": done.alive, "recorded": done.recorded, "removed": done.removed, "sealed": sealed}),
        )?;
        return Ok(0);
    }
    for report in &done.sealed {
        output.print(&format!("sealed {} {}\n", report.run_id, report.status));
    }
    for (label, runs) in [("recorded", &done.recorded), ("removed", &done.removed), ("alive", &done.alive)] {
        runs.iter().for_each(|run| output.print(&format!("{label} {run}\n")));
    }
    if done.sealed.is_empty() && done.recorded.is_empty() && done.removed.is_empty() {
        output.print("nothing was interrupted\n");
    }
    Ok(0)
}
