//! Case: the `<<<AGENT_RESULT` .. `AGENT_RESULT>>>` blocks of its output, and the results of phases
//! in its event log, where some builds alone have them. The pipeline's end and the last of the
//! phases that work on the change say how it ended: the retrospective says that it is complete
//! whatever happened, and so does a scout. What was made may have been said by any of them, because
//! later phases fill the same form and leave it empty. A block that is broken claims nothing; that
//! it is broken is judged where the engine's protocol is.

use contract::claim::Saying;
use serde_json::{Map, Value};

use super::said::FoundClaims;
use super::stream::once_each;
use crate::ending::{Pipeline, pipeline};
use crate::phases::{PhaseEnd, ends};

const START: &[u8] = b"<<<AGENT_RESULT";
const END: &[u8] = b"AGENT_RESULT>>>";

/// Summary of every retrospective.
const RETROSPECTIVE: &str = "Retrospective complete";

/// A result is a page of text. Parsed as a tree it takes many times its size.
const MAX_ENVELOPE: usize = 1024 * 1024;
/// Envelopes that are read, the last ones.
const MOST_ENVELOPES: usize = 64;

/// Reads the claims of a Case run. Blocks on stderr count only if stdout has none.
pub(super) fn read_case_claims(stdout: &[u8], stderr: &[u8], log: &[u8]) -> FoundClaims {
    let mut printed = marked_blocks(stdout);
    if printed.is_empty() {
        printed = marked_blocks(stderr);
    }
    let ends = ends(log);
    let is_logged = ends.iter().any(PhaseEnd::counts);
    let mut claimed = Claimed::default();
    for block in printed.iter().skip(printed.len().saturating_sub(MOST_ENVELOPES)) {
        let envelope = parsed(block);
        if !envelope.as_ref().is_some_and(is_retrospective) {
            claimed.hear(envelope.as_ref());
        }
    }
    // A block does not say whose it is; the log does.
    if is_logged {
        claimed.last = FoundClaims::default();
    }
    for result in ends.iter().filter(|end| end.counts()).filter_map(PhaseEnd::result) {
        claimed.hear(Some(&result));
    }
    if let Some(ended) = pipeline(log) {
        claimed.end(ended == Pipeline::Completed);
    }
    claimed.said()
}

/// The constant that the program writes for its retrospective.
fn is_retrospective(envelope: &Map<String, Value>) -> bool {
    envelope.get("summary").and_then(Value::as_str) == Some(RETROSPECTIVE) && !envelope.contains_key("artifacts")
}

/// Claims of all envelopes together.
#[derive(Debug, Default)]
struct Claimed {
    /// Claim of the last envelope about the end.
    last: FoundClaims,
    /// Last claim of each field; for commits every claim, because each must exist.
    made: Vec<(&'static str, Saying)>,
}

impl Claimed {
    fn hear(&mut self, envelope: Option<&Map<String, Value>>) {
        let Some((last, made)) = envelope.and_then(said) else {
            self.last = FoundClaims::default();
            return;
        };
        self.last = last;
        for (found_in, saying) in made {
            // That tests passed is a claim also where a later phase says nothing good of them.
            let stays = |known: &Saying| matches!(known, Saying::Commit(_) | Saying::TestsPassed(true));
            self.made.retain(|(field, known)| *field != found_in || (stays(known) && *known != saying));
            self.made.push((found_in, saying));
        }
        let surplus = self.made.len().saturating_sub(super::said::MAX_CLAIMS);
        self.made.drain(..surplus);
    }

    /// The pipeline's own word on its end comes after those of its agents, and differs
    /// where it did not accept one.
    fn end(&mut self, success: bool) {
        let known = self.last.fields.iter().position(|(_, saying)| matches!(saying, Saying::Success(_)));
        match known.and_then(|at| self.last.fields.get_mut(at)) {
            Some((_, Saying::Success(said))) if *said == success => {}
            Some(field) => *field = ("pipeline_end", Saying::Success(success)),
            None => self.last.fields.insert(0, ("pipeline_end", Saying::Success(success))),
        }
    }

    fn said(self) -> FoundClaims {
        let Self { mut last, made } = self;
        let end = last.fields.len().min(1);
        last.fields.splice(end..end, made);
        last
    }
}

/// Bytes between each start and the first end after it, each marker on a line of its own. A
/// start without an end gives an empty block: it makes the envelope broken, even if a
/// complete one came before.
pub(crate) fn marked_blocks(output: &[u8]) -> Vec<&[u8]> {
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

/// Envelope of a block; none if it is no JSON object or too large.
pub(crate) fn parsed(block: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(block).ok().filter(|_| block.len() <= MAX_ENVELOPE)
}

/// Claim of an envelope about the end, and its claims about the work.
fn said(envelope: &Map<String, Value>) -> Option<(FoundClaims, Vec<(&'static str, Saying)>)> {
    let success = match envelope.get("status")?.as_str()? {
        "completed" => true,
        "failed" | "blocked" => false,
        _ => return None,
    };
    let mut said = FoundClaims::default();
    said.field("status", Saying::Success(success));
    for (found_in, key) in [("findings", "findings"), ("rubric", "rubric")] {
        said.words(found_in, key, envelope.get(key));
    }
    said.prose = envelope.get("summary").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut made = FoundClaims::default();
    if let Some(Value::Object(artifacts)) = envelope.get("artifacts") {
        hear(artifacts, &mut made);
    }
    Some((said, made.fields))
}

fn hear(artifacts: &Map<String, Value>, said: &mut FoundClaims) {
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

/// A list in which something is no path is not read at all: what is left of it would be
/// another list.
fn paths(value: &Value) -> Option<Vec<String>> {
    let files: Option<Vec<String>> = value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    files.map(|files| once_each(files.into_iter()))
}

impl FoundClaims {
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
