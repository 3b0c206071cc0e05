//! Stages that change a repository: their gates, open and closed.

use contract::approval::{ApprovalFacts, ApprovalInput, TargetAdmissionFacts};
use contract::decision::{Inputs, LandingFacts, OffLimitsTree, Profile, SourceTarget};
use contract::paths::PathVerdict;
use contract::record::{FoundRecord, TargetAdmission, TargetStatus};
use contract::task::{ForbiddenAction, RiskClass, TaskContract};
use contract::{Decision, Digest, Gate, MutationMode, Reason};
use proptest::prelude::*;

use super::{Edit, contract, inputs, judge, stage, target};
use crate::approval::tests::{facts_at, in_time};
use crate::{Judged, decide};

/// A contract and inputs that are admitted at stage 4 or 5.
fn governed(number: u8) -> (TaskContract, Inputs) {
    let (mut contract, mut inputs) = (contract(), inputs());
    inputs.stage = stage(number);
    inputs.time = in_time();
    (contract.mutation_mode, contract.approval_required) = (inputs.stage.mutation_mode(), true);
    (inputs.settings.sandbox_asked, inputs.settings.sandbox_available) = (Profile::Strict, vec![Profile::Strict]);
    inputs.approval = Some(ApprovalInput::Found(Box::new(facts_at(inputs.stage))));
    if number >= 5 {
        inputs.settings.target_admission = Some(admitted());
        let target = target(&mut inputs);
        (target.repository, target.owned_local, target.owner) = (true, true, Some("me".to_owned()));
        target.landing = Some(LandingFacts {
            branch: "cto/t/1".to_owned(),
            in_the_way: None,
            checked_out_at: None,
            identity_missing: None,
            other_owner: None,
            off_limits: None,
        });
    }
    (contract, inputs)
}

fn admitted() -> TargetAdmissionFacts {
    let text = |text: &str| text.to_owned();
    let record = TargetAdmission {
        admission_status: TargetStatus::Admitted,
        target_repository_path: text("/srv/site"),
        repository_owner: text("me"),
        ownership_evidence: text("docs/owners.md"),
        risk_classification: text("low_risk_noncritical"),
        noncritical_rationale: text("a toy"),
        allowed_paths: vec![text("a.py")],
        forbidden_paths: Vec::new(),
        forbidden_actions: ForbiddenAction::ALL.to_vec(),
        approval_source: text("me"),
        approval_timestamp: text("2026-01-01"),
        operator_outcome_required: true,
        review_trigger: text("a year"),
    };
    TargetAdmissionFacts {
        path: text("/srv/site"),
        admission: FoundRecord::Record { sha256: Digest::ZERO, record, signed_by: Some(text("op1")) },
        file: Some(text("admissions/target/site.yaml")),
        remedy: text("cto record check admissions/target/site.yaml"),
    }
}

fn admitted_source() -> SourceTarget {
    let text = |text: &str| text.to_owned();
    SourceTarget::Admitted {
        file: text("admissions/target/site.yaml"),
        source: text("/srv/site"),
        target: text("/srv/my site"),
    }
}

fn admission(inputs: &mut Inputs) -> &mut TargetAdmissionFacts {
    inputs.settings.target_admission.as_mut().unwrap()
}

fn record(inputs: &mut Inputs) -> &mut TargetAdmission {
    match &mut admission(inputs).admission {
        FoundRecord::Record { record, .. } => record,
        FoundRecord::Missing | FoundRecord::Invalid { .. } => panic!("a record"),
    }
}

fn landing(inputs: &mut Inputs) -> &mut LandingFacts {
    target(inputs).landing.as_mut().unwrap()
}

/// A stage, what is changed, and the refusals that must follow as `gate reason`, each with its remedy.
type GovernedRow = (&'static str, u8, Edit, &'static [(&'static str, &'static str)]);

const CHECK: &str = "cto record check admissions/target/site.yaml";

const GOVERNED: &[GovernedRow] = &[
    ("stage 4", 4, |_, _| {}, &[]),
    ("stage 5", 5, |_, _| {}, &[]),
    ("stage 6", 6, |_, _| {}, &[("stage stage_not_earned", "ask for --stage 5, which changes an admitted target")]),
    (
        "no approval looked for",
        4,
        |_, i| i.approval = None,
        &[("approval approval_missing", "cto request TASK --stage 4")],
    ),
    ("high", 4, |c, _| c.risk_class = RiskClass::High, &[("contract gate_missing", "ask for --stage 3")]),
    ("medium", 4, |c, _| c.risk_class = RiskClass::Medium, &[]),
    ("medium, a target", 5, |c, _| c.risk_class = RiskClass::Medium, &[("contract gate_missing", "ask for --stage 4")]),
    (
        "critical",
        5,
        |c, _| c.risk_class = RiskClass::Critical,
        &[("contract gate_missing", "split off a part of lower risk")],
    ),
    (
        "a repository of another user",
        5,
        |_, i| landing(i).other_owner = Some(12_345),
        &[("ownership unowned_repository", "run as the user whose repository it is")],
    ),
    (
        "a protected tree",
        5,
        |_, i| landing(i).off_limits = Some(OffLimitsTree::ProtectedRoot("/srv/core".to_owned())),
        &[(
            "ownership critical_repository",
            "name another repository, or take the tree out of protected_roots in harness.yaml",
        )],
    ),
    (
        "the home",
        5,
        |_, i| landing(i).off_limits = Some(OffLimitsTree::Home("/srv/home".to_owned())),
        &[("ownership critical_repository", "name a repository outside of the harness's home")],
    ),
    (
        "its own workspace",
        5,
        |_, i| landing(i).off_limits = Some(OffLimitsTree::Workspace("/srv/site".to_owned())),
        &[(
            "ownership critical_repository",
            "cto init DIR     in a folder outside of the repository, and sign its admission there",
        )],
    ),
    ("a rationale", 4, |c, _| rationale(c), &[]),
    (
        "a rationale, a target",
        5,
        |c, _| rationale(c),
        &[("verification_command_present missing_test_command", "add verification_commands to the contract")],
    ),
    ("a rationale beside a command", 5, |c, _| c.no_test_rationale = Some("why".to_owned()), &[]),
    (
        "a target at stage 4",
        4,
        |c, _| c.target_repository = Some("/srv/site".to_owned()),
        &[(
            "target_admission target_not_admitted",
            "name the repository as source_repository (--repo DIR), which is copied",
        )],
    ),
    ("a source at stage 4", 4, |c, _| c.source_repository = Some("/srv/site".to_owned()), &[]),
    (
        "a source that is an admitted target",
        4,
        |_, i| i.settings.source_target = Some(admitted_source()),
        &[(
            "target_admission gate_missing",
            "git clone /srv/site '/srv/my site-clone'     and --repo '/srv/my site-clone'; or --stage 5 --target \
             admissions/target/site.yaml, without a source repository",
        )],
    ),
    (
        "a record that cannot be read",
        4,
        |_, i| {
            let (file, why) = ("admissions/target/site.yaml".to_owned(), "why".to_owned());
            i.settings.source_target = Some(SourceTarget::Unread { file, why });
        },
        &[("target_admission target_not_admitted", CHECK)],
    ),
    ("a source is no matter of stage 5", 5, |_, i| i.settings.source_target = Some(admitted_source()), &[]),
    (
        "a source at stage 5",
        5,
        |c, _| c.source_repository = Some("/srv/site".to_owned()),
        &[("target_admission target_not_admitted", "name the repository as target_repository in the contract instead")],
    ),
    ("a target at stage 5", 5, |c, _| c.target_repository = Some("/srv/site".to_owned()), &[]),
    (
        "nobody named a target",
        5,
        |_, i| i.settings.target_admission = None,
        &[("target_admission target_not_admitted", "cto admit target DIR")],
    ),
    (
        "no admission",
        5,
        |_, i| admission(i).admission = FoundRecord::Missing,
        &[("target_admission target_not_admitted", CHECK)],
    ),
    (
        "an admission that cannot be read",
        5,
        |_, i| admission(i).admission = FoundRecord::Invalid { why: "why".to_owned() },
        &[("target_admission target_not_admitted", CHECK)],
    ),
    (
        "an admission for another",
        5,
        |_, i| admission(i).path = "/srv/shop".to_owned(),
        &[("target_admission target_not_admitted", CHECK)],
    ),
    (
        "not admitted",
        5,
        |_, i| record(i).admission_status = TargetStatus::NotAdmitted,
        &[("target_admission target_not_admitted", CHECK)],
    ),
    ("unowned", 5, |_, i| record(i).ownership_evidence.clear(), &[("target_admission unowned_repository", CHECK)]),
    (
        "critical repository",
        5,
        |_, i| record(i).risk_classification = "high".to_owned(),
        &[("target_admission critical_repository", CHECK)],
    ),
    (
        "unsigned",
        5,
        |_, i| unsign(admission(i)),
        &[("target_admission target_not_admitted", "cto record sign admissions/target/site.yaml")],
    ),
    (
        "everything at once",
        5,
        |_, i| {
            unsign(admission(i));
            admission(i).path.push('2');
            record(i).ownership_evidence.clear();
            record(i).risk_classification.clear();
            record(i).forbidden_actions.pop();
        },
        &[
            ("target_admission target_not_admitted", CHECK),
            ("target_admission unowned_repository", CHECK),
            ("target_admission critical_repository", CHECK),
            ("target_admission target_not_admitted", CHECK),
            ("target_admission target_not_admitted", "cto record sign admissions/target/site.yaml"),
        ],
    ),
    (
        "a branch in the way",
        5,
        |_, i| landing(i).in_the_way = Some("a branch of that name".to_owned()),
        &[("clean_start dirty_starting_tree", "git branch -m cto/t/1 cto/t/1-before     (in the repository)")],
    ),
    (
        "dirty, and a branch in the way",
        5,
        |_, i| {
            landing(i).in_the_way = Some("a branch of that name".to_owned());
            target(i).dirty_paths.push("x".to_owned());
        },
        &[
            ("clean_start dirty_starting_tree", "git stash -u     (in the repository)"),
            ("clean_start dirty_starting_tree", "git branch -m cto/t/1 cto/t/1-before     (in the repository)"),
        ],
    ),
    (
        "no branch to move",
        5,
        |_, i| (landing(i).branch, landing(i).in_the_way) = (String::new(), Some("HEAD names no branch".to_owned())),
        &[("clean_start dirty_starting_tree", "leave branch_policy out of the contract, for a branch of its own")],
    ),
    (
        "nobody who commits",
        5,
        |_, i| landing(i).identity_missing = Some("user.email".to_owned()),
        &[("head gate_missing", "git config --global user.email \"...\"")],
    ),
    (
        "a branch that is checked out",
        5,
        |_, i| landing(i).checked_out_at = Some("/srv/site".to_owned()),
        &[(
            "head gate_missing",
            "leave branch_policy out of the contract, for a merge after the run: git -C /srv/site merge --ff-only cto/t/<request>",
        )],
    ),
    (
        "not approved, and dirty",
        5,
        |_, i| {
            facts(i).request = None;
            target(i).dirty_paths.push("x".to_owned());
        },
        &[
            ("approval approval_missing", "cto request t --stage 4"),
            ("clean_start dirty_starting_tree", "git stash -u     (in the repository)"),
        ],
    ),
    (
        "not approved, and halted",
        5,
        |_, i| {
            facts(i).request = None;
            i.settings.halted = true;
        },
        &[("kill_switch halted", "cto resume")],
    ),
    (
        "a contract that allows less",
        5,
        |c, _| c.mutation_mode = MutationMode::SandboxRepo,
        &[(
            "stage gate_missing",
            "ask for a lower --stage, or set mutation_mode: owned-noncritical-repo in the contract",
        )],
    ),
];

fn rationale(contract: &mut TaskContract) {
    contract.verification_commands.clear();
    contract.no_test_rationale = Some("why".to_owned());
}

fn unsign(facts: &mut TargetAdmissionFacts) {
    if let FoundRecord::Record { signed_by, .. } = &mut facts.admission {
        *signed_by = None;
    }
}

fn facts(inputs: &mut Inputs) -> &mut ApprovalFacts {
    match &mut inputs.approval {
        Some(ApprovalInput::Found(facts)) => facts,
        Some(ApprovalInput::Deferred) | None => panic!("facts"),
    }
}

#[test]
fn stages_that_change_a_repository_refuse_with_one_remedy_each() {
    for (name, number, edit, expected) in GOVERNED {
        let (mut contract, mut inputs) = governed(*number);
        edit(&mut contract, &mut inputs);
        let judged = judge(&contract, inputs).unwrap();
        let decision = judged.decision();
        let found: Vec<(String, &str)> = decision
            .refusals
            .iter()
            .map(|refusal| (format!("{} {}", refusal.gate, refusal.reason), refusal.remedy.as_str()))
            .collect();
        let expected: Vec<(String, &str)> =
            expected.iter().map(|(gate, remedy)| ((*gate).to_owned(), *remedy)).collect();
        assert_eq!(found, expected, "{name}");
        assert!(found.iter().all(|(_, remedy)| contract::remedy::is_one_act(remedy)), "{name}: {found:?}");
        assert_eq!(matches!(judged, Judged::Admitted(_)), expected.is_empty(), "{name}");
        assert!(decision.approval_required, "{name}");
    }
}

#[test]
fn the_approval_is_judged_after_the_target_and_keeps_its_place() {
    let (contract, inputs) = governed(5);
    let place = |decision: &Decision| decision.required_gates.iter().position(|gate| *gate == Gate::Approval);
    let unapproved = Inputs { approval: None, ..inputs.clone() };
    let deferred = Inputs { approval: Some(ApprovalInput::Deferred), ..inputs.clone() };
    let rows = [
        ("approved", inputs.clone(), Some(true)),
        ("deferred", deferred.clone(), None),
        ("deferred, no target", Inputs { target: None, ..deferred }, None),
        ("approved, no target", Inputs { target: None, ..inputs }, None),
        ("unapproved", unapproved, Some(false)),
    ];
    for (name, inputs, passed) in rows {
        let decision = decide(&contract, inputs).unwrap();
        assert_eq!(place(&decision), Some(7), "{name}: {:?}", decision.required_gates);
        let found = match decision.not_evaluated.contains(&Gate::Approval) {
            true => None,
            false => Some(decision.passed_gates.contains(&Gate::Approval)),
        };
        assert_eq!(found, passed, "{name}");
        let unreached = decision.not_evaluated.contains(&Gate::BaselineExam);
        assert_eq!(unreached, passed != Some(true), "{name}: the exam waits for the approval");
        assert_eq!(decision.is_eligible(), passed == Some(true), "{name}");
    }
}

#[test]
fn a_ceiling_asks_for_no_approval_below_it() {
    let mut contract = contract();
    (contract.mutation_mode, contract.approval_required) = (MutationMode::CandidateDefault, true);
    let decision = decide(&contract, inputs()).unwrap();
    assert!(decision.is_eligible() && !decision.approval_required, "{:?}", decision.refusals);
    let stage_4 = Inputs { stage: stage(4), ..inputs() };
    assert!(decide(&contract, stage_4).unwrap().approval_required, "control");
    contract.mutation_mode = MutationMode::CopiedFixture;
    let decision = decide(&contract, inputs()).unwrap();
    assert!(decision.approval_required, "the contract itself asks");
    assert_eq!(decision.reasons, [Reason::ApprovalMissing]);
}

#[test]
fn paths_are_those_that_contract_and_admission_both_allow() {
    let (mut contract, mut inputs) = governed(5);
    contract.allowed_paths = vec!["a.py".to_owned(), "b.py".to_owned()];
    record(&mut inputs).allowed_paths = vec!["a.py".to_owned(), "c.py".to_owned()];
    record(&mut inputs).forbidden_paths = vec!["keys/".to_owned()];
    let verdicts = |inputs: &Inputs| {
        let rules = decide(&contract, inputs.clone()).unwrap().path_rules(&contract).unwrap();
        ["a.py", "b.py", "c.py", "keys/a"].map(|path| rules.judge_path(path.as_bytes()))
    };
    use PathVerdict::{Allowed, Forbidden, Outside};
    assert_eq!(verdicts(&inputs), [Allowed, Outside, Outside, Forbidden]);
    admission(&mut inputs).admission = FoundRecord::Missing;
    assert_eq!(verdicts(&inputs), [Outside; 4]);
    inputs.settings.target_admission = None;
    assert_eq!(verdicts(&inputs), [Allowed, Allowed, Outside, Outside], "below stage 5");
}

proptest! {
    /// Whatever else is so, a run that may change a repository is not eligible without the approval of a person.
    #[test]
    fn nothing_is_eligible_from_stage_4_on_without_an_approval(
        number in 4_u8..=6, deferred: bool, repository: bool, required: bool, mode in 0_usize..5, risk in 0_usize..4,
    ) {
        use MutationMode::{CandidateDefault, CopiedFixture, None, OwnedNoncriticalRepo, SandboxRepo};
        let (mut contract, mut inputs) = governed(number);
        contract.approval_required = required;
        contract.mutation_mode = [None, CopiedFixture, SandboxRepo, OwnedNoncriticalRepo, CandidateDefault][mode];
        contract.risk_class = [RiskClass::Low, RiskClass::Medium, RiskClass::High, RiskClass::Critical][risk];
        target(&mut inputs).repository = repository;
        inputs.approval = deferred.then_some(ApprovalInput::Deferred);
        let decision = decide(&contract, inputs).unwrap();
        prop_assert!(!decision.is_eligible());
        prop_assert!(!decision.passed_gates.contains(&Gate::Approval));
    }
}
