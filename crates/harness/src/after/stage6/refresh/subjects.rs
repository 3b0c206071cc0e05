//! Facts of a pass by the subject that each is about, and the sentence of a subject that holds.

use contract::report::{CheckResult, SourceAdmissionStatus};
use contract::stage6::refresh::{RefreshFault, RefreshSubject};
use contract::{Purpose, RunId, Stage, Status};

use super::facts::PassBundleFacts;

/// Facts of a bundle that do not hold, each with its subject.
pub(super) fn broken_facts(facts: &PassBundleFacts, run: &RunId) -> Vec<(RefreshSubject, RefreshFault, String)> {
    use RefreshFault as Fault;
    use RefreshSubject as Subject;
    let is_admitted =
        matches!(facts.source_admission, SourceAdmissionStatus::Admitted | SourceAdmissionStatus::BuiltIn);
    let is_governed = facts.stage == Stage::OWNED_REPOSITORY && facts.purpose == Purpose::Governed;
    let has_passed = facts.status == Status::Pass && facts.proof_passed && facts.verification == CheckResult::Pass;
    let rows = [
        (is_governed, Subject::ReportShape, Fault::FailedFact, "is no governed run of stage 5"),
        (facts.known_format, Subject::ReportShape, Fault::FailedFact, "has another format"),
        (has_passed, Subject::ReportShape, Fault::FailedFact, "did not pass"),
        (facts.events_passed, Subject::EventValidity, Fault::FailedFact, "lacks a required event"),
        (
            facts.allowed_paths_passed,
            Subject::AllowedPathCompliance,
            Fault::FailedFact,
            "changed a path that is not allowed",
        ),
        (facts.forbidden_paths_passed, Subject::AllowedPathCompliance, Fault::FailedFact, "changed a forbidden path"),
        (
            facts.no_forbidden_actions,
            Subject::ForbiddenActionClosure,
            Fault::ForbiddenAction,
            "shows a forbidden action",
        ),
        (!facts.default_activation, Subject::ForbiddenActionClosure, Fault::DefaultActivation, "activates a default"),
        (!facts.promoted, Subject::ForbiddenActionClosure, Fault::CorePromotion, "promotes something"),
        (facts.approved, Subject::ApprovalProvenance, Fault::MissingApproval, "has no approval that it used"),
        (is_admitted, Subject::SourceAdmissionFreshness, Fault::StaleSourceAdmission, "had no admitted source"),
        (facts.target_clean, Subject::TargetReadOnlyStatus, Fault::TargetMutated, "did not leave its target clean"),
    ];
    let mut found: Vec<_> = rows
        .into_iter()
        .filter(|(holds, ..)| !holds)
        .map(|(_, subject, fault, text)| (subject, fault, format!("{run} {text}")))
        .collect();
    for file in &facts.missing_files {
        found.push((Subject::ArtifactCompleteness, Fault::MissingArtifact, format!("{run} has no {file}")));
    }
    for field in &facts.secret_fields {
        let text = format!("{run} has `{field}`, in the shape of a secret");
        found.push((Subject::ReportShape, Fault::SecretShapedKey, text));
    }
    found
}

/// Sentence for a subject that passes.
pub(super) const fn held_sentence(subject: RefreshSubject) -> &'static str {
    match subject {
        RefreshSubject::ReportShape => "every report is that of a governed pass of stage 5",
        RefreshSubject::EventValidity => "every required event is there, in order",
        RefreshSubject::AllowedPathCompliance => "only allowed paths changed",
        RefreshSubject::FailureClosure => "carried from the prior comparison",
        RefreshSubject::FailureMatrixCoverageCarryForward => "carried from the prior comparison",
        RefreshSubject::ArtifactCompleteness => "every bundle verifies and has its proof",
        RefreshSubject::ForbiddenActionClosure => "no forbidden action, activation or promotion",
        RefreshSubject::OperatorAcceptance => "the operator accepted every pass, signed",
        RefreshSubject::ApprovalProvenance => "every proof has the approval that its run used",
        RefreshSubject::SourceAdmissionFreshness => "the source of the passes is the admitted one",
        RefreshSubject::TargetValidation => "every verification passes on a copy of HEAD",
        RefreshSubject::TargetReadOnlyStatus => "HEAD, references and status are as before",
    }
}
