//! JUnit XML of any writer, and the variant that pytest writes.

use std::collections::BTreeSet;

use super::tally::{RunnerReading, TestNames};
use super::xml::{Tags, XmlTag, attribute, find_bytes};
use super::{Runner, TestOutcome, text};

/// Suites deeper than this keep the name of their parent.
const DEEPEST: usize = 32;

/// Files that could not be collected and are remembered.
const MOST_UNLOADED: usize = 10_000;

/// The tests of one document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JunitReport {
    pub(super) of_pytest: bool,
    pub(super) names: TestNames,
    /// Files that pytest could not collect.
    pub(super) unloaded: BTreeSet<String>,
}

impl JunitReport {
    /// Result of the report under the name of the runner that wrote it.
    pub(super) fn reading(self, runner: Runner) -> RunnerReading {
        RunnerReading::settle_names(runner, self.names, None)
    }
}

/// Report of a document; none if the bytes are no such document. Pytest's own report
/// identifies itself, unless it was given another name.
pub(super) fn read_junit(bytes: &[u8], of_pytest: bool) -> Option<JunitReport> {
    let document = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let report = JunitReport { of_pytest, ..JunitReport::default() };
    document.starts_with(b"<").then(|| Reader { report, ..Reader::default() }.read(document)).flatten()
}

/// Upper bound on the bytes before the first element of a document.
const LONGEST_DECLARATION: usize = 256;

/// A document within an output: it begins a line.
pub(super) fn find_in_output(output: &[u8]) -> Option<JunitReport> {
    let mut from = 0;
    while let Some(at) = find_bytes(&output[from..], b"<testsuite").map(|at| from + at) {
        let near = at.saturating_sub(LONGEST_DECLARATION);
        let newline = output[near..at].iter().rposition(|byte| *byte == b'\n').map(|newline| near + newline + 1);
        if let Some(line) = newline.or((near == 0).then_some(0)) {
            let before = output[line..at].trim_ascii();
            if before.is_empty() || before.starts_with(b"<?xml") {
                return read_junit(&output[line..], false);
            }
        }
        from = at + 1;
    }
    None
}

#[derive(Default)]
struct Reader {
    report: JunitReport,
    found: bool,
    suites: Vec<String>,
    depth: usize,
    case: Option<Case>,
}

/// A test whose element is open.
struct Case {
    attributes: Vec<u8>,
    outcome: TestOutcome,
}

impl Reader {
    fn read(mut self, document: &[u8]) -> Option<JunitReport> {
        for tag in Tags::of_document(document) {
            match tag {
                XmlTag::Open { name, attributes, empty } => {
                    self.open(name, attributes);
                    if empty {
                        self.close(name);
                    }
                }
                XmlTag::Close { name } => self.close(name),
            }
        }
        // A document that is cut off keeps what it had of its last test.
        self.close(b"testcase");
        self.found.then_some(self.report)
    }

    fn open(&mut self, name: &[u8], attributes: &[u8]) {
        match name {
            b"testsuites" | b"testsuite" => self.open_suite(name, attributes),
            b"testcase" => {
                self.close(b"testcase");
                let aside = attribute(attributes, "status").is_some_and(|status| is_aside(&status))
                    || attribute(attributes, "result").is_some_and(|result| is_aside(&result));
                let outcome = if aside { TestOutcome::Skipped } else { TestOutcome::Passed };
                self.case = Some(Case { attributes: attributes.to_vec(), outcome });
            }
            b"failure" | b"error" => self.note(TestOutcome::Failed),
            b"skipped" | b"disabled" => self.note(TestOutcome::Skipped),
            _ => {}
        }
    }

    fn open_suite(&mut self, tag: &[u8], attributes: &[u8]) {
        let name = attribute(attributes, "name").unwrap_or_default();
        let of_pytest = matches!(name.as_str(), "pytest" | "pytest tests");
        self.report.of_pytest |= of_pytest && self.depth == 0 && self.report.names.number() == 0;
        self.found = true;
        if tag == b"testsuite" {
            self.depth += 1;
            if self.suites.len() < DEEPEST {
                self.suites.push(name);
            }
        }
    }

    fn note(&mut self, outcome: TestOutcome) {
        if let Some(case) = &mut self.case {
            case.outcome = case.outcome.worse(outcome);
        }
    }

    fn close(&mut self, name: &[u8]) {
        match name {
            b"testcase" => {
                if let Some(case) = self.case.take().filter(|_| self.found) {
                    self.add(&case);
                }
            }
            b"testsuite" => {
                self.depth = self.depth.saturating_sub(1);
                self.suites.truncate(self.depth);
            }
            _ => {}
        }
    }

    fn add(&mut self, case: &Case) {
        let value = |name| attribute(&case.attributes, name).unwrap_or_default();
        let (name, class, file) = (value("name"), value("classname"), value("file"));
        let identity = match self.report.of_pytest {
            true => of_pytest(&name, &class, &file),
            false => Some(self.of_others(&name, &class, &file)),
        };
        match identity {
            Some(identity) => self.report.names.add_test(&identity, case.outcome),
            // A file that was skipped as a whole has been loaded.
            None if case.outcome == TestOutcome::Failed && self.report.unloaded.len() < MOST_UNLOADED => {
                self.report.unloaded.insert(text::identity(&format!("{}.py", name.replace('.', "/"))));
            }
            None => {}
        }
    }

    fn of_others(&self, name: &str, class: &str, file: &str) -> String {
        // Node gives every test the same class, and names the suites around it.
        let suites = self.suites.join(" > ");
        let class = if class.is_empty() || class == "test" { suites.as_str() } else { class };
        let parts = [text::stable_path(file), class, name];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::")
    }
}

fn is_aside(word: &str) -> bool {
    matches!(word, "notrun" | "skipped" | "disabled" | "suppressed")
}

/// As pytest itself names it: `file::Class::name[parameters]`. A method that a class
/// inherits is reported with the file of the base, so that file and class do not fit; then the
/// class alone says where it is. None for what is no test: a file that could not be
/// collected.
fn of_pytest(name: &str, class: &str, file: &str) -> Option<String> {
    if class.is_empty() {
        return None;
    }
    let module = file.strip_suffix(".py").unwrap_or(file).replace('/', ".");
    let Some(rest) = class.strip_prefix(module.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('.')) else {
        return Some(format!("{class}::{name}"));
    };
    if file.is_empty() {
        return Some(format!("{class}::{name}"));
    }
    let classes = rest.split('.').filter(|class| !matches!(*class, "" | "()"));
    let parts: Vec<&str> = [file].into_iter().chain(classes).chain([name]).collect();
    Some(parts.join("::"))
}
