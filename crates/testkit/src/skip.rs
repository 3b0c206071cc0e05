//! A test that cannot run says so: one line, which `cargo xtask test` prints and counts.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

/// Records that a test did not run, and why.
pub fn skip(test: &str, reason: &str) {
    record("skipped", test, reason);
}

/// Records that this machine has nothing to try a row on: there is no such file, or nobody may enter where it lies. Printed,
/// and not counted: with everything installed there is still nothing to try.
pub fn not_here(test: &str, reason: &str) {
    record("not here", test, reason);
}

#[expect(clippy::disallowed_methods, reason = "tests are told where to write by the environment")]
fn record(word: &str, test: &str, reason: &str) {
    eprintln!("{word}: {test}: {reason}");
    if let Some(file) = std::env::var_os("CTO_TEST_SKIPS") {
        let mut file = OpenOptions::new().append(true).create(true).open(file).expect("the file of skips");
        writeln!(file, "{word}: {test}: {reason}").expect("a line");
    }
}

/// The Python with the packages that tests need, made by `cargo xtask test`; skips the test where there is none.
#[expect(clippy::disallowed_methods, reason = "tests are told which Python by the environment")]
pub fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("CTO_TEST_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip(test, "no Python with jsonschema and securesystemslib; run through cargo xtask test");
    }
    python
}
