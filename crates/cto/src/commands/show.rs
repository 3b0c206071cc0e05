//! `cto show`: one run, from its bundle.

use std::fmt::Write as _;

use contract::claim::JudgedClaim;
use contract::report::CheckResult;
use contract::text::show_controls;
use contract::{Report, Stage, Status};
use evidence::names;
use evidence::render::{RenderSources, SealedFacts, counts_text, pull_request_body};
use serde_json::json;
use views::{CollectedRun, RunView, ViewRunError};

use super::runs::codes;
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;
use crate::run_view::{self, failed_test};
use crate::seek::{is_path, suggest_run, trusted_for_review};

/// Prints one run from its verified bundle.
pub(crate) fn show_run(context: &Context, run: &str) -> Result<u8, CommandError> {
    let output = context.output;
    if is_path(run) {
        return show_named(context, run);
    }
    let (views, now) = context.look()?;
    let views = views.trusting_keys(trusted_for_review(context, &[])?.keys);
    let viewed = views.view_run(run, now).map_err(|error| match error {
        ViewRunError::Find(error) => suggest_run(&views, now, error),
        error => error.into(),
    });
    let sealed = match viewed? {
        RunView::Sealed(sealed) => sealed,
        RunView::Collected(collected) => return show_collected(output, &collected),
    };
    let report = sealed.bundle.report();
    if output.json {
        output.print_json_bytes(&sealed.bundle.read_file(names::REPORT)?);
        return Ok(0);
    }
    let mut text =
        run_view::run_view(output, report, sealed.bundle.dir(), &context.task_word(report, sealed.bundle.dir()));
    if report.stage >= Stage::OWNED_REPOSITORY && report.status == Status::Pass {
        let answer = views.view_answer(&report.run_id)?.word();
        text.push_str(&if output.terminal { format!("\noutcome  {answer}\n") } else { format!("outcome {answer}\n") });
    }
    if output.verbose {
        text.push_str(&details(report));
    }
    output.print(&text);
    Ok(0)
}

/// A bundle or an archive that lies somewhere else: what is shown is what it holds.
fn show_named(context: &Context, name: &str) -> Result<u8, CommandError> {
    let (found, bound) = context.bind_named(name)?;
    let output = context.output;
    if output.json {
        output.print_json_bytes(&bound.read_file(names::REPORT)?);
        return Ok(0);
    }
    let mut text =
        run_view::run_view(output, bound.report(), &found.bundle, &context.task_word(bound.report(), bound.dir()));
    if output.verbose {
        text.push_str(&details(bound.report()));
    }
    output.print(&text);
    Ok(0)
}

/// The body of a pull request.
pub(crate) fn markdown(context: &Context, run: &str, link: Option<&str>) -> Result<u8, CommandError> {
    let (_found, bound) = context.bind_named(run)?;
    let report = bound.report();
    let (contract, patch) = (bound.read_file(names::CONTRACT)?, bound.read_file(names::PATCH)?);
    let sources = RenderSources { contract: &contract, patch: &patch };
    let sealed = SealedFacts { attestation: bound.attestation_sha256(), link };
    let body = pull_request_body(report, &sources, &sealed);
    if context.output.json {
        context.output.print_json(&json!({"markdown": body, "run_id": report.run_id}))?;
    } else {
        context.output.print(&body);
    }
    Ok(0)
}

/// Prints what the ledger still knows of a run whose bundle was removed.
fn show_collected(output: Output, run: &CollectedRun) -> Result<u8, CommandError> {
    if output.json {
        output.print_json(run)?;
        return Ok(0);
    }
    let CollectedRun { collected: gone, run: row, attestation_sha256: attestation } = run;
    let (status, reason) = (row.status.as_str(), show_controls(&gone.reason));
    if output.terminal {
        output.print(&format!(
            "{status}  {}  {}  stage {}\n\n  collected    {}: {reason}\n  attestation  {attestation}\n\nIts bundle is gone. An export of it can be imported again.\n",
            row.task_id, row.engine, row.stage, gone.time
        ));
    } else {
        let why = codes(&row.reasons);
        output.print(&format!(
            "{status} {}\nreasons {why}\ncollected {} {reason}\nattestation {attestation}\n",
            row.run_id, gone.time
        ));
    }
    Ok(0)
}

/// Everything that has an address.
fn details(report: &Report) -> String {
    let mut out = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{title}");
            lines.iter().for_each(|line| {
                let _ = writeln!(out, "  {line}");
            });
        }
    };
    section("changed", report.changed_files.iter().map(|path| show_controls(path)).collect());
    section("left behind", report.dirty_paths.iter().map(|path| show_controls(path)).collect());
    section("litter", report.litter.iter().map(|path| show_controls(path)).collect());
    section("verification", verification(report));
    section("the engine says", claims(report));
    section(
        "not proven",
        report.coverage.iter().map(|coverage| format!("{:<22} {}", coverage.code(), coverage.sentence())).collect(),
    );
    section(
        "not applicable",
        report.not_applicable.iter().map(|(what, why)| format!("{what:<24} {}", show_controls(why))).collect(),
    );
    section(
        "identity",
        vec![
            format!("contract  {}", report.contract_digest),
            format!("decision  {}", report.decision_id),
            format!("baseline  {}", report.baseline_commit.as_deref().unwrap_or("–")),
            format!("result    {}", report.result_tree.as_deref().unwrap_or("–")),
        ],
    );
    out
}

/// Lines on the verification passes, then the comparison of their tests.
fn verification(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for pass in &report.verification.passes {
        let exit = pass.exit.map_or("–".to_owned(), |exit| exit.to_string());
        let result = if pass.result == CheckResult::Pass { "pass" } else { "fail" };
        lines.push(format!("{:<10} {result}  exit {exit}  {}", pass.name, show_controls(&pass.argv.join(" "))));
        lines.push(format!("           on {}; a pass shows that {}", pass.kind.ran_on(), pass.kind.shows()));
        if pass.tests.result.is_some() || pass.tests.baseline.is_some() {
            let (result, baseline) = (counts_text(pass.tests.result), counts_text(pass.tests.baseline));
            lines.push(format!("           tests: {result}; in the baseline: {baseline}"));
        }
        lines.extend(pass.tests.failed.iter().map(|test| format!("           {}", failed_test(test))));
        let missing = pass.tests.missing.iter().map(|test| ("did not run", test));
        let skipped = pass.tests.newly_skipped.iter().map(|test| ("was skipped", test));
        lines.extend(missing.chain(skipped).map(|(what, test)| format!("           {what}: {}", show_controls(test))));
    }
    lines
}

fn claims(report: &Report) -> Vec<String> {
    let claims = report.claims.iter();
    let line = |judged: &JudgedClaim| {
        let said = show_controls(&judged.claim.saying.to_string());
        format!(
            "{:<13} {said} ({}); {}",
            judged.verdict.as_str(),
            show_controls(&judged.claim.found_in),
            show_controls(&judged.seen)
        )
    };
    claims.map(line).collect()
}
