//! `report.md`: the report for a person, readable on its own. A function of `report.json` alone, so that it can be
//! rendered again and compared.

mod verification;

pub use verification::counts_text;

use std::fmt::Write as _;

use contract::model::ModelReport;
use contract::report::{CHANGED_FILES, Report};
use contract::text::shown;
use contract::{Reason, Status};

/// Renders the report. It shows no digest of artifacts: those are known only after it is written.
pub fn report_md(report: &Report) -> String {
    let mut out = String::new();
    heading(&mut out, report);
    blockers(&mut out, report);
    if report.kind.is_some() {
        bundles(&mut out, report);
    } else {
        change(&mut out, report);
        verification::section(&mut out, report);
    }
    claims(&mut out, report);
    proof(&mut out, report);
    identity(&mut out, report);
    out
}

/// One sentence that says what the verdict means.
pub fn verdict_sentence(report: &Report) -> String {
    if report.kind.is_some() {
        return document_sentence(report);
    }
    match report.status {
        Status::Pass if report.changed_files.is_empty() => "The proof holds; nothing had to change.".to_owned(),
        Status::Pass => {
            let files = count(report.changed_files.len(), "file", "files");
            format!(
                "The proof holds: {files} changed inside the allowed paths, and the verification passes on baseline + patch."
            )
        }
        Status::Fail => "It ran and the proof does not hold.".to_owned(),
        Status::Blocked if report.engine.process_started => "Something stopped the run before a verdict.".to_owned(),
        Status::Blocked => "The engine did not start and nothing was touched.".to_owned(),
    }
}

/// The same of a document about other bundles.
fn document_sentence(report: &Report) -> String {
    let bundles = count(report.bundles.len(), "bundle", "bundles");
    match report.status {
        Status::Pass => format!("It holds by {bundles}; nothing was started for it."),
        Status::Fail => format!("It does not hold by {bundles}; nothing was started for it."),
        Status::Blocked => format!("Something is missing from {bundles}; nothing was started for it."),
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn heading(out: &mut String, report: &Report) {
    let _ = writeln!(out, "# {}: {}\n", report.status, inline(&report.title));
    let _ = writeln!(out, "{}\n", verdict_sentence(report));
    let _ = writeln!(out, "| | |\n| --- | --- |");
    row(out, "run", &code(report.run_id.as_str()));
    row(out, "task", &code(report.task_id.as_str()));
    let engine = format!("{} {}", report.backend, report.engine.version);
    match report.kind {
        None => row(out, "engine", &format!("{engine}, stage {} ({})", report.stage, report.allowed_mutation_scope)),
        Some(kind) => {
            row(out, "kind", &format!("{kind}, a document about other bundles"));
            row(out, "about", &engine);
        }
    }
    if let Some(model) = &report.model {
        row(out, "model", &inline(&model_text(model)));
    }
    row(out, "started", &report.run_started_at.to_string());
    row(out, "took", &format!("{} ms", report.duration_ms));
    row(out, "purpose", report.purpose.as_str());
}

/// The use of a model in one line.
pub fn model_text(model: &ModelReport) -> String {
    let pair = model.requested.as_ref().map_or_else(|| "none asked for".to_owned(), ToString::to_string);
    let fallback = if model.fallback { ", the fallback" } else { "" };
    let used = &model.used;
    format!(
        "{pair}{fallback}, {}; {} of {} answered, {} refused",
        model.admission_status,
        used.answered,
        count(usize::try_from(used.engine_requests()).unwrap_or(usize::MAX), "request", "requests"),
        used.refused
    )
}

fn row(out: &mut String, label: &str, value: &str) {
    let _ = writeln!(out, "| {label} | {value} |");
}

fn blockers(out: &mut String, report: &Report) {
    if report.blockers.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Why\n");
    for blocker in &report.blockers {
        let _ = writeln!(out, "- `{}`: {}  ", blocker.reason, inline(&blocker.text));
        let _ = writeln!(out, "  evidence: {}; remedy: {}", code(&blocker.evidence), inline(&blocker.remedy));
    }
}

fn change(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## What changed\n");
    match report.not_applicable.get(CHANGED_FILES) {
        Some(why) => drop(writeln!(out, "Not known: {}.", inline(why))),
        None if report.changed_files.is_empty() => drop(writeln!(out, "Nothing. `patch.diff` is empty.")),
        None => {}
    }
    for path in &report.changed_files {
        let _ = writeln!(out, "- {}", code(path));
    }
    for (title, paths) in [
        ("Left behind that the patch cannot carry", &report.dirty_paths),
        ("Ignored by the baseline's own rules", &report.litter),
    ] {
        if !paths.is_empty() {
            let _ = writeln!(out, "\n{title}:\n");
            paths.iter().for_each(|path| {
                let _ = writeln!(out, "- {}", code(path));
            });
        }
    }
}

/// Bundles that a document read.
fn bundles(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## Bundles\n");
    if report.bundles.is_empty() {
        let _ = writeln!(out, "None.");
        return;
    }
    let _ = writeln!(out, "| run | attestation |\n| --- | --- |");
    for bundle in &report.bundles {
        let _ =
            writeln!(out, "| {} | {} |", code(bundle.run_id.as_str()), code(&bundle.attestation_sha256.to_string()));
    }
}

fn claims(out: &mut String, report: &Report) {
    if report.claims.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## What the engine says\n\nBelieved in nothing; each beside what was seen.\n");
    let _ = writeln!(out, "| it says that | where | verdict | seen |\n| --- | --- | --- | --- |");
    for judged in &report.claims {
        let (said, found_in) = (inline(&judged.claim.saying.to_string()), code(&judged.claim.found_in));
        let _ = writeln!(out, "| {said} | {found_in} | {} | {} |", judged.verdict.as_str(), inline(&judged.seen));
    }
}

fn proof(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## What this does not prove\n");
    if report.coverage.is_empty() {
        let _ = writeln!(out, "Nothing is missing from the coverage list.");
    }
    for coverage in &report.coverage {
        let _ = writeln!(out, "- `{}`: {}", coverage.code(), coverage.sentence());
    }
    let ended = report.engine.ended_by_harness.iter().map(|why| format!("The harness ended the engine: {why}."));
    let notes = report.engine.notes.iter().map(|note| format!("The engine's own log says that {note}."));
    for line in ended.chain(notes) {
        let _ = writeln!(out, "\n{}", inline(&line));
    }
    if !report.not_applicable.is_empty() {
        let _ = writeln!(out, "\nNot applicable:\n");
        for (what, why) in &report.not_applicable {
            let _ = writeln!(out, "- {}: {}", code(what), inline(why));
        }
    }
}

fn identity(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n## Identity\n\n| | |\n| --- | --- |");
    row(out, "contract", &code(&report.contract_digest.to_string()));
    row(out, "decision", &code(&report.decision_id.to_string()));
    row(out, "baseline", &code(report.baseline_commit.as_deref().unwrap_or("–")));
    row(out, "result tree", &code(report.result_tree.as_deref().unwrap_or("–")));
    row(out, "sandbox", report.sandbox.profile.as_str());
    row(out, "approval", approval_text(report));
    row(out, "default activation", "false");
    row(out, "core promotion", "not-promoted");
    let _ = writeln!(out, "\nCheck it: `cto verify` with this directory and the harness's public key.");
}

fn approval_text(report: &Report) -> &'static str {
    use contract::report::ApprovalStatus::{Denied, Granted, NotRequired, Requested};
    match report.approval_status {
        NotRequired => "not-required",
        Requested => "requested",
        Granted => "granted",
        Denied => "denied",
    }
}

/// Foreign text in a line of Markdown: one line, no markup of its own.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in shown(text).chars() {
        if matches!(character, '|' | '<' | '>' | '*' | '_' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Foreign text as code.
fn code(text: &str) -> String {
    let text = shown(text).replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// The human text of the worst blocker, as `failure_reason` carries it.
pub fn failure_reason(reason: Reason, text: &str, engine: &str, exit: Option<i32>) -> String {
    match (reason, exit) {
        (Reason::EngineFailed, Some(code)) => format!("{engine} engine failed with exit code {code}"),
        (Reason::LifecycleTimeoutAfterValidPatch, _) => format!("{engine} engine failed with exit code 124"),
        (Reason::AgentProtocol, _) => format!("{engine} agent result protocol failed"),
        // The operator's exact words, which other tools compare; the blocker has the detail.
        (Reason::ProviderUnavailable | Reason::LocalProviderConfigMissing, _) => "provider unavailable".to_owned(),
        (Reason::ProviderResponseShape, _) => "provider response shape unavailable".to_owned(),
        _ => text.to_owned(),
    }
}
