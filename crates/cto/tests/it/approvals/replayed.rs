//! Statements of people, replayed by somebody who can write the ledger: each counts once, and only from a person who may make
//! it.

use contract::canonical_bytes;
use ledger::RequestStep;
use serde_json::{Value, json};
use testkit::each_row;

use super::forged::{NAMESPACE, fingerprint, now, record, requested, sign};
use super::{Scene, text};

/// A word on a hold as a key would sign it.
pub(super) fn hold(request: &Value, key_fingerprint: &str, state: &str) -> String {
    let document = json!({
        "schema": "cto-hold@v1", "request_digest": request["request_digest"], "ledger_id": request["plan"]["ledger_id"],
        "key_fingerprint": key_fingerprint, "state": state, "reason": "by hand", "held_at": now(), "nonce": "d".repeat(32),
    });
    String::from_utf8(canonical_bytes(&document).unwrap()).unwrap()
}

/// Keys that release a hold for a second time, and whether the release counts.
const RELEASES: &[(&str, bool)] = &[
    ("the operator, by the command", true),
    ("an old release, again", false),
    ("a key that is not listed", false),
    ("nobody: a hold in the place of a release", false),
];

#[test]
fn a_hold_ends_by_a_new_word_of_somebody_who_may_say_it() {
    let Some(scene) = Scene::new("a_hold_ends_by_a_new_word_of_somebody_who_may_say_it") else { return };
    each_row(RELEASES.iter().map(|row| (row.0, row)), |(who, counts)| {
        let request = requested(&scene);
        let name = text(&request["name"]);
        let _ = scene.approve(&name, &[]).expect(0);
        let say = |more: &[&str]| drop(scene.cto(&[&["hold", &name, "--reason", "wait"], more].concat()).expect(0));
        say(&[]);
        say(&["--release"]);
        say(&[]);
        assert_eq!(scene.refusal(), "approval_held", "the control: it is held again");
        let old = || {
            let read =
                |end: &str| std::fs::read_to_string(scene.document(&name, &format!("hold-2.json{end}"))).unwrap();
            (read(""), read(".sig"))
        };
        let signed = |key: &std::path::Path, state: &str| {
            let document = hold(&request, &fingerprint(&scene, key), state);
            let armour = sign(&scene, key, NAMESPACE, document.as_bytes());
            (document, armour)
        };
        let (document, armour) = match *who {
            "an old release, again" => old(),
            "a key that is not listed" => signed(&scene.make_key("stranger"), "released"),
            "nobody: a hold in the place of a release" => signed(&scene.key, "held"),
            _ => {
                say(&["--release"]);
                assert_eq!(scene.run(0)["status"], "pass", "the control: what is released runs");
                return;
            }
        };
        assert!(!counts);
        record(&scene, &request, RequestStep::Released, &document, &armour);
        assert_eq!(scene.refusal(), "approval_held");
        let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
    });
}

/// An approval that is recorded twice is one approval.
#[test]
fn an_approval_that_is_recorded_twice_is_one() {
    let Some(scene) = Scene::new("an_approval_that_is_recorded_twice_is_one") else { return };
    let (one, two) = (scene.make_key("one"), scene.make_key("two"));
    scene.allow(&[("me", &scene.key), ("one", &one), ("two", &two)]);
    scene.world.write_own("trust/approval-policy.yaml", "approvals_required: 2\n");
    let request = requested(&scene);
    let name = text(&request["name"]);
    let _ = scene.approve(&name, &["--key", one.to_str().unwrap()]).expect(0);
    let read = |end: &str| std::fs::read_to_string(scene.document(&name, &format!("approval-1.json{end}"))).unwrap();
    record(&scene, &request, RequestStep::Granted, &read(""), &read(".sig"));
    assert_eq!(scene.refusal(), "approval_missing");
    let _ = scene.approve(&name, &["--key", two.to_str().unwrap()]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control: two people");
}
