//! Claude, `--output-format stream-json`: its `result`, and the files that its editing
//! tools were called with.

use super::said::FoundClaims;
use super::stream::{CappedList, Touched, events, parse_event};

#[derive(serde::Deserialize)]
struct Turn {
    message: Message,
}

#[derive(serde::Deserialize)]
struct Message {
    content: CappedList<Block>,
}

/// A `tool_use` of the assistant, or the `tool_result` that comes back.
#[derive(serde::Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    input: Option<Input>,
    tool_use_id: Option<String>,
    is_error: Option<bool>,
}

#[derive(serde::Deserialize)]
struct Input {
    file_path: Option<String>,
    notebook_path: Option<String>,
}

#[derive(serde::Deserialize)]
struct Ended {
    subtype: Option<String>,
    is_error: Option<bool>,
    result: Option<String>,
}

/// Reads the claims in Claude's event stream.
pub(super) fn read_claude_claims(stdout: &[u8]) -> FoundClaims {
    let mut said = FoundClaims::default();
    let mut touched = Touched::default();
    let mut ended = None;
    for (kind, line) in events(stdout) {
        match &*kind {
            "assistant" | "user" => {
                let blocks = parse_event::<Turn>(line).map(|turn| turn.message.content.0).unwrap_or_default();
                blocks.into_iter().for_each(|block| hear(block, &mut touched));
            }
            "result" => ended = parse_event::<Ended>(line).or(ended),
            _ => {}
        }
    }
    if let Some(ended) = ended {
        said.ended(success(&ended).map(|success| ("result.subtype", success)));
        said.prose = ended.result.unwrap_or_default();
    }
    said.touched("tool_use.input.file_path", touched.files());
    said
}

/// `subtype` stays `success` after a refused request; then `is_error` is set.
fn success(ended: &Ended) -> Option<bool> {
    match (ended.subtype.as_deref(), ended.is_error) {
        (_, Some(true)) => Some(false),
        (Some(subtype), _) => Some(subtype == "success"),
        (None, _) => None,
    }
}

fn hear(block: Block, touched: &mut Touched) {
    match (&*block.kind, block.name.as_deref()) {
        ("tool_use", Some("Edit" | "Write" | "MultiEdit" | "NotebookEdit")) => {
            let path = block.input.and_then(|input| input.file_path.or(input.notebook_path));
            if let (Some(id), Some(path)) = (block.id, path) {
                touched.call(id, path);
            }
        }
        ("tool_result", _) if block.is_error == Some(true) => {
            if let Some(id) = block.tool_use_id {
                touched.failed(id);
            }
        }
        _ => {}
    }
}
