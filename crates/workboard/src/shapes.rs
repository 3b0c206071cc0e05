//! Published shapes of WORKBOARD.yaml and of front matter, for editors. Checks do not rest
//! on them: what a person wrote otherwise is still read, and reported as findings.

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
    pub id: contract::WorkId,
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

/// The only promotion status that a document may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentPromotion {
    NotPromoted,
}

/// Life of a planning document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LifecycleClassification {
    Planning,
    Sot,
}

/// The front matter of a planning document; `name` or `title` is there.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "FrontMatter", extend("anyOf" = [{"required": ["name"]}, {"required": ["title"]}]))]
pub struct FrontMatterFile {
    /// Name, or a title instead.
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    #[schemars(length(min = 1))]
    pub title: Option<String>,
    pub status: WorkStatus,
    #[schemars(length(min = 1))]
    pub owner: String,
    /// A day: yyyy-mm-dd.
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub created: String,
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub last_reviewed: String,
    pub lifecycle_classification: LifecycleClassification,
    pub core_promotion_status: DocumentPromotion,
    pub tier: Option<String>,
    pub source: Option<String>,
    pub description: Option<String>,
    pub route: Option<String>,
}
