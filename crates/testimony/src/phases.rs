//! The phases in Case's event log. Of the ends of a phase only the first after each start
//! is reliable: later ones say `skipped` also for phases that ran. An agent of the program
//! could have written all of it, so that it can speak against a run and never for one.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A line with the envelope of an agent in it is a page of text.
pub(crate) const MAX_LINE: usize = 1024 * 1024;
const MAX_WORD: usize = 40;
/// Ends that are kept, the last ones. A pipeline has some six phases and two cycles of
/// revision.
const MOST_ENDS: usize = 64;

/// Result of a phase according to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PhaseOutcome {
    Completed,
    Skipped,
    /// The phase failed, or the log has an unknown word.
    Failed,
}

/// The end of a phase that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhaseEnd<'a> {
    pub(crate) phase: String,
    pub(crate) agent: String,
    pub(crate) outcome: PhaseOutcome,
    pub(crate) line: &'a [u8],
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    event: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    outcome: String,
}

impl PhaseEnd<'_> {
    /// The envelope that the phase's agent ended with, where the log holds it.
    pub(crate) fn result(&self) -> Option<Map<String, Value>> {
        #[derive(Deserialize)]
        struct WithResult {
            result: Map<String, Value>,
        }
        serde_json::from_slice::<WithResult>(self.line).ok().map(|line| line.result)
    }

    /// A phase that works on the change. One that looks ahead or back says nothing of it:
    /// its result is a constant, and the pipeline goes on after its failure.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self.phase.as_str(), "scout" | "retrospective")
    }
}

/// Every end that is to be trusted, in order.
pub(crate) fn ends(log: &[u8]) -> Vec<PhaseEnd<'_>> {
    let (mut open, mut ends): (Vec<String>, Vec<PhaseEnd<'_>>) = (Vec::new(), Vec::new());
    for line in log.split(|byte| *byte == b'\n').filter(|line| line.len() <= MAX_LINE && line.starts_with(b"{")) {
        let Ok(read) = serde_json::from_slice::<Line>(line) else { continue };
        let phase = word(&read.phase);
        match read.event.as_str() {
            "phase_start" if !open.contains(&phase) && open.len() < MOST_ENDS => open.push(phase),
            "phase_end" if open.contains(&phase) => {
                open.retain(|known| *known != phase);
                if ends.len() == MOST_ENDS {
                    ends.remove(0);
                }
                ends.push(PhaseEnd { phase, agent: word(&read.agent), outcome: outcome(&read.outcome), line });
            }
            _ => {}
        }
    }
    ends
}

/// The last trusted end of each phase: a phase that was tried again is what it was then.
pub(crate) fn last_ends(log: &[u8]) -> Vec<PhaseEnd<'_>> {
    let mut last: Vec<PhaseEnd<'_>> = Vec::new();
    for end in ends(log) {
        last.retain(|known| known.phase != end.phase);
        last.push(end);
    }
    last
}

/// Word of the log, cut to a bounded length.
pub(crate) fn word(text: &str) -> String {
    text.chars().take(MAX_WORD).collect()
}

fn outcome(word: &str) -> PhaseOutcome {
    match word {
        "completed" => PhaseOutcome::Completed,
        "skipped" => PhaseOutcome::Skipped,
        _ => PhaseOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `start:implement` and `end:implement:completed`.
    fn log(words: &str) -> String {
        let line = |word: &str| {
            let parts: Vec<&str> = word.split(':').collect();
            let outcome = parts.get(2).copied().unwrap_or_default();
            format!(
                "{{\"event\":\"phase_{}\",\"phase\":\"{}\",\"agent\":\"a\",\"outcome\":\"{outcome}\"}}\n",
                parts[0], parts[1]
            )
        };
        words.split_whitespace().map(line).collect()
    }

    fn check(words: &str, expected: &[(&str, PhaseOutcome)]) {
        let text = log(words);
        let read = ends(text.as_bytes());
        let told: Vec<(&str, PhaseOutcome)> = read.iter().map(|end| (end.phase.as_str(), end.outcome)).collect();
        assert_eq!(told, expected, "{words}");
    }

    #[test]
    fn the_first_end_after_a_start_is_the_one() {
        use PhaseOutcome::{Completed, Failed, Skipped};
        check("", &[]);
        check("end:implement:completed", &[]);
        check("start:implement end:implement:failed end:implement:completed", &[("implement", Failed)]);
        check("start:verify end:verify:completed end:verify:skipped", &[("verify", Completed)]);
        check("start:verify start:verify end:verify:skipped", &[("verify", Skipped)]);
        check("start:review end:review:maybe", &[("review", Failed)]);
        let again = "start:implement end:implement:failed start:implement end:implement:completed";
        check(again, &[("implement", Failed), ("implement", Completed)]);
        assert_eq!(last_ends(log(again).as_bytes()).len(), 1);
    }

    #[test]
    fn what_is_no_log_is_passed_over() {
        for text in ["{", "[]", "{\"event\":7}", "\u{0}", "{\"event\":\"phase_end\"}"] {
            assert_eq!(ends(text.as_bytes()), [], "{text}");
        }
        let many: String = (0..500).map(|n| log(&format!("start:p{n} end:p{n}:failed"))).collect();
        let kept = ends(many.as_bytes());
        assert_eq!((kept.len(), kept[MOST_ENDS - 1].phase.as_str()), (MOST_ENDS, "p499"));
        let long = format!("{{\"event\":\"phase_start\",\"phase\":\"a\",\"x\":\"{}\"}}\n", "x".repeat(MAX_LINE));
        assert_eq!(ends(format!("{long}{}", log("end:a:failed")).as_bytes()), []);
    }
}
