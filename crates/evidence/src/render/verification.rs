//! The verification for a person: what was run, on what, what it shows, and how the tests
//! compare.

use std::fmt::Write as _;

use contract::report::{
    CheckResult, Excuse, FailedTest, PassKind, PoisonOutcome, Report, TestCounts, VerificationPass,
};
use contract::text::show_controls;

use super::foreign::{LISTED, LONGEST_INLINE, code, code_block, code_items, fold, shorten_text};

/// Tests named in a list before the rest is only counted.
const NAMED: usize = 20;

// Writing to a String cannot fail, so the results of `write!` below are dropped.

/// Writes each check with its result and the test counts.
pub(super) fn write_verification(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What was verified\n");
    let passes = &report.verification.passes;
    if passes.is_empty() {
        let why = report.not_applicable.get("verification").map_or("see test.log", String::as_str);
        let _ = writeln!(out, "Nothing was run: {}.", code(why));
        return;
    }
    let _ = writeln!(out, "On a tree built from the baseline and the patch, not on the one the engine worked in.\n");
    let _ = writeln!(out, "| | check | result | exit | tests | before |\n| --- | --- | --- | --- | --- | --- |");
    for (at, pass) in passes.iter().take(LISTED).enumerate() {
        row(out, at + 1, pass);
    }
    write_commands(out, passes);
    fold(out, "What these checks show", |out| meaning(out, report));
    differences(out, report);
    poisoned(out, report);
}

fn row(out: &mut String, number: usize, pass: &VerificationPass) {
    let _ = writeln!(
        out,
        "| {number} | {} | {} | {} | {} | {} |",
        pass.kind.as_str(),
        result_text(pass.result),
        exit_text(pass),
        counts_text(pass.tests.result),
        counts_text(pass.tests.baseline)
    );
}

/// Commands in a block of their own: a cell of a table ends at a bar, also within code.
fn write_commands(out: &mut String, passes: &[VerificationPass]) {
    let line = |(at, pass): (usize, &VerificationPass)| {
        format!("{}  {}", at + 1, shorten_text(&show_controls(&pass.argv.join(" ")), LONGEST_INLINE))
    };
    let lines: Vec<String> = passes.iter().take(LISTED).enumerate().map(line).collect();
    fold(out, "Commands", |out| {
        out.push_str(&code_block(&lines.join("\n")));
        out.push('\n');
    });
}

fn exit_text(pass: &VerificationPass) -> String {
    match pass.exit {
        _ if pass.timed_out => "timed out".to_owned(),
        Some(exit) => exit.to_string(),
        None => "–".to_owned(),
    }
}

const fn result_text(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Pass => "pass",
        CheckResult::Fail => "**fail**",
        CheckResult::NotRun => "not run",
    }
}

/// `12 passed, 1 failed, 2 skipped`, without the zeros.
pub fn counts_text(counts: Option<TestCounts>) -> String {
    let Some(counts) = counts else { return "–".to_owned() };
    let parts = [(counts.passed, "passed"), (counts.failed, "failed"), (counts.skipped, "skipped")];
    let parts: Vec<String> =
        parts.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// Meaning of each kind of check that was run.
fn meaning(out: &mut String, report: &Report) {
    for kind in [PassKind::Exam, PassKind::Change, PassKind::Control, PassKind::Blind] {
        let mut passes = report.verification.passes.iter().filter(|pass| pass.kind == kind).peekable();
        if passes.peek().is_some() {
            let holds = passes.all(|pass| pass.result == CheckResult::Pass);
            let shows = if holds { format!("shows that {}", kind.shows()) } else { "does not hold".to_owned() };
            let _ = writeln!(out, "- {}, on {}: {shows}", kind.as_str(), kind.ran_on());
        }
    }
}

fn differences(out: &mut String, report: &Report) {
    for pass in report.verification.passes.iter().filter(|pass| pass.kind != PassKind::Control) {
        list(out, pass, "failed", &pass.tests.failed.iter().map(failure_text).collect::<Vec<_>>());
    }
    for pass in &report.verification.passes {
        list(out, pass, "did not run, and ran in the baseline", &pass.tests.missing);
        list(out, pass, "were skipped, and ran in the baseline", &pass.tests.newly_skipped);
    }
}

/// Changed files that were replaced by text that cannot compile, by what became of the exam.
fn poisoned(out: &mut String, report: &Report) {
    for (outcome, says) in [
        (PoisonOutcome::Exercised, "The exam fails without these changed files, as it should"),
        (PoisonOutcome::ExercisedInGroup, "The exam fails without at least one of these changed files"),
        (
            PoisonOutcome::NotExercised,
            "The exam **passes** with text that cannot compile in place of these changed files",
        ),
        (PoisonOutcome::NotTried, "Changed files that were not tried, for lack of time"),
    ] {
        let files: Vec<&str> = report.verification.with_outcome(outcome).collect();
        if !files.is_empty() {
            let _ = writeln!(out, "\n{says}:\n");
            first_names(out, &files);
        }
    }
}

fn failure_text(test: &FailedTest) -> String {
    let excuse = match test.excused {
        None => "",
        Some(Excuse::KnownFailure) => " (a known failure)",
        Some(Excuse::Flaky) => " (flaky)",
    };
    let message = if test.message.is_empty() { String::new() } else { format!(": {}", test.message) };
    format!("{}{excuse}{message}", test.name)
}

fn list(out: &mut String, pass: &VerificationPass, what: &str, tests: &[String]) {
    if tests.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nTests of {} that {what}:\n", code(&pass.name));
    first_names(out, tests);
}

fn first_names(out: &mut String, names: &[impl AsRef<str>]) {
    code_items(out, &names[..names.len().min(NAMED)]);
    if names.len() > NAMED {
        let _ = writeln!(out, "- and {} more", names.len() - NAMED);
    }
}
