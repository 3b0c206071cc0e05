//! The board and the findings of a workspace, as the records page shows them.

use schemars::JsonSchema;
use serde::Serialize;

/// A part of the board, and the first findings about the workspace.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct BoardFacts {
    /// False without a workspace.
    pub has_workspace: bool,
    /// At most [`BoardFacts::MOST_ITEMS`], behind those that were asked to be left out.
    pub items: Vec<BoardItemFacts>,
    pub total: usize,
    pub validated: usize,
    /// Items that can be done now.
    pub ready: usize,
    /// Errors first, at most [`BoardFacts::MOST_FINDINGS`].
    pub findings: Vec<FindingFacts>,
    pub errors: usize,
    pub advice: usize,
}

impl BoardFacts {
    /// Items of a page at most.
    pub const MOST_ITEMS: usize = 200;
    /// Findings of a page at most.
    pub const MOST_FINDINGS: usize = 100;
}

/// One item of the board.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BoardItemFacts {
    pub id: String,
    pub title: String,
    pub work_type: String,
    pub status: String,
    pub waits_for: Vec<String>,
    /// Pieces of evidence as `kind reference`.
    pub evidence: Vec<String>,
}

/// One finding of `cto validate workspace`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingFacts {
    /// `file:line:column`.
    pub place: String,
    pub rule: String,
    pub is_error: bool,
    pub message: String,
    pub remedy: String,
}
