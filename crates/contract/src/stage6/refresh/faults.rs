//! Faults that reject or block a refresh, in one table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::status::Status;

macro_rules! refresh_faults {
    ($($variant:ident $code:literal $status:ident $sentence:literal,)*) => {
        /// Fault of a refresh, worst first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum RefreshFault {
            $(#[doc = $sentence] $variant,)*
        }

        impl RefreshFault {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in the document.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Verdict that it leads to: `fail` rejects, `blocked` says that something is
            /// missing.
            pub const fn status(self) -> Status {
                match self { $(Self::$variant => Status::$status,)* }
            }
        }
    };
}

refresh_faults! {
    SecretShapedKey "secret_shaped_key" Fail "A document that was read has a key or value in the shape of a secret.",
    ForbiddenAction "forbidden_action" Fail "A forbidden action was tried, or nobody watched for one.",
    DefaultActivation "default_activation" Fail "A document says that a default was activated.",
    CorePromotion "core_promotion" Fail "A document says that something was promoted.",
    TargetMutated "target_mutated" Fail "A target was not left as it was.",
    MissingArtifact "missing_artifact" Fail "A bundle or a file of one is missing or does not verify.",
    MissingApproval "missing_approval" Fail "A proof has no granted approval that the run used.",
    FailedFact "failed_fact" Fail "A recorded fact does not hold.",
    OutcomeRejected "outcome_rejected" Fail "The operator rejected a pass or the comparison.",
    StaleSourceAdmission "stale_source_admission" Fail "The source of the passes is not the admitted one.",
    MissingOperatorOutcome "missing_operator_outcome" Blocked "A pass has no signed outcome.",
    NoComparison "no_comparison" Blocked "There is no comparison of stage 6 to carry lanes from.",
    SecondOwnedPass "second_owned_pass" Blocked "There are too few accepted passes of stage 5 on different cases and commits.",
    SandboxUnavailable "sandbox_unavailable" Blocked "The verification cannot be held on this machine.",
}

/// One problem of a refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshRejection {
    pub fault: RefreshFault,
    /// The run that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub text: String,
    /// The one command or act that fixes it.
    pub remedy: String,
}
