//! Published shapes of WORKBOARD.yaml and of front matter, for editors. Checks do not rest
//! on them: what a person wrote otherwise is still read, and told as findings.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::board::{EvidenceKind, WorkStatus, WorkType};

/// WORKBOARD.yaml.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Workboard")]
pub struct BoardFile {
    pub items: Vec<BoardFileItem>,
}

/// An item; other keys are kept.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BoardFileItem {
    #[schemars(regex(pattern = "^[A-Z][A-Z0-9-]*-WORK-[0-9]{3,}$"))]
    pub id: String,
    pub title: String,
    #[serde(rename = "type")]
    pub work_type: WorkType,
    pub status: WorkStatus,
    #[serde(default)]
    pub blocked_by: Vec<String>,
    #[serde(default)]
    pub artifacts: Vec<String>,
    #[serde(default)]
    pub evidence: Vec<BoardFileEvidence>,
    #[serde(default)]
    pub acceptance: Vec<String>,
    #[serde(default)]
    pub allowed_files: Vec<String>,
    pub validator: Option<String>,
    #[serde(default)]
    pub user_stories: Vec<String>,
    pub what_to_build: Option<String>,
    pub done_evidence: Option<String>,
    pub human_gate: Option<String>,
    pub source: Option<String>,
    /// True if the item claims that something was executed: a governed bundle has to show it.
    #[serde(default)]
    pub execution: bool,
}

/// A piece of evidence.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BoardFileEvidence {
    pub kind: EvidenceKind,
    #[serde(rename = "ref")]
    pub reference: String,
    pub sha256: Option<String>,
}

/// The front matter of a planning document.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "FrontMatter")]
pub struct FrontMatterFile {
    /// Name, or a title instead.
    pub name: Option<String>,
    pub title: Option<String>,
    pub status: WorkStatus,
    pub owner: String,
    /// A day: yyyy-mm-dd.
    pub created: String,
    pub last_reviewed: String,
    /// `planning` or `sot`.
    pub lifecycle_classification: String,
    /// Always `not-promoted`.
    pub core_promotion_status: String,
    pub tier: Option<String>,
    pub source: Option<String>,
    pub description: Option<String>,
    pub route: Option<String>,
}
