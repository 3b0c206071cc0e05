//! The end of a report for a person: claims, what is not proven, the run, and how to verify it.

use std::fmt::Write as _;

use contract::Digest;
use contract::claim::{ClaimVerdict, JudgedClaim};
use contract::model::ModelUse;
use contract::report::{ApprovalStatus, Report};
use contract::text::money_text;

use super::foreign::{code, fold, items};
use super::{RenderSources, SealedFacts, model_text};

// Writing to a String cannot fail, so the results of `write!` below are dropped.

/// Writes each claim of the engine beside what was observed.
pub(super) fn write_claims(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What the engine claims\n");
    if report.claims.is_empty() {
        let _ = writeln!(out, "Nothing.");
        return;
    }
    let _ = writeln!(out, "Claims are not trusted; each is compared with what we observed.\n");
    let (wrong, other): (Vec<_>, Vec<_>) =
        report.claims.iter().partition(|judged| judged.verdict == ClaimVerdict::Contradicted);
    if wrong.is_empty() {
        let _ = writeln!(out, "No false claims found.");
    }
    items(out, &wrong.into_iter().map(claim_line).collect::<Vec<_>>());
    if !other.is_empty() {
        fold(out, "Other claims", |out| items(out, &other.into_iter().map(claim_line).collect::<Vec<_>>()));
    }
}

fn claim_line(judged: &JudgedClaim) -> String {
    let (said, observed) = (code(&judged.claim.saying.to_string()), code(&judged.seen));
    let found_in = code(&judged.claim.found_in);
    format!("{}: claimed {said} in {found_in}; observed {observed}", judged.verdict.as_str())
}

/// Writes the coverage: what the bundle does not prove.
pub(super) fn write_unproven(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What this does not prove\n");
    if report.coverage.is_empty() {
        let _ = writeln!(out, "No known gaps.");
    }
    for coverage in &report.coverage {
        let _ = writeln!(out, "- {} (`{}`)", coverage.sentence(), coverage.code());
    }
    if !report.not_applicable.is_empty() {
        let line = |(name, why): (&String, &String)| format!("{}: {}", code(name), code(why));
        fold(out, "Not applicable", |out| items(out, &report.not_applicable.iter().map(line).collect::<Vec<_>>()));
    }
}

/// Writes the run's identity and the commands that verify it.
pub(super) fn write_run(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### The run\n");
    let mut lines =
        vec![format!("run: {}", code(report.run_id.as_str())), format!("task: {}", code(report.task_id.as_str()))];
    let engine = code(&format!("{} {}", report.backend, report.engine.version));
    match report.kind {
        None => lines.push(format!("engine: {engine}, stage {} ({})", report.stage, report.allowed_mutation_scope)),
        Some(kind) => {
            lines.push(format!("kind: {kind}, a document about other bundles"));
            lines.push(format!("about: {engine}"));
        }
    }
    match &report.model {
        Some(model) => {
            lines.push(format!("model: {}", code(&model_text(model))));
            lines.push(use_text(&model.used));
        }
        None => lines.push("no model was used".to_owned()),
    }
    lines.push(format!("sandbox: {}", report.sandbox.profile));
    lines.push(format!("started {}, took {} ms", report.run_started_at, report.duration_ms));
    lines.push(format!("purpose: {}; approval: {}", report.purpose.as_str(), approval_text(report)));
    let ended = report.engine.ended_by_harness.iter().map(|why| format!("the harness ended the engine: {}", code(why)));
    let notes = report.engine.notes.iter().map(|note| format!("the engine's own log says that {}", code(note)));
    lines.extend(ended.chain(notes));
    items(out, &lines);
}

/// Requests, tokens and money in one line.
fn use_text(used: &ModelUse) -> String {
    let tokens = used.tokens.prompt.saturating_add(used.tokens.completion);
    let unknown = if used.tokens.unknown_requests > 0 { " and more that were not told" } else { "" };
    let more = if used.cost.unknown_requests > 0 { "+" } else { "" };
    let cost = match used.cost.unpriced_requests {
        0 => format!("{}{more}", money_text(used.cost.micros)),
        _ => "unpriced".to_owned(),
    };
    format!("{} requests, {tokens} tokens{unknown}, {cost}", used.requests)
}

/// Commands that verify the bundle, and the digests that name it. A sealed file cannot hold the digest of its own bundle, so only a
/// body that is made later has the attestation and a link.
pub(super) fn write_verifying(
    out: &mut String,
    report: &Report,
    sources: &RenderSources<'_>,
    sealed: Option<&SealedFacts<'_>>,
) {
    let run = &report.run_id;
    let _ = writeln!(out, "\n### How to verify it\n");
    if let Some(link) = sealed.and_then(|sealed| sealed.link) {
        let _ = writeln!(out, "The bundle: {link}\n");
    }
    let _ = writeln!(out, "```console\n$ cto verify {run}\n$ cto show {run}\n```\n");
    let _ = writeln!(
        out,
        "The bundle is the folder `harness-runs/{run}` in the home that made it. Elsewhere: `cto export {run}` makes one file of it, \
         which `cto import FILE --key harness.pub` checks."
    );
    let none = || "none".to_owned();
    let mut digests = vec![
        ("contract", report.contract_digest.to_string()),
        ("decision", report.decision_id.to_string()),
        ("baseline commit", report.baseline_commit.clone().unwrap_or_else(none)),
        ("result tree", report.result_tree.clone().unwrap_or_else(none)),
        ("patch", Digest::of_bytes(sources.patch).to_string()),
    ];
    digests.extend(sealed.map(|sealed| ("attestation", sealed.attestation.to_string())));
    let mut lines: Vec<String> = digests.iter().map(|(label, digest)| format!("{label}: {}", code(digest))).collect();
    lines.push("default activation: false; core promotion: not-promoted".to_owned());
    fold(out, "Digests", |out| items(out, &lines));
}

const fn approval_text(report: &Report) -> &'static str {
    match report.approval_status {
        ApprovalStatus::NotRequired => "not required",
        ApprovalStatus::Requested => "requested",
        ApprovalStatus::Granted => "granted",
        ApprovalStatus::Denied => "denied",
    }
}
