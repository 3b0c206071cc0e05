//! A pass of stage 4 or 5 in its own words, and every lie in it.

use contract::task::ForbiddenAction;
use contract::{Stamp, Statement, from_json};
use serde::de::DeserializeOwned;

use super::*;

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../../cto/tests/golden/v1.1-rules-1.2/pass/", $name)).as_slice()
    };
}

struct Scene {
    report: Report,
    decision: Decision,
    signed: Predicate,
    events: Vec<EventKind>,
    disposable: Option<DisposableRepositoryProof>,
    owned: Option<OwnedRepositoryProof>,
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn predicate() -> Predicate {
    use base64::Engine as _;
    let envelope: Value = serde_json::from_slice(golden!("attestation.dsse.json")).unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice::<Statement>(&payload).unwrap().predicate
}

fn approval_facts(stage: Stage, at: Stamp) -> Value {
    let (plan, packet) = (Digest::of_bytes(b"plan"), Digest::of_bytes(b"packet"));
    let terms = json!({
        "approvals_required": 1, "distinct_from_requester": false, "max_ttl": 3600, "require_hardware_key": false,
        "break_glass": false,
    });
    let policy = read::<contract::approval::PolicyTerms>(terms.clone()).digest().unwrap();
    let later = at.after(std::time::Duration::from_secs(1800));
    let signature = |key: &str| json!({"key_fingerprint": key, "key_kind": "ssh-ed25519", "standing": "allowed"});
    let approval = json!({
        "schema": "cto-approval@v1", "request_digest": plan, "ledger_id": "l", "key_fingerprint": "op2", "sentence": "I approve.",
        "scope": stage.allowed_mutation_scope(), "mutation_mode": stage.mutation_mode(), "approval_source": "op2",
        "execution_scope": "one approved Harness run only", "packet_digest": packet, "policy_digest": policy,
        "signed_via": "terminal", "granted_at": at, "not_before": at, "expires_at": later, "nonce": "0".repeat(32),
    });
    json!({"found": {
        "plan_digest": plan, "plan_schema": "cto-plan@v1", "ledger_id": "l", "last_entry_at": at, "continuity": "known",
        "terms": terms, "request_command": "cto request t", "request": {
            "name": "req-1", "request_digest": plan, "packet_digest": packet, "policy_digest": policy,
            "plan_schema": "cto-plan@v1", "sentence": "I approve.", "ledger_id": "l", "requester_fingerprint": "op1",
            "signature": signature("op1"), "recorded_at": at, "differences": [], "denials": [], "holds": [],
            "revocations": [], "approvals": [
                {"document": approval, "sha256": Digest::of_bytes(b"approval"), "signature": signature("op2"), "recorded_at": at},
            ],
        },
    }})
}

fn target_facts() -> Value {
    json!({"path": "/srv/site", "remedy": "", "admission": {"record": {"sha256": Digest::ZERO, "signed_by": "op1", "record": {
        "admission_status": "admitted", "target_repository_path": "/srv/site", "repository_owner": "op1",
        "ownership_evidence": "docs/owners.md", "risk_classification": "low_risk_noncritical", "noncritical_rationale": "a toy",
        "allowed_paths": ["src/"], "forbidden_paths": ["keys/"], "forbidden_actions": ForbiddenAction::ALL, "approval_source": "op1",
        "approval_timestamp": "2026-01-01", "operator_outcome_required": true, "review_trigger": "a year",
    }}}})
}

/// Fields that both proofs have.
fn common_proof(report: &Report) -> Value {
    json!({
        "schema_version": "1.0", "run_id": report.run_id, "task_id": report.task_id, "stage": report.stage,
        "engine": report.backend, "mutation_mode": report.stage.mutation_mode(),
        "allowed_mutation_scope": report.allowed_mutation_scope, "branch_policy": report.branch_policy,
        "approval": {
            "status": "granted", "request_digest": Digest::of_bytes(b"plan"), "packet_digest": Digest::of_bytes(b"packet"),
            "policy_digest": Digest::ZERO, "approval_digests": [Digest::of_bytes(b"approval")], "approved_by": ["op2"],
            "approval_consumed": true,
        },
        "forbidden_actions": ForbiddenAction::ALL, "no_forbidden_actions": true, "public_publication_attempted": false,
        "push_merge_deploy_close_pr_open_attempted": false, "allowed_paths_passed": true, "forbidden_paths_passed": true,
        "changed_files": report.changed_files, "landed": {
            "commit": "c1", "parent": report.baseline_commit, "tree": report.result_tree, "branch": "cto/t/1",
        },
        "case_process_started": true, "verification": "pass", "runtime_default_activation": false, "passed": true,
    })
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn scene(number: u8) -> Scene {
    let mut report: Report = from_json(golden!("report.json")).unwrap();
    let mut decision: Decision = from_json(golden!("eligibility-decision.json")).unwrap();
    let stage = Stage::try_from(number).unwrap();
    (report.stage, decision.inputs.stage) = (stage, stage);
    report.allowed_mutation_scope = stage.allowed_mutation_scope().to_owned();
    report.approval_status = ApprovalStatus::Granted;
    decision.inputs.approval = Some(read(approval_facts(stage, decision.inputs.time)));
    let mut signed = predicate();
    (signed.request_digest, signed.approval_digest) =
        (Some(Digest::of_bytes(b"plan")), Some(Digest::of_bytes(b"approval")));
    let events = vec![EventKind::ApprovalRequested, EventKind::ApprovalGranted];
    let mut proof = common_proof(&report);
    let counted = counted_approvals(&decision.inputs).unwrap();
    proof["approval"]["policy_digest"] = json!(counted.approvals[0].document.policy_digest);
    let (mut disposable, mut owned) = (None, None);
    if number == 4 {
        report.disposable_repository_dir = Some("disposable".to_owned());
        disposable = Some(read(with(
            proof,
            json!({
                "disposable_repository_dir": "disposable", "ownership": "o", "disposal_note": "d",
                "creation_source": {"kind": "case_files", "commit": "c", "tree": "t"},
                "repository_head_before": report.baseline_commit, "repository_start_clean": true, "repository_ending_clean": true,
            }),
        )));
    } else {
        decision.inputs.settings.target_admission = Some(read(target_facts()));
        owned = Some(read(with(
            proof,
            json!({
                "target_repository_path": "/srv/site", "target_repository_admission_status": "admitted", "admission": {
                    "sha256": Digest::ZERO, "signed_by": "op1", "repository_owner": "op1", "ownership_evidence": "docs/owners.md",
                    "risk_classification": "low_risk_noncritical", "approval_source": "op1", "approval_timestamp": "2026-01-01",
                    "review_trigger": "a year", "allowed_paths": ["src/"], "forbidden_paths": ["keys/"],
                },
                "approval_source": "op2", "approval_digest": Digest::of_bytes(b"approval"),
                "target_repository_head_before": report.baseline_commit, "target_repository_before": {"head": "h", "sha256": "s"},
                "target_repository_start_clean": true, "target_repository_ending_clean": true, "target_commit": "c1",
                "operator_outcome": "pending", "operator_outcome_required": true,
            }),
        )));
    }
    Scene { report, decision, signed, events, disposable, owned }
}

fn failed(scene: &Scene) -> Vec<String> {
    let mut checks = Checks::default();
    let Scene { report, decision, signed, events, disposable, owned } = scene;
    let (disposable, owned) = (disposable.as_ref(), owned.as_ref());
    check_governed(&GovernedRun { report, decision, signed: Some(signed), events, disposable, owned }, &mut checks);
    checks.failures.iter().map(|failure| format!("{} {}", failure.check, failure.expected)).collect()
}

fn disposable(scene: &mut Scene) -> &mut DisposableRepositoryProof {
    scene.disposable.as_mut().unwrap()
}

fn owned(scene: &mut Scene) -> &mut OwnedRepositoryProof {
    scene.owned.as_mut().unwrap()
}

fn no_approval(scene: &mut Scene) {
    scene.decision.inputs.approval = None;
}

type Edit = fn(&mut Scene);

/// A stage, a lie, and how the one check begins that finds it. A row without one is a control.
const ROWS: &[(&str, u8, Edit, &str)] = &[
    ("a true pass of stage 4", 4, |_| {}, ""),
    ("a true pass of stage 5", 5, |_| {}, ""),
    ("no proof of stage 4", 4, |s| s.disposable = None, "present"),
    ("no proof of stage 5", 5, |s| s.owned = None, "present"),
    ("no proof of a failure", 5, |s| (s.owned, s.report.status) = (None, Status::Fail), ""),
    ("another request", 4, |s| s.signed.request_digest = Some(Digest::ZERO), "signed_request"),
    ("no request", 4, |s| s.signed.request_digest = None, "signed_request"),
    ("another approval", 5, |s| s.signed.approval_digest = Some(Digest::ZERO), "signed_approval"),
    ("no approval", 5, |s| s.signed.approval_digest = None, "signed_approval"),
    ("somebody alone, untold", 4, |s| alone(s), "coverage solo_operator"),
    ("two people, told as one", 4, |s| s.report.coverage.push(Coverage::SoloOperator), "coverage solo_operator"),
    ("glass that nobody broke", 4, |s| s.report.coverage.push(Coverage::BreakGlass), "coverage break_glass"),
    ("not required", 4, |s| s.report.approval_status = ApprovalStatus::NotRequired, "approval_status"),
    (
        "no event of the request",
        4,
        |s| s.events.retain(|kind| *kind != EventKind::ApprovalRequested),
        "approval_event an event approval.requested",
    ),
    ("no event of the grant", 4, |s| s.events.truncate(1), "approval_event an event approval.granted"),
    ("another run", 4, |s| disposable(s).subject.engine.push('2'), "stage_proof engine"),
    (
        "another work item",
        5,
        |s| owned(s).subject.work_id = "A-WORK-001".to_owned().try_into().ok(),
        "stage_proof work_id",
    ),
    ("another stage", 5, |s| owned(s).subject.stage = Stage::DISPOSABLE_REPOSITORY, "stage_proof stage"),
    (
        "another mode",
        4,
        |s| disposable(s).subject.mutation_mode = contract::MutationMode::None,
        "stage_proof mutation_mode",
    ),
    (
        "another scope",
        4,
        |s| disposable(s).subject.allowed_mutation_scope.clear(),
        "stage_proof allowed_mutation_scope",
    ),
    ("another folder", 4, |s| disposable(s).disposable_repository_dir.clear(), "stage_proof disposable_repository_dir"),
    ("another branch", 5, |s| owned(s).branch_policy.clear(), "stage_proof branch_policy"),
    ("not verified", 5, |s| owned(s).verification = contract::report::CheckResult::Fail, "stage_proof verification"),
    ("an activation", 5, |s| owned(s).runtime_default_activation = true, "stage_proof runtime_default_activation"),
    ("no process", 5, |s| owned(s).case_process_started = false, "stage_proof case_process_started"),
    (
        "another plan",
        4,
        |s| disposable(s).approval.request_digest = Digest::ZERO,
        "stage_proof approval.request_digest",
    ),
    (
        "another packet",
        4,
        |s| disposable(s).approval.packet_digest = Digest::ZERO,
        "stage_proof approval.packet_digest",
    ),
    (
        "another policy",
        4,
        |s| disposable(s).approval.policy_digest = Digest::ZERO,
        "stage_proof approval.policy_digest",
    ),
    (
        "more approvals",
        4,
        |s| disposable(s).approval.approval_digests.push(Digest::ZERO),
        "stage_proof approval.approval_digests",
    ),
    ("more people", 5, |s| owned(s).approval.approved_by.push("op3".into()), "stage_proof approval.approved_by"),
    ("not used up", 5, |s| owned(s).approval.approval_consumed = false, "stage_proof approval.approval_consumed"),
    ("another first approval", 5, |s| owned(s).approval_digest = Digest::ZERO, "stage_proof approval_digest"),
    ("another source", 5, |s| owned(s).approval_source.clear(), "stage_proof approval_source"),
    ("other paths", 4, |s| disposable(s).paths.changed_files.clear(), "stage_proof changed_files"),
    ("paths outside", 5, |s| owned(s).paths.allowed_paths_passed = false, "stage_proof allowed_paths_passed"),
    ("paths forbidden", 5, |s| owned(s).paths.forbidden_paths_passed = false, "stage_proof forbidden_paths_passed"),
    (
        "an attempt, untold",
        5,
        |s| s.report.forbidden_actions_attempted.push("push".into()),
        "stage_proof no_forbidden_actions",
    ),
    (
        "an attempt in a pass",
        4,
        |s| disposable(s).actions.no_forbidden_actions = false,
        "stage_proof no_forbidden_actions",
    ),
    (
        "an attempt in a pass of stage 5",
        5,
        |s| owned(s).actions.no_forbidden_actions = false,
        "stage_proof no_forbidden",
    ),
    (
        "an attempt in a failure",
        5,
        |s| (s.report.status, owned(s).actions.no_forbidden_actions) = (Status::Fail, false),
        "",
    ),
    ("denied", 5, |s| owned(s).approval.status = ApprovalAnswer::Denied, "stage_proof approval.status"),
    ("published", 5, |s| owned(s).actions.public_publication_attempted = true, "stage_proof no_publication"),
    ("pushed", 4, |s| disposable(s).actions.push_merge_deploy_close_pr_open_attempted = true, "stage_proof no_push"),
    ("dirty before", 4, |s| disposable(s).repository_start_clean = false, "stage_proof repository_start_clean"),
    ("dirty after", 4, |s| disposable(s).repository_ending_clean = false, "stage_proof repository_ending_clean"),
    (
        "target dirty before",
        5,
        |s| owned(s).target_repository_start_clean = false,
        "stage_proof target_repository_start_clean",
    ),
    (
        "target dirty after",
        5,
        |s| owned(s).target_repository_ending_clean = false,
        "stage_proof target_repository_ending_clean",
    ),
    ("not passed", 5, |s| owned(s).passed = false, "stage_proof passed"),
    ("a stage 4 that did not pass", 4, |s| disposable(s).passed = false, "stage_proof passed"),
    ("nothing landed", 4, |s| disposable(s).landed = None, "stage_proof landed"),
    ("another parent", 4, |s| disposable(s).landed.as_mut().unwrap().parent.push('0'), "stage_proof landed.parent"),
    ("another tree", 5, |s| owned(s).landed.as_mut().unwrap().tree.push('0'), "stage_proof landed.tree"),
    ("another commit", 5, |s| owned(s).target_commit = None, "stage_proof target_commit"),
    (
        "an outcome in the bundle",
        5,
        |s| owned(s).operator_outcome = OperatorOutcome::Accepted,
        "stage_proof operator_outcome",
    ),
    ("no outcome needed", 5, |s| owned(s).operator_outcome_required = false, "stage_proof operator_outcome_required"),
    ("another target", 5, |s| owned(s).target_repository_path.push('2'), "stage_proof target_repository_path"),
    ("another admission", 5, |s| owned(s).admission.allowed_paths.push("**".into()), "stage_proof admission"),
    (
        "another status",
        5,
        |s| owned(s).target_repository_admission_status = contract::model::AdmissionStatus::NotAdmitted,
        "stage_proof target_repository_admission_status",
    ),
];

/// The request is signed by nobody, so that one person stands for both.
fn alone(scene: &mut Scene) {
    if let Some(ApprovalInput::Found(facts)) = &mut scene.decision.inputs.approval {
        facts.request.as_mut().unwrap().signature = None;
    }
}

#[test]
fn every_lie_about_a_governed_run_is_found() {
    for (name, number, edit, expected) in ROWS {
        let mut scene = scene(*number);
        edit(&mut scene);
        let failed = failed(&scene);
        match (*expected, failed.as_slice()) {
            ("", []) => {}
            ("", _) => panic!("{name}: {failed:?}"),
            (start, [one]) => assert!(one.starts_with(start), "{name}: {one}"),
            _ => panic!("{name}: {failed:?}"),
        }
    }
}

#[test]
fn a_proof_without_an_approval_or_admission_proves_nothing() {
    let mut unapproved = scene(5);
    no_approval(&mut unapproved);
    assert!(failed(&unapproved).iter().any(|check| check == "stage_proof approval null"), "{:?}", failed(&unapproved));
    let mut unadmitted = scene(5);
    unadmitted.decision.inputs.settings.target_admission = None;
    assert_eq!(failed(&unadmitted), ["stage_proof admission null"]);
}

#[test]
fn a_run_below_stage_4_needs_neither() {
    let mut scene = scene(4);
    (scene.report.stage, scene.disposable) = (Stage::COPIED_REPOSITORY, None);
    no_approval(&mut scene);
    (scene.signed.request_digest, scene.signed.approval_digest) = (None, None);
    scene.report.approval_status = ApprovalStatus::NotRequired;
    scene.events.clear();
    assert_eq!(failed(&scene), Vec::<String>::new());
    scene.signed.request_digest = Some(Digest::ZERO);
    assert_eq!(failed(&scene), ["signed_request none"]);
}
