//! Output of Python's unittest: with `-v` a line for each test, otherwise only numbers.
//!
//! A name and its outcome may be apart: a docstring comes between them, or output of the
//! test, or nothing ever follows, which is how failed subtests look before Python 3.11.

use std::collections::BTreeSet;

use contract::report::TestCounts;

use super::tally::{RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Reader of unittest's lines.
#[derive(Debug, Default)]
pub(super) struct UnittestReader {
    names: TestNames,
    current: Option<Current>,
    /// Test whose docstring, and with it its outcome, is on the next line.
    announced: Option<String>,
    /// True if any test was seen to end: a name alone is too little to recognise a test by.
    seen: bool,
    /// True while tracebacks are printed, until the summary.
    listing: bool,
    /// Modules that could not be loaded.
    unloaded: BTreeSet<String>,
    ran: Option<u64>,
    readings: Option<RunnerReading>,
}

/// The test that was named last.
#[derive(Debug)]
struct Current {
    identity: String,
    outcome: Option<TestOutcome>,
}

impl UnittestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        if self.ran.is_some() {
            return self.hear_verdict(line);
        }
        if let Some(ran) = line.strip_prefix("Ran ").and_then(ran) {
            self.ran = Some(ran);
        } else if line.len() == RULE && line.bytes().all(|byte| byte == b'=') {
            self.listing = true;
        } else if self.listing {
            self.unloaded.extend(unloaded(line));
        } else {
            self.hear_test(line);
        }
    }

    fn hear_test(&mut self, line: &str) {
        if let Some(identity) = self.announced.take().filter(|_| line.contains(" ...")) {
            self.begin(Some(identity));
            return self.note(last_outcome(line).or_else(|| glued(line)));
        }
        let Some(mut found) = header(line) else { return self.hear_outcome(line) };
        // A test without an outcome leaves its line unfinished, and the next one goes on in it.
        while let Some(next) = found.after.strip_prefix(" ... ").and_then(header) {
            self.begin(found.identity);
            found = next;
        }
        let Header { identity, after } = found;
        if after.is_empty() {
            self.announced = identity;
        } else if after.starts_with(" ...") {
            self.begin(identity);
            self.note(last_outcome(after).or_else(|| glued(after)));
        } else if identity.is_some() && self.current.as_ref().map(|current| &current.identity) == identity.as_ref() {
            // One of the subtests of the test that was named last.
            self.note(last_outcome(after));
        }
    }

    fn begin(&mut self, identity: Option<String>) {
        self.flush();
        self.current = identity.map(|identity| Current { identity, outcome: None });
    }

    fn note(&mut self, outcome: Option<TestOutcome>) {
        if let (Some(current), Some(outcome)) = (&mut self.current, outcome) {
            self.seen = true;
            current.outcome = Some(current.outcome.map_or(outcome, |before| before.worse(outcome)));
        }
    }

    /// The outcome may stick to what the test printed, or come after a word of the test's
    /// own that looks like one.
    fn hear_outcome(&mut self, line: &str) {
        let open = self.current.as_ref().is_some_and(|current| current.outcome.is_none());
        self.note(outcome(line.trim_end()).or_else(|| open.then(|| glued(line)).flatten()));
    }

    /// The line after `Ran N tests`: `OK`, `FAILED (failures=1)`, `NO TESTS RAN`.
    fn hear_verdict(&mut self, line: &str) {
        let word = line.split(" (").next().unwrap_or_default();
        if matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
            self.close(line);
        } else if !line.trim().is_empty() {
            self.close("");
            self.take_line(line);
        }
    }

    fn flush(&mut self) {
        if let Some(Current { identity, outcome }) = self.current.take() {
            // If others follow and none was reported, its subtests have failed.
            self.names.add_test(&identity, outcome.unwrap_or(TestOutcome::Failed));
        }
    }

    fn close(&mut self, verdict: &str) {
        if self.ran.is_none() && self.current.take_if(|current| current.outcome.is_none()).is_some() {
            self.names.cut_off();
        }
        self.flush();
        let names = std::mem::take(&mut self.names);
        let names = if std::mem::take(&mut self.seen) { names } else { TestNames::default() };
        let said = self.ran.take().map(|ran| numbers(ran, verdict, names.number() > 0));
        (self.listing, self.announced) = (false, None);
        let unloaded = std::mem::take(&mut self.unloaded);
        if said.is_some() || names.number() > 0 {
            let counted = if names.number() == 0 { unloaded.len() as u64 } else { 0 };
            let reading = RunnerReading::settle_names(Runner::Unittest, names, said).without(unloaded, counted);
            self.readings = RunnerReading::all(self.readings.take().into_iter().chain([reading]));
        }
    }

    /// Result after the last line; none if unittest said nothing.
    pub(super) fn finish_reading(mut self) -> Option<RunnerReading> {
        self.close("");
        self.readings
    }
}

/// The module of `ERROR: pkg.test_a (unittest.loader._FailedTest.pkg.test_a)`.
fn unloaded(line: &str) -> Option<String> {
    let (module, place) = line.strip_prefix("ERROR: ")?.split_once(" (")?;
    place.starts_with("unittest.loader._FailedTest").then(|| text::identity(module))
}

/// The length of the lines that unittest draws.
const RULE: usize = 70;

/// `3 tests in 0.001s`.
fn ran(rest: &str) -> Option<u64> {
    let (number, rest) = text::leading_number(rest)?;
    (rest.starts_with(" test in ") || rest.starts_with(" tests in ")).then_some(number)
}

fn numbers(ran: u64, verdict: &str, named: bool) -> TestCounts {
    let value = |key: &str| {
        let (_, rest) = verdict.split_once(&format!("({key}=")).or_else(|| verdict.split_once(&format!(", {key}=")))?;
        text::leading_number(rest).map(|(number, _)| number)
    };
    let value = |key| value(key).unwrap_or(0);
    let skipped = value("skipped").saturating_add(value("expected failures"));
    let failed =
        [value("errors"), value("unexpected successes")].into_iter().fold(value("failures"), u64::saturating_add);
    // A skipped class is no test that ran, so the numbers alone can make it only fewer.
    let executed = if named { ran } else { ran.saturating_sub(skipped) };
    counts(executed, failed, skipped)
}

/// The name of a test at the beginning of a line.
struct Header<'a> {
    /// Identity of the test; none if it is no test, such as the setup of a class or a
    /// module that could not be loaded.
    identity: Option<String>,
    after: &'a str,
}

/// `test_a (package.module.Class)`, since Python 3.11 `test_a
/// (package.module.Class.test_a)`, and what follows it.
fn header(line: &str) -> Option<Header<'_>> {
    let line = line.strip_prefix("  ").unwrap_or(line);
    let (method, rest) = line.split_once(" (")?;
    let (place, after) = rest.split_once(')')?;
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '<' | '>'))
    };
    let follows = after.is_empty() || [" ...", " [", " ("].iter().any(|begin| after.starts_with(begin));
    if !word(method) || !word(place) || !follows || !place.contains('.') {
        return None;
    }
    let of_loader = place.starts_with("unittest.loader.");
    let of_class = matches!(method, "setUpClass" | "tearDownClass" | "setUpModule" | "tearDownModule");
    let named_again = place.strip_suffix(method).is_some_and(|class| class.ends_with('.'));
    let identity = match named_again {
        true => place.to_owned(),
        false => format!("{place}.{method}"),
    };
    Some(Header { identity: (!of_loader && !of_class).then_some(identity), after })
}

/// The outcome that a line ends with. A reason and a docstring may hold dots too, so each
/// place is tried.
fn last_outcome(line: &str) -> Option<TestOutcome> {
    let line = line.trim_end();
    line.match_indices(" ... ").find_map(|(at, dots)| outcome(&line[at + dots.len()..]))
}

fn outcome(words: &str) -> Option<TestOutcome> {
    match words {
        "ok" => Some(TestOutcome::Passed),
        "FAIL" | "ERROR" | "unexpected success" => Some(TestOutcome::Failed),
        "expected failure" => Some(TestOutcome::Skipped),
        words => words
            .strip_prefix("skipped ")
            .filter(|reason| reason.starts_with(['\'', '"']))
            .map(|_| TestOutcome::Skipped),
    }
}

fn glued(line: &str) -> Option<TestOutcome> {
    let ends = |words: &str| line.ends_with(words);
    match line {
        _ if ends("FAIL") || ends("ERROR") || ends("unexpected success") => Some(TestOutcome::Failed),
        _ if ends("expected failure") || line.contains("skipped '") => Some(TestOutcome::Skipped),
        _ if ends("ok") => Some(TestOutcome::Passed),
        _ => None,
    }
}
