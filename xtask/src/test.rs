//! `cargo xtask test`: all tests, and one line of counts at the very end.
//!
//! libtest swallows what a passing test prints, so a test that cannot run here appends `skipped: reason` to the file that
//! CTO_TEST_SKIPS names; it is counted as skipped, not as passed. Lines with `not here: reason` are printed too: they are rows
//! for which this machine has nothing to try.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::process::{cache, cargo};
use crate::tools;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Counts {
    pub(crate) fn verdict(self) -> Outcome {
        match self.failed {
            0 => Ok(()),
            failed => Err(format!("{failed} failed")),
        }
    }

    /// Adds a line such as `test result: ok. 8 passed; 0 failed; 1 ignored; 0 measured; ...`; ignores any other.
    fn add(&mut self, line: &str) {
        let Some((_, result)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for part in result.split("; ") {
            match part.split_once(' ').map(|(number, word)| (number.parse::<u64>(), word)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                Some((Ok(number), "ignored")) => self.skipped += number,
                _ => {}
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// A test that said it was skipped has ended well, and libtest counted it as passed.
    fn skip(&mut self, number: u64) {
        self.passed = self.passed.saturating_sub(number);
        self.skipped += number;
    }
}

pub(crate) fn chore(filter: &[&str]) -> Outcome {
    let counts = run(filter)?;
    // Nothing may follow the counts, so a failure is told by the exit code alone.
    println!("{counts}");
    match counts.verdict() {
        Ok(()) => Ok(()),
        Err(_) => std::process::exit(1),
    }
}

/// Runs the tests and prints everything but the counts.
pub(crate) fn run(filter: &[&str]) -> Outcome<Counts> {
    tools::programs();
    let skips = cache()?.join("skips.txt");
    std::fs::write(&skips, "").map_err(|error| format!("cannot write {}: {error}", skips.display()))?;
    let bundles = empty_folder("bundles")?;
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.args(filter).env("CTO_TEST_SKIPS", &skips).env("CTO_TEST_BUNDLES", &bundles);
    for (variable, make) in tools::TOOLS {
        match make() {
            Ok(path) => drop(command.env(variable, path)),
            Err(message) => eprintln!("xtask: no {variable}, tests that need it are skipped: {message}"),
        }
    }
    let mut counts = stream(&mut command)?;
    // Only now is every bundle there that the suite makes.
    // The whole workspace again: with one package named, features would differ and half of it would be built anew.
    let mut judge = cargo(&["test", "--workspace", "--test", "it", "--", "--exact", "--show-output", JUDGE]);
    counts.join(stream(judge.env("CTO_TEST_COLLECTED", &bundles))?);
    let reasons = reasons(&skips)?;
    for reason in &reasons {
        println!("{reason}");
    }
    counts.skip(reasons.iter().filter(|reason| reason.starts_with("skipped:")).count() as u64);
    Ok(counts)
}

/// The test that lets both verifiers judge what all others left.
const JUDGE: &str = "collected::both_verifiers_agree_on_every_bundle_of_the_suite";

fn empty_folder(name: &str) -> Outcome<PathBuf> {
    let folder = cache()?.join(name);
    let failed = |error: std::io::Error| format!("cannot empty {}: {error}", folder.display());
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => std::fs::create_dir(&folder).map_err(failed)?,
    }
    Ok(folder)
}

fn stream(command: &mut Command) -> Outcome<Counts> {
    let fail = |error: std::io::Error| format!("cannot run cargo test: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(fail)?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(fail)?;
            let line = String::from_utf8_lossy(&line);
            writeln!(std::io::stdout(), "{line}").map_err(fail)?;
            counts.add(&line);
        }
    }
    let status = child.wait().map_err(fail)?;
    if !status.success() && counts.failed == 0 {
        println!(
            "cargo test failed without naming a test ({status}): something did not build, or a test program crashed"
        );
        counts.failed = 1;
    }
    Ok(counts)
}

fn reasons(skips: &Path) -> Outcome<Vec<String>> {
    let text = std::fs::read_to_string(skips).map_err(|error| format!("cannot read {}: {error}", skips.display()))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut counts = Counts::default();
        for line in [
            "test result: ok. 8 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            "test prints::test result: ok. 100 passed ... ok",
            "running 3 tests",
        ] {
            counts.add(line);
        }
        counts.skip(2);
        assert_eq!(counts.to_string(), "10 passed, 2 failed, 3 skipped");
        assert!(counts.verdict().is_err());
    }
}
