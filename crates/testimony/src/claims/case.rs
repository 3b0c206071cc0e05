//! Case: the last `<<<AGENT_RESULT` .. `AGENT_RESULT>>>` block of its output. A block that is broken claims nothing;
//! that it is broken is judged where the engine's protocol is.

use contract::claim::Saying;
use serde_json::{Map, Value};

use super::Said;
use super::stream::once_each;

const START: &[u8] = b"<<<AGENT_RESULT";
const END: &[u8] = b"AGENT_RESULT>>>";

/// A result is a page of text. Parsed as a tree it takes many times its size.
pub(crate) const MAX_ENVELOPE: usize = 1024 * 1024;

pub(super) fn read(stdout: &[u8], stderr: &[u8]) -> Said {
    envelope(stdout).or_else(|| envelope(stderr)).and_then(said).unwrap_or_default()
}

fn envelope(output: &[u8]) -> Option<&[u8]> {
    blocks(output).pop()
}

/// What stands between each start and the first end after it, each on a line of its own. A start that nothing ends is an
/// empty block: it makes the envelope broken, also where a whole one came before.
pub(crate) fn blocks(output: &[u8]) -> Vec<&[u8]> {
    let mut offset = 0;
    let mut open: Option<usize> = None;
    let mut blocks: Vec<&[u8]> = Vec::new();
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        let next = offset + line.len();
        match line.trim_ascii() {
            START => {
                // A start within a block begins it anew.
                blocks.truncate(blocks.len() - usize::from(open.is_some()));
                blocks.push(b"");
                open = Some(next);
            }
            END => {
                if let (Some(start), Some(last)) = (open.take(), blocks.last_mut()) {
                    *last = output.get(start..offset).unwrap_or_default();
                }
            }
            _ => {}
        }
        offset = next;
    }
    blocks
}

fn said(json: &[u8]) -> Option<Said> {
    if json.len() > MAX_ENVELOPE {
        return None;
    }
    let envelope: Map<String, Value> = serde_json::from_slice(json).ok()?;
    let success = match envelope.get("status")?.as_str()? {
        "completed" => true,
        "failed" | "blocked" => false,
        _ => return None,
    };
    let mut said = Said::default();
    said.field("status", Saying::Success(success));
    if let Some(Value::Object(artifacts)) = envelope.get("artifacts") {
        hear(artifacts, &mut said);
    }
    for (found_in, key) in [("findings", "findings"), ("rubric", "rubric")] {
        said.words(found_in, key, envelope.get(key));
    }
    said.prose = envelope.get("summary").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(said)
}

fn hear(artifacts: &Map<String, Value>, said: &mut Said) {
    match artifacts.get("testsPassed").map(|value| (value, flag(value))) {
        Some((_, Some(passed))) => said.field("artifacts.testsPassed", Saying::TestsPassed(passed)),
        other => said.words("artifacts.testsPassed", "testsPassed", other.map(|(value, _)| value)),
    }
    if let Some(id) = artifacts.get("commit").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty()) {
        said.field("artifacts.commit", Saying::Commit(id.to_owned()));
    }
    // An empty list is how a phase that changes nothing fills the form, so it is nothing said.
    if let Some(files) = artifacts.get("filesChanged").and_then(paths).filter(|files| !files.is_empty()) {
        said.field("artifacts.filesChanged", Saying::FilesChanged(files));
    }
    for (found_in, key) in [
        ("artifacts.prUrl", "prUrl"),
        ("artifacts.prNumber", "prNumber"),
        ("artifacts.evidenceMarkers", "evidenceMarkers"),
        ("artifacts.screenshotUrls", "screenshotUrls"),
    ] {
        said.words(found_in, key, artifacts.get(key));
    }
}

/// A model writes the flag, and some write it as a word. A number of tests is no flag.
fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) if word.eq_ignore_ascii_case("true") => Some(true),
        Value::String(word) if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A list in which something is no path is not read at all: what is left of it would be another list.
fn paths(value: &Value) -> Option<Vec<String>> {
    let files: Option<Vec<String>> = value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    files.map(|files| once_each(files.into_iter()))
}

impl Said {
    /// Words that nothing can be compared with; a field that is empty says nothing.
    fn words(&mut self, found_in: &'static str, key: &str, value: Option<&Value>) {
        let words = match value {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) if text.trim().is_empty() => return,
            Some(Value::Array(list)) if list.is_empty() => return,
            Some(Value::Object(map)) if map.is_empty() => return,
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        self.field(found_in, Saying::Other(format!("{key}: {words}")));
    }
}
