//! `stage6-candidate-default-comparison.json`: an engine beside the others, by verified
//! bundles alone. It is evidence for a discussion and activates nothing.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collection::CitedBundle;
use crate::digest::Digest;
use crate::id::{RunId, TaskId};
use crate::model::ModelPair;
use crate::reason::Reason;
use crate::report::OperatorOutcome;
use crate::stage::{MutationMode, Stage};
use crate::status::{NotPromoted, Status};

/// Task of a comparison, and part of its folder's name.
pub const COMPARISON_TASK: &str = "stage6-candidate-default";

/// Accepted passes of stage 5, of distinct cases and commits, that a candidate needs.
pub const REPEATABILITY_REQUIRED: u64 = 2;

/// Rows of the fail-closed matrix, each with the case that shows it and its reason.
pub const FAILURE_MATRIX: &[(&str, Reason)] = &[
    ("no-diff", Reason::NoDiff),
    ("disallowed-file", Reason::DisallowedFileChange),
    ("failed-tests", Reason::VerificationFailed),
    ("missing-test-command", Reason::MissingTestCommand),
    ("missing-event", Reason::MissingRequiredEvent),
    ("reviewer-reject", Reason::ReviewerRejected),
    ("approval-denied", Reason::ApprovalDenied),
    ("timeout", Reason::Timeout),
    ("dirty-starting-tree", Reason::DirtyStartingTree),
    ("dirty-ending-tree", Reason::DirtyEndingTree),
    ("artifact-write-failure", Reason::ArtifactWriteFailure),
    ("provider-unavailable", Reason::ProviderUnavailable),
];

/// The comparison of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Candidate comparison")]
pub struct CandidateComparison {
    pub schema_version: String,
    pub comparison_type: ComparisonType,
    /// `fail` if a subject fails, else `blocked` if one is blocked.
    pub status: Status,
    pub stage: Stage,
    pub mutation_mode: MutationMode,
    pub allowed_mutation_scope: String,
    pub candidate: CandidateIdentity,
    pub subjects: Vec<ComparedSubject>,
    /// The candidate first. A lane without evidence is `blocked` and says why.
    pub lanes: Vec<CandidateLane>,
    pub source_admission_freshness: SourceFreshness,
    pub failure_matrix: Vec<FailureRow>,
    pub stage5_passes: Vec<ComparedPass>,
    pub repeatability_required: u64,
    pub repeatability_count: u64,
    pub repeatability_status: Status,
    pub repeatability_passed: bool,
    /// Always `pending`: the operator answers after the seal.
    pub operator_outcome: OperatorOutcome,
    pub operator_outcome_required: bool,
    /// Every bundle that was read.
    pub bundles: Vec<CitedBundle>,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}

/// Kind of the comparison. The only value, so that a reader can reject documents of another
/// kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ComparisonType {
    #[serde(rename = "stage6-candidate-default")]
    CandidateDefault,
}

/// Identity of the candidate, as its rung has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateIdentity {
    pub engine: String,
    pub source_id: String,
    pub model: Option<ModelPair>,
    pub bundle_schema: String,
}

/// A question that a comparison answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonSubject {
    ReportShape,
    EventValidity,
    AllowedPathCompliance,
    FailureClosure,
    ArtifactCompleteness,
    SourceAdmissionFreshness,
    FailureMatrixCoverage,
    Repeatability,
    /// Every fact of the stage 5 proofs holds.
    ProofFacts,
    ApprovalProvenance,
    ForbiddenActionClosure,
    /// No bundle activates a default or promotes.
    NothingActivated,
}

impl ComparisonSubject {
    /// The five on which lanes are compared.
    pub const CRITERIA: [Self; 5] = [
        Self::ReportShape,
        Self::EventValidity,
        Self::AllowedPathCompliance,
        Self::FailureClosure,
        Self::ArtifactCompleteness,
    ];

    /// Spelling in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReportShape => "report_shape",
            Self::EventValidity => "event_validity",
            Self::AllowedPathCompliance => "allowed_path_compliance",
            Self::FailureClosure => "failure_closure",
            Self::ArtifactCompleteness => "artifact_completeness",
            Self::SourceAdmissionFreshness => "source_admission_freshness",
            Self::FailureMatrixCoverage => "failure_matrix_coverage",
            Self::Repeatability => "repeatability",
            Self::ProofFacts => "proof_facts",
            Self::ApprovalProvenance => "approval_provenance",
            Self::ForbiddenActionClosure => "forbidden_action_closure",
            Self::NothingActivated => "nothing_activated",
        }
    }
}

impl fmt::Display for ComparisonSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Finding on one subject of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSubject {
    pub subject: ComparisonSubject,
    pub verdict: Status,
    /// One sentence that states the finding.
    pub text: String,
    /// The one command that fixes it; absent in a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// One engine of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateLane {
    pub engine: String,
    pub candidate: bool,
    pub status: Status,
    /// Evidence of the lane, or the reason for which it has none.
    pub rationale: String,
    /// Absent in a lane without evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<LaneMeasures>,
    pub bundles: Vec<CitedBundle>,
}

/// Number of a lane's bundles that fulfil each criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaneMeasures {
    pub report_shape: HeldShare,
    pub event_validity: HeldShare,
    pub allowed_path_compliance: HeldShare,
    pub failure_closure: HeldShare,
    pub artifact_completeness: HeldShare,
}

impl LaneMeasures {
    /// The share of a criterion; none of a subject that is no criterion.
    pub const fn share(&self, subject: ComparisonSubject) -> Option<HeldShare> {
        match subject {
            ComparisonSubject::ReportShape => Some(self.report_shape),
            ComparisonSubject::EventValidity => Some(self.event_validity),
            ComparisonSubject::AllowedPathCompliance => Some(self.allowed_path_compliance),
            ComparisonSubject::FailureClosure => Some(self.failure_closure),
            ComparisonSubject::ArtifactCompleteness => Some(self.artifact_completeness),
            _ => None,
        }
    }
}

/// A part of all bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldShare {
    pub held: u64,
    pub of: u64,
}

impl HeldShare {
    /// True if every counted bundle held.
    pub const fn is_whole(self) -> bool {
        self.held == self.of
    }

    /// True if it is as large a part as the other one. Nothing of nothing is whole.
    pub const fn matches(self, other: Self) -> bool {
        if self.of == 0 || other.of == 0 {
            return self.is_whole();
        }
        // Counts of bundles: products stay far below the limit.
        self.held.saturating_mul(other.of) >= other.held.saturating_mul(self.of)
    }
}

/// State of the admission that the candidate's passes rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceFreshness {
    Current,
    Stale,
}

/// One row of the fail-closed matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureRow {
    pub fixture: String,
    pub reason: Reason,
    pub covered: bool,
    /// A bundle that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<CitedBundle>,
    /// Reason for which it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

/// An accepted pass of stage 5 by the candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPass {
    pub run_id: RunId,
    pub case_id: TaskId,
    pub attestation_sha256: Digest,
    /// Paths relative to the home.
    pub report: String,
    pub proof: String,
    pub target_commit: Option<String>,
    pub changed_files: Vec<String>,
    pub approval_source: Option<String>,
    pub approval_digest: Option<Digest>,
    pub operator_outcome: OperatorOutcome,
}

impl CandidateComparison {
    /// The status that its subjects make, whatever `status` says.
    pub fn judged_status(&self) -> Status {
        join_verdicts(self.subjects.iter().map(|subject| subject.verdict))
    }
}

/// A failure outweighs what is blocked.
pub fn join_verdicts(verdicts: impl Iterator<Item = Status>) -> Status {
    verdicts.fold(Status::Pass, |sum, verdict| match (sum, verdict) {
        (Status::Fail, _) | (_, Status::Fail) => Status::Fail,
        (Status::Blocked, _) | (_, Status::Blocked) => Status::Blocked,
        (Status::Pass, Status::Pass) => Status::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_compared_as_parts() {
        let share = |held, of| HeldShare { held, of };
        for (mine, other, expected) in [
            ((2, 2), (12, 12), true),
            ((1, 2), (12, 12), false),
            ((1, 2), (6, 12), true),
            ((0, 0), (12, 12), true),
            ((2, 2), (0, 0), true),
            ((1, 2), (0, 0), false),
        ] {
            assert_eq!(share(mine.0, mine.1).matches(share(other.0, other.1)), expected, "{mine:?} {other:?}");
        }
    }

    #[test]
    fn a_failed_subject_outweighs_a_blocked_one() {
        use Status::{Blocked, Fail, Pass};
        for (verdicts, expected) in
            [(&[][..], Pass), (&[Pass, Pass], Pass), (&[Pass, Blocked], Blocked), (&[Blocked, Fail, Pass], Fail)]
        {
            assert_eq!(join_verdicts(verdicts.iter().copied()), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn every_written_name_is_the_serde_name() {
        for subject in ComparisonSubject::CRITERIA {
            assert_eq!(serde_json::to_value(subject).unwrap(), subject.as_str());
        }
        assert_eq!(FAILURE_MATRIX.len(), 12);
    }
}
