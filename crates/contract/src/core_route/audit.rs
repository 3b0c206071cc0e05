//! The audit of the end goal: ten requirements, each proven by evidence or with its gap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::NotPromoted;

macro_rules! requirements {
    ($($variant:ident $title:literal,)*) => {
        /// A requirement of the end goal.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum AuditRequirement { $($variant,)* }

        impl AuditRequirement {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Heading of the requirement for people.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

requirements! {
    CortexGoverns "Cortex governs",
    HermesControls "Hermes controls",
    CtoRoutes "CTO routes",
    HarnessProves "Harness proves",
    CaseExecutesOnlyAfterProof "Case executes only after proof",
    BoundedCodeChangesWithEvidence "Bounded code changes with evidence",
    TargetReposStayOwnedAndProtected "Target repos stay owned and protected",
    DefaultStatusIsEarnedNotAssumed "Default status is earned, not assumed",
    CandidateDefaultEvidence "Candidate-default evidence",
    TransportableStack "Transportable CTO stack",
}

/// Finding on one requirement. There is no third value: missing evidence is `NotProven`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditStatus {
    Proven,
    NotProven,
}

/// Finding on the whole audit: `Complete` only if every requirement is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionStatus {
    Complete,
    Incomplete,
}

/// The part of a proof that is missing, and the draft of the work item that would close it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditGap {
    pub text: String,
    pub remedy: String,
    /// YAML of an item for WORKBOARD.yaml.
    pub draft_item: String,
}

/// One requirement with its evidence or its gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementStatus {
    pub requirement: AuditRequirement,
    pub title: String,
    pub status: AuditStatus,
    /// Runs, digests and files that prove it.
    pub evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<AuditGap>,
}

/// The audit. Computed from ledger, bundles and records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Endgoal audit")]
pub struct EndgoalAudit {
    pub schema_version: String,
    pub completion_status: CompletionStatus,
    /// Engine whose ladder was looked at.
    pub engine: String,
    pub requirements: Vec<RequirementStatus>,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}
