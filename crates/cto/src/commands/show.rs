//! `cto show`: one run, from its bundle.

use std::fmt::Write as _;
use std::fs;

use contract::Report;
use contract::text::shown;
use evidence::names;

use crate::context::{Context, FoundRun};
use crate::error::CommandError;
use crate::run_view;

/// The report of a run and its exact bytes.
pub(crate) fn read_report(found: &FoundRun) -> Result<(Report, Vec<u8>), CommandError> {
    let path = found.bundle.join(names::REPORT);
    let damaged = |error: String| {
        CommandError::fail(format!("{} is damaged: {error}", path.display())).hint(format!("cto verify {}", found.id))
    };
    let bytes = fs::read(&path).map_err(|error| damaged(error.to_string()))?;
    let report = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    Ok((report, bytes))
}

pub(crate) fn show(context: &Context, run: &str) -> Result<u8, CommandError> {
    let found = context.find_run(run)?;
    let (report, bytes) = read_report(&found)?;
    let output = context.output;
    if output.json {
        output.print_json_bytes(&bytes);
        return Ok(0);
    }
    let mut text = run_view::view(output, &report, &found.bundle);
    if output.verbose {
        text.push_str(&details(&report));
    }
    output.print(&text);
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
    section("changed", report.changed_files.iter().map(|path| shown(path)).collect());
    section("left behind", report.dirty_paths.iter().map(|path| shown(path)).collect());
    section("litter", report.litter.iter().map(|path| shown(path)).collect());
    let passes = report.verification.passes.iter();
    section(
        "verification",
        passes
            .map(|pass| {
                format!(
                    "{:<10} {:?} {} {}",
                    pass.name,
                    pass.result,
                    pass.exit.map_or("–".to_owned(), |exit| exit.to_string()),
                    shown(&pass.argv.join(" "))
                )
            })
            .collect(),
    );
    section(
        "not proven",
        report.coverage.iter().map(|coverage| format!("{:<22} {}", coverage.code(), coverage.sentence())).collect(),
    );
    section(
        "not applicable",
        report.not_applicable.iter().map(|(what, why)| format!("{what:<24} {}", shown(why))).collect(),
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
