//! Sentences, keys and plans that do not fit; denial, hold, revocation, expiry; copied and restored homes.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::{World, each_row};

use super::{Scene, text};

#[test]
fn only_the_exact_sentence_approves() {
    let Some(scene) = Scene::new("only_the_exact_sentence_approves") else { return };
    let name = text(&scene.request()["request"]);
    let sentence = scene.sentence(&name);
    assert_eq!(sentence, "I approve made against a disposable copy of made for the turn one into two.");
    let start = "expected “I approve made”";
    let rows = [
        ("yes", "yes\n".to_owned(), 1, format!("{start}, found `y`")),
        ("nothing", String::new(), 1, format!("{start}, and the text ends there")),
        ("a word less", sentence.replace(" the", ""), 55, "expected “he turn one in”, found `u`".to_owned()),
        ("a look-alike", sentence.replacen('a', "а", 1), 3, "expected “approve made a”, found `а` (U+0430)".to_owned()),
        ("a line before", format!("\n{sentence}\n"), 1, format!("{start}, and the text ends there")),
        ("a space behind", format!("{sentence} \n"), 76, "expected nothing more, found ` ` (U+0020)".to_owned()),
        ("its end missing", sentence[..74].to_owned(), 75, "expected “.”, and the text ends there".to_owned()),
    ];
    each_row(rows.map(|(row, typed, column, differs)| (row, (typed, column, differs))), |(typed, column, differs)| {
        let ran = pipe(&scene, &name, &typed);
        assert_eq!(ran.code, 3, "{ran:?}");
        let told = format!("character {column} differs: {differs} fix: cto approve {name}");
        assert_eq!(ran.text(), format!("blocked {name}\nmissing approval_mismatch {told}\n"));
        assert_eq!(scene.packet(&name)["state"], "open", "nothing was signed");
    });
    assert_eq!(pipe(&scene, &name, &format!("{sentence}\n")).code, 0, "the control");
}

/// Approves with a line on standard input.
fn pipe(scene: &Scene, name: &str, typed: &str) -> testkit::Ran {
    let mut command = scene.world.command(["approve", name]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    World::finish(child)
}

#[test]
fn what_people_take_back_or_let_lapse_blocks() {
    let Some(scene) = Scene::new("what_people_take_back_or_let_lapse_blocks") else { return };
    let reason = ["--reason", "not today"];
    let decide = |command: &str, name: &str, more: &[&str], code: i32| {
        let _ = scene.cto(&[&[command, name], &reason[..], more].concat()).expect(code);
    };

    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    decide("hold", &name, &[], 0);
    assert_eq!(scene.refusal(), "approval_held");
    decide("hold", &name, &[], 3);
    decide("hold", &name, &["--release"], 0);
    assert_eq!(scene.packet(&name)["state"], "approved", "the control: what is released is approved still");
    decide("revoke", &name, &[], 0);
    assert_eq!(scene.refusal(), "approval_revoked");
    decide("revoke", &name, &[], 3);

    let name = text(&scene.request()["request"]);
    decide("deny", &name, &[], 0);
    let report = scene.run(3);
    assert_eq!(report["blocker_reasons"][0], "approval_denied");
    assert_eq!(report["approval_status"], "denied");
    let _ = scene.cto(&["verify", "@"]).expect(0);
    assert_eq!(scene.approve(&name, &[]).code, 3, "a denial is for good");

    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &["--not-before", "2099-01-01T00:00:00Z", "--ttl", "60"]).expect(3);
    let soon = scene.approve(&name, &["--not-before", &in_seconds(3600), "--ttl", "7200"]).expect(0).json();
    assert_eq!(soon["status"], "granted");
    assert_eq!(scene.refusal(), "approval_not_yet_valid");

    let _ = scene.cto(&["revoke", &name, "--reason", "next"]).expect(0);
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &["--ttl", "1"]).expect(0);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert_eq!(scene.refusal(), "approval_expired");
    assert_eq!(scene.packet(&name)["state"], "expired");
}

fn in_seconds(seconds: u64) -> String {
    harness_now().after(std::time::Duration::from_secs(seconds)).to_string()
}

fn harness_now() -> contract::Stamp {
    harness::RunClock::start_clock().unwrap().started()
}

#[test]
fn another_plan_is_not_the_approved_one() {
    let Some(scene) = Scene::new("another_plan_is_not_the_approved_one") else { return };
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let case = fs::read_to_string(scene.world.here().join("made/case.yaml")).unwrap();
    let rows: [(&str, &[&str], &str); 4] = [
        ("a wider contract", &[], "[a.txt, b.txt]"),
        ("another time", &["--timeout", "7"], ""),
        ("a work item", &["--work", "CTO-WORK-012"], ""),
        ("another script of the fake engine", &[], "three"),
    ];
    each_row(rows.map(|(name, more, change)| (name, (more, change))), |(more, change)| {
        let changed = match change {
            "" => case.clone(),
            "three" => case.replace("two\\n", "three\\n"),
            paths => case.replace("[a.txt]", paths),
        };
        scene.world.write("made/case.yaml", changed);
        let ran = scene.cto(&[&["run", "./made", "--stage", "4", "--json"], more].concat()).expect(3).json();
        assert_eq!(ran["blocker_reasons"][0], "approval_mismatch", "{ran:#}");
        scene.world.write("made/case.yaml", &case);
    });
    assert_eq!(scene.run(0)["status"], "pass", "the control: the approved plan runs");
}

#[test]
fn a_key_counts_only_while_it_may() {
    let Some(scene) = Scene::new("a_key_counts_only_while_it_may") else { return };
    let other = scene.make_key("other");
    let other = other.to_str().unwrap();
    let name = text(&scene.request()["request"]);
    let refused = scene.approve(&name, &["--key", other]);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("is not listed in allowed_signers"), "{}", refused.stderr);
    for command in ["deny", "hold", "revoke"] {
        let _ = scene.cto(&[command, &name, "--reason", "no", "--key", other]).expect(3);
    }
    let _ = scene.approve(&name, &[]).expect(0);
    scene.allow(&[("other", other.as_ref())]);
    assert_eq!(scene.refusal(), "approval_missing", "a key that is taken from the list counts no longer");
    scene.allow(&[("me", &scene.key)]);
    assert_eq!(scene.run(0)["status"], "pass", "the control");
}

#[test]
fn two_keys_are_two_people() {
    let Some(scene) = Scene::new("two_keys_are_two_people") else { return };
    let keys = [scene.make_key("one"), scene.make_key("two")];
    let [one, two] = [&keys[0], &keys[1]];
    scene.allow(&[("me", &scene.key), ("one", one), ("two", two)]);
    scene.world.write_own("trust/approval-policy.yaml", "approvals_required: 2\n");
    let name = text(&scene.request()["request"]);
    let own = scene.approve(&name, &[]);
    assert_eq!(own.code, 3);
    assert!(own.stderr.contains("asked for this; somebody else approves"), "{}", own.stderr);
    let key = |path: &Path| path.to_str().unwrap().to_owned();
    let _ = scene.approve(&name, &["--key", &key(one)]).expect(0);
    assert_eq!(scene.approve(&name, &["--key", &key(one)]).code, 3, "one key is one person");
    assert_eq!(scene.refusal(), "approval_missing");
    let last = scene.approve(&name, &["--key", &key(two)]).expect(0).json();
    assert_eq!((&last["approvals"], &last["approvals_required"]), (&2.into(), &2.into()));
    let report = scene.run(0);
    let coverage = report["coverage"].as_array().unwrap();
    assert!(!coverage.contains(&"solo_operator".into()), "{coverage:?}");
    scene.world.write_own("trust/approval-policy.yaml", "approvals_required: 1\n");
    let name = text(&scene.request()["request"]);
    let glass = scene.approve(&name, &["--break-glass", "--reason", "the site is down"]);
    assert_eq!(glass.code, 3, "the policy allows none");
    scene.world.write_own("trust/approval-policy.yaml", "approvals_required: 2\nbreak_glass: true\n");
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &["--break-glass", "--reason", "the site is down"]).expect(0);
    let report = scene.run(0);
    assert!(report["coverage"].as_array().unwrap().contains(&"break_glass".into()), "{report:#}");
    let _ = scene.cto(&["verify", "@"]).expect(0);
}

#[test]
fn a_copied_or_restored_home_is_vouched_for_first() {
    let Some(scene) = Scene::new("a_copied_or_restored_home_is_vouched_for_first") else { return };
    let home = scene.world.home();
    let requested = text(&scene.request()["request"]);
    let backup = scene.world.path().join("backup");
    fs::create_dir(&backup).unwrap();
    copy_ledger(&home, &backup);
    let _ = scene.approve(&requested, &[]).expect(0);
    assert_eq!(scene.packet(&requested)["state"], "approved", "the control: nothing is amiss");
    copy_ledger(&backup, &home);
    assert!(scene.refusal().contains("ledger_continuity_unknown"), "a ledger of yesterday");
    let _ = scene.cto(&["ledger", "continue", "--reason", "restored; the old one is gone"]).expect(0);
    assert_eq!(scene.refusal(), "approval_missing", "what was approved since the backup is lost");

    let aside = put_copy_in_place(&scene);
    assert!(scene.refusal().contains("ledger_continuity_unknown"), "a copied home");
    let _ = scene.cto(&["ledger", "continue", "--reason", "a copy, to be tried"]).expect(0);
    let report = scene.run(3);
    let told = &report["blockers"][0];
    assert_eq!(told["reason"], "approval_mismatch", "a plan is of one home: {told}");
    assert!(told["text"].as_str().unwrap().contains("is for another plan: /instance_id: "), "{told}");
    fs::remove_dir_all(&home).unwrap();
    fs::rename(&aside, &home).unwrap();
    assert_eq!(scene.refusal(), "approval_missing", "the control: the home itself");
}

#[test]
fn what_is_recorded_in_a_copied_home_does_not_make_it_known() {
    let Some(scene) = Scene::new("what_is_recorded_in_a_copied_home_does_not_make_it_known") else { return };
    let _ = scene.request();
    let _ = put_copy_in_place(&scene);
    let requested = text(&scene.request()["request"]);
    let _ = scene.approve(&requested, &[]).expect(0);
    assert!(scene.refusal().contains("ledger_continuity_unknown"), "only the operator's word does");
    let _ = scene.cto(&["ledger", "continue", "--reason", "the other one is gone"]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control: the approval itself is good");
}

/// Puts a copy of the home in its place, and gives the folder in which the home itself lies now.
fn put_copy_in_place(scene: &Scene) -> PathBuf {
    let (home, copied, aside) =
        (scene.world.home(), scene.world.path().join("copied"), scene.world.path().join("aside"));
    let made = testkit::program("cp", scene.world.path()).arg("-a").args([&home, &copied]).output().unwrap();
    assert!(made.status.success());
    fs::rename(&home, &aside).unwrap();
    fs::rename(&copied, &home).unwrap();
    aside
}

/// Puts the ledger of one folder into another, in place of what is there.
pub(super) fn copy_ledger(from: &Path, to: &Path) {
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(to.join(name));
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}
