//! The Test Anything Protocol as Node's test runner and others write it, versions 13 and 14.

use super::TestOutcome;
use super::node::{NestedTests, NodeSummary};
use super::tally::RunnerReading;

/// Reader of the Test Anything Protocol.
#[derive(Debug, Default)]
pub(super) struct TapReader {
    /// True after the version line; nothing counts before it.
    begun: bool,
    nest: NestedTests,
    summary: NodeSummary,
    /// Inside details of this indentation: whatever a test said, none of it is the protocol's.
    details: Option<usize>,
    readings: Option<RunnerReading>,
}

impl TapReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if line.starts_with("TAP version ") {
            self.close();
            self.begun = true;
        } else if self.begun {
            let indent = line.bytes().take_while(|byte| *byte == b' ').count();
            self.hear_inside(indent, &line[indent..]);
        }
    }

    fn hear_inside(&mut self, indent: usize, text: &str) {
        match self.details {
            Some(begun) if text == "..." && indent <= begun => self.details = None,
            Some(_) => {}
            None if text == "---" && indent > 0 => self.details = Some(indent),
            None => self.hear_line(indent / INDENT, text),
        }
    }

    fn hear_line(&mut self, depth: usize, text: &str) {
        if let Some(comment) = text.strip_prefix("# ") {
            match comment.strip_prefix("Subtest: ") {
                Some(name) => self.nest.open_node(depth, &unescaped(name)),
                None if depth == 0 && self.summary.take_line(comment) => {
                    self.close();
                    self.begun = false;
                }
                None => {}
            }
        } else if let Some(point) = point(text) {
            match text.ends_with('{') {
                // The tests inside follow.
                true => self.nest.open_node(depth, &point.name),
                false => self.nest.close_node(depth, &point.name, Some(point.outcome)),
            }
        }
    }

    fn close(&mut self) {
        let reading = self.nest.settle_run(&std::mem::take(&mut self.summary));
        self.details = None;
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain(reading));
    }

    /// Result after the last line; none if no TAP document began.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close();
        self.readings
    }
}

/// Spaces for each level.
const INDENT: usize = 4;

struct Point {
    name: String,
    outcome: TestOutcome,
}

/// `ok 1 - name # SKIP why`.
fn point(text: &str) -> Option<Point> {
    let (passed, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    // Other tools say `ok` too, with more space behind it.
    let rest = rest.strip_prefix(' ').filter(|rest| !rest.starts_with([' ', '\t']))?;
    let described = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let described = described.strip_prefix("- ").unwrap_or(described);
    let (name, directive) = split_directive(if described.is_empty() { rest } else { described });
    let directive = directive.trim_start().to_ascii_lowercase();
    let set_aside = ["skip", "todo", "expected failure"].iter().any(|word| directive.starts_with(word));
    let outcome = match passed {
        _ if set_aside => TestOutcome::Skipped,
        true => TestOutcome::Passed,
        false => TestOutcome::Failed,
    };
    Some(Point { name: unescaped(name.trim_end()), outcome })
}

/// A sign that belongs to the name has a backslash before it.
fn split_directive(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'#' && !escaped {
            return (&text[..at], &text[at + 1..]);
        }
        escaped = byte == b'\\' && !escaped;
    }
    (text, "")
}

fn unescaped(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}
