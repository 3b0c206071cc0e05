//! Contracts that a stage does not take, with any approval: risk, verification and the ceiling of the mode. Each is refused before
//! anything starts, and its neighbour that the stage takes is run.

use serde_json::Value;
use testkit::{each_row, git};

use super::{ALL_ACTIONS, Scene, reasons};

/// Keys of the contract, the stage, and the reason and remedy of the refusal; without a reason the stage takes it.
type Contract = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);

const UNTESTED: &[(&str, &str)] =
    &[("verification_commands", ""), ("no_test_rationale", "nothing in the repository can be run")];

/// A contract that is refused as it is read: its risk does not go with its own mode.
const INVALID: &str = "invalid";
const LOW_ONLY: &str = "takes only tasks of risk class `low`";
const NEVER_HIGH: &str = "a task of risk class `high` never goes beyond `copied-fixture`";
const LOWER_STAGE: &str = "ask for a lower --stage, or set mutation_mode: ";

const CONTRACTS: &[Contract] = &[
    ("low", &[], "4", "", ""),
    ("medium", &[("risk_class", "medium"), ("mutation_mode", "sandbox-repo")], "4", "", ""),
    ("high", &[("risk_class", "high"), ("mutation_mode", "sandbox-repo")], "4", INVALID, NEVER_HIGH),
    (
        "high in its mode",
        &[("risk_class", "high"), ("mutation_mode", "copied-fixture")],
        "4",
        "gate_missing",
        LOWER_STAGE,
    ),
    (
        "critical",
        &[("risk_class", "critical"), ("mutation_mode", "sandbox-repo")],
        "4",
        "gate_missing",
        "split off a part of lower risk",
    ),
    ("low, a target", &[], "5", "", ""),
    (
        "medium, a target",
        &[("risk_class", "medium"), ("mutation_mode", "owned-noncritical-repo")],
        "5",
        INVALID,
        LOW_ONLY,
    ),
    (
        "medium in its mode, a target",
        &[("risk_class", "medium"), ("mutation_mode", "sandbox-repo")],
        "5",
        "gate_missing",
        LOWER_STAGE,
    ),
    ("high, a target", &[("risk_class", "high")], "5", INVALID, NEVER_HIGH),
    ("critical, a target", &[("risk_class", "critical")], "5", INVALID, LOW_ONLY),
    ("a rationale", UNTESTED, "4", "", ""),
    ("a rationale, a target", UNTESTED, "5", "missing_test_command", "add verification_commands to the contract"),
    ("neither command nor rationale", &[("verification_commands", "")], "4", "missing_test_command", ""),
    ("the mode of stage 4", &[("mutation_mode", "sandbox-repo")], "4", "", ""),
    (
        "the mode of stage 3",
        &[("mutation_mode", "copied-fixture")],
        "4",
        "gate_missing",
        "ask for a lower --stage, or set mutation_mode: sandbox-repo in the contract",
    ),
    ("the mode of stage 5", &[("mutation_mode", "owned-noncritical-repo")], "5", "", ""),
    (
        "the mode of stage 4, a target",
        &[("mutation_mode", "sandbox-repo")],
        "5",
        "gate_missing",
        "ask for a lower --stage, or set mutation_mode: owned-noncritical-repo in the contract",
    ),
];

/// Shows that a contract cannot even be read, with the words of its error.
fn refuse_reading(scene: &Scene, stage: &str, words: &str) {
    let before = scene.untouched();
    for command in ["request", "run"] {
        let ran = scene.world.cto(scene.words(command, stage)).expect(2);
        let document = ran.json();
        let told = document["errors"][0]["message"].as_str().unwrap();
        assert!(told.contains(words) && document["errors"][0]["key"] == "mutation_mode", "{document:#}");
    }
    assert_eq!((scene.untouched(), scene.branches().len()), (before, 0));
}

/// Shows that the contract can neither be requested nor run, with its reason and remedy.
fn refuse(scene: &Scene, stage: &str, reason: &str, remedy: &str) {
    let before = scene.untouched();
    assert_eq!(scene.world.cto(scene.words("request", stage)).code, 3, "it cannot be requested");
    let report = scene.run(stage, 3);
    assert_eq!(reasons(&report), reason, "{:#}", report["blockers"]);
    let told = report["blockers"][0]["remedy"].as_str().unwrap();
    assert!(told.contains(remedy) && !told.is_empty(), "{told}");
    assert_eq!((&report["engine"]["process_started"], &report["target_commit"]), (&false.into(), &Value::Null));
    let blocked = scene.events(&report).into_iter().find(|event| event["type"] == "backend.gate.blocked");
    assert!(blocked.is_some_and(|event| event["data"].to_string().contains(reason)), "its event");
    assert_eq!((scene.untouched(), scene.branches().len()), (before, 0));
}

#[test]
fn a_contract_that_a_stage_does_not_take_is_refused_before_anything_starts() {
    let test = "a_contract_that_a_stage_does_not_take_is_refused_before_anything_starts";
    let Some(scene) = Scene::new(test) else { return };
    each_row(CONTRACTS.iter().map(|row| (row.0, row)), |(_, changes, stage, reason, remedy)| {
        let good = [("mutation_mode", "candidate-default"), ("forbidden_actions", ALL_ACTIONS)];
        let kept = good.iter().filter(|(key, _)| changes.iter().all(|(changed, _)| changed != key)).copied();
        scene.world.case("made", &kept.chain(changes.iter().copied()).collect::<Vec<_>>());
        match *reason {
            "" => {}
            INVALID => return refuse_reading(&scene, stage, remedy),
            reason => return refuse(&scene, stage, reason, remedy),
        }
        scene.approve(stage);
        let report = scene.run(stage, 0);
        assert_eq!(report["target_commit"].is_string(), *stage == "5", "the control: it is run");
        for branch in scene.branches() {
            git(&scene.target, ["branch", "-q", "-D", &branch]);
        }
    });
}
