//! How a run of Case ended by its own account: the envelope its agents end their answers with, what its log says of the
//! pipeline, and whether its reviewer found something critical. Its exit code says none of this: it is 0 also where everything
//! failed.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::claims::case::{MAX_ENVELOPE, blocks};

/// What stands where the envelope should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    Missing,
    /// It is not closed, not JSON, or has no status.
    Broken,
    Completed,
    /// Its status is `failed` or `blocked`.
    Failed,
}

/// What the pipeline came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pipeline {
    Completed,
    /// By which agent, where it is said.
    Failed(Option<String>),
}

/// Everything that is said of the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub envelope: Envelope,
    /// None where neither log says so.
    pub pipeline: Option<Pipeline>,
    /// It says itself that an agent's answer had no envelope it could read.
    pub unread: bool,
    /// Critical findings of the last review.
    pub critical: u64,
}

/// What the program prints where an answer has no envelope, or a broken one. Its classes of failure are no guide: they name a
/// failed test where JSON is malformed.
const UNREAD: &[&str] = &[
    "AGENT_RESULT start delimiter not found",
    "AGENT_RESULT end delimiter not found",
    "AGENT_RESULT JSON parse error",
    "AGENT_RESULT is not a JSON object",
    "AGENT_RESULT missing required field",
    "AGENT_RESULT invalid status",
];

/// A line of a log is short.
const MAX_LINE: usize = 64 * 1024;
const MAX_AGENT: usize = 40;

impl Ending {
    /// Reads what was printed, and the event log where it is at hand.
    pub fn read(stdout: &[u8], stderr: &[u8], events: &[u8]) -> Self {
        let (mut all, mut others) = (blocks(stdout), blocks(stderr));
        if all.is_empty() {
            all.append(&mut others);
        }
        let says = |text: &[u8]| UNREAD.iter().any(|words| contains(text, words.as_bytes()));
        Self {
            envelope: all.last().map_or(Envelope::Missing, |last| status(last)),
            pipeline: worse(pipeline(events), pipeline(stderr)),
            unread: says(stderr) || says(stdout),
            critical: all.iter().rev().find_map(|block| critical(block)).unwrap_or_default(),
        }
    }

    /// Why the result protocol was not kept, if it was not. A pipeline that says it completed has read the envelopes that it
    /// does not print.
    pub fn broken_protocol(&self) -> Option<&'static str> {
        match (self.envelope, &self.pipeline) {
            (Envelope::Broken, _) => Some("its last AGENT_RESULT block cannot be read"),
            (_, Some(Pipeline::Completed)) => None,
            _ if self.unread => Some("an agent's answer had no AGENT_RESULT block that could be read"),
            (Envelope::Missing, None) => {
                Some("there is no AGENT_RESULT block, and nothing says that the pipeline ended")
            }
            _ => None,
        }
    }

    /// Why the work failed, whatever the exit code is.
    pub fn failed(&self) -> Option<String> {
        match (&self.pipeline, self.envelope) {
            (Some(Pipeline::Failed(Some(agent))), _) => Some(format!("its pipeline failed at the {agent}")),
            (Some(Pipeline::Failed(None)), _) => Some("its pipeline failed".to_owned()),
            (_, Envelope::Failed) => Some("its last AGENT_RESULT block says that it failed".to_owned()),
            _ => None,
        }
    }
}

fn status(block: &[u8]) -> Envelope {
    match parsed(block).as_ref().and_then(|envelope| envelope.get("status")?.as_str()) {
        Some("completed") => Envelope::Completed,
        Some("failed" | "blocked") => Envelope::Failed,
        _ => Envelope::Broken,
    }
}

fn critical(block: &[u8]) -> Option<u64> {
    parsed(block)?.get("findings")?.get("critical")?.as_u64()
}

fn parsed(block: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(block).ok().filter(|_| block.len() <= MAX_ENVELOPE)
}

/// A line of either log: `event` of the event log, `msg` of the other.
#[derive(Deserialize)]
struct LogLine {
    #[serde(default)]
    event: String,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    outcome: String,
    #[serde(default, rename = "failedAgent")]
    failed_agent: Option<String>,
}

/// The last line that says how the pipeline ended.
fn pipeline(log: &[u8]) -> Option<Pipeline> {
    let lines = log.rsplit(|byte| *byte == b'\n').filter(|line| line.len() <= MAX_LINE && line.starts_with(b"{"));
    let mut ends = lines
        .filter_map(|line| serde_json::from_slice::<LogLine>(line).ok())
        .filter(|line| line.event == "pipeline_end" || line.msg == "pipeline finished");
    let end = ends.next()?;
    Some(match end.outcome.as_str() {
        "completed" => Pipeline::Completed,
        _ => Pipeline::Failed(end.failed_agent.map(|agent| agent.chars().take(MAX_AGENT).collect())),
    })
}

/// Of two logs that differ, the one that speaks against the run.
fn worse(one: Option<Pipeline>, other: Option<Pipeline>) -> Option<Pipeline> {
    match (one, other) {
        (Some(Pipeline::Completed) | None, other @ Some(_)) => other,
        (one, _) => one,
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(json: &str) -> String {
        format!("words\n<<<AGENT_RESULT\n{json}\nAGENT_RESULT>>>\n")
    }

    const FINISHED: &str = r#"{"level":"info","msg":"pipeline finished","outcome":"completed"}"#;
    const FAILED: &str = r#"{"msg":"pipeline finished","outcome":"failed","failedAgent":"verifier"}"#;
    const END_FAILED: &str = r#"{"event":"pipeline_end","outcome":"failed"}"#;

    #[test]
    fn the_end_is_read_from_words_and_not_from_the_exit() {
        let good = block(r#"{"status":"completed"}"#);
        let rows = [
            // stdout, stderr, events; is the protocol broken; has the work failed
            (good.clone(), "", "", false, None),
            (good.clone(), FINISHED, "", false, None),
            (String::new(), FINISHED, "", false, None),
            (String::new(), "", "", true, None),
            (block("{"), FINISHED, "", true, None),
            (block(r#"{"status":"done"}"#), "", "", true, None),
            (block(r#"{"summary":"x"}"#), "", "", true, None),
            (format!("{good}<<<AGENT_RESULT\n{{}}\n"), "", "", true, None),
            (format!("{}{good}", block("{")), "", "", false, None),
            (block(r#"{"status":"failed"}"#), "", "", false, Some("says that it failed")),
            (format!("{}{good}", block(r#"{"status":"failed"}"#)), "", "", false, None),
            (good.clone(), FAILED, "", false, Some("at the verifier")),
            (good.clone(), FINISHED, END_FAILED, false, Some("pipeline failed")),
            (good.clone(), FAILED, r#"{"event":"pipeline_end","outcome":"completed"}"#, false, Some("at the verifier")),
            (
                "implementer failed: AGENT_RESULT start delimiter not found".to_owned(),
                FAILED,
                "",
                true,
                Some("verifier"),
            ),
            ("AGENT_RESULT start delimiter not found".to_owned(), FINISHED, "", false, None),
        ];
        for (stdout, stderr, events, broken, failed) in rows {
            let ending = Ending::read(stdout.as_bytes(), stderr.as_bytes(), events.as_bytes());
            let told = format!("{stdout}|{stderr}|{events}: {ending:?}");
            assert_eq!(ending.broken_protocol().is_some(), broken, "{told}");
            match failed {
                None => assert_eq!(ending.failed(), None, "{told}"),
                Some(words) => assert!(ending.failed().is_some_and(|text| text.contains(words)), "{told}"),
            }
        }
    }

    #[test]
    fn the_last_review_counts() {
        let review =
            |critical: &str| block(&format!(r#"{{"status":"completed","findings":{{"critical":{critical}}}}}"#));
        let retrospective = block(r#"{"status":"completed"}"#);
        for (stdout, expected) in [
            (review("2"), 2),
            (format!("{}{retrospective}", review("1")), 1),
            (format!("{}{}", review("1"), review("0")), 0),
            (review("\"many\""), 0),
            (review("-1"), 0),
            (retrospective, 0),
        ] {
            assert_eq!(Ending::read(stdout.as_bytes(), b"", b"").critical, expected, "{stdout}");
        }
    }
}
