//! One approval is one run: many processes at once, and marks that outlive the ledger.

use std::fs;

use testkit::{World, times};

use super::{Scene, text};

/// Processes that start with one approval; `CTO_TEST_AT_ONCE` says another number.
const AT_ONCE: u32 = 16;

#[test]
fn many_processes_use_an_approval_once() {
    let Some(scene) = Scene::new("many_processes_use_an_approval_once") else { return };
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let start = || scene.world.start(["run", "./made", "--stage", "4", "--json"]);
    let children: Vec<_> = (0..times("CTO_TEST_AT_ONCE", AT_ONCE)).map(|_| start()).collect();
    let ran: Vec<_> = children.into_iter().map(World::finish).collect();
    let passed = ran.iter().filter(|ran| ran.code == 0).count();
    assert_eq!(passed, 1, "{ran:?}");
    for other in ran.iter().filter(|ran| ran.code != 0) {
        let report = other.json();
        assert_eq!(report["blocker_reasons"][0], "approval_consumed", "{other:?}");
        assert_eq!(report["engine"]["process_started"], false);
    }
    let ids: Vec<String> = ran.iter().map(|ran| text(&ran.json()["run_id"])).collect();
    let _ = scene.cto(&[vec!["verify"], ids.iter().map(String::as_str).collect()].concat()).expect(0);
    let _ = scene.cto(&["ledger", "verify"]).expect(0);
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control: another approval is another run");
}

#[test]
fn a_mark_of_the_home_outlives_the_ledger() {
    let Some(scene) = Scene::new("a_mark_of_the_home_outlives_the_ledger") else { return };
    let requested = scene.request();
    let name = text(&requested["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let used = scene.world.home().join("used");
    let mark = used.join(text(&requested["request_digest"]));
    fs::create_dir_all(&used).unwrap();
    fs::write(&mark, "20260101T000000Z-made-aaaa\n").unwrap();
    assert_eq!(scene.refusal(), "approval_consumed");
    fs::remove_file(&mark).unwrap();
    assert_eq!(scene.run(0)["status"], "pass", "the control");
    assert!(mark.is_file(), "the run has made it");
}

/// A double click, by one person and by two: approvals of one request are good for one run together.
/// The remedy is pasted where it is printed: `@` would be the refused run by then.
#[test]
fn going_on_from_a_run_needs_an_approval_of_its_own() {
    let Some(scene) = Scene::new("going_on_from_a_run_needs_an_approval_of_its_own") else { return };
    let first = text(&scene.request()["request"]);
    let _ = scene.approve(&first, &[]).expect(0);
    let first = scene.run(0);

    let refused = scene.cto(&["run", "--continue", "@", "--json"]).expect(3).json();
    let reasons: Vec<String> = refused["blocker_reasons"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(reasons, ["approval_consumed", "approval_mismatch"], "the first approval is not for this: {refused:#}");
    assert_eq!((&refused["engine"]["process_started"], &refused["stage"]), (&false.into(), &4.into()));
    let remedy = text(&refused["blockers"][0]["remedy"]);
    let suffix = text(&first["run_id"]).rsplit('-').next().unwrap().to_owned();
    assert_eq!(remedy, format!("cto request --continue {suffix} --stage 4"));

    let words: Vec<&str> = remedy.split(' ').skip(1).chain(["--json"]).collect();
    let name = text(&scene.cto(&words).expect(0).json()["request"]);
    let packet = text(&scene.packet(&name)["packet"]);
    let patch = text(&first["artifact_digests"]["patch.diff"]);
    assert!(packet.contains(&format!("goes on from {}, patch {patch}", text(&first["run_id"]))), "{packet}");
    let _ = scene.approve(&name, &[]).expect(0);

    // Control: that approval is for going on, and not for the task from its beginning.
    let anew = scene.run(3);
    assert!(anew["blocker_reasons"].as_array().unwrap().contains(&"approval_mismatch".into()), "{anew:#}");
    let second = scene.cto(&["run", "--continue", &suffix, "--json"]).expect(0).json();
    assert_eq!((&second["approval_status"], &second["continues"]["run_id"]), (&"granted".into(), &first["run_id"]));
    assert_eq!((&second["stage"], &second["baseline_commit"]), (&4.into(), &first["baseline_commit"]));
    assert_ne!(second["request_digest"], first["request_digest"]);
    let _ = scene.cto(&["verify", &text(&second["run_id"])]).expect(0);
    let again = scene.cto(&["run", "--continue", &suffix, "--json"]).expect(3).json();
    assert!(again["blocker_reasons"].as_array().unwrap().contains(&"approval_consumed".into()), "used once: {again:#}");
}

#[test]
fn two_approvals_of_one_request_are_one_run() {
    let Some(scene) = Scene::new("two_approvals_of_one_request_are_one_run") else { return };
    let other = scene.make_key("other");
    scene.allow(&[("me", &scene.key), ("other", &other)]);
    let name = text(&scene.request()["request"]);
    let sentence = scene.sentence(&name);
    let click = |key: &std::path::Path| {
        let words = ["approve", &name, "--json", "--sentence", &sentence, "--key", key.to_str().unwrap()];
        scene.world.start(words.map(str::to_owned))
    };
    let clicks = [click(&scene.key), click(&scene.key), click(&other)].map(World::finish);
    assert!(clicks.iter().any(|ran| ran.code == 0) && clicks[2].code == 0, "{clicks:?}");
    assert_eq!(scene.run(0)["status"], "pass", "the control: the first run");
    assert_eq!(scene.refusal(), "approval_consumed");
    assert_eq!(scene.approve(&name, &[]).code, 3, "and nobody approves it again");
}
