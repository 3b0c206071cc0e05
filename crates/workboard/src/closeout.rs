//! The closeout of a work item, rendered from what is known of it. What it says passes the
//! workspace's own checks.

use std::fmt::Write as _;

use contract::text::shown;

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
    /// Target and its commit, where the run landed one.
    pub target: Option<(String, String)>,
    pub verification: String,
    pub changed_files: Vec<String>,
}

/// Everything that a closeout is made of.
#[derive(Debug, Clone)]
pub struct CloseoutFacts<'a> {
    pub item: &'a BoardItem,
    pub owner: String,
    pub day: String,
    pub bundles: Vec<CloseoutBundle>,
}

/// Path of an item's closeout.
pub fn closeout_path(id: &str) -> String {
    format!("{PROTOCOLS}/{id}-CLOSEOUT.md")
}

/// Renders the closeout.
pub fn render_closeout(facts: &CloseoutFacts<'_>) -> String {
    let CloseoutFacts { item, owner, day, bundles } = facts;
    let status = item.status.unwrap_or(WorkStatus::Draft);
    let mut out = format!(
        "---\nname: {id} closeout\nstatus: {status}\nowner: {owner}\ncreated: {day}\nlast_reviewed: {day}\nlifecycle_classification: planning\ncore_promotion_status: not-promoted\n---\n\n# {id} - {title}\n\n{DISCLAIMER}\n\nWork item: {id}\n\n",
        id = item.id,
        status = status.as_str(),
        owner = one_line(owner),
        title = one_line(&item.title),
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
        let _ = writeln!(out, "- {kind}: {}", one_line(&piece.reference));
    }
    bundles.iter().for_each(|bundle| out.push_str(&render_bundle(bundle)));
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
    if let Some((target, commit)) = &bundle.target {
        let _ = writeln!(out, "- Target: {}\n- Target commit: {commit}", one_line(target));
    }
    let _ = writeln!(out, "- Target validation: {}", one_line(&bundle.verification));
    let changed: Vec<String> = bundle.changed_files.iter().map(|path| one_line(path)).collect();
    let _ = writeln!(
        out,
        "- Scope guard: {}",
        if changed.is_empty() { "nothing changed".to_owned() } else { changed.join(", ") }
    );
    out
}

/// Foreign text on one line, without anything that Markdown or YAML would read.
fn one_line(text: &str) -> String {
    shown(text).replace(['\n', '\r'], " ").trim().to_owned()
}
