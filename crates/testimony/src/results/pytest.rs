//! Pytest's printed output: `-v` lines, the `-rA` list, the summary. The requested report
//! takes precedence; the output gives the number of sessions and the summary of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use contract::report::TestCounts;

use super::junit::JunitReport;
use super::tally::{MOST_TESTS, RunnerReading, TestNames, counts};
use super::{Runner, TestOutcome, text};

/// Sessions that may still belong to a report; older ones are settled as they were printed.
const RECENT: usize = 16;

/// One call of pytest.
#[derive(Debug, Default)]
struct Session {
    tests: BTreeMap<String, TestOutcome>,
    /// True if a test had begun and the session never ended.
    cut_off: bool,
    said: Option<TestCounts>,
    collected: u64,
    /// Files that could not be collected.
    unloaded: BTreeSet<String>,
}

impl Session {
    fn note(&mut self, name: &str, outcome: TestOutcome) {
        let name = text::identity(name);
        if self.tests.len() < MOST_TESTS || self.tests.contains_key(&name) {
            self.tests.entry(name).and_modify(|before| *before = before.worse(outcome)).or_insert(outcome);
        }
    }

    fn settle(self) -> RunnerReading {
        let mut names = TestNames::default();
        self.tests.iter().for_each(|(name, outcome)| names.add_test(name, *outcome));
        if self.cut_off {
            names.cut_off();
        }
        RunnerReading::settle_names(Runner::Pytest, names, self.said)
            .having_collected(self.collected)
            .without(self.unloaded, 0)
    }
}

/// Part of a session that is being printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Before,
    Tests,
    /// Tracebacks and captured output: nothing in it is pytest's own word.
    Details,
    List,
}

/// Reader of pytest's lines.
#[derive(Debug, Default)]
pub(super) struct PytestReader {
    part: Part,
    session: Session,
    /// Tests of the list after the session; it counts only where it is whole, which a test
    /// that passed in it shows.
    listed: Session,
    lists_passed: bool,
    /// A test whose name was printed and whose outcome was not yet.
    pending: Option<String>,
    /// Sessions that tests of this one have begun and not ended: what they print is not
    /// this one's word.
    nested: u32,
    sessions: PytestSessions,
}

/// Sessions of one stream: the recent ones by themselves, older ones added up.
#[derive(Debug, Default)]
pub(super) struct PytestSessions {
    older: Option<RunnerReading>,
    recent: VecDeque<Session>,
}

impl PytestReader {
    /// Takes the next line.
    pub(super) fn take_line(&mut self, line: &str) {
        let summary = summary(line);
        if self.nested > 0 && summary.is_some() {
            self.nested -= 1;
            return;
        }
        if summary.is_some() {
            self.session.said = summary;
            return self.close();
        }
        let title = title(line);
        if title == Some(BEGINNING) && self.part != Part::Before {
            self.nested = self.nested.saturating_add(1);
        }
        if self.nested > 0 {
            return;
        }
        if let Some(title) = title {
            self.part = match title {
                BEGINNING => Part::Tests,
                "short test summary info" => Part::List,
                _ if self.part == Part::Before => Part::Before,
                _ => Part::Details,
            };
            return;
        }
        match self.part {
            Part::Tests => self.hear_test(line),
            Part::List => self.hear_listed(line),
            Part::Before | Part::Details => {}
        }
    }

    fn hear_test(&mut self, line: &str) {
        if let Some((name, outcome)) = verbose(line).or_else(|| distributed(line)) {
            self.pending = None;
            self.session.note(name, outcome);
        } else if let Some(name) = begun(line) {
            self.pending = Some(name.to_owned());
        }
        if let Some(collected) = collected(line) {
            self.session.collected = self.session.collected.max(collected);
        }
        // With `-s` what a test prints stands between its name and its outcome.
        if let (Some(pending), Some((_, outcome))) = (&self.pending, ended(line)) {
            self.session.note(pending, outcome);
            self.pending = None;
        }
    }

    fn hear_listed(&mut self, line: &str) {
        let Some((word, name)) = line.split_once(' ') else { return };
        if let Some(file) = name.split(" - ").next().filter(|file| word == "ERROR" && is_file(file)) {
            self.session.unloaded.insert(text::identity(file));
        }
        let Some(outcome) = outcome(word).filter(|_| name.contains("::")) else { return };
        self.lists_passed |= word == "PASSED";
        let name = if word == "PASSED" { name } else { name.split(" - ").next().unwrap_or(name) };
        self.listed.note(name.trim_end(), outcome);
    }

    fn close(&mut self) {
        let mut session = std::mem::take(&mut self.session);
        let listed = std::mem::take(&mut self.listed);
        session.cut_off = self.pending.is_some() && session.said.is_none();
        if session.tests.is_empty() && self.lists_passed {
            session.tests = listed.tests;
        }
        (self.part, self.lists_passed, self.pending) = (Part::Before, false, None);
        self.nested = 0;
        self.sessions.push(session);
    }

    /// Sessions after the last line, an unfinished one included.
    pub(super) fn finish_sessions(mut self) -> PytestSessions {
        if self.part != Part::Before {
            self.close();
        }
        self.sessions
    }
}

impl PytestSessions {
    fn push(&mut self, session: Session) {
        self.recent.push_back(session);
        if self.recent.len() > RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.older = RunnerReading::all(self.older.take().into_iter().chain([oldest.settle()]));
        }
    }

    /// These and those of the other stream.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.older = RunnerReading::all(self.older.into_iter().chain(other.older));
        other.recent.into_iter().for_each(|session| self.push(session));
        self
    }

    /// Each report belongs to one session, the last one to the last: a second session
    /// writes over the report of the first. With `only_reported`, sessions without one are
    /// those that tests started.
    pub(super) fn with_reports(mut self, reports: Vec<JunitReport>, only_reported: bool) -> Option<RunnerReading> {
        let mut settled = Vec::new();
        for report in reports.into_iter().rev() {
            let Session { said, collected, mut unloaded, .. } = self.recent.pop_back().unwrap_or_default();
            unloaded.extend(report.unloaded);
            let reading = RunnerReading::settle_names(Runner::Pytest, report.names, said);
            settled.push(reading.having_collected(collected).without(unloaded, 0));
        }
        let unreported = self.older.into_iter().chain(self.recent.into_iter().map(Session::settle));
        RunnerReading::all(unreported.filter(|_| !only_reported).chain(settled))
    }
}

/// The heading that a session begins with.
const BEGINNING: &str = "test session starts";

/// `collected 5 items`, also behind what collecting printed before.
fn collected(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("collected ")?;
    let (number, rest) = text::leading_number(rest)?;
    rest.starts_with(" item").then_some(number)
}

fn is_file(name: &str) -> bool {
    name.ends_with(".py") && !name.contains([' ', ':'])
}

/// The text between the signs of a heading such as `=== FAILURES ===`.
fn title(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("===")?.strip_suffix("===")?.trim_matches('=');
    inner.strip_prefix(' ')?.strip_suffix(' ')
}

/// The last line of a session, `1 failed, 2 passed in 0.05s`, with or without signs around it.
fn summary(line: &str) -> Option<TestCounts> {
    let (numbers, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    if !is_time(time) {
        return None;
    }
    let (mut ran, mut failed, mut errors, mut skipped) = (0_u64, 0, 0, 0);
    if numbers == "no tests ran" {
        return Some(counts(0, 0, 0));
    }
    for part in numbers.split(", ") {
        let (number, word) = text::leading_number(part)?;
        match word.trim() {
            "passed" | "xpassed" => ran = ran.saturating_add(number),
            "failed" => (ran, failed) = (ran.saturating_add(number), number),
            "error" | "errors" => errors = number,
            "skipped" | "xfailed" => skipped += number.min(u64::from(u32::MAX)),
            "warning" | "warnings" | "deselected" | "rerun" | "subtests passed" | "subtests failed"
            | "subtests skipped" => {}
            _ => return None,
        }
    }
    // An error alone is one of collecting, and no test; beside tests it is one of a fixture.
    let errors = if ran == 0 { 0 } else { errors };
    Some(counts(ran.saturating_add(errors), failed.saturating_add(errors), skipped))
}

/// `0.05s`, `0.05 seconds`, `75.10s (0:01:15)`.
fn is_time(time: &str) -> bool {
    let rest = text::leading_number(time).and_then(|(_, rest)| text::leading_number(rest.strip_prefix('.')?));
    rest.is_some_and(|(_, rest)| matches!(rest, "s" | " seconds") || rest.starts_with("s ("))
}

/// A test that is expected to fail, and does, checks nothing: it counts as skipped.
fn outcome(word: &str) -> Option<TestOutcome> {
    match word {
        "PASSED" | "XPASS" => Some(TestOutcome::Passed),
        "FAILED" | "ERROR" => Some(TestOutcome::Failed),
        "SKIPPED" | "XFAIL" | "xfail" => Some(TestOutcome::Skipped),
        _ => None,
    }
}

const WORDS: [&str; 7] = ["PASSED", "XPASS", "FAILED", "ERROR", "SKIPPED", "XFAIL", "xfail"];

/// `a/test_b.py::test_c PASSED   [ 50%]`, also with a reason in brackets behind the word.
fn verbose(line: &str) -> Option<(&str, TestOutcome)> {
    let (before, outcome) = ended(line)?;
    let name = before.strip_suffix(' ')?;
    // Spaces stand only among a test's parameters; elsewhere they are what the test printed.
    let name = if name.contains(' ') && !name.ends_with(']') { begun(line)? } else { name };
    names_test(name).then_some((name, outcome))
}

/// Text before the outcome at the end of a line.
fn ended(line: &str) -> Option<(&str, TestOutcome)> {
    let line = line.trim_end();
    let line = match line.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((rest, progress)) if progress.ends_with('%') || progress.contains('/') => rest.trim_end(),
        _ => line,
    };
    WORDS.into_iter().find_map(|word| {
        let before = match line.strip_suffix(word) {
            Some(before) => before,
            None => line.strip_suffix(')').and_then(|rest| split_reason(rest, word))?,
        };
        Some((before, outcome(word)?))
    })
}

fn split_reason<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (at, _) = line.match_indices(word).find(|(at, _)| line[at + word.len()..].starts_with(" ("))?;
    Some(&line[..at])
}

/// `[gw0] [ 50%] PASSED a/test_b.py::test_c`, as several processes print it.
fn distributed(line: &str) -> Option<(&str, TestOutcome)> {
    let rest = line.strip_prefix("[gw")?;
    let rest = rest.split_once("] [")?.1.split_once("] ")?.1;
    let (word, name) = rest.split_once(' ')?;
    names_test(name).then(|| Some((name.trim_end(), outcome(word)?))).flatten()
}

/// The name of a test at the beginning of a line.
fn begun(line: &str) -> Option<&str> {
    let file = line.find("::")?;
    let end = line[file..].find([' ', '[']).map_or(line.len(), |end| file + end);
    let end = match line[end..].starts_with('[') {
        true => line[end..].find(']').map_or(line.len(), |close| end + close + 1),
        false => end,
    };
    names_test(&line[..end]).then_some(&line[..end])
}

fn names_test(name: &str) -> bool {
    name.find("::").is_some_and(|at| at > 0 && !name[..at].contains(char::is_whitespace))
}
