//! End of a Case run by its own account: the envelope that its agents end their answers
//! with, the pipeline's end in its log, and critical findings of its reviewer. Its exit
//! code says none of this: it is 0 even if everything failed.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::claims::case::{marked_blocks, parsed};
use crate::phases::{PhaseEnd, PhaseOutcome, last_ends};

/// Text that is in the place of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    Missing,
    /// It is not closed, not JSON, or has no status.
    Broken,
    Completed,
    /// Its status is `failed` or `blocked`.
    Failed,
}

/// End of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pipeline {
    Completed,
    /// The agent that failed, if it is named.
    Failed(Option<String>),
}

/// Everything that the engine reported about its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub envelope: Envelope,
    /// None where neither log says so.
    pub pipeline: Option<Pipeline>,
    /// It says itself that an agent's answer had no envelope it could read.
    pub unread: bool,
    /// Critical findings of the last review.
    pub critical: u64,
    /// Result by the phases in its event log, whatever it says about the whole.
    pub phases: Phases,
    /// Its verifier was not satisfied in any cycle, and the pipeline went on.
    pub is_budget_exhausted: bool,
}

/// Circumstances under which an end is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedHow {
    /// It ended by itself. Of a program that was ended nothing is missed that it had not yet said.
    pub by_itself: bool,
    /// The contract forbids what its closer is for, so that a close-out that failed decides nothing.
    pub is_close_out_forbidden: bool,
}

/// Entries of the log against the pipeline, each by the agent of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phases {
    /// A phase ended of which the log tells.
    pub is_logged: bool,
    /// The phase failed, or its agent says that it did; of any phase but the last.
    pub failed: Option<String>,
    /// The same of the phase that closes out.
    pub is_close_out_failed: bool,
    /// Its agent's answer had no envelope that could be read, or there was no answer.
    pub unread: Option<String>,
    pub review: Review,
}

/// Outcome of the last review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Review {
    /// There was none, or it has nothing against the change.
    #[default]
    Silent,
    /// Its agent gave a result, which speaks against the change or failed its phase.
    Rejected,
    /// Its agent gave no result of its own.
    Broken,
}

/// Words of the program where an answer has no envelope, a broken one, or never came. Its classes of failure alone are no
/// guide: they name a failed test where JSON is malformed.
const UNREAD: &[&str] = &[
    "AGENT_RESULT start delimiter not found",
    "AGENT_RESULT end delimiter not found",
    "AGENT_RESULT JSON parse error",
    "AGENT_RESULT is not a JSON object",
    "AGENT_RESULT missing required field",
    "AGENT_RESULT invalid status",
];
/// Beside those, in an error without a summary: the program's own words where a model did not answer.
const UNANSWERED: &[&str] = &["Agent spawn error", " status code", "Connection error"];
/// Its class of such failures, as a value in the log.
const PROTOCOL_CLASS: &[u8] = b"\"agent-protocol-error\"";

const UNREAD_ANSWER: &str = "an agent's answer had no AGENT_RESULT block that could be read";
const REVIEWER: &str = "reviewer";
const CLOSER: &str = "closer";
const BUDGET: &str = "its verifier was not satisfied in any cycle of revision, and the pipeline went on";
const CLOSE_OUT: &str = "its closer failed at what the contract forbids";

/// A line of a log is short.
const MAX_LINE: usize = 64 * 1024;
const MAX_AGENT: usize = 40;

impl Ending {
    /// Reads what was printed, and the event log where it is at hand.
    pub fn read(stdout: &[u8], stderr: &[u8], events: &[u8]) -> Self {
        let (mut all, mut others) = (marked_blocks(stdout), marked_blocks(stderr));
        if all.is_empty() {
            all.append(&mut others);
        }
        let printed = all.iter().rev().find_map(|block| critical(&parsed(block)?)).unwrap_or_default();
        let ends = last_ends(events);
        let reviewed = ends.iter().filter_map(|end| critical(&end.result()?)).max().unwrap_or_default();
        let is_budget_exhausted = has_event(events, "revision_budget_exhausted");
        Self {
            envelope: all.last().map_or(Envelope::Missing, |last| status(parsed(last).as_ref())),
            pipeline: worse(pipeline(events), pipeline(stderr)),
            unread: says_unread(stderr) || says_unread(stdout),
            critical: printed.max(reviewed),
            phases: Phases::of(&ends, is_budget_exhausted),
            is_budget_exhausted,
        }
    }

    /// Reason why the engine broke the result protocol, if it did. A pipeline that says it completed has read the envelopes that it does
    /// not print. A log that names phases shows which of them were read in the end.
    pub fn broken_protocol(&self, how: EndedHow) -> Option<&'static str> {
        match (self.envelope, &self.pipeline) {
            _ if self.phases.unread.is_some() => Some(UNREAD_ANSWER),
            _ if !how.by_itself => None,
            (Envelope::Broken, _) => Some("its last AGENT_RESULT block cannot be read"),
            (_, Some(Pipeline::Completed)) => None,
            _ if self.unread && !self.phases.is_logged => Some(UNREAD_ANSWER),
            (Envelope::Missing, None) => {
                Some("there is no AGENT_RESULT block, and nothing says that the pipeline ended")
            }
            _ => None,
        }
    }

    /// Objection of its own reviewer to the change. A pipeline that failed at the reviewer was rejected by it, unless the
    /// reviewer gave no result.
    pub fn rejected(&self) -> Option<String> {
        let at_reviewer = matches!(&self.pipeline, Some(Pipeline::Failed(Some(agent))) if agent == REVIEWER);
        match (self.critical, self.phases.review) {
            (0, Review::Rejected) => Some("the engine's own reviewer rejected the change".to_owned()),
            (0, Review::Silent) if at_reviewer => Some("the engine's own reviewer rejected the change".to_owned()),
            (0, Review::Silent | Review::Broken) => None,
            (critical, _) => Some(format!("the engine's own reviewer has {critical} critical findings")),
        }
    }

    /// Reason why the work failed, whatever the exit code.
    pub fn failed(&self, how: EndedHow) -> Option<String> {
        let excused = self.is_close_out_excused(how);
        match (&self.pipeline, self.envelope) {
            (Some(Pipeline::Failed(Some(agent))), _) if !excused => Some(format!("its pipeline failed at the {agent}")),
            (Some(Pipeline::Failed(None)), _) if !excused => Some("its pipeline failed".to_owned()),
            _ if self.phases.failed.is_some() => {
                self.phases.failed.as_ref().map(|agent| format!("its {agent} failed, and the pipeline went on"))
            }
            _ if self.phases.is_close_out_failed && !excused => {
                Some(format!("its {CLOSER} failed, and the pipeline went on"))
            }
            (_, Envelope::Failed) if how.by_itself && !excused => {
                Some("its last AGENT_RESULT block says that it failed".to_owned())
            }
            _ => None,
        }
    }

    /// Remarks of its log that decide nothing, as clauses.
    pub fn notes(&self, how: EndedHow) -> Vec<String> {
        let rows = [(self.is_budget_exhausted, BUDGET), (self.is_close_out_excused(how), CLOSE_OUT)];
        rows.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.to_owned()).collect()
    }

    /// The close-out alone failed, and the contract forbids it. Everything before it must have ended well by its own log.
    fn is_close_out_excused(&self, how: EndedHow) -> bool {
        let elsewhere = matches!(&self.pipeline, Some(Pipeline::Failed(Some(agent))) if agent != CLOSER);
        let Phases { is_close_out_failed, failed, unread, review, .. } = &self.phases;
        let alone = failed.is_none() && unread.is_none() && *review == Review::Silent && !elsewhere;
        how.is_close_out_forbidden && *is_close_out_failed && alone
    }
}

impl Phases {
    fn of(ends: &[PhaseEnd<'_>], is_budget_exhausted: bool) -> Self {
        let mut phases = Self::default();
        for end in ends.iter().filter(|end| end.counts()) {
            phases.is_logged = true;
            let result = end.result();
            let said = result.as_ref().map(|result| status(Some(result)));
            if said != Some(Envelope::Failed) && end.outcome != PhaseOutcome::Failed {
                continue;
            }
            let unread = said == Some(Envelope::Failed) && is_unread(end, result.as_ref());
            // A verifier that is never satisfied does not stop the pipeline: another event reports that.
            if end.phase == "verify" && is_budget_exhausted && !unread {
                continue;
            }
            if unread {
                phases.unread = Some(end.agent.clone());
            }
            match end.phase.as_str() {
                "close" => phases.is_close_out_failed = true,
                "review" if !unread && gave_result(result.as_ref()) => phases.review = Review::Rejected,
                "review" => {
                    phases.review = Review::Broken;
                    phases.failed = Some(end.agent.clone());
                }
                _ => phases.failed = Some(end.agent.clone()),
            }
        }
        phases
    }
}

/// True if the result of a failed phase is one that the program made up, for want of an answer that could be read.
fn is_unread(end: &PhaseEnd<'_>, result: Option<&Map<String, Value>>) -> bool {
    let text = |key: &str| result.and_then(|result| result.get(key)?.as_str()).unwrap_or_default();
    let error = text("error");
    let unanswered = || text("summary").is_empty() && UNANSWERED.iter().any(|words| error.contains(words));
    says_unread(error.as_bytes()) || unanswered() || contains(end.line, PROTOCOL_CLASS)
}

/// True if a reviewer says something by its result: a program that makes one up, for an agent that ran out of time, leaves
/// everything empty but the error.
fn gave_result(result: Option<&Map<String, Value>>) -> bool {
    let Some(result) = result else { return false };
    let is_said = |key: &str| match result.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => true,
    };
    let is_own = result.get("status").and_then(Value::as_str) != Some("failed");
    is_own || ["summary", "findings", "rubric"].into_iter().any(is_said)
}

/// True if the event log has an event of this name.
fn has_event(log: &[u8], name: &str) -> bool {
    log_lines(log).any(|line| line.event == name)
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

/// The short lines of a log, the last first.
fn log_lines(log: &[u8]) -> impl Iterator<Item = LogLine> + '_ {
    let lines = log.rsplit(|byte| *byte == b'\n').filter(|line| line.len() <= MAX_LINE && line.starts_with(b"{"));
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}

/// The last line that says how the pipeline ended.
pub(crate) fn pipeline(log: &[u8]) -> Option<Pipeline> {
    let end = log_lines(log).find(|line| line.event == "pipeline_end" || line.msg == "pipeline finished")?;
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
