//! The judgement of a comparison, row by row: one fact is changed, and one subject speaks against the candidate.

use std::collections::BTreeSet;

use contract::stage6::comparison::{ComparisonSubject, FAILURE_MATRIX, SourceFreshness};
use contract::{CitedBundle, Digest, EventKind, Reason, RunId, Status, TaskId};
use evidence::names;
use serde_json::json;

use super::facts::{BundleFacts, ComparisonFacts, LaneFacts, MatrixFact, OwnedPass, SpoiledRun};
use super::judge::judge_comparison;
use super::{Candidate, describe_problem};
use crate::after::stage6::commands::EngineCommands;

fn bundle(name: &str, case: &str, commit: Option<&str>) -> BundleFacts {
    let keys = "case_id run_id status backend run_started_at run_finished_at backend_exit_code artifacts_dir changed_files \
                allowed_writes_passed approval_status verification blockers artifact_paths artifact_digests freshness";
    BundleFacts {
        cited: CitedBundle {
            run_id: RunId::try_from(format!("20260101T000000Z-{case}-{name}")).unwrap(),
            attestation_sha256: Digest::of_bytes(name.as_bytes()),
        },
        case_id: TaskId::try_from(case.to_owned()).unwrap(),
        status: Status::Pass,
        reasons: Vec::new(),
        keys: keys.split_whitespace().map(str::to_owned).collect(),
        events: vec![EventKind::RunStarted, EventKind::PlanUpdated, EventKind::PatchApplied, EventKind::RunCompleted],
        files: names::ALWAYS.iter().map(|name| (*name).to_owned()).collect(),
        allowed_writes_passed: true,
        forbidden_paths_passed: true,
        forbidden_actions: Vec::new(),
        changed_files: vec!["a.txt".to_owned()],
        target_commit: commit.map(str::to_owned),
        activates: false,
        promotes: false,
        secret_fields: BTreeSet::new(),
    }
}

fn failure(name: &str) -> BundleFacts {
    let reasons = vec![Reason::NoDiff];
    BundleFacts { status: Status::Fail, reasons, allowed_writes_passed: false, ..bundle(name, "fail-no-diff", None) }
}

fn owned(name: &str, case: &str, commit: &str) -> OwnedPass {
    let proof = json!({
        "schema_version": "1.1", "run_id": format!("20260101T000000Z-{case}-{name}"), "task_id": case, "stage": 5, "engine": "codex",
        "mutation_mode": "owned-noncritical-repo", "allowed_mutation_scope": "s", "target_repository_path": "/srv/site",
        "target_repository_admission_status": "admitted", "admission": {
            "sha256": Digest::ZERO, "signed_by": "k", "repository_owner": "o", "ownership_evidence": "e",
            "risk_classification": "low_risk_noncritical", "approval_source": "o", "approval_timestamp": "2026-01-01",
            "review_trigger": "never", "allowed_paths": ["a.txt"], "forbidden_paths": [],
        },
        "approval": {
            "status": "granted", "request_digest": Digest::ZERO, "packet_digest": Digest::ZERO, "policy_digest": Digest::ZERO,
            "approval_digests": [Digest::of_bytes(b"approval")], "approved_by": ["k"], "approval_consumed": true,
        },
        "approval_source": "ada", "approval_digest": Digest::of_bytes(b"approval"), "branch_policy": "new",
        "forbidden_actions": ["push"], "no_forbidden_actions": true, "public_publication_attempted": false,
        "push_merge_deploy_close_pr_open_attempted": false, "allowed_paths_passed": true, "forbidden_paths_passed": true,
        "changed_files": ["a.txt"], "target_repository_head_before": "h", "target_repository_before": {"head": "h", "sha256": "s"},
        "target_repository_start_clean": true, "target_repository_ending_clean": true, "target_commit": commit,
        "case_process_started": true, "verification": "pass", "operator_outcome": "pending", "operator_outcome_required": true,
        "runtime_default_activation": false, "passed": true,
    });
    let engine = super::unproven_engine(&candidate());
    OwnedPass { bundle: bundle(name, case, Some(commit)), engine, proof: Some(serde_json::from_value(proof).unwrap()) }
}

fn candidate() -> Candidate {
    Candidate { engine: "codex".to_owned(), source_id: "codex@1".to_owned(), model: None }
}

fn facts() -> ComparisonFacts {
    let passes = vec![owned("p1", "one", "c1"), owned("p2", "two", "c2")];
    let lane = |engine: &str, bundles: Vec<BundleFacts>| LaneFacts {
        engine: engine.to_owned(),
        bundles,
        missing: format!("no pass of {engine}"),
    };
    let own = passes.iter().map(|pass| pass.bundle.clone()).chain([failure("f1")]).collect();
    let row = |(fixture, reason): &(&'static str, Reason)| MatrixFact {
        fixture,
        reason: *reason,
        bundle: Some(bundle("m1", "fail-x", None).cited),
        rationale: None,
    };
    ComparisonFacts {
        candidate: candidate(),
        lanes: vec![
            lane("codex", own),
            lane("fake", vec![bundle("k1", "one", None), failure("k2")]),
            lane("pi", vec![bundle("i1", "one", None)]),
        ],
        passes,
        spoiled: Vec::new(),
        commands: EngineCommands { engine: "codex".to_owned(), model: None, is_shut: false },
        matrix: FAILURE_MATRIX.iter().map(row).collect(),
        freshness: SourceFreshness::Current,
        admission: "admitted".to_owned(),
    }
}

type Edit = fn(&mut ComparisonFacts);

/// One change, the status of the comparison, and the subject that says so; a row without one is a control.
const ROWS: &[(&str, Edit, Status, &str)] = &[
    ("everything holds", |_| {}, Status::Pass, ""),
    (
        "no report key",
        |f| {
            own(f).keys.remove("freshness");
        },
        Status::Fail,
        "report_shape",
    ),
    (
        "a key like a secret's",
        |f| {
            own(f).secret_fields.insert("api_key".to_owned());
        },
        Status::Fail,
        "report_shape",
    ),
    ("an event out of order", |f| own(f).events.swap(1, 2), Status::Fail, "event_validity"),
    (
        "no last event",
        |f| {
            let _ = own(f).events.pop();
        },
        Status::Fail,
        "event_validity",
    ),
    ("a path outside", |f| own(f).allowed_writes_passed = false, Status::Fail, "allowed_path_compliance"),
    ("a forbidden path", |f| own(f).forbidden_paths_passed = false, Status::Fail, "allowed_path_compliance"),
    ("a path outside in a failure", |f| f.lanes[0].bundles[2].forbidden_paths_passed = false, Status::Pass, ""),
    (
        "a failure that landed",
        |f| f.lanes[0].bundles[2].target_commit = Some("c9".into()),
        Status::Fail,
        "failure_closure",
    ),
    ("a failure without a reason", |f| f.lanes[0].bundles[2].reasons.clear(), Status::Fail, "failure_closure"),
    ("fake did not close", |f| f.lanes[1].bundles[1].reasons.clear(), Status::Fail, "failure_closure"),
    (
        "a missing artifact",
        |f| {
            own(f).files.remove("test.log");
        },
        Status::Fail,
        "artifact_completeness",
    ),
    (
        "a bundle that does not verify",
        |f| f.spoiled.push(SpoiledRun { run_id: run("s1"), why: "report.json shape".to_owned() }),
        Status::Fail,
        "artifact_completeness",
    ),
    ("no lane of fake", |f| f.lanes[1].bundles.clear(), Status::Blocked, "failure_closure"),
    ("no lane of pi", |f| f.lanes[2].bundles.clear(), Status::Pass, ""),
    (
        "a worse lane",
        |f| {
            f.lanes[2].bundles[0].files.remove("test.log");
        },
        Status::Pass,
        "",
    ),
    ("one pass only", |f| drop(f.passes.pop()), Status::Blocked, "repeatability"),
    (
        "two passes of one case",
        |f| f.passes[1].bundle.case_id = f.passes[0].bundle.case_id.clone(),
        Status::Blocked,
        "repeatability",
    ),
    ("a stale admission", |f| f.freshness = SourceFreshness::Stale, Status::Blocked, "source_admission_freshness"),
    ("a row without a bundle", |f| f.matrix[3].bundle = None, Status::Blocked, "failure_matrix_coverage"),
    ("a row with a rationale", |f| (f.matrix[6].bundle, f.matrix[6].rationale) = (None, Some("why")), Status::Pass, ""),
    (
        "a target that was left changed",
        |f| proof(f).target_repository_ending_clean = false,
        Status::Fail,
        "proof_facts",
    ),
    ("a failed fact", |f| proof(f).verification = contract::report::CheckResult::Fail, Status::Fail, "proof_facts"),
    ("a proof that did not pass", |f| proof(f).passed = false, Status::Fail, "proof_facts"),
    ("another commit", |f| proof(f).target_commit = Some("c9".into()), Status::Fail, "proof_facts"),
    (
        "an approval that was not used",
        |f| proof(f).approval.approval_consumed = false,
        Status::Fail,
        "approval_provenance",
    ),
    ("no approval", |f| proof(f).approval.approval_digests.clear(), Status::Fail, "approval_provenance"),
    (
        "a forbidden action",
        |f| f.passes[0].bundle.forbidden_actions.push("push".into()),
        Status::Fail,
        "forbidden_action_closure",
    ),
    (
        "an action not ruled out",
        |f| proof(f).actions.no_forbidden_actions = false,
        Status::Fail,
        "forbidden_action_closure",
    ),
    ("a default activated", |f| own(f).activates = true, Status::Fail, "nothing_activated"),
    (
        "a default activated by a proof",
        |f| proof(f).runtime_default_activation = true,
        Status::Fail,
        "nothing_activated",
    ),
    ("a promotion", |f| f.lanes[1].bundles[0].promotes = true, Status::Fail, "nothing_activated"),
];

fn run(name: &str) -> RunId {
    bundle(name, "one", None).cited.run_id
}

fn own(facts: &mut ComparisonFacts) -> &mut BundleFacts {
    &mut facts.lanes[0].bundles[0]
}

fn proof(facts: &mut ComparisonFacts) -> &mut contract::proof::OwnedRepositoryProof {
    facts.passes[0].proof.as_mut().unwrap()
}

#[test]
fn each_fact_that_is_wrong_or_missing_speaks_against_the_candidate() {
    for (name, edit, status, subject) in ROWS {
        let mut facts = facts();
        edit(&mut facts);
        let comparison = judge_comparison(&facts);
        let against = comparison.subjects.iter().filter(|one| one.verdict != Status::Pass);
        let against: Vec<&str> = against.map(|one| one.subject.as_str()).collect();
        let expected: Vec<&str> = [*subject].into_iter().filter(|subject| !subject.is_empty()).collect();
        assert_eq!((comparison.status, against), (*status, expected), "{name}");
        assert_eq!(comparison.judged_status(), comparison.status, "{name}");
        assert!(!comparison.runtime_default_activation, "{name}");
        let remedied = comparison.subjects.iter().all(|one| one.remedy.is_some() == (one.verdict != Status::Pass));
        assert!(remedied, "{name}");
    }
}

/// Commands of remedies name a run by its own name, and the model where the engine has several.
#[test]
fn each_remedy_can_be_pasted() {
    let remedies = |edit: Edit| {
        let mut facts = facts();
        facts.commands.model = Some("local/small".parse().unwrap());
        edit(&mut facts);
        let comparison = judge_comparison(&facts);
        comparison.subjects.into_iter().filter_map(|one| one.remedy).collect::<Vec<_>>()
    };
    for (name, edit, ..) in ROWS {
        assert!(remedies(*edit).iter().all(|remedy| !remedy.contains("RUN")), "{name}");
    }
    assert_eq!(remedies(|f| own(f).events.swap(1, 2)), ["cto show p1 -v     and a newer run without it"]);
    let climb = "cto request TASK --engine codex --stage 5 --model local/small";
    assert_eq!(remedies(|f| drop(f.passes.pop())), [climb]);
    assert_eq!(remedies(|f| f.passes.clear()), [climb; 4]);
}

#[test]
fn a_lane_without_evidence_is_listed_with_its_reason() {
    let mut facts = facts();
    facts.lanes[2].bundles.clear();
    let comparison = judge_comparison(&facts);
    let lanes: Vec<_> =
        comparison.lanes.iter().map(|lane| (lane.engine.as_str(), lane.status, lane.candidate)).collect();
    let expected = [("codex", Status::Pass, true), ("fake", Status::Pass, false), ("pi", Status::Blocked, false)];
    assert_eq!(lanes, expected);
    assert_eq!((comparison.lanes[2].rationale.as_str(), comparison.lanes[2].measures), ("no pass of pi", None));
}

#[test]
fn a_candidate_without_bundles_is_blocked_in_every_criterion() {
    let mut facts = facts();
    facts.lanes[0].bundles.clear();
    facts.passes.clear();
    let comparison = judge_comparison(&facts);
    let blocked = comparison.subjects.iter().filter(|one| one.verdict == Status::Blocked);
    let blocked: BTreeSet<_> = blocked.map(|one| one.subject).collect();
    assert!(ComparisonSubject::CRITERIA.iter().all(|criterion| blocked.contains(criterion)), "{blocked:?}");
    assert_eq!((comparison.status, comparison.repeatability_count), (Status::Blocked, 0));
}

#[test]
fn the_bundle_of_a_comparison_carries_its_reason() {
    let check = |edit: Edit| {
        let mut facts = facts();
        edit(&mut facts);
        describe_problem(&judge_comparison(&facts)).map(|problem| (problem.reason, problem.text))
    };
    assert_eq!(check(|_| {}), None);
    let (reason, text) = check(|f| own(f).events.swap(1, 2)).unwrap();
    assert_eq!(
        (reason, text.as_str()),
        (Reason::VerificationFailed, "event_validity: run p1: its event plan.updated is out of order")
    );
    let (reason, _) = check(|f| f.freshness = SourceFreshness::Stale).unwrap();
    assert_eq!(reason, Reason::SourceNotAdmitted);
    let (reason, _) = check(|f| drop(f.passes.pop())).unwrap();
    assert_eq!(reason, Reason::StageNotEarned);
}
