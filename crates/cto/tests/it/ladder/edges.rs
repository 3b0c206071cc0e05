//! Rungs at their edges: what collections, other homes, missing evidence and approvals past the policy do to them.

use std::fs;

use serde_json::{Value, json};
use testkit::World;

use super::{lay_case, run_case, rung, standing};
use crate::targets::Scene;
use crate::world;

/// Everything is old, and nothing is kept for being new.
const COLLECT: [&str; 6] = ["gc", "--older-than", "0s", "--keep", "0", "--json"];

/// Reasons for which runs of a rung count or not, newest first.
fn reasons(world: &World, stage: &str) -> Vec<String> {
    let told = world.cto(["ladder", "explain", stage, "--engine", "fake", "--json"]).expect(0).json();
    let runs = told["rungs"][0]["runs"].as_array().unwrap();
    let words =
        |run: &Value| format!("{}: {}", run["counts"].as_str().unwrap(), run["why"].as_str().unwrap_or_default());
    runs.iter().map(words).collect()
}

#[test]
fn a_collection_takes_nothing_that_a_rung_rests_on() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    world.write("harness.yaml", "passes_required: 2\n");
    lay_case(&world, true);
    let runs: Vec<String> = (0..3).map(|_| run_case(&world, 0)["run_id"].as_str().unwrap().to_owned()).collect();
    let declared = world.cto(["run", "fail-no-diff", "--json"]).expect(1).json();
    let before = rung(&world, 2);
    assert_eq!(standing(&before), "validated");
    let collected = world.cto(COLLECT).expect(0).json();
    let fate = |run: &Value| {
        let all = collected["runs"].as_array().unwrap();
        all.iter().find(|one| one["run_id"] == *run).unwrap()["fate"].as_str().unwrap().to_owned()
    };
    let fates: Vec<String> = runs.iter().map(|run| fate(&json!(run))).collect();
    assert_eq!(fates, ["collected", "rung", "latest_pass"], "the oldest is the control");
    assert_eq!(fate(&declared["run_id"]), "rung", "without it nothing says that the failure was declared");
    let after = rung(&world, 2);
    assert_eq!((&after["status"], &after["bundles"]), (&before["status"], &before["bundles"]));
    assert_eq!(world.cto(COLLECT).expect(0).json()["collected"]["runs"], 0);

    // The rows that rungs are found by are made again, and nothing is lost with them.
    let raw = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    raw.execute_batch("DELETE FROM runs; DELETE FROM requests; UPDATE counters SET value = 0").unwrap();
    assert_eq!(standing(&rung(&world, 2)), "not_started no_pass", "control: they are gone");
    let _ = world.cto(["ledger", "verify"]).expect(1);
    let made = world.cto(["ledger", "rebuild", "--json"]).expect(0).json();
    assert_eq!(made, json!({"requests": 0, "runs": 4, "status": "rebuilt"}));
    let _ = world.cto(["ledger", "verify"]).expect(0);
    assert_eq!(rung(&world, 2)["bundles"], before["bundles"]);
}

#[test]
fn a_bundle_that_is_gone_blocks_and_the_way_on_is_said() {
    let world = world();
    lay_case(&world, true);
    let run = run_case(&world, 0)["run_id"].as_str().unwrap().to_owned();
    fs::remove_dir_all(world.bundles().join(&run)).unwrap();
    let blocked = rung(&world, 2);
    assert_eq!((standing(&blocked).as_str(), &blocked["status"]), ("blocked bundle_missing", &json!("blocked")));
    let told = world.cto(["ladder", "explain", "2", "--engine", "fake"]).expect(0).text();
    assert!(told.contains("missing bundle_missing ") && told.contains("\nnext cto "), "{told}");
    assert_eq!(standing(&rung(&world, 1)), "not_started no_pass", "no other rung is touched");
    run_case(&world, 0);
    assert_eq!(standing(&rung(&world, 2)), "validated", "a newer pass");
}

#[test]
fn an_approval_past_the_policy_earns_nothing() {
    let Some(scene) = Scene::new("an_approval_past_the_policy_earns_nothing") else { return };
    let world = &scene.world;
    world.write_own("trust/approval-policy.yaml", "approvals_required: 2\nbreak_glass: true\n");
    let request = world.cto(scene.words("request", "4")).expect(0).json();
    let name = request["request"].as_str().unwrap();
    let packet = world.cto(["packet", name, "--json"]).expect(0).json();
    let sentence = packet["approval_command_text"].as_str().unwrap();
    let glass = ["approve", name, "--sentence", sentence, "--break-glass", "--reason", "the site is down"];
    let _ = world.cto(glass).expect(0);
    assert_eq!(scene.run("4", 0)["status"], "pass");
    assert_eq!(standing(&rung(world, 4)), "not_started no_pass");
    assert_eq!(reasons(world, "4"), ["not_counted: it was approved past the policy"]);
    world.write_own("trust/approval-policy.yaml", "approvals_required: 1\n");
    scene.approve("4");
    let _ = scene.run("4", 0);
    assert_eq!(standing(&rung(world, 4)), "validated", "control: the same run, approved as the policy asks");
}

#[test]
fn homes_that_share_a_ledger_earn_their_own_rungs_and_lose_them_together() {
    let (ledger, ours, theirs) = (tempfile::tempdir().unwrap(), world(), world());
    for world in [&ours, &theirs] {
        let folder = world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        let url = format!("store:\n  url: sqlite://{}\n", ledger.path().join("ledger.db").display());
        fs::write(folder.join("config.yaml"), url).unwrap();
        let _ = world.cto(["key", "init"]).expect(0);
        lay_case(world, true);
    }
    run_case(&ours, 0);
    assert_eq!(standing(&rung(&ours, 2)), "validated");
    assert_eq!(standing(&rung(&theirs, 2)), "not_started no_pass", "its bundle cannot be looked at here");
    assert_eq!(reasons(&theirs, "2"), ["not_counted: its bundle lies in another home"]);
    run_case(&theirs, 0);
    assert_eq!([&ours, &theirs].map(|world| standing(&rung(world, 2))), ["validated", "validated"]);
    lay_case(&theirs, false);
    run_case(&theirs, 1);
    assert_eq!(
        [&ours, &theirs].map(|world| standing(&rung(world, 2))),
        ["blocked not_passed", "blocked not_passed"],
        "a failure that cannot be looked at counts against everybody"
    );
    run_case(&ours, 0);
    assert_eq!(standing(&rung(&ours, 2)), "validated", "control: a newer pass");
}
