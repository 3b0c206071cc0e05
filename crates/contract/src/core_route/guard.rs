//! The report of the route admission guard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packet::RecommendedDecision;
use crate::status::NotPromoted;

macro_rules! guard_reasons {
    ($($variant:ident $sentence:literal,)*) => {
        /// Reason for which a route may not be asked for, worst first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum GuardReason { $($variant,)* }

        impl GuardReason {
            /// The reason in words.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

guard_reasons! {
    CoreUnreadable "the Core workspace cannot be read",
    OwnershipUncertain "it is not certain whose work lies in the Core workspace",
    CoreMainDirty "the Core workspace has changes that are not committed",
    CoreOperationUnfinished "a rebase, merge or similar of the Core workspace was begun and not ended",
    ActiveOrConflictingCoreWorkPresent "other worktrees or named conflicts show that somebody works on Core",
    SequenceRouteActive "the current sequence route is not idle",
    ValidationProcessRunning "a validation process runs in the Core workspace",
}

/// Verdict of the guard on its own checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardStatus {
    Passed,
    Blocked,
}

/// Admission of the Core route that follows from [`GuardStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteAdmission {
    Admitted,
    NotAdmitted,
}

/// Next step that the report recommends; the harness takes none of them by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextRouteAction {
    OpenGovernedCorePrdRoute,
    WaitOrOpenLaterCoreRouteWhenIdle,
}

/// State of a work tree of the Core workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    Clean,
    Dirty,
    Unfinished,
    Unreadable,
    /// Listed, and its folder is gone.
    Gone,
}

/// A work tree of the Core workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreWorktree {
    pub path: String,
    /// Branch that is checked out; null where HEAD names a commit itself.
    pub branch: Option<String>,
    pub head: Option<String>,
    pub state: WorktreeState,
    pub locked: bool,
    /// Some of the paths that differ.
    pub dirty_paths: Vec<String>,
    /// Operations that were begun and not ended.
    pub unfinished: Vec<String>,
}

/// A process that seems to validate something in the Core workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreProcess {
    pub pid: u32,
    pub command: String,
}

/// The current sequence route, as its file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state", content = "text")]
pub enum SequenceRoute {
    NotConfigured,
    Idle,
    Active(String),
    Unreadable(String),
}

/// The guard's report. It reserves, writes and stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Core route admission guard")]
pub struct GuardReport {
    pub schema_version: String,
    pub core_path: String,
    pub core_route_admission_status: RouteAdmission,
    pub guard_status: GuardStatus,
    /// The worst reason; null where the guard passed.
    pub blocked_reason: Option<GuardReason>,
    /// Every reason, worst first.
    pub blocked_reasons: Vec<GuardReason>,
    pub main: Option<CoreWorktree>,
    /// Reasons for which it is not known whose work is there.
    pub uncertainties: Vec<String>,
    pub worktrees: Vec<CoreWorktree>,
    pub sequence_route: SequenceRoute,
    pub validation_processes: Vec<CoreProcess>,
    /// Named conflicts that were found.
    pub conflicts: Vec<String>,
    pub do_not_touch_other_agent_work: bool,
    pub idle_governed_core_route_required: bool,
    pub no_active_conflicting_core_worktree_required: bool,
    /// The packet's word.
    pub ready_for_core_route_review: bool,
    pub recommended_next_decision: RecommendedDecision,
    pub next_allowed_action: NextRouteAction,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}
