//! How a run of Case ended by its own account: the envelope its agents end their answers with, what its log says of the
//! pipeline, and whether its reviewer found something critical. Its exit code says none of this: it is 0 also where everything
//! failed.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::claims::case::{blocks, parsed};
use crate::phases::{Outcome, PhaseEnd, last_ends};

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
    /// Of the phases in its event log, whatever it says of the whole.
    pub phases: Phases,
}

/// What the log holds against the pipeline, each by the agent of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phases {
    /// The phase failed, or its agent says that it did.
    pub failed: Option<String>,
    /// Its agent's answer had no envelope that could be read.
    pub unread: Option<String>,
    /// The review ended, and the phase failed all the same.
    pub rejected: bool,
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

const UNREAD_ANSWER: &str = "an agent's answer had no AGENT_RESULT block that could be read";

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
        let printed = all.iter().rev().find_map(|block| critical(&parsed(block)?)).unwrap_or_default();
        let ends = last_ends(events);
        let reviewed = ends.iter().filter_map(|end| critical(&end.result()?)).max().unwrap_or_default();
        Self {
            envelope: all.last().map_or(Envelope::Missing, |last| status(parsed(last).as_ref())),
            pipeline: worse(pipeline(events), pipeline(stderr)),
            unread: says_unread(stderr) || says_unread(stdout),
            critical: printed.max(reviewed),
            phases: Phases::of(&ends),
        }
    }

    /// Why the result protocol was not kept, if it was not. A pipeline that says it completed has read the envelopes that it
    /// does not print.
    pub fn broken_protocol(&self) -> Option<&'static str> {
        match (self.envelope, &self.pipeline) {
            (Envelope::Broken, _) => Some("its last AGENT_RESULT block cannot be read"),
            _ if self.phases.unread.is_some() => Some(UNREAD_ANSWER),
            (_, Some(Pipeline::Completed)) => None,
            _ if self.unread => Some(UNREAD_ANSWER),
            (Envelope::Missing, None) => {
                Some("there is no AGENT_RESULT block, and nothing says that the pipeline ended")
            }
            _ => None,
        }
    }

    /// What its own reviewer has against the change.
    pub fn rejected(&self) -> Option<String> {
        match (self.critical, self.phases.rejected) {
            (0, false) => None,
            (0, true) => Some("the engine's own reviewer rejected the change".to_owned()),
            (critical, _) => Some(format!("the engine's own reviewer has {critical} critical findings")),
        }
    }

    /// Why the work failed, whatever the exit code is.
    pub fn failed(&self) -> Option<String> {
        match (&self.pipeline, self.envelope) {
            (Some(Pipeline::Failed(Some(agent))), _) => Some(format!("its pipeline failed at the {agent}")),
            (Some(Pipeline::Failed(None)), _) => Some("its pipeline failed".to_owned()),
            _ if self.phases.failed.is_some() => {
                self.phases.failed.as_ref().map(|agent| format!("its {agent} failed, and the pipeline went on"))
            }
            (_, Envelope::Failed) => Some("its last AGENT_RESULT block says that it failed".to_owned()),
            _ => None,
        }
    }
}

impl Phases {
    fn of(ends: &[PhaseEnd<'_>]) -> Self {
        let mut phases = Self::default();
        for end in ends.iter().filter(|end| end.counts()) {
            let result = end.result();
            let said = result.as_ref().map(|result| status(Some(result)));
            let error = result.as_ref().and_then(|result| result.get("error")?.as_str()).unwrap_or_default();
            if said == Some(Envelope::Failed) && says_unread(error.as_bytes()) {
                phases.unread = Some(end.agent.clone());
            }
            if said == Some(Envelope::Failed) || end.outcome == Outcome::Failed {
                phases.failed = Some(end.agent.clone());
            }
            phases.rejected |=
                end.phase == "review" && end.outcome == Outcome::Failed && said == Some(Envelope::Completed);
        }
        phases
    }
}

fn says_unread(text: &[u8]) -> bool {
    UNREAD.iter().any(|words| contains(text, words.as_bytes()))
}

fn status(envelope: Option<&Map<String, Value>>) -> Envelope {
    match envelope.and_then(|envelope| envelope.get("status")?.as_str()) {
        Some("completed") => Envelope::Completed,
        Some("failed" | "blocked") => Envelope::Failed,
        _ => Envelope::Broken,
    }
}

fn critical(envelope: &Map<String, Value>) -> Option<u64> {
    envelope.get("findings")?.get("critical")?.as_u64()
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

    /// A phase as the event log has it.
    fn phase(name: &str, outcome: &str, result: &str) -> String {
        let start = format!(r#"{{"event":"phase_start","phase":"{name}","agent":"{name}er"}}"#);
        let end = r#"{"event":"phase_end","phase":"NAME","agent":"NAMEer","outcome":"OUTCOME","result":RESULT}"#;
        let end = end.replace("NAME", name).replace("OUTCOME", outcome).replace("RESULT", result);
        format!("{start}\n{end}\n")
    }

    /// What a phase came to stays, whatever later ones, the pipeline or the output say.
    #[test]
    fn an_earlier_phase_does_not_vanish() {
        const GOOD: &str = r#"{"status":"completed"}"#;
        const UNREAD: &str = r#"{"status":"failed","error":"AGENT_RESULT start delimiter not found"}"#;
        let critical = r#"{"status":"completed","findings":{"critical":2}}"#;
        let (stdout, end) = (block(GOOD), "{\"event\":\"pipeline_end\",\"outcome\":\"completed\"}");
        for (log, broken, rejected, failed) in [
            (phase("verify", "completed", GOOD), false, None, None),
            (phase("verify", "failed", GOOD), false, None, Some("verifyer")),
            (phase("verify", "completed", r#"{"status":"blocked"}"#), false, None, Some("verifyer")),
            (phase("review", "failed", critical), false, Some("2 critical findings"), Some("reviewer")),
            (phase("review", "completed", critical), false, Some("2 critical findings"), None),
            (phase("review", "failed", GOOD), false, Some("rejected the change"), Some("reviewer")),
            (phase("implement", "failed", UNREAD), true, None, Some("implementer")),
            (phase("implement", "failed", UNREAD) + &phase("implement", "completed", GOOD), false, None, None),
            (phase("verify", "failed", GOOD) + &phase("close", "completed", GOOD), false, None, Some("verifyer")),
            (phase("scout", "failed", UNREAD), false, None, None),
            (phase("retrospective", "failed", UNREAD), false, None, None),
            (phase("verify", "completed", "7"), false, None, None),
        ] {
            let ending = Ending::read(stdout.as_bytes(), FINISHED.as_bytes(), format!("{log}{end}").as_bytes());
            let told = format!("{log}: {ending:?}");
            assert_eq!(ending.broken_protocol().is_some(), broken, "{told}");
            for (said, expected) in [(ending.rejected(), rejected), (ending.failed(), failed)] {
                assert_eq!(said.is_some(), expected.is_some(), "{told}");
                assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{told}");
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
