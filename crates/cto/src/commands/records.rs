//! `cto records`: the records of the workspace.

use contract::Stamp;
use contract::text::shown;
use cortex::{RecordRow, list_records};
use harness::RunClock;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn records(context: &Context) -> Result<u8, CommandError> {
    let output = context.output;
    let Some(workspace) = &context.config.workspace else {
        return Err(CommandError::usage("records lie in a workspace, and there is none here").hint("cto init DIR"));
    };
    let rows = list_records(&context.config.records, now()?)?;
    if output.json {
        output.print_json(&rows.iter().map(document).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        output.print(&format!("no records in {}\n", shown(&workspace.display().to_string())));
    } else {
        rows.iter().for_each(|row| output.print(&line(output, row)));
    }
    Ok(u8::from(rows.iter().any(|row| row.problem.is_some())))
}

/// When signatures are looked at.
pub(super) fn now() -> Result<Stamp, CommandError> {
    RunClock::start().map(|clock| clock.started()).map_err(|error| CommandError::fail(error.to_string()))
}

pub(super) fn document(row: &RecordRow) -> Value {
    json!({
        "file": row.file.display().to_string(),
        "kind": row.kind.as_str(),
        "problem": row.problem,
        "sha256": row.sha256,
        "signed_by": row.signed_by,
        "status": row.status,
        "subject": row.subject,
        "usable": row.problem.is_none(),
    })
}

pub(super) fn line(output: Output, row: &RecordRow) -> String {
    let file = shown(&row.file.display().to_string());
    let subject = shown(row.subject.as_deref().unwrap_or("-"));
    let (status, mark) = match (&row.problem, &row.status) {
        (Some(problem), _) => (format!("unusable: {}", shown(problem)), output.paint.cross()),
        (None, status) => (shown(status.as_deref().unwrap_or("-")), output.paint.tick()),
    };
    let status = match &row.signed_by {
        Some(key) => format!("{status}, signed by {key}"),
        None => status,
    };
    if output.terminal {
        format!("  {mark} {:<18}  {subject:<40}  {status}\n      {}\n", row.kind.as_str(), output.paint.dim(&file))
    } else {
        format!("{} {subject} {status} {file}\n", row.kind.as_str().replace(' ', "-"))
    }
}
