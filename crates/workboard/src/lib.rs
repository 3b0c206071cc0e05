//! Planning records of a workspace: documents with front matter, the workboard, the rules
//! that hold for their words, and findings with file, line, column and remedy.
//!
//! Nothing in here is authority: a document refers to records, bundles and commits, and the caller
//! answers whether those hold (`EvidenceSource`). Days are given. Writes nothing but one edit of a
//! file, under the workspace's lock.

mod board;
mod check_rule;
mod closeout;
mod document;
mod earlier;
mod edit;
mod evidence;
mod files;
mod finding;
mod front_matter;
mod graph;
mod items;
mod links;
mod locate;
mod markup;
mod rendered;
mod required;
mod rules;
mod sarif;
mod shapes;
mod templates;
mod validate;
mod wording;

pub use board::{BOARD, BoardEvidence, BoardItem, EvidenceKind, ReadBoardError, WorkStatus, WorkType, Workboard};
pub use check_rule::CheckRule;
pub use closeout::{CloseoutBundle, CloseoutFacts, CloseoutTarget, closeout_path, render_closeout};
pub use document::{DocumentKind, PlanningDocument};
pub use edit::{BoardChange, EditBoardError, apply_fixes, change_board, create_document};
pub use evidence::{
    BundleFact, CommitFact, EvidenceSource, NoEvidenceSource, ValidatorFact, check_move, resolve_artifact,
};
pub use files::{ReadWorkspaceError, WorkspaceFiles};
pub use finding::{Finding, Severity, TextFix};
pub use graph::{WorkGraph, WorkNode};
pub use items::{DocumentItem, list_facts, list_written_facts};
pub use rules::{LoadRulesError, RuleBook, RuleFile, WordRule};
pub use sarif::sarif_document;
pub use shapes::{
    BoardFile, BoardFileEvidence, BoardFileItem, DocumentPromotion, FrontMatterFile, LifecycleClassification,
};
pub use templates::{InitFile, MARK as WORKSPACE_MARK, PROTOCOLS, WORKSPACE_FOLDERS, workspace_files};
pub use validate::{WorkspaceCheck, list_closeout_phrases, validate_workspace};
