//! opencode, `run --format json`: why its last step finished, its last text, the files its
//! `edit` and `write` tools got.

use super::said::FoundClaims;
use super::stream::{Touched, events, parse_event};

#[derive(serde::Deserialize)]
struct Step {
    part: StepPart,
}

#[derive(serde::Deserialize)]
struct StepPart {
    reason: Option<String>,
}

#[derive(serde::Deserialize)]
struct Text {
    part: TextPart,
}

#[derive(serde::Deserialize)]
struct TextPart {
    text: String,
}

#[derive(serde::Deserialize)]
struct ToolUse {
    part: ToolPart,
}

#[derive(serde::Deserialize)]
struct ToolPart {
    tool: String,
    state: ToolState,
}

#[derive(serde::Deserialize)]
struct ToolState {
    status: String,
    input: Input,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    file_path: String,
}

/// Reads the claims in opencode's event stream.
pub(super) fn read_opencode_claims(stdout: &[u8]) -> FoundClaims {
    let mut said = FoundClaims::default();
    let mut ended = None;
    let mut touched = Touched::default();
    for (kind, line) in events(stdout) {
        match &*kind {
            "step_start" => ended = None,
            "step_finish" => ended = parse_event::<Step>(line).and_then(|step| finished(step.part.reason.as_deref())),
            "error" => ended = Some(("error", false)),
            "text" => {
                if let Some(Text { part }) = parse_event(line) {
                    said.prose = part.text;
                }
            }
            "tool_use" => written(line).into_iter().for_each(|path| touched.done(path)),
            _ => {}
        }
    }
    said.ended(ended);
    said.touched("tool_use.state.input.filePath", touched.files());
    said
}

/// After `tool-calls` it means to go on, and after `length` it was cut off: only `stop`
/// says that it is done.
fn finished(reason: Option<&str>) -> Option<(&'static str, bool)> {
    match reason? {
        "stop" => Some(("step_finish.reason", true)),
        "error" => Some(("step_finish.reason", false)),
        _ => None,
    }
}

fn written(line: &[u8]) -> Option<String> {
    let ToolUse { part } = parse_event(line)?;
    let wrote = matches!(&*part.tool, "edit" | "write") && part.state.status == "completed";
    wrote.then_some(part.state.input.file_path)
}
