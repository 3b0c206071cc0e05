//! `stage6-real-governed-refresh-comparison.json`: real passes of stage 5, examined again
//! without changing anything.

mod faults;
mod passes;
mod targets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::RunId;
use crate::model::ModelPair;
use crate::stage6::comparison::SourceFreshness;
use crate::status::{NotPromoted, Status};

pub use faults::{RefreshFault, RefreshRejection};
pub use passes::RealOwnedPass;
pub use targets::{RefreshTarget, RefreshTargetState, RefreshValidation, TargetReadOnlyStatus, TargetValidation};

/// Task of a refresh, and the part of its folder's name behind the time.
pub const REFRESH_TASK: &str = "stage6-real-governed-refresh";

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Real governed refresh")]
pub struct RefreshComparison {
    pub schema_version: String,
    pub refresh_type: RefreshType,
    pub status: Status,
    /// The engine whose passes were looked at.
    pub engine: String,
    /// Source of that engine in its passes; null where there is none.
    pub source_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPair>,
    pub subjects: Vec<SubjectVerdict>,
    /// Every problem, worst first.
    pub rejections: Vec<RefreshRejection>,
    pub lanes: Vec<RefreshLane>,
    /// The comparison of stage 6 that lanes and failure closure are carried from; paths are
    /// relative to the home.
    pub prior_comparison_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_comparison: Option<PriorComparison>,
    /// Newest first.
    pub real_stage5_passes: Vec<RealOwnedPass>,
    /// The newest pass, for readers that know two.
    pub real_stage5_pass_report: Option<String>,
    pub real_stage5_proof: Option<String>,
    /// The pass before it.
    pub repeat_stage5_pass_report: Option<String>,
    pub repeat_stage5_proof: Option<String>,
    pub repeatability_required: u64,
    pub repeatability_count: u64,
    pub repeatability_status: Status,
    pub repeatability_passed: bool,
    pub candidate_default_repeatability_eligible: bool,
    pub source_admission_freshness: SourceFreshness,
    pub target_validation: TargetValidation,
    pub target_read_only_status: TargetReadOnlyStatus,
    pub target_repository_mutation: bool,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}

/// Kind of the refresh. The only value: a refresh never changes a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RefreshType {
    #[default]
    #[serde(rename = "stage6-real-governed-read-only")]
    ReadOnly,
}

/// Subject of one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefreshSubject {
    ReportShape,
    EventValidity,
    AllowedPathCompliance,
    FailureClosure,
    FailureMatrixCoverageCarryForward,
    ArtifactCompleteness,
    ForbiddenActionClosure,
    OperatorAcceptance,
    ApprovalProvenance,
    SourceAdmissionFreshness,
    TargetValidation,
    TargetReadOnlyStatus,
}

impl RefreshSubject {
    /// Every value, in order.
    pub const ALL: [Self; 12] = [
        Self::ReportShape,
        Self::EventValidity,
        Self::AllowedPathCompliance,
        Self::FailureClosure,
        Self::FailureMatrixCoverageCarryForward,
        Self::ArtifactCompleteness,
        Self::ForbiddenActionClosure,
        Self::OperatorAcceptance,
        Self::ApprovalProvenance,
        Self::SourceAdmissionFreshness,
        Self::TargetValidation,
        Self::TargetReadOnlyStatus,
    ];

    /// Spelling in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReportShape => "report_shape",
            Self::EventValidity => "event_validity",
            Self::AllowedPathCompliance => "allowed_path_compliance",
            Self::FailureClosure => "failure_closure",
            Self::FailureMatrixCoverageCarryForward => "failure_matrix_coverage_carry_forward",
            Self::ArtifactCompleteness => "artifact_completeness",
            Self::ForbiddenActionClosure => "forbidden_action_closure",
            Self::OperatorAcceptance => "operator_acceptance",
            Self::ApprovalProvenance => "approval_provenance",
            Self::SourceAdmissionFreshness => "source_admission_freshness",
            Self::TargetValidation => "target_validation",
            Self::TargetReadOnlyStatus => "target_read_only_status",
        }
    }

    /// Name of the subject for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ReportShape => "report shape",
            Self::EventValidity => "event validity",
            Self::AllowedPathCompliance => "allowed paths",
            Self::FailureClosure => "failure closure",
            Self::FailureMatrixCoverageCarryForward => "failure matrix",
            Self::ArtifactCompleteness => "artifacts",
            Self::ForbiddenActionClosure => "forbidden actions",
            Self::OperatorAcceptance => "operator acceptance",
            Self::ApprovalProvenance => "approval provenance",
            Self::SourceAdmissionFreshness => "source admission",
            Self::TargetValidation => "target validation",
            Self::TargetReadOnlyStatus => "target read-only",
        }
    }
}

/// Verdict on one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectVerdict {
    pub subject: RefreshSubject,
    pub verdict: Status,
    pub text: String,
}

/// One lane of the prior comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshLane {
    pub engine: String,
    pub status: Status,
    pub rationale: String,
}

/// The comparison of stage 6 that a refresh rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorComparison {
    pub run_id: RunId,
    pub attestation_sha256: Digest,
    pub status: Status,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_faults_are_written_by_their_names() {
        for subject in RefreshSubject::ALL {
            assert_eq!(serde_json::to_value(subject).unwrap(), subject.as_str());
        }
        for fault in RefreshFault::ALL {
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.code());
        }
    }
}
