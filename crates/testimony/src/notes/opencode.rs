//! opencode, `run --format json`.

use serde::Deserialize;

use super::{Arguments, Note, NoteKind, call, kind_of};
use crate::claims::stream::parse_event;

#[derive(Deserialize)]
struct Step<T> {
    part: T,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Tool {
    tool: String,
    state: State,
}

#[derive(Deserialize)]
struct State {
    status: String,
    input: Arguments,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Finish {
    tokens: Option<Tokens>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
}

#[derive(Deserialize)]
struct Failed {
    error: Failure,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    name: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    message: String,
}

/// Notes of one line; `None` if the line is no event of this format.
pub(super) fn opencode_notes(line: &[u8]) -> Option<Vec<Note>> {
    match &*kind_of(line)? {
        "step_start" => Some(Vec::new()),
        "text" => parse_event::<Step<Text>>(line).map(|step| vec![Note::new(NoteKind::Message, step.part.text)]),
        "tool_use" => parse_event::<Step<Tool>>(line).map(|step| tool(step.part)),
        "step_finish" => parse_event::<Step<Finish>>(line).map(|step| step.part.tokens.iter().map(usage).collect()),
        "error" => parse_event::<Failed>(line).map(|failed| vec![failure(&failed.error)]),
        _ => None,
    }
}

/// Notes a tool when it has ended.
fn tool(tool: Tool) -> Vec<Note> {
    let mut notes = vec![call(&tool.tool, tool.state.input)];
    if tool.state.status == "error" {
        let said = tool.state.error.unwrap_or_default();
        notes.push(Note::new(NoteKind::Tool, format!("{} failed: {said}", tool.tool)));
    }
    notes
}

fn usage(Tokens { input, output }: &Tokens) -> Note {
    Note::new(NoteKind::Usage, format!("{input} input, {output} output tokens"))
}

fn failure(failure: &Failure) -> Note {
    let said = failure.data.as_ref().map(|data| data.message.as_str()).unwrap_or_default();
    Note::new(NoteKind::Error, format!("{} {said}", failure.name))
}
