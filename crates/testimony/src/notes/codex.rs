//! Codex, `exec --json`.

use serde::Deserialize;

use super::{Note, NoteKind, kind_of};
use crate::claims::stream::{CappedList, parse_event};

#[derive(Deserialize)]
struct Step {
    item: Item,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    message: Option<String>,
    command: Option<String>,
    exit_code: Option<i64>,
    changes: Option<CappedList<Change>>,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    path: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct Completed {
    usage: Usage,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Deserialize)]
struct Failed {
    error: Message,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

/// Notes of one line; `None` if the line is no event of this format.
pub(super) fn codex_notes(line: &[u8]) -> Option<Vec<Note>> {
    let note = match &*kind_of(line)? {
        "thread.started" | "item.updated" => return Some(Vec::new()),
        "turn.started" => Note::new(NoteKind::Turn, "started"),
        "item.started" => return started(parse_event::<Step>(line)?.item),
        "item.completed" => return completed(parse_event::<Step>(line)?.item),
        "turn.completed" => usage(&parse_event::<Completed>(line)?.usage),
        "turn.failed" => Note::new(NoteKind::Error, parse_event::<Failed>(line)?.error.message),
        "error" => Note::new(NoteKind::Error, parse_event::<Message>(line)?.message),
        _ => return None,
    };
    Some(vec![note])
}

/// Notes a command when it starts, as it may never end; everything else when it is
/// complete.
fn started(item: Item) -> Option<Vec<Note>> {
    match (&*item.kind, item.command) {
        ("command_execution", command) => Some(vec![Note::new(NoteKind::Command, command?)]),
        _ => Some(Vec::new()),
    }
}

fn completed(item: Item) -> Option<Vec<Note>> {
    let note = match &*item.kind {
        "reasoning" => return Some(Vec::new()),
        "agent_message" => Note::new(NoteKind::Message, item.text?),
        "error" => Note::new(NoteKind::Error, item.message?),
        "command_execution" => match item.exit_code {
            Some(0) => return Some(Vec::new()),
            Some(code) => Note::new(NoteKind::Command, format!("exit {code}: {}", item.command?)),
            None => Note::new(NoteKind::Command, format!("no exit: {}", item.command?)),
        },
        "file_change" => {
            let failed = if item.status.as_deref() == Some("failed") { "failed: " } else { "" };
            let changes = item.changes?.0.into_iter().map(|change| format!("{} {}", change.kind, change.path));
            Note::new(NoteKind::FileChange, format!("{failed}{}", changes.collect::<Vec<_>>().join(", ")))
        }
        other => Note::new(NoteKind::Tool, other),
    };
    Some(vec![note])
}

fn usage(usage: &Usage) -> Note {
    let Usage { input_tokens, cached_input_tokens, output_tokens } = usage;
    let text = format!("{input_tokens} input ({cached_input_tokens} cached), {output_tokens} output tokens");
    Note::new(NoteKind::Usage, text)
}
