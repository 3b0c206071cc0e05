//! Output of Node's test runner for people: signs, indentation, durations.

use super::TestOutcome;
use super::node::{NestedTests, NodeSummary};
use super::tally::RunnerReading;
use super::text;

/// Reader of Node's spec reporter.
#[derive(Debug, Default)]
pub(super) struct SpecReader {
    nest: NestedTests,
    summary: NodeSummary,
    /// The begin of a name that has line breaks in it.
    broken: Option<(usize, Sign, String)>,
    /// The line before said where a failed test stands: what follows was reported already.
    repeated: bool,
    readings: Option<RunnerReading>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Opens,
    Ends(TestOutcome),
}

impl SpecReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let repeated = std::mem::replace(&mut self.repeated, line.starts_with("test at "));
        if let Some(comment) = line.strip_prefix("ℹ ") {
            self.broken = None;
            if self.summary.take_line(comment) {
                self.close();
            }
        } else if let Some((depth, sign, text)) = signed(line) {
            self.broken = None;
            if !repeated {
                self.hear_signed(depth, sign, text);
            }
        } else if let Some((depth, sign, begin)) = self.broken.take()
            && begin.len() < text::LONGEST_IDENTITY
        {
            let name = format!("{begin}\n{line}");
            self.hear_signed(depth, sign, &name);
        }
    }

    fn hear_signed(&mut self, depth: usize, sign: Sign, text: &str) {
        match (sign, split_duration(text)) {
            (Sign::Opens, None) => self.nest.open_node(depth, text),
            // Version 18 ends what it opened with the same sign.
            (Sign::Opens, Some((name, _))) => self.nest.close_node(depth, name, None),
            (Sign::Ends(outcome), Some((name, comment))) => {
                // A comment sets the test aside: it is still to be done, or expected to fail.
                let outcome = if comment.is_empty() { outcome } else { TestOutcome::Skipped };
                self.nest.close_node(depth, name, Some(outcome));
            }
            (Sign::Ends(_), None) => self.broken = Some((depth, sign, text.to_owned())),
        }
    }

    fn close(&mut self) {
        let reading = self.nest.settle_run(&std::mem::take(&mut self.summary));
        self.readings = RunnerReading::all(self.readings.take().into_iter().chain(reading));
    }

    /// Others print such signs too; only a summary shows that it was Node.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        if self.summary.is_said() {
            self.close();
        }
        self.readings
    }
}

/// Depth, sign and what follows it.
fn signed(line: &str) -> Option<(usize, Sign, &str)> {
    let text = line.trim_start_matches(' ');
    let depth = (line.len() - text.len()) / 2;
    let mut characters = text.chars();
    let sign = match characters.next()? {
        '▶' => Sign::Opens,
        '✔' => Sign::Ends(TestOutcome::Passed),
        '✖' => Sign::Ends(TestOutcome::Failed),
        // The second is of a test that is still to be done.
        '﹣' | '⚠' => Sign::Ends(TestOutcome::Skipped),
        _ => return None,
    };
    Some((depth, sign, characters.as_str().strip_prefix(' ')?))
}

/// Name and comment around the duration: `name (1.25ms) # SKIP`.
fn split_duration(text: &str) -> Option<(&str, &str)> {
    text.match_indices(" (").find_map(|(at, begin)| {
        let rest = &text[at + begin.len()..];
        let digits = rest.bytes().take(32).take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let comment = rest[digits..].strip_prefix("ms)")?;
        let comment = if comment.is_empty() { comment } else { comment.strip_prefix(" # ")? };
        (digits > 0).then_some((&text[..at], comment))
    })
}
