//! JUnit XML, as CI systems read it.

use std::fmt::Write as _;

use contract::text::show_controls;

/// End of one test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseEnd {
    Pass,
    Failure(String),
    /// The outcome is unknown.
    Error(String),
}

/// Test case of a suite.
#[derive(Debug, Clone)]
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) millis: u64,
    pub(crate) ended: CaseEnd,
}

/// Suite of test cases.
#[derive(Debug, Clone)]
pub(crate) struct JunitSuite {
    pub(crate) name: String,
    /// Class name of every case in it.
    pub(crate) class: &'static str,
    pub(crate) cases: Vec<TestCase>,
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// JUnit document: one suite by itself, several in `testsuites`.
pub(crate) fn junit_document(suites: &[JunitSuite]) -> String {
    let mut out = HEAD.to_owned();
    match suites {
        [one] => write_suite(&mut out, one),
        several => {
            out.push_str("<testsuites>\n");
            several.iter().for_each(|suite| write_suite(&mut out, suite));
            out.push_str("</testsuites>\n");
        }
    }
    out
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn write_suite(out: &mut String, suite: &JunitSuite) {
    let count = |wanted: fn(&CaseEnd) -> bool| suite.cases.iter().filter(|case| wanted(&case.ended)).count();
    let failures = count(|ended| matches!(ended, CaseEnd::Failure(_)));
    let errors = count(|ended| matches!(ended, CaseEnd::Error(_)));
    let errors = if errors > 0 { format!(" errors=\"{errors}\"") } else { String::new() };
    let (name, tests) = (escape(&suite.name), suite.cases.len());
    let _ = writeln!(out, "<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\"{errors}>");
    for case in &suite.cases {
        let seconds = format!("{}.{:03}", case.millis / 1000, case.millis % 1000);
        let (class, name) = (suite.class, escape(&case.name));
        let _ = write!(out, "  <testcase classname=\"{class}\" name=\"{name}\" time=\"{seconds}\">");
        match &case.ended {
            CaseEnd::Pass => {}
            CaseEnd::Failure(text) => out.push_str(&format!("<failure message=\"{}\"/>", escape(text))),
            CaseEnd::Error(text) => out.push_str(&format!("<error message=\"{}\"/>", escape(text))),
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n");
}

fn escape(text: &str) -> String {
    show_controls(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
