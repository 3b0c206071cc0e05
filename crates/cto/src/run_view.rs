//! A run for people: verdict, why, what to do next. The same for `run` and `show`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use contract::remedy::Remedy;
use contract::report::{CHANGED_FILES, CheckResult, Excuse, FailedTest, PassKind, PoisonOutcome, Report};
use contract::text::{listed, show_controls};
use contract::{Coverage, Reason, Stage, Status};
use evidence::names;
use evidence::render::{counts_text, model_text, verdict_sentence};

use crate::approvals_view::PAST_POLICY;
use crate::output::{Output, count_text, duration_text, wrap};

/// Width of the column of reason codes.
const CODE: usize = 26;

/// Below this width reasons have no column of their own.
const NARROW: usize = 80;

/// Findings of one reason that are shown: a patch can touch a thousand paths.
const SHOWN_OF_REASON: usize = 20;

/// Files named in a line.
const NAMED: usize = 5;

/// The whole view; aligned on a terminal, one fact a line on a pipe. `task` names the task in commands to paste.
/// Writing to a String cannot fail.
pub(crate) fn run_view(output: Output, report: &Report, bundle: &Path, task: &str) -> String {
    if output.terminal { people(output, report, bundle, task) } else { lines(report, bundle, task) }
}

fn people(output: Output, report: &Report, bundle: &Path, task: &str) -> String {
    let paint = output.paint;
    let status = report.status;
    let what = subject_text(report);
    let left = format!("{}  {}  {what}", status, report.task_id);
    let painted = format!("{}  {}  {what}", paint.paint_status(status), report.task_id);
    let mut out = output.headline(&painted, left.chars().count(), &duration_text(report.duration_ms));
    out.push('\n');
    if output.quiet {
        return out;
    }
    let indent = status.as_str().len() + 2;
    if status != Status::Pass {
        let _ = writeln!(out, "{}{}", " ".repeat(indent), output.hang(indent, &verdict_sentence(report)));
    }
    out.push('\n');
    for blocker in &report.blockers {
        let text = cut_findings(&blocker.text);
        reason(&mut out, output, status, blocker.reason, &text, &report.fill_remedy_for(&blocker.remedy, task));
    }
    if !report.blockers.is_empty() {
        out.push('\n');
    }
    facts(&mut out, output, report, bundle);
    let _ = writeln!(out, "\n{}  {}", paint.dim("next"), paint.command(&output.hang(6, &next(report))));
    out
}

/// Engine and stage of a run; kind and number of bundles of a document about others.
fn subject_text(report: &Report) -> String {
    match report.kind {
        None => format!("{}  stage {}", report.backend, report.stage),
        Some(kind) => format!("{kind} of {}", count_text(report.bundles.len(), "bundle", "bundles")),
    }
}

/// The first findings of a reason, and the number of the others; the report has them all.
fn cut_findings(text: &str) -> String {
    // Each finding begins with its path in backticks, and may have a semicolon of its own.
    const BETWEEN: &str = "; `";
    let findings: Vec<&str> = text.split(BETWEEN).collect();
    match findings.len().checked_sub(SHOWN_OF_REASON) {
        None | Some(0) => text.to_owned(),
        Some(more) => format!("{}; and {more} more", findings[..SHOWN_OF_REASON].join(BETWEEN)),
    }
}

fn reason(out: &mut String, output: Output, status: Status, reason: Reason, text: &str, remedy: &str) {
    let paint = output.paint;
    // A narrow terminal has the code on a line of its own.
    let column = if output.width < NARROW { 2 } else { CODE };
    let code = format!("{:<CODE$}", reason.code());
    let width = output.width.saturating_sub(column + 2).max(30);
    if column < CODE {
        let _ = writeln!(out, "  {}", paint.like(status, reason.code()));
    }
    for (index, line) in wrap(&show_controls(text), width).iter().enumerate() {
        let label = if index == 0 && column == CODE { paint.like(status, &code) } else { " ".repeat(column) };
        let _ = writeln!(out, "  {label}{line}");
    }
    out.push_str(&remedy_lines(output, column + 2, &show_controls(remedy)));
}

/// A remedy below `indent` columns: its condition, its command after an arrow, and the other words.
pub(crate) fn remedy_lines(output: Output, indent: usize, remedy: &str) -> String {
    let parts = Remedy::parse_text(remedy);
    let words = |mark: &str, text: &str| format!("{}{mark} {}\n", " ".repeat(indent), output.hang(indent + 2, text));
    let Some(command) = parts.command else { return words(output.paint.arrow(), parts.before) };
    let mut out = parts.condition().map_or_else(String::new, |condition| words(" ", condition));
    out.push_str(&output.command_line(indent, command));
    if !parts.after.is_empty() {
        out.push_str(&words(" ", parts.after));
    }
    out
}

/// Columns before a fact.
const FACT: usize = 12;

fn facts(out: &mut String, output: Output, report: &Report, bundle: &Path) {
    let paint = output.paint;
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(out, "  {} {}", paint.dim(&format!("{label:<9}")), output.hang(FACT, text));
    };
    if report.engine.process_started {
        line("diff", &diff_text(report));
        line("verified", &verification_text(report));
        for (label, text) in poison_texts(report) {
            line(label, &text);
        }
        for test in failed_tests(report) {
            for (index, text) in wrap(&test, output.width.saturating_sub(14)).iter().enumerate() {
                line("", &format!("{}{text}", if index == 0 { "" } else { "  " }));
            }
        }
        line(
            "sandbox",
            &format!(
                "{}, exit {}",
                report.sandbox.profile,
                report.backend_exit_code.map_or("–".to_owned(), |code| code.to_string())
            ),
        );
    }
    if let (Some(branch), Some(commit)) = (&report.result_branch, &report.result_commit) {
        line("landed", &format!("{} on branch {}", commit.get(..12).unwrap_or(commit), show_controls(branch)));
    }
    if report.coverage.contains(&Coverage::BreakGlass) {
        line("approved", &format!("{}, in an emergency", paint.break_glass(PAST_POLICY)));
    }
    if let Some(model) = &report.model {
        line("model", &show_controls(&model_text(model)));
    }
    if report.artifact_paths.contains_key(names::SETUP_LOG) {
        line("setup", &format!("cto logs {} --setup", report.run_id.suffix()));
    }
    let files = count_text(report.artifact_paths.len(), "file", "files");
    let suffix = report.run_id.suffix();
    // The link is put in after the line is laid out: its address takes no columns.
    let sealed =
        output.hang(FACT, &format!("{suffix}  sealed, {files}")).replacen(suffix, &paint.paint_link(bundle, suffix), 1);
    let _ = writeln!(out, "  {} {sealed}", paint.dim("bundle   "));
    if !report.coverage.is_empty() {
        let codes: Vec<&str> = report.coverage.iter().map(|coverage| coverage.code()).collect();
        let _ = writeln!(out, "  {} {}", paint.dim("unproven "), output.hang(FACT, &codes.join(", ")));
    }
}

/// A failing test with its runner's message, and why it does not count where it does not.
pub(crate) fn failed_test(test: &FailedTest) -> String {
    let message = if test.message.is_empty() { String::new() } else { format!(": {}", show_controls(&test.message)) };
    let excuse = match test.excused {
        None => "",
        Some(Excuse::KnownFailure) => " (a known failure)",
        Some(Excuse::Flaky) => " (flaky)",
    };
    format!("failed{excuse} {}{message}", show_controls(&test.name))
}

/// Failing tests of exam and change, each once.
fn failed_tests(report: &Report) -> Vec<String> {
    let checks = report.verification.passes.iter().filter(|pass| pass.kind != PassKind::Control);
    let tests: BTreeSet<String> = checks.flat_map(|pass| &pass.tests.failed).map(failed_test).collect();
    tests.into_iter().collect()
}

fn diff_text(report: &Report) -> String {
    let files = count_text(report.changed_files.len(), "file", "files");
    if let Some(why) = report.not_applicable.get(CHANGED_FILES) {
        return show_controls(why);
    }
    if report.changed_files.is_empty() {
        "nothing changed".to_owned()
    } else if report.allowed_writes_passed {
        format!("{files}, all inside allowed paths")
    } else {
        format!("{files}, not all inside allowed paths")
    }
}

fn verification_text(report: &Report) -> String {
    if report.verification.passes.is_empty() {
        return report
            .not_applicable
            .get("verification")
            .map_or_else(|| "nothing was run".to_owned(), |why| show_controls(why));
    }
    let kinds = [PassKind::Exam, PassKind::Change, PassKind::Control, PassKind::Blind];
    let parts = kinds.iter().filter_map(|kind| {
        let passes: Vec<_> = report.verification.passes.iter().filter(|pass| pass.kind == *kind).collect();
        let held = passes.iter().filter(|pass| pass.result == CheckResult::Pass).count();
        (!passes.is_empty()).then(|| format!("{} {held} of {}", kind.as_str(), passes.len()))
    });
    let tests = report.verification.exam_tests().map(|tests| format!("; tests: {}", counts_text(Some(tests))));
    format!("{} on baseline + patch{}", parts.collect::<Vec<_>>().join(", "), tests.unwrap_or_default())
}

/// Changed files that the exam does not read, and those of which nobody knows.
fn poison_texts(report: &Report) -> Vec<(&'static str, String)> {
    let files = |outcome| listed(report.verification.with_outcome(outcome).map(show_controls), NAMED);
    let (unread, untried) = (files(PoisonOutcome::NotExercised), files(PoisonOutcome::NotTried));
    let said = [
        ("unread", unread, "the exam passes with text that cannot compile in its place"),
        ("untried", untried, "no time was left to find out whether the exam reads it"),
    ];
    let said = said.into_iter().filter(|(_, files, _)| !files.is_empty());
    said.map(|(label, files, why)| (label, format!("{files}: {why}"))).collect()
}

fn next(report: &Report) -> String {
    let run = report.run_id.suffix();
    match report.status {
        Status::Pass if report.changed_files.is_empty() => format!("cto verify {run}"),
        Status::Pass if report.target_commit.is_some() => {
            format!("cto outcome {run} accept|reject --reason \"...\"     stage 5 does not count without it")
        }
        Status::Pass if report.stage == Stage::DISPOSABLE_REPOSITORY => format!("cto diff {run}"),
        Status::Pass if report.stage >= Stage::COPIED_REPOSITORY => format!("cto diff {run}     then cto take {run}"),
        Status::Pass => format!("cto diff {run}"),
        Status::Fail => format!("cto show {run} -v"),
        Status::Blocked => match report.blocker_reasons.first() {
            Some(reason) => format!("cto explain {reason}"),
            None => format!("cto show {run} -v"),
        },
    }
}

/// The piped form: `key value`, the first line `<status> <run_id>`.
fn lines(report: &Report, bundle: &Path, task: &str) -> String {
    let mut out = format!("{} {}\n", report.status, report.run_id);
    let _ = match report.kind {
        None => writeln!(
            out,
            "engine {} {} stage {} took {}ms",
            report.backend, report.engine.version, report.stage, report.duration_ms
        ),
        Some(kind) => writeln!(
            out,
            "kind {kind} bundles {} about {} took {}ms",
            report.bundles.len(),
            report.backend,
            report.duration_ms
        ),
    };
    if let Some(model) = &report.model {
        let _ = writeln!(out, "model {}", show_controls(&model_text(model)));
    }
    for blocker in &report.blockers {
        let label = if report.engine.process_started { "reason" } else { "missing" };
        let _ = writeln!(
            out,
            "{label} {} {} fix: {}",
            blocker.reason,
            show_controls(&cut_findings(&blocker.text)),
            show_controls(&report.fill_remedy_for(&blocker.remedy, task))
        );
    }
    if report.engine.process_started {
        let _ = match report.not_applicable.get(CHANGED_FILES) {
            Some(why) => writeln!(out, "diff unknown {}", show_controls(why)),
            None => {
                writeln!(out, "diff files={} inside={}", report.changed_files.len(), report.allowed_writes_passed)
            }
        };
        for pass in &report.verification.passes {
            let exit = pass.exit.map_or("none".to_owned(), |exit| exit.to_string());
            let result = if pass.result == CheckResult::Pass { "pass" } else { "fail" };
            let _ =
                writeln!(out, "check {} {result} exit={exit} took={}ms", pass.name.replace(' ', "-"), pass.duration_ms);
        }
        for (outcome, label) in [(PoisonOutcome::NotExercised, "not-exercised"), (PoisonOutcome::NotTried, "not-tried")]
        {
            for path in report.verification.with_outcome(outcome) {
                let _ = writeln!(out, "{label} {}", show_controls(path));
            }
        }
        for test in failed_tests(report) {
            let _ = writeln!(out, "test {test}");
        }
        for judged in &report.claims {
            let verdict = judged.verdict.as_str();
            let _ =
                writeln!(out, "claim {} {verdict} {}", judged.claim.saying.in_one_word(), show_controls(&judged.seen));
        }
    } else {
        let _ = writeln!(out, "engine_executed false");
    }
    if report.artifact_paths.contains_key(names::SETUP_LOG) {
        let _ = writeln!(out, "setup cto logs {} --setup", report.run_id.suffix());
    }
    if let (Some(branch), Some(commit)) = (&report.result_branch, &report.result_commit) {
        let _ = writeln!(out, "landed {commit} {}", show_controls(branch));
    }
    if report.coverage.contains(&Coverage::BreakGlass) {
        out.push_str("break_glass true\n");
    }
    let _ = writeln!(out, "sandbox {}", report.sandbox.profile);
    for coverage in &report.coverage {
        let _ = writeln!(out, "not-proven {}", coverage.code());
    }
    let _ = writeln!(out, "bundle {}", show_controls(&bundle.display().to_string()));
    out
}
