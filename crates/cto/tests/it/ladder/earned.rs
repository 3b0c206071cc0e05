//! Earned by a pass, lost by a failure or by evidence that is gone.

use std::fs;

use serde_json::json;
use testkit::{Ran, stoppable};

use super::{lay_case, run_case, rung, standing};
use crate::world;

#[test]
fn a_rung_holds_only_while_its_bundle_does() {
    let world = world();
    lay_case(&world, true);
    let run = run_case(&world, 0)["run_id"].as_str().unwrap().to_owned();
    let (bundle, aside) = (world.bundles().join(&run), world.path().join("aside"));
    let validated = rung(&world, 2);
    assert_eq!((standing(&validated).as_str(), &validated["bundles"][0]["run_id"]), ("validated", &json!(run)));
    assert_eq!(standing(&rung(&world, 1)), "not_started no_pass", "one stage earns no other");

    let patch = bundle.join("patch.diff");
    let whole = fs::read(&patch).unwrap();
    fs::write(&patch, "other").unwrap();
    assert_eq!(standing(&rung(&world, 2)), "blocked bundle_damaged");
    fs::write(&patch, whole).unwrap();
    assert_eq!(standing(&rung(&world, 2)), "validated", "control");

    fs::rename(&bundle, &aside).unwrap();
    assert_eq!(standing(&rung(&world, 2)), "blocked bundle_missing");
    fs::rename(&aside, &bundle).unwrap();
    assert_eq!(standing(&rung(&world, 2)), "validated", "control");
}

#[test]
fn a_later_failure_ends_a_rung_until_a_newer_pass() {
    let world = world();
    for (passes, code, expected) in [
        (true, 0, "validated"),
        (false, 1, "blocked not_passed"),
        (false, 1, "blocked not_passed"),
        (true, 0, "validated"),
    ] {
        lay_case(&world, passes);
        run_case(&world, code);
        assert_eq!(standing(&rung(&world, 2)), expected);
    }
    let told = world.cto(["ladder", "explain", "2", "--engine", "fake", "--json"]).expect(0).json();
    let runs = told["rungs"][0]["runs"].as_array().unwrap();
    let counts: Vec<_> =
        runs.iter().map(|run| (run["status"].as_str().unwrap(), run["counts"].as_str().unwrap())).collect();
    assert_eq!(counts, [("pass", "for"), ("fail", "against")], "up to the run that ended it last");
}

/// A pass that was made while the clock was a day ahead is older than the failure after it, and a failure made while it was behind is
/// newer than the pass before it.
#[test]
fn a_clock_that_was_wrong_hides_no_failure() {
    let name = "ladder::earned::a_clock_that_was_wrong_hides_no_failure";
    let Some(binary) = stoppable(name) else { return };
    for (pass_at, failure_at) in [("0", "0"), ("86400", "0"), ("0", "-86400")] {
        let world = world();
        let run = |offset: &str, code: i32| {
            let mut command = world.program(binary.to_str().unwrap());
            let output = command.args(["run", "./made", "--json"]).env("CTO_CLOCK_OFFSET", offset).output().unwrap();
            Ran::of(output).expect(code).json()
        };
        lay_case(&world, true);
        let pass = run(pass_at, 0);
        assert_eq!(standing(&rung(&world, 2)), "validated", "{pass_at} {failure_at}");
        lay_case(&world, false);
        let failure = run(failure_at, 1);
        assert_eq!(standing(&rung(&world, 2)), "blocked not_passed", "{pass_at} {failure_at}");
        let is_behind = pass["run_started_at"].as_str() > failure["run_started_at"].as_str();
        assert_eq!(is_behind, pass_at != failure_at, "the clock was set off");
        lay_case(&world, true);
        let _ = run("0", 0);
        assert_eq!(standing(&rung(&world, 2)), "validated", "{pass_at} {failure_at}");
    }
}

#[test]
fn what_declares_its_failure_counts_for_nothing() {
    let world = world();
    lay_case(&world, true);
    run_case(&world, 0);
    let report = world.cto(["run", "fail-no-diff", "--json"]).expect(1).json();
    assert_eq!(report["expected_status"], "fail");
    assert_eq!(standing(&rung(&world, 2)), "validated");
    lay_case(&world, false);
    run_case(&world, 1);
    assert_eq!(standing(&rung(&world, 2)), "blocked not_passed", "control: the same end, undeclared");
}

#[test]
fn a_pass_without_a_verification_earns_nothing() {
    let world = world();
    world.case("made", &[("verification_commands", ""), ("no_test_rationale", "it is only a word")]);
    run_case(&world, 0);
    assert_eq!(standing(&rung(&world, 2)), "not_started no_pass");
    let told = world.cto(["ladder", "explain", "2", "--engine", "fake", "--json"]).expect(0).json();
    let run = &told["rungs"][0]["runs"][0];
    assert_eq!((&run["counts"], &run["why"]), (&json!("not_counted"), &json!("nothing was verified")), "{told:#}");
    lay_case(&world, true);
    run_case(&world, 0);
    assert_eq!(standing(&rung(&world, 2)), "validated", "control: the same with a test");
}

#[test]
fn a_workspace_may_ask_for_more_passes() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    lay_case(&world, true);
    run_case(&world, 0);
    assert_eq!(standing(&rung(&world, 2)), "validated", "control");
    world.write("harness.yaml", "passes_required: 2\n");
    assert_eq!(standing(&rung(&world, 2)), "blocked more_passes");
    run_case(&world, 0);
    let earned = rung(&world, 2);
    assert_eq!((standing(&earned).as_str(), earned["bundles"].as_array().unwrap().len()), ("validated", 2));
    world.write("harness.yaml", "passes_required: 0\n");
    let _ = world.cto(["ladder"]).expect(2);
}
