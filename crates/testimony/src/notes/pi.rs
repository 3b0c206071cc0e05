//! Pi, `--mode json`.

use serde::Deserialize;

use super::{Arguments, Note, NoteKind, Words, call, kind_of};
use crate::claims::stream::parse_event;

#[derive(Deserialize)]
struct MessageEnd {
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    content: Option<Words>,
    stop_reason: Option<String>,
    error_message: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart {
    tool_name: String,
    args: Arguments,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolEnd {
    tool_name: String,
    #[serde(default)]
    is_error: bool,
    result: Option<ToolResult>,
}

#[derive(Deserialize)]
struct ToolResult {
    content: Option<Words>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    attempt: u64,
    max_attempts: u64,
    delay_ms: u64,
    error_message: String,
}

/// Notes of one line; `None` if the line is no event of this format.
pub(super) fn pi_notes(line: &[u8]) -> Option<Vec<Note>> {
    match &*kind_of(line)? {
        "session"
        | "turn_start"
        | "message_start"
        | "message_update"
        | "tool_execution_update"
        | "turn_end"
        | "agent_end"
        | "auto_retry_end" => Some(Vec::new()),
        "agent_start" => Some(vec![Note::new(NoteKind::Turn, "started")]),
        "agent_settled" => Some(vec![Note::new(NoteKind::Turn, "settled")]),
        "message_end" => message(parse_event::<MessageEnd>(line)?.message),
        "tool_execution_start" => parse_event::<ToolStart>(line).map(|start| vec![call(&start.tool_name, start.args)]),
        "tool_execution_end" => parse_event(line).map(tool_end),
        "auto_retry_start" => parse_event(line).map(|retry| vec![again(&retry)]),
        _ => None,
    }
}

fn message(message: Message) -> Option<Vec<Note>> {
    if message.role != "assistant" {
        return Some(Vec::new());
    }
    let mut notes = Vec::new();
    let text = message.content.map(Words::text).unwrap_or_default();
    if !text.trim().is_empty() {
        notes.push(Note::new(NoteKind::Message, text));
    }
    if matches!(message.stop_reason.as_deref(), Some("error" | "aborted")) {
        let why = message.error_message.or(message.stop_reason).unwrap_or_default();
        notes.push(Note::new(NoteKind::Error, why));
    } else if let Some(Usage { input, output }) = message.usage {
        notes.push(Note::new(NoteKind::Usage, format!("{input} input, {output} output tokens")));
    }
    Some(notes)
}

/// The start of a tool was noted; its end is new only if it failed.
fn tool_end(end: ToolEnd) -> Vec<Note> {
    if !end.is_error {
        return Vec::new();
    }
    let said = end.result.and_then(|result| result.content).map(Words::text).unwrap_or_default();
    vec![Note::new(NoteKind::Tool, format!("{} failed: {said}", end.tool_name))]
}

fn again(retry: &Retry) -> Note {
    let Retry { attempt, max_attempts, delay_ms, error_message } = retry;
    Note::new(NoteKind::Error, format!("attempt {attempt} of {max_attempts} in {delay_ms} ms: {error_message}"))
}
