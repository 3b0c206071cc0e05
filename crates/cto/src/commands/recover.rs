//! `cto recover`: seals what was interrupted.

use contract::text::shown;
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn recover(context: &Context) -> Result<u8, CommandError> {
    let harness = context.harness_at(&context.config.place())?;
    let done = harness::recover(&harness)?;
    let output = context.output;
    let code = if done.failed.is_empty() { 0 } else { 3 };
    if output.json {
        let sealed = done.sealed.iter().map(|report| json!({"run_id": report.run_id, "status": report.status}));
        let failed = done.failed.iter().map(|(run_id, error)| json!({"error": error, "run_id": run_id}));
        output.print_json(&json!({
            "alive": done.alive,
            "cleared": done.cleared,
            "failed": failed.collect::<Vec<_>>(),
            "late": done.late,
            "recorded": done.recorded,
            "removed": done.removed,
            "sealed": sealed.collect::<Vec<_>>(),
        }))?;
        return Ok(code);
    }
    for report in &done.sealed {
        output.print(&format!("sealed {} {}\n", report.run_id, report.status));
    }
    for (label, runs) in [
        ("recorded", &done.recorded),
        ("late", &done.late),
        ("removed", &done.removed),
        ("cleared", &done.cleared),
        ("alive", &done.alive),
    ] {
        runs.iter().for_each(|run| output.print(&format!("{label} {run}\n")));
    }
    for (run_id, error) in &done.failed {
        output.print(&format!("failed {run_id} {}\n", shown(error)));
    }
    let found = [&done.recorded, &done.late, &done.removed, &done.cleared].iter().any(|names| !names.is_empty());
    if done.sealed.is_empty() && done.failed.is_empty() && !found {
        output.print("nothing was interrupted\n");
    }
    Ok(code)
}
