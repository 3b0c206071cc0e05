//! Recorded words of real runners, through one [`check`].

mod cargo;
mod go;
mod hostile;
mod junit;
mod mixed;
mod node;
mod others;
mod pytest;
mod unittest;

use super::{RunnerOutput, TestOutcome, TestResults, read};

/// Output of one command.
#[derive(Debug, Default, Clone, Copy)]
struct Left<'a> {
    argv: &'a str,
    stdout: &'a str,
    stderr: &'a str,
    files: &'a [(&'a str, &'a str)],
}

fn read_left(left: &Left<'_>) -> Option<TestResults> {
    let argv: Vec<String> = left.argv.split_whitespace().map(str::to_owned).collect();
    let files: Vec<(String, Vec<u8>)> =
        left.files.iter().map(|(name, content)| ((*name).to_owned(), content.as_bytes().to_vec())).collect();
    let (stdout, stderr) = (left.stdout.as_bytes(), left.stderr.as_bytes());
    read(&RunnerOutput { argv: &argv, stdout, stderr, files: &files })
}

/// Expects `runner executed/failed/skipped` and then each test behind `+` passed, `-` failed or `.` skipped.
#[track_caller]
fn check(left: &Left<'_>, expected: &[&str]) {
    let shown = read_left(left).map(|results| shown(&results)).unwrap_or_default();
    assert_eq!(shown, expected, "\n{}\n{}", left.stdout, left.stderr);
}

fn shown(results: &TestResults) -> Vec<String> {
    let counts = results.counts;
    assert_eq!(counts.executed, counts.passed + counts.failed);
    let runner = format!("{:?}", results.runner).to_lowercase();
    let head = format!("{runner} {}/{}/{}", counts.executed, counts.failed, counts.skipped);
    let tests = results.tests.iter().map(|(name, outcome)| match outcome {
        TestOutcome::Passed => format!("+ {name}"),
        TestOutcome::Failed => format!("- {name}"),
        TestOutcome::Skipped => format!(". {name}"),
    });
    [head].into_iter().chain(tests).collect()
}

/// Output to stdout alone.
fn out(stdout: &str) -> Left<'_> {
    Left { stdout, ..Left::default() }
}

/// Output to stderr alone.
fn err(stderr: &str) -> Left<'_> {
    Left { stderr, ..Left::default() }
}
