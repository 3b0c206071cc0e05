//! `cto recover`: seals what was interrupted.

use contract::text::show_controls;
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

/// Advice after an approval that was used up in vain.
const REQUEST_AGAIN: &str = "an approval is good for one run: request again with cto request TASK";

/// Seals interrupted runs. The exit code is 3 if one could not be sealed.
pub(crate) fn recover_runs(context: &Context) -> Result<u8, CommandError> {
    let harness = context.harness_at(&context.config.place())?;
    let done = harness::recover_dead(&harness)?;
    let output = context.output;
    let code = if done.failed.is_empty() { 0 } else { 3 };
    if output.json {
        let sealed = done.sealed.iter().map(|report| json!({"run_id": report.run_id, "status": report.status}));
        let failed = done.failed.iter().map(|(run_id, error)| json!({"error": error, "run_id": run_id}));
        let landings = done.landings.iter().map(|landing| {
            json!({
                "branch": landing.branch,
                "commit": landing.commit,
                "next": landing.next_step(),
                "repository": landing.repository.display().to_string(),
                "run_id": landing.run_id,
                "what": landing.sentence(),
            })
        });
        let spent = done
            .spent
            .iter()
            .map(|(run_id, request)| json!({"next": REQUEST_AGAIN, "request_digest": request, "run_id": run_id}));
        output.print_json(&json!({
            "alive": done.alive,
            "cleared": done.cleared,
            "failed": failed.collect::<Vec<_>>(),
            "landings": landings.collect::<Vec<_>>(),
            "late": done.late,
            "recorded": done.recorded,
            "removed": done.removed,
            "sealed": sealed.collect::<Vec<_>>(),
            "spent": spent.collect::<Vec<_>>(),
            "unreadable": done.unreadable,
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
    for (run_id, request) in &done.spent {
        output.print(&format!("spent {run_id} it had used the approval of {request}\nnext {REQUEST_AGAIN}\n"));
    }
    for landing in &done.landings {
        output.print(&format!("landing {} {}\nnext {}\n", landing.run_id, landing.sentence(), landing.next_step()));
    }
    for (run_id, error) in &done.failed {
        output.print(&format!("failed {run_id} {}\n", show_controls(error)));
    }
    for row in &done.unreadable {
        output.print(&format!("unreadable entry {} {}\n", row.seq, show_controls(&row.what)));
    }
    let found = [&done.recorded, &done.late, &done.removed, &done.cleared].iter().any(|names| !names.is_empty());
    if done.sealed.is_empty() && done.failed.is_empty() && done.landings.is_empty() && !found {
        output.print("nothing was interrupted\n");
    }
    Ok(code)
}
