//! Rows of facts through the judgement, each one fault away from facts that pass.

use contract::approval::OutcomeVerdict;
use contract::proof::{ApprovalAnswer, ApprovalProof};
use contract::report::{CheckResult, OperatorOutcome, SourceAdmissionStatus, Verification};
use contract::stage6::comparison::SourceFreshness;
use contract::stage6::refresh::{
    PriorComparison, RealOwnedPass, RefreshComparison, RefreshFault, RefreshLane, RefreshSubject, RefreshTarget,
    RefreshTargetState, RefreshValidation, TargetReadOnlyStatus,
};
use contract::{Digest, Purpose, Reason, Stage, Status};
use ledger::EngineIdentity;

use super::compose::compose_refresh;
use super::facts::{
    AdmissionFacts, CarriedVerdict, DamagedPrior, PassBundle, PassBundleFacts, PassFacts, PriorFacts, RefreshFacts,
    TargetsFacts,
};
use super::judge::judge_facts;
use super::{find_problem, reason_of};
use crate::after::stage6::commands::EngineCommands;

const ENGINE: &str = "toy";
const SOURCE: &str = "toy@1.0.0+0123456789ab";

fn pass(case: &str, letter: &str) -> PassFacts {
    let digest = Digest::of_bytes(case.as_bytes());
    let row = RealOwnedPass {
        case_id: case.to_owned().try_into().unwrap(),
        run_id: format!("20261117T120000Z-{case}-{letter}").try_into().unwrap(),
        work_id: None,
        report: format!("harness-runs/{case}/report.json"),
        proof: format!("harness-runs/{case}/proof.json"),
        target_commit: Some(letter.repeat(40)),
        changed_files: vec!["a.txt".to_owned()],
        approval_source: Some("ada".to_owned()),
        approval_digest: Some(digest),
        approval: Some(ApprovalProof {
            status: ApprovalAnswer::Granted,
            request_digest: digest,
            packet_digest: digest,
            policy_digest: digest,
            approval_digests: vec![digest],
            approved_by: vec!["SHA256:key".to_owned()],
            expires_at: None,
            approval_consumed: true,
        }),
        operator_outcome: OperatorOutcome::Pending,
        operator_outcome_sha256: None,
        attestation_sha256: Some(digest),
    };
    let facts = PassBundleFacts {
        engine: ENGINE.to_owned(),
        identity: EngineIdentity { source_id: SOURCE.to_owned(), model: None },
        tree_sha256: Some(digest),
        stage: Stage::OWNED_REPOSITORY,
        purpose: Purpose::Governed,
        status: Status::Pass,
        known_format: true,
        verification: CheckResult::Pass,
        proof_passed: true,
        events_passed: true,
        allowed_paths_passed: true,
        forbidden_paths_passed: true,
        no_forbidden_actions: true,
        approved: true,
        target_clean: true,
        source_admission: SourceAdmissionStatus::Admitted,
        default_activation: false,
        promoted: false,
        missing_files: Vec::new(),
        secret_fields: Default::default(),
    };
    let mut pass = PassFacts { row, bundle: PassBundle::Verified(Box::new(facts)), uncounted: None };
    pass.enter_outcome(Some((OutcomeVerdict::Accepted, digest)));
    pass
}

fn prior() -> PriorFacts {
    let carried = || CarriedVerdict { verdict: Status::Pass, text: "held".to_owned() };
    PriorFacts {
        path: "harness-runs/c/stage6-candidate-default-comparison.json".to_owned(),
        comparison: PriorComparison {
            run_id: "20261117T130000Z-stage6-candidate-default-c".to_owned().try_into().unwrap(),
            attestation_sha256: Digest::of_bytes(b"c"),
            status: Status::Pass,
        },
        identity: EngineIdentity { source_id: SOURCE.to_owned(), model: None },
        outcome: Some(OutcomeVerdict::Accepted),
        lanes: vec![RefreshLane { engine: "fake".to_owned(), status: Status::Pass, rationale: "x".to_owned() }],
        failure_closure: carried(),
        failure_matrix: carried(),
        default_activation: false,
        promoted: false,
        secret_fields: Default::default(),
    }
}

fn target() -> RefreshTarget {
    let state =
        RefreshTargetState { head: "c".repeat(40), refs_sha256: "1".repeat(64), sha256: "2".repeat(64), clean: true };
    let validation = |case: &str| RefreshValidation {
        case_id: case.to_owned().try_into().unwrap(),
        head: "c".repeat(40),
        verification: Verification { result: CheckResult::Pass, ..Verification::default() },
        problem: None,
    };
    RefreshTarget {
        target_repository_path: "/target".to_owned(),
        before: Some(state.clone()),
        after: Some(state),
        problem: None,
        validations: vec![validation("one"), validation("two")],
    }
}

fn good() -> RefreshFacts {
    RefreshFacts {
        engine: ENGINE.to_owned(),
        commands: EngineCommands { engine: ENGINE.to_owned(), model: None, is_shut: false },
        passes: vec![pass("two", "b"), pass("one", "a")],
        prior: Some(prior()),
        damaged_prior: None,
        admission: AdmissionFacts::Current,
        targets: TargetsFacts::Read(vec![target()]),
    }
}

fn judge(facts: RefreshFacts) -> RefreshComparison {
    compose_refresh(judge_facts(facts))
}

fn bundle(facts: &mut RefreshFacts) -> &mut PassBundleFacts {
    match &mut facts.passes[0].bundle {
        PassBundle::Verified(bundle) => bundle,
        PassBundle::Unusable(_) => unreachable!("a good pass is verified"),
    }
}

fn first_target(facts: &mut RefreshFacts) -> &mut RefreshTarget {
    match &mut facts.targets {
        TargetsFacts::Read(targets) => &mut targets[0],
        TargetsFacts::NoSandbox(..) => unreachable!("good targets were read"),
    }
}

#[test]
fn two_accepted_passes_on_different_cases_and_commits_pass() {
    let document = judge(good());
    assert_eq!((document.status, document.rejections.as_slice()), (Status::Pass, &[][..]));
    assert!(document.subjects.iter().all(|subject| subject.verdict == Status::Pass), "{:#?}", document.subjects);
    assert_eq!(document.subjects.len(), RefreshSubject::ALL.len());
    assert_eq!((document.repeatability_count, document.repeatability_status), (2, Status::Pass));
    assert!(document.repeatability_passed && document.candidate_default_repeatability_eligible);
    assert_eq!(document.source_admission_freshness, SourceFreshness::Current);
    assert_eq!(document.target_validation.result, CheckResult::Pass);
    assert_eq!(document.target_read_only_status, TargetReadOnlyStatus::Unchanged);
    assert_eq!(document.real_stage5_pass_report.as_deref(), Some("harness-runs/two/report.json"));
    assert_eq!(document.repeat_stage5_proof.as_deref(), Some("harness-runs/one/proof.json"));
    assert_eq!(document.prior_comparison_path.as_deref(), Some(prior().path.as_str()));
    assert_eq!(document.lanes, prior().lanes);
    assert!(!document.runtime_default_activation && !document.target_repository_mutation);
    assert!(find_problem(&document).is_none());
}

type Row = (&'static str, fn(&mut RefreshFacts), RefreshFault, RefreshSubject);

/// One change of good facts each, with the fault and the subject that it breaks.
const FAULTS: &[Row] = {
    use RefreshFault as F;
    use RefreshSubject as S;
    &[
        (
            "a bundle is gone",
            |f| f.passes[0].bundle = PassBundle::Unusable("gone".to_owned()),
            F::MissingArtifact,
            S::ArtifactCompleteness,
        ),
        (
            "a proof is gone",
            |f| bundle(f).missing_files.push("proof".to_owned()),
            F::MissingArtifact,
            S::ArtifactCompleteness,
        ),
        ("a failure", |f| bundle(f).status = Status::Fail, F::FailedFact, S::ReportShape),
        ("a proof that did not pass", |f| bundle(f).proof_passed = false, F::FailedFact, S::ReportShape),
        ("an exam that failed", |f| bundle(f).verification = CheckResult::Fail, F::FailedFact, S::ReportShape),
        ("a run of stage 4", |f| bundle(f).stage = Stage::DISPOSABLE_REPOSITORY, F::FailedFact, S::ReportShape),
        ("a run of a validator", |f| bundle(f).purpose = Purpose::Validation, F::FailedFact, S::ReportShape),
        ("another format", |f| bundle(f).known_format = false, F::FailedFact, S::ReportShape),
        ("another engine", |f| bundle(f).engine = "other".to_owned(), F::FailedFact, S::ReportShape),
        ("a pass that does not count", |f| f.passes[0].uncounted = Some("x".to_owned()), F::FailedFact, S::ReportShape),
        ("a missing event", |f| bundle(f).events_passed = false, F::FailedFact, S::EventValidity),
        (
            "a path that is not allowed",
            |f| bundle(f).allowed_paths_passed = false,
            F::FailedFact,
            S::AllowedPathCompliance,
        ),
        ("a forbidden path", |f| bundle(f).forbidden_paths_passed = false, F::FailedFact, S::AllowedPathCompliance),
        (
            "a forbidden action",
            |f| bundle(f).no_forbidden_actions = false,
            F::ForbiddenAction,
            S::ForbiddenActionClosure,
        ),
        (
            "a default that was activated",
            |f| bundle(f).default_activation = true,
            F::DefaultActivation,
            S::ForbiddenActionClosure,
        ),
        ("a promotion", |f| bundle(f).promoted = true, F::CorePromotion, S::ForbiddenActionClosure),
        ("no approval", |f| bundle(f).approved = false, F::MissingApproval, S::ApprovalProvenance),
        ("a dirty target", |f| bundle(f).target_clean = false, F::TargetMutated, S::TargetReadOnlyStatus),
        (
            "a source that was not admitted",
            |f| bundle(f).source_admission = SourceAdmissionStatus::NotAdmitted,
            F::StaleSourceAdmission,
            S::SourceAdmissionFreshness,
        ),
        (
            "a key like a secret's",
            |f| {
                bundle(f).secret_fields.insert("api_key".to_owned());
            },
            F::SecretShapedKey,
            S::ReportShape,
        ),
        (
            "an admission that does not stand now",
            |f| f.admission = AdmissionFacts::Stale("expired".to_owned()),
            F::StaleSourceAdmission,
            S::SourceAdmissionFreshness,
        ),
        (
            "a HEAD that moved",
            |f| first_target(f).after.as_mut().unwrap().head = "d".repeat(40),
            F::TargetMutated,
            S::TargetReadOnlyStatus,
        ),
        (
            "a new reference",
            |f| first_target(f).after.as_mut().unwrap().refs_sha256 = "3".repeat(64),
            F::TargetMutated,
            S::TargetReadOnlyStatus,
        ),
        (
            "a dirty work tree",
            |f| first_target(f).after.as_mut().unwrap().clean = false,
            F::TargetMutated,
            S::TargetReadOnlyStatus,
        ),
        (
            "a target that cannot be read",
            |f| first_target(f).problem = Some("gone".to_owned()),
            F::MissingArtifact,
            S::TargetValidation,
        ),
        (
            "a verification that fails on HEAD",
            |f| first_target(f).validations[0].verification.result = CheckResult::Fail,
            F::FailedFact,
            S::TargetValidation,
        ),
        (
            "a verification that was not held",
            |f| first_target(f).validations[0].verification.result = CheckResult::NotRun,
            F::FailedFact,
            S::TargetValidation,
        ),
        (
            "a rejected pass",
            |f| f.passes[0].enter_outcome(Some((OutcomeVerdict::Rejected, Digest::of_bytes(b"no")))),
            F::OutcomeRejected,
            S::OperatorAcceptance,
        ),
        (
            "a comparison that fails closed no more",
            |f| f.prior.as_mut().unwrap().failure_closure.verdict = Status::Fail,
            F::FailedFact,
            S::FailureClosure,
        ),
        (
            "a comparison of another source",
            |f| f.prior.as_mut().unwrap().identity.source_id = "toy@0.9.0".to_owned(),
            F::NoComparison,
            S::FailureClosure,
        ),
        (
            "a comparison of another model",
            |f| f.prior.as_mut().unwrap().identity.model = Some("local/small".parse().unwrap()),
            F::NoComparison,
            S::FailureMatrixCoverageCarryForward,
        ),
        (
            "a comparison that failed",
            |f| f.prior.as_mut().unwrap().comparison.status = Status::Fail,
            F::FailedFact,
            S::FailureClosure,
        ),
        (
            "a comparison that was blocked",
            |f| f.prior.as_mut().unwrap().comparison.status = Status::Blocked,
            F::NoComparison,
            S::FailureClosure,
        ),
        (
            "a comparison that the operator rejected",
            |f| f.prior.as_mut().unwrap().outcome = Some(OutcomeVerdict::Rejected),
            F::OutcomeRejected,
            S::OperatorAcceptance,
        ),
        (
            "a comparison that does not verify",
            |f| {
                let (prior, why) = (f.prior.take().unwrap(), "report.json shape".to_owned());
                f.damaged_prior = Some(DamagedPrior { run_id: prior.comparison.run_id, seq: 7, why });
            },
            F::MissingArtifact,
            S::ArtifactCompleteness,
        ),
        (
            "a comparison that activates",
            |f| f.prior.as_mut().unwrap().default_activation = true,
            F::DefaultActivation,
            S::ForbiddenActionClosure,
        ),
        (
            "a comparison that promotes",
            |f| f.prior.as_mut().unwrap().promoted = true,
            F::CorePromotion,
            S::ForbiddenActionClosure,
        ),
        (
            "a comparison with a key like a secret's",
            |f| {
                f.prior.as_mut().unwrap().secret_fields.insert("token".to_owned());
            },
            F::SecretShapedKey,
            S::ReportShape,
        ),
        (
            "no outcome",
            |f| f.passes[0].row.operator_outcome = OperatorOutcome::Pending,
            F::MissingOperatorOutcome,
            S::OperatorAcceptance,
        ),
        ("no comparison", |f| f.prior = None, F::NoComparison, S::FailureClosure),
        (
            "a comparison with a gap in its matrix",
            |f| f.prior.as_mut().unwrap().failure_matrix.verdict = Status::Blocked,
            F::NoComparison,
            S::FailureMatrixCoverageCarryForward,
        ),
        (
            "no sandbox",
            |f| f.targets = TargetsFacts::NoSandbox("none".to_owned(), "cto doctor".to_owned()),
            F::SandboxUnavailable,
            S::TargetValidation,
        ),
    ]
};

#[test]
fn each_fault_alone_rejects_or_blocks_and_names_its_subject() {
    for (what, change, fault, subject) in FAULTS {
        let mut facts = good();
        change(&mut facts);
        let document = judge(facts);
        let status = fault.status();
        assert_eq!(document.status, status, "{what}: {:#?}", document.rejections);
        assert!(document.rejections.iter().any(|it| it.fault == *fault), "{what}: {:#?}", document.rejections);
        assert!(document.rejections.iter().all(|it| !it.text.is_empty() && !it.remedy.is_empty()), "{what}");
        let verdict = document.subjects.iter().find(|it| it.subject == *subject).map(|it| it.verdict);
        assert_eq!(verdict, Some(status), "{what}");
        let problem = find_problem(&document).unwrap();
        assert_eq!(problem.reason.status_of(false), status, "{what}: the sealed bundle says the same");
        assert!(!document.candidate_default_repeatability_eligible, "{what}");
        assert!(!document.runtime_default_activation, "{what}");
    }
}

#[test]
fn every_fault_has_a_row_or_is_a_lack_of_passes() {
    for fault in RefreshFault::ALL.iter().filter(|fault| **fault != RefreshFault::SecondOwnedPass) {
        assert!(FAULTS.iter().any(|row| row.2 == *fault), "{}", fault.code());
    }
}

/// A comparison that nobody has answered serves a refresh, as one that was accepted does.
#[test]
fn an_unanswered_comparison_serves() {
    let mut facts = good();
    facts.prior.as_mut().unwrap().outcome = None;
    assert_eq!(judge(facts).status, Status::Pass);
}

/// A remedy about the engine names its model, and none names a run that is known by capitals.
#[test]
fn remedies_of_an_identity_with_a_model_name_it() {
    for (what, change, ..) in FAULTS {
        let mut facts = good();
        facts.commands.model = Some("local/small".parse().unwrap());
        change(&mut facts);
        for rejection in judge(facts).rejections {
            let remedy = rejection.remedy;
            for command in ["cto compare", "cto request", "cto run"] {
                assert!(!remedy.contains(command) || remedy.contains("--model local/small"), "{what}: {remedy}");
            }
        }
    }
    let mut facts = good();
    facts.passes.truncate(1);
    (facts.commands.model, facts.commands.is_shut) = (Some("local/small".parse().unwrap()), true);
    let document = judge(facts);
    let remedy = "cto engine enable toy --stage 5 && cto request TASK --engine toy --stage 5 --model local/small     with another case";
    assert_eq!(document.rejections[0].remedy, remedy);
}

/// A change of good facts, and the passes that count then.
type LackRow<'a> = (&'a str, &'a dyn Fn(&mut RefreshFacts), u64);

#[test]
fn too_few_passes_are_written_down_and_blocked() {
    let same_case = |facts: &mut RefreshFacts| facts.passes[1].row.case_id = facts.passes[0].row.case_id.clone();
    let same_commit =
        |facts: &mut RefreshFacts| facts.passes[1].row.target_commit = facts.passes[0].row.target_commit.clone();
    let rows: [LackRow<'_>; 5] = [
        ("one pass", &|facts| facts.passes.truncate(1), 1),
        ("none", &|facts| facts.passes.clear(), 0),
        ("one case twice", &same_case, 1),
        ("one commit twice", &same_commit, 1),
        ("two", &|_| {}, 2),
    ];
    for (what, change, count) in rows {
        let mut facts = good();
        change(&mut facts);
        let document = judge(facts);
        assert_eq!(document.repeatability_count, count, "{what}");
        let expected = if count < 2 { Status::Blocked } else { Status::Pass };
        assert_eq!((document.status, document.repeatability_status), (expected, expected), "{what}");
        let is_lacking = document.rejections.iter().any(|it| it.fault == RefreshFault::SecondOwnedPass);
        assert_eq!(is_lacking, count < 2, "{what}");
        assert_eq!(document.repeatability_passed, count == 2, "{what}");
    }
}

#[test]
fn a_failed_pass_fails_repeatability_and_a_failure_outweighs_a_lack() {
    let mut facts = good();
    facts.passes[1].row.operator_outcome = OperatorOutcome::Pending;
    bundle(&mut facts).approved = false;
    let document = judge(facts);
    assert_eq!((document.status, document.repeatability_status), (Status::Fail, Status::Fail));
    assert_eq!(document.rejections[0].fault, RefreshFault::MissingApproval, "worst first");
    assert!(document.rejections.iter().any(|it| it.fault == RefreshFault::MissingOperatorOutcome));
}

#[test]
fn reasons_of_the_sealed_bundle_have_the_status_of_the_fault() {
    for fault in RefreshFault::ALL {
        assert_eq!(reason_of(*fault).status_of(false), fault.status(), "{}", fault.code());
    }
    assert_eq!(reason_of(RefreshFault::MissingOperatorOutcome), Reason::MissingOperatorOutcome);
    assert_eq!(reason_of(RefreshFault::SecondOwnedPass), Reason::StageNotEarned);
    assert_eq!(reason_of(RefreshFault::SandboxUnavailable), Reason::SandboxUnavailable);
    assert_eq!(reason_of(RefreshFault::FailedFact), Reason::VerificationFailed);
}
