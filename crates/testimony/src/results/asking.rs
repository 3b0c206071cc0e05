//! Asking runners to name their tests, through the environment alone, and finding the
//! reports a command itself asks for.
//!
//! Two settings are left alone. Node: its reporter options may be in NODE_OPTIONS, but a
//! version that does not know them refuses to start. So does a command that has a reporter of
//! its own, because it then has one destination too few. The usual output would be gone too,
//! and both of its usual outputs name the tests. NO_COLOR: tests of coloured output would
//! see it; this module removes the escapes instead.

use std::path::Path;

/// The report that pytest is asked for. Pytest expands variables in the name, and sets this
/// one while a test runs: a session that a test starts writes a report of another name.
/// If the variable is not set, the name stays as it is here.
const PYTEST_REPORT: &str = "pytest${PYTEST_CURRENT_TEST}.xml";
/// Name of the same report without the variable.
const PLAIN_PYTEST_REPORT: &str = "pytest.xml";

/// True for the report of the session that the command itself starts.
pub(super) fn is_pytest_report(name: &str) -> bool {
    matches!(name, PYTEST_REPORT | PLAIN_PYTEST_REPORT)
}

/// True for the report of a session that a test started, or the folder of one.
pub(super) fn is_nested_report(name: &str) -> bool {
    name.starts_with("pytest") && !is_pytest_report(name)
}

/// Variables that make runners name their tests; `folder` takes their reports.
pub(super) fn naming_variables(folder: &Path) -> Vec<(&'static str, String)> {
    let report = folder.join(PYTEST_REPORT);
    let report = quoted(&report.to_string_lossy());
    vec![
        // The family with the test's file in it; pytest before 5 has no other and ignores
        // the setting.
        ("PYTEST_ADDOPTS", format!("--junitxml={report} -o junit_family=xunit1")),
        // Verbose, for each go command that knows the flag.
        ("GOFLAGS", "-v".to_owned()),
        ("CARGO_TERM_COLOR", "never".to_owned()),
        ("CARGO_TERM_PROGRESS_WHEN", "never".to_owned()),
        // Overrules a configuration file in the repository, and not `--quiet` in argv.
        ("CARGO_TERM_QUIET", "false".to_owned()),
        ("NEXTEST_STATUS_LEVEL", "all".to_owned()),
    ]
}

/// Text quoted as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Options whose value is a file with a report that we can read.
const REPORT_OPTIONS: [&str; 8] = [
    "--junitxml",
    "--junit-xml",
    "--junitfile",
    "--junit-output",
    "--output-junit",
    "--log-junit",
    "--test-reporter-destination",
    "--xunit-file",
];

/// Report files that the command asks for, below the working directory.
pub(super) fn named_files(argv: &[String]) -> Vec<String> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut files: Vec<String> = values(&words).filter_map(below).collect();
    for script in argv.iter().filter(|argument| argument.contains(char::is_whitespace)) {
        let words: Vec<&str> = script_words(script).collect();
        files.extend(values(&words).filter_map(below));
    }
    files.sort();
    files.dedup();
    files
}

/// True for a report that an argument of its own names, not a script inside one, or that
/// the runner of the command leaves by itself.
pub(super) fn is_expected(argv: &[String], file: &str) -> bool {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let is_named = values(&words).filter_map(below).any(|named| named == file);
    is_named || known_folders(argv).iter().any(|(folder, _)| file.starts_with(folder))
}

/// Surefire's reports lie here unless a project says otherwise.
const SUREFIRE: [(&str, &str); 1] = [("target/surefire-reports", "TEST-")];

/// Report folders that the command's runner writes without being asked.
pub(super) fn known_folders(argv: &[String]) -> &'static [(&'static str, &'static str)] {
    let words = argv.iter().flat_map(|argument| script_words(argument));
    let is_maven = words.map(|word| word.rsplit('/').next().unwrap_or(word)).any(|name| matches!(name, "mvn" | "mvnw"));
    if is_maven { &SUREFIRE } else { &[] }
}

/// The words of an argument that may be a script, as after `sh -c`. Quotes and separators
/// are cut off, since all that is looked for is options and plain names.
pub(crate) fn script_words(argument: &str) -> impl Iterator<Item = &str> {
    let cut = |character: char| character.is_whitespace() || matches!(character, ';' | '&' | '|' | '(' | ')');
    argument.split(cut).map(|word| word.trim_matches(['"', '\''])).filter(|word| !word.is_empty())
}

fn values<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(|(at, word)| {
        let (option, value) = word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        let known = REPORT_OPTIONS.contains(&option);
        known.then(|| value.or_else(|| words.get(at + 1).copied())).flatten()
    })
}

/// File below the working directory; none for any other path, which is not read.
fn below(value: &str) -> Option<String> {
    let value = value.trim_matches(['"', '\'']);
    let parts: Vec<&str> = value.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let outside = value.starts_with(['/', '~', '$', '-']) || parts.contains(&"..");
    let stream = matches!(value, "stdout" | "stderr");
    (!outside && !stream && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_a_command() {
        let check = |argv: &[&str], files: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(named_files(&argv), files, "{argv:?}");
        };
        check(&["pytest", "--junitxml=out/r.xml"], &["out/r.xml"]);
        check(&["pytest", "--junit-xml", "./r.xml"], &["r.xml"]);
        check(&["gotestsum", "--junitfile", "a b.xml", "--", "./..."], &["a b.xml"]);
        check(&["sh", "-c", "cd x; pytest --junitxml='r.xml' && echo"], &["r.xml"]);
        check(
            &["node", "--test-reporter-destination=stdout", "--test-reporter-destination", "b.tap", "--junitxml=a.xml"],
            &["a.xml", "b.tap"],
        );
        for outside in ["/r.xml", "../r.xml", "a/../../r.xml", "~/r.xml", "$HOME/r.xml", "", "stderr", "-v"] {
            check(&["pytest", "--junitxml", outside], &[]);
        }
        check(&["pytest", "--junitxml"], &[]);
    }

    #[test]
    fn a_folder_is_one_word() {
        let variables = naming_variables(Path::new("/a b/it's"));
        let expected = r"--junitxml='/a b/it'\''s/pytest${PYTEST_CURRENT_TEST}.xml' -o junit_family=xunit1";
        assert_eq!(variables[0].1, expected);
    }

    #[test]
    fn reports_of_sessions_within_a_session() {
        for (name, is_nested) in [
            ("pytest${PYTEST_CURRENT_TEST}.xml", false),
            ("pytest.xml", false),
            ("report.xml", false),
            ("pytesttest_a.py::test_x (call).xml", true),
            ("pytesttests", true),
        ] {
            assert_eq!(is_nested_report(name), is_nested, "{name}");
        }
    }
}
