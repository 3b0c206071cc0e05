//! `cto logs`: the conversation of a run, and everything that was printed and recorded.

use std::time::Duration;

use contract::event::Event;
use contract::text::{money_text, show_controls, shown_lines};
use evidence::names;
use evidence::verify::VerifiedBundle;
use serde_json::{Value, json};
use views::{FoundRun, RefusedAct, Transcript, TranscriptEntry};

use crate::args::LogsArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::live::board::clock_text;
use crate::output::Output;

/// Columns before the text of an entry.
const ENTRY: usize = 17;

/// Prints one kind of record of a verified run.
pub(crate) fn logs(context: &Context, arguments: &LogsArgs) -> Result<u8, CommandError> {
    let (found, bundle) = context.bind_named(&arguments.run)?;
    let output = context.output;
    match arguments {
        LogsArgs { refusals: true, .. } => refusals(output, &bundle),
        LogsArgs { events: true, raw: false, .. } if !output.json => events(output, &bundle),
        LogsArgs { events: true, .. } => files(output, &found, &bundle, &[names::EVENTS], ""),
        LogsArgs { checks: true, .. } => {
            files(output, &found, &bundle, &[names::TEST_LOG], "no check was run, so none printed anything\n")
        }
        LogsArgs { setup: true, .. } => {
            let none = "the contract has no setup, or none was needed\n";
            files(output, &found, &bundle, &[names::SETUP_LOG], none)
        }
        LogsArgs { trace: true, .. } => files(output, &found, &bundle, &[names::TRACE], ""),
        LogsArgs { raw: true, .. } => raw(output, &found, &bundle),
        _ => transcript(output, &bundle),
    }?;
    Ok(0)
}

fn read(bundle: &VerifiedBundle, id: &str, file: &str) -> Result<Option<Vec<u8>>, CommandError> {
    match bundle.read_file(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::fail(format!("{file} of {id} cannot be read: {error}"))),
    }
}

/// Files as text that is safe to print; `none` if the run has none of them.
fn files(
    output: Output,
    found: &FoundRun,
    bundle: &VerifiedBundle,
    names: &[&str],
    none: &str,
) -> Result<(), CommandError> {
    let mut texts = Vec::new();
    for name in names {
        let bytes = read(bundle, &found.id, name)?;
        texts.extend(bytes.map(|bytes| (*name, shown_lines(&String::from_utf8_lossy(&bytes)))));
    }
    if output.json {
        let files: serde_json::Map<_, _> =
            texts.into_iter().map(|(file, text)| (file.to_owned(), json!(text))).collect();
        return output.print_json(&json!({"files": files, "run_id": found.id}));
    }
    if texts.is_empty() {
        output.print_note(none);
    }
    output.print(&texts.into_iter().map(|(_, text)| text).collect::<String>());
    Ok(())
}

/// Prints the engine's output. A pipe gets its bytes unchanged; for a terminal control
/// characters are neutralised.
fn raw(output: Output, found: &FoundRun, bundle: &VerifiedBundle) -> Result<(), CommandError> {
    const PRINTED: [&str; 2] = ["backend/stdout.log", "backend/stderr.log"];
    const NONE: &str = "the engine did not start, so it printed nothing\n";
    if output.json || output.terminal {
        return files(output, found, bundle, &PRINTED, NONE);
    }
    for name in PRINTED {
        match read(bundle, &found.id, name)? {
            Some(bytes) => output.print_bytes(&bytes),
            None => output.print_note(NONE),
        }
    }
    Ok(())
}

fn transcript(output: Output, bundle: &VerifiedBundle) -> Result<(), CommandError> {
    let transcript = Transcript::of_bundle(bundle).map_err(CommandError::fail)?;
    if output.json {
        return output.print_json(&transcript);
    }
    if transcript.entries.is_empty() {
        output.print_note(match bundle.report().engine.process_started {
            true => "the engine printed nothing\n",
            false => "the engine did not start, so it printed nothing\n",
        });
        return Ok(());
    }
    let mut text: String = transcript.entries.iter().map(|entry| entry_text(output, entry)).collect();
    if transcript.requests > 0 {
        let cost = match (transcript.cost_micros, transcript.is_partly_unpriced) {
            (0, true) => "unpriced".to_owned(),
            (micros, unpriced) => format!("{}{}", money_text(micros), if unpriced { "+" } else { "" }),
        };
        text.push_str(&format!("{} requests, {} tokens, {cost}\n", transcript.requests, transcript.tokens));
    }
    output.print(&text);
    Ok(())
}

/// Time, word and text. Further lines of a text stand under its first.
fn entry_text(output: Output, entry: &TranscriptEntry) -> String {
    let time = entry.at_ms.map_or_else(|| "-".to_owned(), |ms| clock_text(Duration::from_millis(ms)));
    let cost = entry.cost_micros.map(|micros| format!(", {}", money_text(micros))).unwrap_or_default();
    let said = format!("{}{cost}", shown_lines(&entry.text));
    let mut out = String::new();
    for (index, line) in said.lines().enumerate() {
        let head = if index == 0 { format!("{time:>7}  {:<8}", entry.word.as_str()) } else { " ".repeat(ENTRY) };
        let line = if output.terminal { output.hang(ENTRY, line) } else { line.to_owned() };
        out.push_str(&format!("{}{line}\n", output.paint.dim(&head)));
    }
    out
}

/// Events in words: time, kind, and the facts that they carry.
fn events(output: Output, bundle: &VerifiedBundle) -> Result<(), CommandError> {
    let bytes = bundle.read_file(names::EVENTS)?;
    let started = bundle.report().run_started_at.timestamp();
    let mut text = String::new();
    for event in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Event>(line).ok()) {
        let micros = event.time.timestamp().as_microsecond().saturating_sub(started.as_microsecond());
        let time = clock_text(Duration::from_micros(u64::try_from(micros).unwrap_or_default()));
        let facts: Vec<String> = event.data.iter().filter_map(|(key, value)| fact_text(key, value)).collect();
        let head = format!("{time:>7}  {:<26}", event.kind.name());
        let facts = show_controls(&facts.join("  "));
        let facts = if output.terminal { output.hang(35, &facts) } else { facts };
        text.push_str(format!("{} {facts}", output.paint.dim(&head)).trim_end());
        text.push('\n');
    }
    output.print(&text);
    Ok(())
}

/// `key value`; nothing for what is empty, and a number for a list of many.
fn fact_text(key: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) if items.iter().all(Value::is_string) && items.len() <= 4 => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        }
        Value::Array(items) => format!("{} entries", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
        other => other.to_string(),
    };
    Some(format!("{key} {text}"))
}

fn refusals(output: Output, bundle: &VerifiedBundle) -> Result<(), CommandError> {
    let acts = RefusedAct::list_refused(bundle).map_err(CommandError::fail)?;
    if output.json {
        return output.print_json(&json!({"refusals": acts, "run_id": bundle.report().run_id}));
    }
    if acts.is_empty() {
        output.print_note("nothing was refused\n");
    }
    let line = |act: &RefusedAct| {
        let counts = if act.counts { "counts" } else { "noted" };
        format!("{counts:<6}  {}  {}x  {}\n", show_controls(&act.by), act.times, show_controls(&act.what))
    };
    output.print(&acts.iter().map(line).collect::<String>());
    Ok(())
}
