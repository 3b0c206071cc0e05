//! Every gate, open and closed.

mod governed;

use contract::baseline_exam::BaselineExamFacts;
use contract::decision::{Inputs, Profile, SettingFacts, TargetFacts};
use contract::task::{ForbiddenAction, RiskClass, TaskContract};
use contract::{Digest, Gate, MutationMode, Purpose, RunId, Stage, Stamp};

use crate::{Judged, decide};

/// Judges the request of some run.
pub(crate) fn judge(contract: &TaskContract, inputs: Inputs) -> Result<Judged, serde_json::Error> {
    let run_id = RunId::new("20260101T000000Z", &contract.task_id, "abcd").unwrap();
    let judged = crate::judge_request(&run_id, contract, inputs)?;
    if let Judged::Admitted(admission) = &judged {
        assert_eq!(*admission.run_id(), run_id, "an admission names its run");
    }
    Ok(judged)
}

pub(crate) fn contract() -> TaskContract {
    let written = r#"
schema_version: "1"
task_id: t
title: t
brief: b
risk_class: low
allowed_paths: [a.py]
forbidden_actions: [push]
mutation_mode: copied-fixture
verification_commands: ["true"]
"#;
    contract::case::load_contract("t.yaml", written.as_bytes(), &|_| Err("none".to_owned())).unwrap()
}

pub(crate) fn inputs() -> Inputs {
    Inputs {
        contract_digest: Digest::ZERO,
        engine: "fake".to_owned(),
        stage: Stage::ARTIFICIAL_FIXTURE,
        purpose: Purpose::Governed,
        kind: None,
        time: Stamp::from_unix(std::time::Duration::ZERO).unwrap(),
        settings: SettingFacts {
            gated: false,
            engine_unavailable: None,
            missing_programs: Vec::new(),
            halted: false,
            sandbox_asked: Profile::None,
            sandbox_available: vec![Profile::None],
            sandbox_shortfall: None,
            hidden_programs: Vec::new(),
            environment_unavailable: Vec::new(),
            environment_problems: Vec::new(),
            engine: None,
            model: None,
            target_admission: None,
            source_target: None,
        },
        target: Some(TargetFacts {
            repository: false,
            unreadable: None,
            unreadable_remedy: None,
            owner: None,
            owned_local: false,
            baseline_commit: Some("c".to_owned()),
            baseline_tree: Some("t".to_owned()),
            dirty_paths: Vec::new(),
            absent_allowed: Vec::new(),
            baseline_run: None,
            ecosystems: Vec::new(),
            landing: None,
        }),
        answer: None,
        baseline_exam: Some(BaselineExamFacts::default()),
        approval: None,
    }
}

fn stage(number: u8) -> Stage {
    Stage::try_from(number).unwrap()
}

fn target(inputs: &mut Inputs) -> &mut TargetFacts {
    inputs.target.as_mut().unwrap()
}

type Edit = fn(&mut TaskContract, &mut Inputs);

/// A change, and the refusals that must follow as `gate reason`, in order.
const CLOSED: &[(&str, Edit, &[&str])] = &[
    ("gated", |_, i| i.settings.gated = true, &["gate gate_missing"]),
    ("halted", |_, i| i.settings.halted = true, &["kill_switch halted"]),
    ("no paths", |c, _| c.allowed_paths.clear(), &["contract gate_missing"]),
    ("no actions", |c, _| c.forbidden_actions.clear(), &["contract gate_missing"]),
    ("critical", |c, _| c.risk_class = RiskClass::Critical, &["contract gate_missing"]),
    (
        "no scope at all",
        |c, _| {
            c.allowed_paths.clear();
            c.forbidden_actions.clear();
        },
        &["contract gate_missing", "contract gate_missing"],
    ),
    ("no exam", |c, _| c.verification_commands.clear(), &["verification_command_present missing_test_command"]),
    ("no engine", |_, i| i.settings.engine_unavailable = Some("why".to_owned()), &["identity provider_unavailable"]),
    ("no program", |_, i| i.settings.missing_programs.push("zig".to_owned()), &["identity tool_missing"]),
    ("target named", |c, _| c.target_repository = Some("/x".to_owned()), &["target_admission target_not_admitted"]),
    ("approval asked for", |c, _| c.approval_required = true, &["approval approval_missing"]),
    (
        "strict is not there",
        |_, i| i.settings.sandbox_asked = Profile::Strict,
        &["sandbox_available sandbox_unavailable"],
    ),
    (
        "setup",
        |_, i| i.settings.environment_unavailable.push("setup".to_owned()),
        &["sandbox_available sandbox_unavailable"],
    ),
    ("beyond the contract", |c, _| c.mutation_mode = MutationMode::None, &["stage gate_missing"]),
    (
        "unreadable, as told before",
        |_, i| target(i).unreadable = Some("why".to_owned()),
        &["target_identity source_missing"],
    ),
    (
        "unreadable",
        |_, i| {
            target(i).unreadable = Some("why".to_owned());
            target(i).unreadable_remedy = Some("git fsck".to_owned());
        },
        &["target_identity source_missing"],
    ),
    ("unowned", |_, i| target(i).repository = true, &["ownership unowned_repository"]),
    ("no commit", |_, i| target(i).baseline_commit = None, &["head source_missing"]),
    ("absent content", |_, i| target(i).absent_allowed.push("sub".to_owned()), &["head source_missing"]),
    ("dirty", |_, i| target(i).dirty_paths.push("x".to_owned()), &["clean_start dirty_starting_tree"]),
    (
        "an earlier phase hides a later one",
        |_, i| {
            i.settings.halted = true;
            target(i).dirty_paths.push("x".to_owned());
        },
        &["kill_switch halted"],
    ),
];

#[test]
fn every_closed_gate_refuses() {
    for (name, edit, expected) in CLOSED {
        let (mut contract, mut inputs) = (contract(), inputs());
        edit(&mut contract, &mut inputs);
        let Judged::Refused(refused) = judge(&contract, inputs).unwrap() else { panic!("{name}: not refused") };
        let decision = refused.decision();
        let found: Vec<String> =
            decision.refusals.iter().map(|refusal| format!("{} {}", refusal.gate, refusal.reason)).collect();
        assert_eq!(found, *expected, "{name}");
        assert_eq!(decision.selected_backend, "none", "{name}");
        assert_eq!(decision.allowed_mutation_mode, MutationMode::None, "{name}");
        assert_eq!(decision.denied_backends.len(), 1, "{name}");
        assert!(decision.refusals.iter().all(|refusal| contract::remedy::is_one_act(&refusal.remedy)), "{name}");
    }
}

#[test]
fn open_gates_admit() {
    let rows: &[(&str, Edit)] = &[
        ("a case", |_, _| {}),
        ("no test, with a reason", |c, _| {
            c.verification_commands.clear();
            c.no_test_rationale = Some("why".to_owned());
        }),
        ("an owned repository", |_, i| {
            i.stage = Stage::COPIED_REPOSITORY;
            (i.settings.sandbox_asked, i.settings.sandbox_available) = (Profile::Strict, vec![Profile::Strict]);
            let target = target(i);
            (target.repository, target.owned_local, target.owner) = (true, true, Some("me".to_owned()));
        }),
        ("stage 1 looks at no tree", |c, i| {
            c.allowed_paths.clear();
            (i.stage, i.target) = (Stage::GATED_ENGINE, None);
        }),
    ];
    for (name, edit) in rows {
        let (mut contract, mut inputs) = (contract(), inputs());
        edit(&mut contract, &mut inputs);
        let judged = judge(&contract, inputs).unwrap();
        assert!(matches!(judged, Judged::Admitted(_)), "{name}: {:?}", judged.decision().refusals);
        assert_eq!(judged.decision().selected_backend, "fake", "{name}");
        assert!(!judged.decision().runtime_default_activation, "{name}");
    }
}

#[test]
fn without_the_target_nothing_is_admitted() {
    let judged = judge(&contract(), Inputs { target: None, ..inputs() }).unwrap();
    assert!(matches!(judged, Judged::Pending(_)));
    assert!(!judged.decision().is_eligible());
    assert_eq!(judged.decision().not_evaluated.len(), 5);
}

#[test]
fn without_the_exam_of_the_baseline_nothing_is_admitted_above_stage_1() {
    let judged = judge(&contract(), Inputs { baseline_exam: None, ..inputs() }).unwrap();
    assert!(matches!(judged, Judged::Pending(_)));
    assert_eq!(judged.decision().not_evaluated, [Gate::BaselineExam]);
    let stage_1 = Inputs { baseline_exam: None, target: None, stage: Stage::GATED_ENGINE, ..inputs() };
    let judged = judge(&contract(), stage_1).unwrap();
    assert!(!judged.decision().required_gates.contains(&Gate::BaselineExam));
}

#[test]
fn the_same_inputs_make_the_same_decision() {
    let (first, again) = (decide(&contract(), inputs()).unwrap(), decide(&contract(), inputs()).unwrap());
    assert_eq!(first, again);
    let other = decide(&contract(), Inputs { stage: stage(3), ..inputs() }).unwrap();
    assert_ne!(first.decision_id, other.decision_id);
}

#[test]
fn leaving_an_action_out_grants_nothing() {
    let mut fewer = contract();
    fewer.forbidden_actions = vec![ForbiddenAction::Merge];
    let (all, few) = (decide(&contract(), inputs()).unwrap(), decide(&fewer, inputs()).unwrap());
    assert_eq!((all.passed_gates, all.allowed_mutation_mode), (few.passed_gates, few.allowed_mutation_mode));
}
