//! Claude, `--output-format stream-json`.

use serde::Deserialize;

use super::{Arguments, Note, NoteKind, Words, call, kind_of};
use crate::claims::stream::{CappedList, parse_event};

#[derive(Deserialize)]
struct System {
    subtype: String,
    model: Option<String>,
    attempt: Option<u64>,
    max_retries: Option<u64>,
    retry_delay_ms: Option<f64>,
    error_status: Option<u64>,
    error: Option<String>,
    description: Option<String>,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Turn {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Content,
}

/// A prompt is text alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Blocks(CappedList<Block>),
    Text(String),
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    name: Option<String>,
    input: Option<Arguments>,
    content: Option<Words>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct Ended {
    subtype: Option<String>,
    #[serde(default)]
    is_error: bool,
    num_turns: Option<u64>,
    result: Option<String>,
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// Notes of one line; `None` if the line is no event of this format.
pub(super) fn claude_notes(line: &[u8]) -> Option<Vec<Note>> {
    match &*kind_of(line)? {
        // Pieces of a message that comes whole later, and counters.
        "stream_event" | "rate_limit_event" | "tool_progress" => Some(Vec::new()),
        "system" => system(parse_event(line)?),
        kind @ ("assistant" | "user") => match parse_event::<Turn>(line)?.message.content {
            Content::Text(text) if kind == "assistant" => Some(vec![Note::new(NoteKind::Message, text)]),
            Content::Text(_) => Some(Vec::new()),
            Content::Blocks(CappedList(blocks)) => Some(blocks.into_iter().filter_map(block).collect()),
        },
        "result" => parse_event(line).map(|ended| vec![end(ended)]),
        _ => None,
    }
}

fn system(system: System) -> Option<Vec<Note>> {
    match &*system.subtype {
        "init" => Some(vec![Note::new(NoteKind::Turn, format!("started with {}", system.model?))]),
        "api_retry" => {
            let status = system.error_status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
            let text = format!(
                "attempt {} of {} in {:.0} ms: {}{status}",
                system.attempt?,
                system.max_retries?,
                system.retry_delay_ms?,
                system.error.unwrap_or_default(),
            );
            Some(vec![Note::new(NoteKind::Error, text)])
        }
        "task_started" => Some(vec![Note::new(NoteKind::Tool, format!("task {}", system.description?))]),
        "task_notification" => Some(vec![Note::new(NoteKind::Tool, format!("task {}", system.status?))]),
        "background_tasks_changed" | "task_updated" | "task_progress" => Some(Vec::new()),
        _ => None,
    }
}

fn block(block: Block) -> Option<Note> {
    match &*block.kind {
        "text" => block.text.map(|text| Note::new(NoteKind::Message, text)),
        "tool_use" => Some(call(&block.name?, block.input.unwrap_or_default())),
        "tool_result" if block.is_error == Some(true) => {
            let said = block.content.map(Words::text).unwrap_or_default();
            Some(Note::new(NoteKind::Tool, format!("failed: {said}")))
        }
        _ => None,
    }
}

/// The event of its last message came before.
fn end(ended: Ended) -> Note {
    if ended.is_error || ended.subtype.as_deref() != Some("success") {
        let why = ended.result.filter(|text| !text.is_empty()).or(ended.subtype).unwrap_or_default();
        return Note::new(NoteKind::Error, why);
    }
    let Usage { input_tokens, output_tokens } = ended.usage.unwrap_or_default();
    let turns = ended.num_turns.map(|turns| format!("{turns} turns, ")).unwrap_or_default();
    Note::new(NoteKind::Usage, format!("{turns}{input_tokens} input, {output_tokens} output tokens"))
}
