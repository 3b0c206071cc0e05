//! `go test -v`, and `go test -json`. The package of a test is printed after it.

use std::collections::{BTreeMap, BTreeSet};

use super::tally::{MOST_TESTS, OUTCOMES, RunnerReading, TestNames};
use super::{Runner, TestOutcome, text};

/// Reader of `go test`, plain and JSON.
#[derive(Debug, Default)]
pub(super) struct GoReader {
    /// Tests since the last package ended; the empty package.
    printed: Package,
    /// Packages whose events come as JSON, which may be mixed.
    events: BTreeMap<String, Package>,
    names: TestNames,
    /// Packages whose tests could not be built.
    unloaded: BTreeSet<String>,
    /// True if any output gave the number of tests.
    told: bool,
    /// True if a package ended without naming its tests, as without `-v`.
    untold: bool,
}

/// Tests of a package: how often each was begun and not ended, and how the others ended.
#[derive(Debug, Default)]
struct Package {
    begun: BTreeMap<String, u32>,
    ended: Vec<(String, TestOutcome)>,
    number: usize,
    /// Outcomes of the tests that were too many to keep by name.
    beyond: [u64; 3],
}

impl Package {
    fn begin(&mut self, test: &str) {
        self.number += 1;
        if self.number <= MOST_TESTS {
            *self.begun.entry(test.to_owned()).or_default() += 1;
        }
    }

    /// An end without a begin is what a test printed.
    fn end(&mut self, test: &str, outcome: TestOutcome) {
        if let Some(times) = self.begun.get_mut(test).filter(|times| **times > 0) {
            *times -= 1;
            self.ended.push((test.to_owned(), outcome));
        } else if self.number > MOST_TESTS {
            self.beyond[outcome as usize] += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// Moves the tests to the result. A test that began and never ended counts as cut off.
    fn into_names(self, package: Option<&str>, names: &mut TestNames) {
        for (test, outcome) in self.ended {
            match package {
                Some(package) => names.add_test(&format!("{package}::{test}"), outcome),
                None => names.add_test(&test, outcome),
            }
        }
        (0..self.begun.values().sum::<u32>()).for_each(|_| names.cut_off());
        if self.number > MOST_TESTS {
            OUTCOMES.into_iter().zip(self.beyond).for_each(|(outcome, times)| names.add_unnamed(outcome, times));
            names.forget();
        }
    }
}

/// Fields of an event that are needed.
#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    package: std::borrow::Cow<'a, str>,
    test: Option<String>,
}

impl GoReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if line.starts_with('{') {
            self.hear_event(line);
        } else if let Some((_, test)) = line.split_once("=== RUN   ") {
            self.printed.begin(test.trim());
        } else if let Some((test, outcome)) = ended(line) {
            self.printed.end(test, outcome);
        } else if let Some((package, rest)) = package(line) {
            self.close(package, rest);
        }
    }

    fn close(&mut self, package: &str, rest: &str) {
        let printed = std::mem::take(&mut self.printed);
        let told = rest.contains("[no test") || rest.ends_with(" failed]") || !printed.is_empty();
        self.told |= told;
        self.untold |= !told;
        if rest.ends_with(" failed]") && self.unloaded.len() < MOST_TESTS {
            self.unloaded.insert(text::identity(package));
        }
        printed.into_names(Some(package), &mut self.names);
    }

    fn hear_event(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return };
        if self.events.len() >= MOST_TESTS && !self.events.contains_key(event.package.as_ref()) {
            return;
        }
        let package = self.events.entry(event.package.into_owned()).or_default();
        let outcome = match event.action.as_ref() {
            "pass" => Some(TestOutcome::Passed),
            "fail" => Some(TestOutcome::Failed),
            "skip" => Some(TestOutcome::Skipped),
            _ => None,
        };
        match (event.test, outcome) {
            (Some(test), None) if event.action == "run" => package.begin(&test),
            (Some(test), Some(outcome)) => package.end(&test, outcome),
            _ => {}
        }
        self.told |= outcome.is_some();
    }

    /// Result after the last line; none if the number of tests is unknown.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        for (package, tests) in std::mem::take(&mut self.events) {
            tests.into_names(Some(&package), &mut self.names);
        }
        self.told |= !self.printed.is_empty();
        self.printed.into_names(None, &mut self.names);
        // Without `-v` it is not known how many tests a package has, and that none is known
        // does not mean none.
        let known = self.names.number() > 0 || self.told && !self.untold;
        known.then(|| RunnerReading::settle_names(Runner::Go, self.names, None).without(self.unloaded, 0))
    }
}

/// `--- PASS: TestA/b (0.00s)`, also behind what the test printed without ending its line.
fn ended(line: &str) -> Option<(&str, TestOutcome)> {
    let rest = line.strip_suffix("s)")?;
    let (_, rest) = rest.split_at(rest.rfind("--- ")? + "--- ".len());
    let (word, rest) = rest.split_once(": ")?;
    let (test, _) = rest.rsplit_once(" (")?;
    let outcome = match word {
        "PASS" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    Some((test, outcome))
}

/// `ok  \tpackage\t0.1s`, `FAIL\tpackage [build failed]`, `?   \tpackage\t[no test files]`.
fn package(line: &str) -> Option<(&str, &str)> {
    let rest = ["ok  \t", "FAIL\t", "?   \t"].iter().find_map(|begin| line.strip_prefix(begin))?;
    let end = rest.find(['\t', ' ']).unwrap_or(rest.len());
    Some(rest.split_at(end)).filter(|(package, _)| !package.is_empty())
}
