//! A run as the body of a pull request. Whatever somebody else wrote stands in code, where a forge neither renders markup nor
//! links or notifies anybody.

use std::fmt::Write as _;

use contract::claim::{ClaimVerdict, JudgedClaim};
use contract::report::{CheckResult, VerificationPass};
use contract::text::{shown, shown_lines};
use contract::{Report, TaskContract};
use evidence::names;
use evidence::patch::{PatchStat, patch_stats};
use evidence::render::{counts_text, verdict_sentence};
use views::Lane;

use crate::lane_table;

/// Paths, claims and commands that are listed before the rest is only counted: a body has a largest size.
const LISTED: usize = 100;
/// Files that are listed in the open.
const FOLDED: usize = 20;
/// Characters of one foreign text.
const LONGEST: usize = 4000;
const LONGEST_INLINE: usize = 400;

// Writing to a String cannot fail, so the results of `write!` below are dropped.

/// Sources of a body beside its report.
#[derive(Debug)]
pub(super) struct BodyParts<'a> {
    pub(super) contract: &'a TaskContract,
    pub(super) attestation: contract::Digest,
    pub(super) patch: &'a [u8],
    /// Address under which a reviewer finds the bundle.
    pub(super) link: Option<&'a str>,
}

/// Renders the body.
pub(super) fn body(report: &Report, parts: &BodyParts<'_>) -> String {
    let BodyParts { contract, attestation, patch, link } = *parts;
    let mut out = format!("## {}: {}\n\n", report.status, code(&report.title));
    let _ = writeln!(out, "{}", verdict_sentence(report));
    why(&mut out, report);
    asked(&mut out, report, contract);
    changed(&mut out, report, patch);
    verified(&mut out, report);
    claims(&mut out, report);
    unproven(&mut out, report);
    used(&mut out, report, attestation);
    check(&mut out, report, attestation, link);
    out
}

fn why(out: &mut String, report: &Report) {
    if report.blockers.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### Why\n");
    for blocker in &report.blockers {
        let _ = writeln!(out, "- `{}`: {}", blocker.reason, code(&blocker.text));
    }
}

fn asked(out: &mut String, report: &Report, contract: &TaskContract) {
    let _ = writeln!(out, "\n### What was asked\n\n{}", block(&contract.brief));
    if !report.success_criteria.is_empty() {
        let _ = writeln!(out, "\nIt succeeds when:\n");
        list(out, &report.success_criteria);
    }
}

fn changed(out: &mut String, report: &Report, patch: &[u8]) {
    let _ = writeln!(out, "\n### What changed\n");
    if report.changed_files.is_empty() {
        let _ = writeln!(out, "Nothing.");
        return;
    }
    let stats = patch_stats(patch);
    let (added, removed) = stats.iter().fold((0, 0), |sum, it| (sum.0 + it.added, sum.1 + it.removed));
    let files = report.changed_files.len();
    let _ = writeln!(out, "{files} {}, +{added} \u{2212}{removed}\n", if files == 1 { "file" } else { "files" });
    let of = |path: &String| match stats.iter().find(|stat| stat.path == *path) {
        Some(PatchStat { is_binary: true, .. }) => format!("{} binary", code(path)),
        Some(stat) => format!("{} +{} \u{2212}{}", code(path), stat.added, stat.removed),
        None => code(path),
    };
    let lines: Vec<String> = report.changed_files.iter().map(of).collect();
    if files > FOLDED {
        fold(out, "Files", |out| items(out, &lines));
    } else {
        items(out, &lines);
    }
    let inside = if report.allowed_writes_passed {
        "All inside the allowed paths."
    } else {
        "Not all inside the allowed paths."
    };
    let _ = writeln!(out, "\n{inside}");
}

fn verified(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What was verified\n");
    let passes = &report.verification.passes;
    if passes.is_empty() {
        let _ = writeln!(out, "Nothing was run.");
        return;
    }
    let _ = writeln!(out, "On a tree built from the baseline and the patch, not on the one the engine worked in.\n");
    let _ = writeln!(out, "| | check | result | exit | tests | before |\n| --- | --- | --- | --- | --- | --- |");
    for (at, pass) in passes.iter().take(LISTED).enumerate() {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            at + 1,
            pass.kind.as_str(),
            result(pass.result),
            exit(pass),
            counts_text(pass.tests.result),
            counts_text(pass.tests.baseline)
        );
    }
    // A cell ends at a bar, also within code, so that commands do not stand in the table.
    let commands = passes.iter().take(LISTED).enumerate();
    let commands: Vec<String> = commands
        .map(|(at, pass)| format!("{}  {}", at + 1, cut(&shown(&pass.argv.join(" ")), LONGEST_INLINE)))
        .collect();
    let _ = writeln!(out);
    fold(out, "Commands", |out| {
        out.push_str(&block(&commands.join("\n")));
        out.push('\n');
    });
}

const fn result(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Pass => "pass",
        CheckResult::Fail => "**fail**",
        CheckResult::NotRun => "not run",
    }
}

fn exit(pass: &VerificationPass) -> String {
    match pass.exit {
        _ if pass.timed_out => "timed out".to_owned(),
        Some(exit) => exit.to_string(),
        None => "–".to_owned(),
    }
}

fn claims(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What the engine said that was not so\n");
    let (wrong, other): (Vec<_>, Vec<_>) =
        report.claims.iter().partition(|judged| judged.verdict == ClaimVerdict::Contradicted);
    let line = |judged: &&JudgedClaim| {
        let said = code(&judged.claim.saying.to_string());
        format!("it said {said}; seen was {}", code(&judged.seen))
    };
    if wrong.is_empty() {
        let _ = writeln!(out, "Nothing that could be held against what was seen.");
    }
    items(out, &wrong.iter().map(line).collect::<Vec<_>>());
    if !other.is_empty() {
        let verdict = |judged: &&JudgedClaim| format!("{}: {}", judged.verdict.as_str(), line(judged));
        let _ = writeln!(out);
        fold(out, "Its other claims", |out| items(out, &other.iter().map(verdict).collect::<Vec<_>>()));
    }
}

fn unproven(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n### What this does not prove\n");
    if report.coverage.is_empty() {
        let _ = writeln!(out, "Nothing is missing from the list of what a bundle can leave open.");
    }
    for coverage in &report.coverage {
        let _ = writeln!(out, "- {} (`{}`)", coverage.sentence(), coverage.code());
    }
}

fn used(out: &mut String, report: &Report, attestation: contract::Digest) {
    let lane = Lane::of(report, attestation);
    let _ = writeln!(out, "\n### Engine and model\n");
    let _ = writeln!(
        out,
        "- engine: {}, stage {}",
        code(&format!("{} {}", report.backend, report.engine.version)),
        report.stage
    );
    match (lane.model, lane.used) {
        (Some(pair), Some(used)) => {
            let _ = writeln!(out, "- model: {}", code(&pair));
            let unknown = if used.tokens_unknown_requests > 0 { " and more that were not told" } else { "" };
            let _ = writeln!(
                out,
                "- {} requests, {} tokens{unknown}, {}",
                used.requests,
                used.tokens,
                lane_table::cost(used)
            );
        }
        _ => out.push_str("- no model was used\n"),
    }
    let _ = writeln!(out, "- sandbox: {}", report.sandbox.profile);
}

fn check(out: &mut String, report: &Report, attestation: contract::Digest, link: Option<&str>) {
    let _ = writeln!(out, "\n### How to check it\n");
    if let Some(link) = link {
        let _ = writeln!(out, "The bundle: {link}\n");
    }
    let _ = writeln!(out, "```console\n$ cto verify {}\n```\n", report.run_id);
    let _ = writeln!(
        out,
        "Elsewhere: `cto export` makes one file of it, which `cto import FILE --key harness.pub` checks.\n"
    );
    let none = || "none".to_owned();
    let patch = report.artifact_digests.get(names::PATCH).cloned().unwrap_or_else(none);
    let digests = [
        ("contract", report.contract_digest.to_string()),
        ("baseline commit", report.baseline_commit.clone().unwrap_or_else(none)),
        ("result tree", report.result_tree.clone().unwrap_or_else(none)),
        ("patch", patch),
        ("attestation", attestation.to_string()),
    ];
    let lines: Vec<String> = digests.iter().map(|(label, digest)| format!("{label}: {}", code(digest))).collect();
    fold(out, "Digests", |out| items(out, &lines));
}

/// A part that a reader opens. The empty lines let a forge read Markdown inside.
fn fold(out: &mut String, title: &str, write: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<details><summary>{title}</summary>\n");
    write(out);
    let _ = writeln!(out, "\n</details>");
}

fn list(out: &mut String, all: &[String]) {
    items(out, &all.iter().map(|one| code(one)).collect::<Vec<_>>());
}

/// Lines that are safe already.
fn items(out: &mut String, all: &[String]) {
    for one in all.iter().take(LISTED) {
        let _ = writeln!(out, "- {one}");
    }
    if all.len() > LISTED {
        let _ = writeln!(out, "- and {} more", all.len() - LISTED);
    }
}

fn cut(text: &str, longest: usize) -> String {
    let mut cut: String = text.chars().take(longest).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The longest row of backticks.
fn longest_row(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

/// Foreign text as code within a line: one line, in more backticks than it has.
fn code(text: &str) -> String {
    let text = cut(&shown(text), LONGEST_INLINE);
    let text = text.trim();
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    let fence = "`".repeat(longest_row(text) + 1);
    // A space keeps the text's own backticks from those around it; a renderer takes it away again.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Foreign text as a block of code, in a fence that it cannot end.
fn block(text: &str) -> String {
    let text = cut(&shown_lines(text), LONGEST);
    let fence = "`".repeat(longest_row(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests;
