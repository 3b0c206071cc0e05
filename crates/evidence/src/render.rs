//! `report.md` and the body of a pull request: the report for a person, readable on its own. One renderer makes both from files of the
//! bundle alone, so that `report.md` can be rendered again and compared.

mod change;
mod closing;
mod foreign;
mod verification;

pub use verification::counts_text;

use std::fmt::Write as _;

use contract::model::ModelReport;
use contract::report::Report;
use contract::{Digest, Reason, Status};

use crate::names;
use foreign::{code, long_code};

/// Bytes of the bundle's files that are shown beside its report.
#[derive(Debug, Clone, Copy)]
pub struct RenderSources<'a> {
    /// `task-contract.json`
    pub contract: &'a [u8],
    /// `patch.diff`
    pub patch: &'a [u8],
}

/// Facts about a bundle that are known once it is sealed.
#[derive(Debug, Clone, Copy)]
pub struct SealedFacts<'a> {
    pub attestation: Digest,
    /// Address under which a reviewer finds the bundle.
    pub link: Option<&'a str>,
}

/// Renders `report.md`. It shows nothing that is known only after it is written.
pub fn report_md(report: &Report, sources: &RenderSources<'_>) -> String {
    render_body(report, sources, None)
}

/// Renders the body of a pull request.
pub fn pull_request_body(report: &Report, sources: &RenderSources<'_>, sealed: &SealedFacts<'_>) -> String {
    render_body(report, sources, Some(sealed))
}

fn render_body(report: &Report, sources: &RenderSources<'_>, sealed: Option<&SealedFacts<'_>>) -> String {
    let mut out = format!("## {}: {}\n\n{}\n", report.status, code(&report.title), verdict_sentence(report));
    write_blockers(&mut out, report);
    if report.kind.is_some() {
        write_bundles(&mut out, report);
    } else {
        change::write_task(&mut out, report, sources.contract);
        change::write_change(&mut out, report, sources.patch);
        verification::write_verification(&mut out, report);
    }
    closing::write_claims(&mut out, report);
    closing::write_unproven(&mut out, report);
    closing::write_run(&mut out, report);
    closing::write_verifying(&mut out, report, sources, sealed);
    out
}

/// One sentence that says what the verdict means.
pub fn verdict_sentence(report: &Report) -> String {
    if report.kind.is_some() {
        return document_sentence(report);
    }
    match report.status {
        Status::Pass if report.changed_files.is_empty() => "Verified; nothing had to change.".to_owned(),
        Status::Pass => {
            let files = count(report.changed_files.len(), "file", "files");
            format!(
                "Verified: {files} changed inside the allowed paths, and the verification passes on baseline + patch."
            )
        }
        Status::Fail => "The run finished but failed verification.".to_owned(),
        Status::Blocked => {
            let problems = count(report.blockers.len(), "problem", "problems");
            let what = match report.engine.process_started {
                true => "The run stopped before a verdict.",
                false => "The engine did not start and nothing was touched.",
            };
            format!("Blocked: {problems}. {what}")
        }
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

// Writing to a String cannot fail, so the results of `write!` below are dropped.

fn write_blockers(out: &mut String, report: &Report) {
    if report.blockers.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### Why\n");
    for blocker in &report.blockers {
        let _ = writeln!(out, "- `{}`: {}", blocker.reason, long_code(&blocker.text));
        let _ = writeln!(out, "  - fix: {}", code(&report.fill_remedy(&blocker.remedy)));
        let _ = writeln!(out, "  - evidence: {}", code(&blocker.evidence));
    }
}

/// Bundles that a document read.
fn write_bundles(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### Bundles\n");
    if report.bundles.is_empty() {
        let _ = writeln!(out, "None.");
        return;
    }
    let _ = writeln!(out, "| run | attestation |\n| --- | --- |");
    for bundle in &report.bundles {
        let _ = writeln!(out, "| `{}` | `{}` |", bundle.run_id, bundle.attestation_sha256);
    }
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

#[cfg(test)]
mod tests;
