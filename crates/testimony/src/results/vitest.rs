//! Vitest's usual report: a line for each file, one for each test where a file failed or is the only one, and a summary.

use super::suites::{indented, number_of, without_duration};
use super::tally::{Names, Reading, counts};
use super::{Outcome, Runner};

#[derive(Debug, Default)]
pub(super) struct Reader {
    running: bool,
    file: String,
    names: Names,
    readings: Option<Reading>,
}

impl Reader {
    pub(super) fn hear(&mut self, line: &str) {
        let (indent, text) = indented(line);
        if text.starts_with("RUN  v") && indent == 1 {
            self.running = true;
            self.names = Names::default();
        } else if self.running {
            match text.strip_prefix("Tests ") {
                Some(list) if indent > 1 => self.close(list),
                _ => self.hear_line(indent, text),
            }
        }
    }

    fn hear_line(&mut self, indent: usize, text: &str) {
        let Some((sign, rest)) = text.split_once(' ') else { return };
        let outcome = match sign {
            "✓" => Outcome::Passed,
            "×" => Outcome::Failed,
            "↓" => Outcome::Skipped,
            "❯" if indent == 1 => Outcome::Failed,
            _ => return,
        };
        if indent == 1 {
            // ` ✓ a.test.ts (6 tests | 1 failed) 6ms`
            self.file = rest.split(" (").next().unwrap_or(rest).trim().to_owned();
        } else if !self.file.is_empty() {
            let name = format!("{} > {}", self.file, without_duration(rest));
            self.names.add(&name, outcome);
        }
    }

    /// `1 failed | 3 passed | 1 skipped | 1 todo (6)`.
    fn close(&mut self, list: &str) {
        let list = list.trim().rsplit_once(" (").map_or(list, |(list, _)| list);
        let (passed, failed) = (number_of(list, &["passed"]), number_of(list, &["failed"]));
        let said = counts(passed + failed, failed, number_of(list, &["skipped", "todo"]));
        let names = std::mem::take(&mut self.names);
        let names = if names.counts() == said { names } else { Names::default() };
        let reading = Reading::settle(Runner::Vitest, names, Some(said));
        self.readings = Reading::all(self.readings.take().into_iter().chain([reading]));
        self.running = false;
        self.file.clear();
    }

    pub(super) fn finish(self) -> Option<Reading> {
        self.readings
    }
}
