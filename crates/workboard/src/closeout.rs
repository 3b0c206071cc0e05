//! The closeout of a work item, rendered from what is known of it. What it says passes the
//! workspace's own checks.

use std::fmt::Write as _;

use contract::text::show_controls;

use crate::board::{BoardItem, WorkStatus, WorkType};
use crate::document::DISCLAIMER;
use crate::templates::PROTOCOLS;

/// A bundle of the item, verified, as the closeout refers to it.
#[derive(Debug, Clone)]
pub struct CloseoutBundle {
    pub run_id: String,
    pub status: String,
    pub stage: u8,
    pub report_path: String,
    pub report_sha256: String,
    pub proofs: Vec<(String, String)>,
    pub attestation_sha256: String,
    /// Repository that the run landed a commit in.
    pub target: Option<CloseoutTarget>,
    pub verification: String,
    /// Verdict about the paths that the run changed.
    pub scope: String,
    pub changed_files: Vec<String>,
}

/// Repository of the operator's with the commit that a run landed there.
#[derive(Debug, Clone)]
pub struct CloseoutTarget {
    pub repository: String,
    pub commit: String,
    /// The repository as it is at this moment.
    pub state: String,
}

/// Everything that a closeout is made of.
#[derive(Debug, Clone)]
pub struct CloseoutFacts<'a> {
    pub item: &'a BoardItem,
    pub owner: String,
    pub day: String,
    pub bundles: Vec<CloseoutBundle>,
    /// Phrases that the plans beside the closeout demand of it.
    pub phrases: Vec<String>,
}

/// Path of an item's closeout.
pub fn closeout_path(id: &str) -> String {
    format!("{PROTOCOLS}/{id}-CLOSEOUT.md")
}

/// Renders the closeout.
pub fn render_closeout(facts: &CloseoutFacts<'_>) -> String {
    let CloseoutFacts { item, owner, day, bundles, phrases } = facts;
    let status = item.status.unwrap_or(WorkStatus::Draft);
    let mut out = format!(
        "---\nname: {id} closeout\nstatus: {status}\nowner: {owner}\ncreated: {day}\nlast_reviewed: {day}\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# {id} - {title}\n\n{DISCLAIMER}\n\nWork item: {id}\n\n",
        id = item.id,
        status = status.as_str(),
        owner = one_line(owner),
        title = inline(&item.title),
    );
    let work_type = item.work_type.map_or("none", WorkType::as_str);
    let _ = write!(
        out,
        "## Result\n\n- Status on the board: {}\n- Type: {work_type}\n- runtime_default_activation: false\n- core_promotion_status: not-promoted\n\n",
        status.as_str()
    );
    out.push_str("## Evidence\n\n");
    if item.evidence.is_empty() {
        out.push_str("None is named on the board.\n");
    }
    for piece in &item.evidence {
        let kind = piece.kind.map_or("not said", crate::board::EvidenceKind::as_str);
        let _ = writeln!(out, "- {kind}: {}", inline(&piece.reference));
    }
    bundles.iter().for_each(|bundle| out.push_str(&render_bundle(bundle)));
    if !phrases.is_empty() {
        out.push_str("\n## What the plan demands to be said\n\n");
        phrases.iter().for_each(|phrase| out.push_str(&format!("- {}\n", one_line(phrase))));
    }
    out.push_str(
        "\n## What stays as it was\n\nRuntime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.\n",
    );
    out
}

fn render_bundle(bundle: &CloseoutBundle) -> String {
    let mut out = format!("\n## Run {}\n\n", bundle.run_id);
    let _ = writeln!(out, "- Report status: {}", bundle.status);
    let _ = writeln!(out, "- Stage: {}", bundle.stage);
    let _ = writeln!(out, "- Report: {}\n- Report sha256: {}", one_line(&bundle.report_path), bundle.report_sha256);
    let _ = writeln!(out, "- Attestation sha256: {}", bundle.attestation_sha256);
    for (path, sha256) in &bundle.proofs {
        let _ = writeln!(out, "- Proof: {}\n- Proof sha256: {sha256}", one_line(path));
    }
    if let Some(CloseoutTarget { repository, commit, state }) = &bundle.target {
        let _ = writeln!(out, "- Target: {}\n- Target commit: {commit}", inline(repository));
        let _ = writeln!(out, "- Target now: {}", inline(state));
    }
    let _ = writeln!(out, "- Target validation: {}", inline(&bundle.verification));
    let _ = writeln!(out, "- Scope guard: {}", inline(&bundle.scope));
    bundle.changed_files.iter().for_each(|path| out.push_str(&format!("- Changed: {}\n", inline(path))));
    out
}

/// Foreign text on one line, with the marks of links, code and cells taken for what they are.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if matches!(c, '[' | ']' | '`' | '<' | '|' | '*') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Foreign text on one line, without anything that Markdown or YAML would read.
fn one_line(text: &str) -> String {
    show_controls(text).replace(['\n', '\r'], " ").trim().to_owned()
}
