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
