//! Progress of a pipeline, read from its event log while it is being written. It is a hint
//! to end a program that stays after its work; in doubt the program counts as working.

use serde::Deserialize;

use crate::phases::{MAX_LINE, word};

/// Phases kept open at once; a pipeline has some six.
const MOST_OPEN: usize = 64;

/// Progress of one log, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogProgress {
    /// Work goes on, or the log cannot be read to its end.
    Working,
    /// The last review has ended, nothing was begun anew after it, and no tool is open.
    Reviewed,
    /// The log reports the end of the pipeline, and no work after it.
    Ended,
}

#[derive(Deserialize)]
struct ProgressLine {
    #[serde(default)]
    event: String,
    #[serde(default)]
    phase: String,
}

/// Phases each of which begins work that its review must see again.
const REVIEWED_WORK: &[&str] = &["implement", "verify", "review"];

/// Reads how far a pipeline has come. An empty log says nothing.
pub fn log_progress(log: &[u8]) -> LogProgress {
    // A line that is being written may be the one that says that it goes on.
    if !log.ends_with(b"\n") {
        return LogProgress::Working;
    }
    let mut state = ProgressState::default();
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<ProgressLine>(line) {
            Ok(read) if line.len() <= MAX_LINE && line.starts_with(b"{") => state.hear(&read),
            _ => state = ProgressState { tools: state.tools, ..ProgressState::default() },
        }
    }
    state.progress()
}

#[derive(Debug, Default)]
struct ProgressState {
    open: Vec<String>,
    tools: usize,
    is_reviewed: bool,
    is_ended: bool,
}

impl ProgressState {
    fn hear(&mut self, line: &ProgressLine) {
        let phase = word(&line.phase);
        match line.event.as_str() {
            "pipeline_end" => self.is_ended = true,
            // Tools of a phase that is over are nobody's: an agent that was given up leaves
            // its own open.
            "phase_start" => {
                (self.tools, self.is_ended) = (0, false);
                self.is_reviewed &= !REVIEWED_WORK.contains(&phase.as_str());
                if !self.open.contains(&phase) && self.open.len() < MOST_OPEN {
                    self.open.push(phase);
                }
            }
            "phase_end" if self.open.contains(&phase) => {
                (self.tools, self.is_ended) = (0, false);
                self.is_reviewed |= phase == "review";
                self.open.retain(|known| *known != phase);
            }
            "tool_start" => (self.tools, self.is_ended) = (self.tools.saturating_add(1), false),
            "tool_end" => (self.tools, self.is_ended) = (self.tools.saturating_sub(1), false),
            "pipeline_start" | "revision_requested" => self.is_ended = false,
            _ => {}
        }
    }

    fn progress(&self) -> LogProgress {
        let at_review = self.open.iter().any(|phase| REVIEWED_WORK.contains(&phase.as_str()));
        match (self.tools, self.is_ended, self.is_reviewed && !at_review) {
            (0, true, _) => LogProgress::Ended,
            (0, false, true) => LogProgress::Reviewed,
            _ => LogProgress::Working,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `+implement`, `-implement`, `+tool`, `-tool` and plain names of events.
    fn log(words: &str) -> String {
        let line = |word: &str| {
            let event = match (word.get(..1), word.get(1..)) {
                (Some("+"), Some("tool")) => r#""event":"tool_start""#.to_owned(),
                (Some("-"), Some("tool")) => r#""event":"tool_end""#.to_owned(),
                (Some("+"), Some(phase)) => format!(r#""event":"phase_start","phase":"{phase}""#),
                (Some("-"), Some(phase)) => format!(r#""event":"phase_end","phase":"{phase}""#),
                _ => format!(r#""event":"{word}""#),
            };
            format!("{{{event}}}\n")
        };
        words.split_whitespace().map(line).collect()
    }

    #[test]
    fn a_pipeline_is_at_work_until_its_log_says_otherwise() {
        use LogProgress::{Ended, Reviewed, Working};
        const REVIEW: &str = "pipeline_start +implement -implement +verify -verify +review -review";
        for (words, expected) in [
            (String::new(), Working),
            ("pipeline_start".to_owned(), Working),
            ("+implement +tool -tool -implement +verify +tool".to_owned(), Working),
            ("+implement -implement +verify -verify".to_owned(), Working),
            ("-review".to_owned(), Working),
            (REVIEW.to_owned(), Reviewed),
            (format!("{REVIEW} +close"), Reviewed),
            (format!("{REVIEW} +close +tool"), Working),
            (format!("{REVIEW} +close +tool +tool -tool"), Working),
            (format!("{REVIEW} +close +tool -tool"), Reviewed),
            (format!("{REVIEW} revision_requested +implement"), Working),
            (format!("{REVIEW} +implement -implement +verify -verify"), Working),
            (format!("{REVIEW} +review"), Working),
            (format!("{REVIEW} +implement -implement +review -review"), Reviewed),
            // The end counts only where nothing was done after it and no tool is open.
            ("pipeline_start +implement -implement pipeline_end".to_owned(), Ended),
            ("+implement +tool pipeline_end".to_owned(), Working),
            ("+implement +tool pipeline_end -tool".to_owned(), Working),
            ("+implement +tool -implement pipeline_end".to_owned(), Ended),
            (format!("{REVIEW} pipeline_end +implement"), Working),
            (format!("{REVIEW} pipeline_end -close status_changed"), Ended),
        ] {
            assert_eq!(log_progress(log(&words).as_bytes()), expected, "{words}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_work() {
        let ended = log("+review -review pipeline_end");
        assert_eq!(log_progress(ended.trim_end().as_bytes()), LogProgress::Working);
        for tail in ["{\"event\":\"phase_st\n", "nonsense\n", "[]\n", "{\"event\":7}\n"] {
            assert_eq!(log_progress(format!("{ended}{tail}").as_bytes()), LogProgress::Working, "{tail}");
        }
        let long = format!("{{\"event\":\"pipeline_end\",\"x\":\"{}\"}}\n", "x".repeat(MAX_LINE));
        assert_eq!(log_progress(long.as_bytes()), LogProgress::Working);
    }
}
