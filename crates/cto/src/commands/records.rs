//! `cto records`: the records of the workspace.

use std::path::Path;

use contract::core_route::CorePromotionDecision;
use contract::record::ProviderDecision;
use contract::text::show_controls;
use contract::{Digest, Stamp};
use cortex::{RecordRow, list_records};
use harness::RunClock;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use workboard::list_written_facts;

use crate::args::{RecordsArgs, RecordsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Lists the records, or drafts one from Markdown.
pub(crate) fn run_records(context: &Context, arguments: &RecordsArgs) -> Result<u8, CommandError> {
    if let Some(RecordsCommand::Draft { file }) = &arguments.command {
        return draft_decision(context.output, file);
    }
    let output = context.output;
    let Some(workspace) = &context.config.workspace else {
        return Err(CommandError::usage("records lie in a workspace, and there is none here").hint("cto init DIR"));
    };
    let rows = list_records(&context.config.records, now()?)?;
    if output.json {
        output.print_json(&rows.iter().map(row_document).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        output.print(&format!("no records in {}\n", show_controls(&workspace.display().to_string())));
    } else {
        rows.iter().for_each(|row| output.print(&row_line(output, row)));
    }
    Ok(u8::from(rows.iter().any(|row| row.problem.is_some())))
}

/// The bullets of a decision record in Markdown as the YAML that counts; those that the record does not have become comments. Nothing
/// is written.
fn draft_decision(output: Output, file: &Path) -> Result<u8, CommandError> {
    let name = show_controls(&file.display().to_string());
    let text = std::fs::read_to_string(file)
        .map_err(|error| CommandError::usage(format!("cannot read {name}: {error}")).hint("name a Markdown record"))?;
    let facts = list_written_facts(&text);
    let record = DraftedRecord::of_file(file);
    let (known, rest): (Vec<_>, Vec<_>) = facts.into_iter().partition(|(key, _)| record.has_key(key));
    if known.is_empty() {
        let message = format!("{name} has no facts such as `- decision_status: not_decided`");
        return Err(CommandError::usage(message).hint("write the decision as bullets, or as YAML under decisions/"));
    }
    let values = known.into_iter().map(|(key, text)| {
        let value = record.value_of(&key, text);
        (key, value)
    });
    if output.json {
        output.print_json(&values.collect::<serde_json::Map<String, Value>>())?;
        return Ok(0);
    }
    output.print(&format!("# From {name}. Review it, put it at {} and sign it.\n", record.place));
    values.for_each(|(key, value)| output.print(&format!("{key}: {value}\n")));
    if !rest.is_empty() {
        output.print("# The record has no such keys:\n");
    }
    rest.iter().for_each(|(key, text)| output.print(&format!("# {key}: {}\n", Value::from(text.as_str()))));
    Ok(0)
}

/// Decision that a Markdown record is about, with the keys that its YAML may have.
struct DraftedRecord {
    place: &'static str,
    schema: Value,
}

impl DraftedRecord {
    /// A name with `PROVIDER` is of the provider decision, as `cto validate workspace` reads it.
    fn of_file(file: &Path) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let (place, schema) = match stem.contains("PROVIDER") {
            true => ("decisions/provider.yaml", schemars::schema_for!(ProviderDecision)),
            false => ("decisions/core-promotion.yaml", schemars::schema_for!(CorePromotionDecision)),
        };
        Self { place, schema: schema.to_value() }
    }

    fn has_key(&self, key: &str) -> bool {
        self.schema["properties"].get(key).is_some()
    }

    /// The text as the record has it: states in snake case, and a list where it has one.
    fn value_of(&self, key: &str, text: String) -> Value {
        match key {
            "decision_status" | "provider_class" => text.to_ascii_lowercase().replace([' ', '-'], "_").into(),
            _ if self.schema["properties"][key]["type"] == "array" => Value::Array(vec![text.into()]),
            _ => text.into(),
        }
    }
}

/// Time at which signatures are judged.
pub(super) fn now() -> Result<Stamp, CommandError> {
    RunClock::start_clock().map(|clock| clock.started()).map_err(|error| CommandError::fail(error.to_string()))
}

/// JSON form of a row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Record")]
pub(crate) struct RecordDocument {
    file: String,
    kind: &'static str,
    /// Reason why it cannot be used; null of a usable one.
    problem: Option<String>,
    sha256: Option<Digest>,
    /// Key whose signature of it counts.
    signed_by: Option<String>,
    status: Option<String>,
    subject: Option<String>,
    usable: bool,
}

/// Describes a row as JSON.
pub(super) fn row_document(row: &RecordRow) -> RecordDocument {
    RecordDocument {
        file: row.file.display().to_string(),
        kind: row.kind.as_str(),
        problem: row.problem.clone(),
        sha256: row.sha256,
        signed_by: row.signed_by.clone(),
        status: row.status.clone(),
        subject: row.subject.clone(),
        usable: row.problem.is_none(),
    }
}

/// Line of a row for people.
pub(super) fn row_line(output: Output, row: &RecordRow) -> String {
    let file = show_controls(&row.file.display().to_string());
    let subject = show_controls(row.subject.as_deref().unwrap_or("-"));
    let (status, mark) = match (&row.problem, &row.status) {
        (Some(problem), _) => (format!("unusable: {}", show_controls(problem)), output.paint.cross()),
        (None, status) => (show_controls(status.as_deref().unwrap_or("-")), output.paint.tick()),
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
