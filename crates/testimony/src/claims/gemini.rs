//! Gemini CLI, `-o stream-json`: its `result`, the message it ended with, the files its
//! `write_file` and `replace` tools got.

use super::said::FoundClaims;
use super::stream::{MAX_PROSE, Touched, events, parse_event, tail};

#[derive(serde::Deserialize)]
struct Message {
    role: String,
    content: String,
    #[serde(default)]
    delta: bool,
}

#[derive(serde::Deserialize)]
struct ToolUse {
    tool_name: String,
    tool_id: String,
    parameters: Parameters,
}

#[derive(serde::Deserialize)]
struct Parameters {
    file_path: String,
}

#[derive(serde::Deserialize)]
struct ToolResult {
    tool_id: String,
    status: String,
}

#[derive(serde::Deserialize)]
struct Ended {
    status: String,
}

/// Reads the claims in Gemini's event stream.
pub(super) fn read_gemini_claims(stdout: &[u8]) -> FoundClaims {
    let mut said = FoundClaims::default();
    let mut touched = Touched::default();
    let mut ended = None;
    for (kind, line) in events(stdout) {
        match &*kind {
            "message" => hear(line, &mut said.prose),
            "tool_use" => {
                // What was said before a tool call is not the last message.
                said.prose.clear();
                call(line, &mut touched);
            }
            "tool_result" => fail(line, &mut touched),
            "result" => ended = parse_event::<Ended>(line).and_then(|ended| success(&ended.status)).or(ended),
            _ => {}
        }
    }
    said.ended(ended);
    said.touched("tool_use.parameters.file_path", touched.files());
    said
}

fn success(status: &str) -> Option<(&'static str, bool)> {
    match status {
        "success" => Some(("result.status", true)),
        "error" => Some(("result.status", false)),
        _ => None,
    }
}

/// A message comes in pieces; each says that it is one.
fn hear(line: &[u8], prose: &mut String) {
    let Some(message) = parse_event::<Message>(line).filter(|message| message.role == "assistant") else { return };
    if !message.delta {
        prose.clear();
    }
    prose.push_str(&message.content);
    if prose.len() > 2 * MAX_PROSE {
        *prose = tail(prose.as_bytes());
    }
}

fn call(line: &[u8], touched: &mut Touched) {
    if let Some(call) = parse_event::<ToolUse>(line)
        && matches!(&*call.tool_name, "write_file" | "replace")
    {
        touched.call(call.tool_id, call.parameters.file_path);
    }
}

fn fail(line: &[u8], touched: &mut Touched) {
    if let Some(result) = parse_event::<ToolResult>(line)
        && result.status == "error"
    {
        touched.failed(result.tool_id);
    }
}
