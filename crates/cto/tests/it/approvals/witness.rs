//! The witness of approvals: a use that the ledger and the home have forgotten is refused all the same.

use std::fs;

use testkit::{ObjectDouble, ObjectFolder, ObjectServer, ObjectServerKind, StoreManner, World};

use super::{Scene, text};

/// Writes the user's own configuration.
pub(super) fn configure(world: &World, text: &str) {
    let folder = world.path().join("user/.config/cto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), text).unwrap();
}

pub(super) fn bucket_config(endpoint: &str) -> String {
    format!("evidence:\n  url: s3://cto/fleet\n  endpoint: {endpoint}\n  timeout_seconds: 30\n")
}

/// Uses an approval, then loses every trace of the use that this machine has: the ledger's entry and the home's mark.
fn use_and_forget(scene: &Scene) -> String {
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let (home, backup) = (scene.world.home(), scene.world.path().join("backup"));
    fs::create_dir_all(&backup).unwrap();
    super::refused::copy_ledger(&home, &backup);
    let first = text(&scene.run(0)["run_id"]);
    super::refused::copy_ledger(&backup, &home);
    fs::remove_dir_all(home.join("used")).unwrap();
    let _ = fs::remove_dir_all(home.join("harness-runs").join(&first));
    let _ = scene.cto(&["ledger", "continue", "--reason", "restored; nothing is missing"]).expect(0);
    first
}

/// The engine did not start, and the text names the run that the witness names.
pub(super) fn check_refused(scene: &Scene, first: &str) {
    let report = scene.run(3);
    let told = &report["blockers"][0];
    assert_eq!(told["reason"], "approval_consumed", "{told}");
    let said = text(&told["text"]);
    assert!(said.contains("the witness in ") && said.contains(first), "{said}");
    assert_eq!(report["engine"]["process_started"], false);
    let _ = scene.cto(&["verify", "@"]).expect(0);
}

#[test]
fn a_use_that_the_ledger_has_forgotten_is_refused_by_the_witness() {
    let test = "a_use_that_the_ledger_has_forgotten_is_refused_by_the_witness";
    let Some(scene) = Scene::new(test) else { return };
    let folder = ObjectFolder::new();
    configure(&scene.world, &format!("evidence:\n  url: {}\n", folder.url()));
    let first = use_and_forget(&scene);
    check_refused(&scene, &first);
    let witnesses = fs::read_dir(folder.path().join("approval-use")).unwrap().count();
    assert_eq!(witnesses, 1);
}

#[test]
fn a_guarded_bucket_witnesses_a_use() {
    let Some(scene) = Scene::new("a_guarded_bucket_witnesses_a_use") else { return };
    let double = ObjectDouble::start(StoreManner::Guarded);
    configure(&scene.world, &bucket_config(&double.endpoint()));
    let first = use_and_forget(&scene);
    check_refused(&scene, &first);
    let witness = double.names().into_iter().find(|name| name.contains("approval-use/")).unwrap();
    let content = String::from_utf8(double.content(&witness).unwrap()).unwrap();
    assert!(content.starts_with(&format!("{first}\n")) && content.lines().count() == 2, "{content}");
}

/// The check of the ledger compares uses of approvals with their witnesses, in both directions.
#[test]
fn a_use_that_the_witness_contradicts_fails_the_check_of_the_ledger() {
    let Some(scene) = Scene::new("a_use_that_the_witness_contradicts_fails_the_check_of_the_ledger") else { return };
    let folder = ObjectFolder::new();
    configure(&scene.world, &format!("evidence:\n  url: {}\n", folder.url()));
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let backup = scene.world.path().join("backup");
    fs::create_dir_all(&backup).unwrap();
    super::refused::copy_ledger(&scene.world.home(), &backup);
    let run = text(&scene.run(0)["run_id"]);
    let verify = |code: i32, expected: &str| {
        let said = scene.cto(&["ledger", "verify"]).expect(code).text();
        assert!(said.contains(expected), "{expected}: {said}");
        let _ = scene.cto(&["ledger", "verify", "--local"]).expect(0);
    };
    verify(0, "objects bundles=1 absent=0 witnesses=1");
    let witness = fs::read_dir(folder.path().join("approval-use")).unwrap().next().unwrap().unwrap().path();
    let content = fs::read_to_string(&witness).unwrap();
    fs::write(&witness, content.replace(&run, "20260101T000000Z-t-aaaa")).unwrap();
    verify(1, "the witness says that run 20260101T000000Z-t-aaaa used request");
    fs::remove_file(&witness).unwrap();
    verify(1, "its witness is gone");
    fs::write(&witness, &content).unwrap();
    verify(0, "witnesses=1");
    super::refused::copy_ledger(&backup, &scene.world.home());
    fs::remove_dir_all(scene.world.home().join("harness-runs").join(&run)).unwrap();
    verify(1, &format!("the witness says that run {run} used request"));
}

/// The control: without a witness nobody knows of the first use.
#[test]
fn without_a_witness_a_forgotten_use_happens_again() {
    let Some(scene) = Scene::new("without_a_witness_a_forgotten_use_happens_again") else { return };
    let first = use_and_forget(&scene);
    let second = scene.run(0);
    assert_eq!(second["status"], "pass");
    assert_ne!(text(&second["run_id"]), first);
}

/// The witness is written between the ledger and the engine: where that fails the approval is spent, and no engine starts.
#[test]
fn a_use_without_a_witness_starts_no_engine() {
    let Some(scene) = Scene::new("a_use_without_a_witness_starts_no_engine") else { return };
    let double = ObjectDouble::start(StoreManner::Guarded);
    configure(&scene.world, &bucket_config(&double.endpoint()));
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    double.behave(StoreManner::HidesWitnesses);
    let report = scene.run(3);
    assert_eq!(report["engine"]["process_started"], false, "{report:#}");
    assert_eq!(scene.packet(&name)["state"], "approved", "a witness that cannot be asked: nothing was spent");
    double.behave(StoreManner::DropsWitnesses);
    let report = scene.run(3);
    let said = text(&report["blockers"][0]["text"]);
    assert!(said.contains("its witness was not written"), "{said}");
    assert_eq!(report["engine"]["process_started"], false);
    let _ = scene.cto(&["verify", "@"]).expect(0);
    double.behave(StoreManner::Guarded);
    assert_eq!(scene.refusal(), "approval_consumed", "spent is spent");
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass", "the control: another approval, and the store as it should be");
}

/// Somebody who can overwrite or delete a witness can use an approval twice.
#[test]
fn stage_4_is_refused_where_a_witness_could_be_unmade() {
    let Some(scene) = Scene::new("stage_4_is_refused_where_a_witness_could_be_unmade") else { return };
    let double = ObjectDouble::start(StoreManner::Lenient);
    configure(&scene.world, &bucket_config(&double.endpoint()));
    let name = text(&scene.request()["request"]);
    let _ = scene.approve(&name, &[]).expect(0);
    let refused = scene.cto(&["run", "./made", "--stage", "4"]).expect(3);
    assert!(refused.stderr.contains("our credential may overwrite and delete objects"), "{}", refused.stderr);
    assert_eq!(scene.packet(&name)["state"], "approved", "nothing was spent");
    let said = scene.cto(&["doctor", "--fleet"]).text();
    assert!(said.contains("warn witness stage 4 and up is refused"), "{said}");
    scene.world.run("r1-string-slugify", 0);
    double.behave(StoreManner::Guarded);
    let said = scene.cto(&["doctor", "--fleet"]).text();
    assert!(said.contains("our credential may only create and read objects"), "{said}");
    assert_eq!(scene.run(0)["status"], "pass", "the control: the same store, guarded");
}

#[test]
fn a_store_that_overwrites_is_refused_and_a_real_one_is_not() {
    let test = "a_store_that_overwrites_is_refused_and_a_real_one_is_not";
    let Some(server) = ObjectServer::start(test, ObjectServerKind::S3rver) else { return };
    let world = crate::world();
    configure(&world, &bucket_config(&server.endpoint()));
    let refused = world.cto(["run", "r1-string-slugify"]).expect(3);
    assert!(refused.stderr.contains("overwrote the first with the second"), "{}", refused.stderr);
    assert!(refused.stderr.contains("If-None-Match"), "{}", refused.stderr);
    let doctor = world.cto(["doctor", "--fleet"]).expect(3);
    assert!(doctor.text().contains("missing evidence s3://cto/fleet does not keep evidence"), "{}", doctor.text());
    assert!(!world.home().join("harness-runs").read_dir().is_ok_and(|mut runs| runs.next().is_some()), "no run began");

    let Some(server) = ObjectServer::start(test, ObjectServerKind::SeaweedFs) else { return };
    let keys = "  access_key_env: FLEET_KEY\n  secret_key_env: FLEET_SECRET\n";
    configure(&world, &(bucket_config(&server.endpoint()) + keys));
    let (key, secret) = testkit::BUCKET_KEY;
    let mut command = world.command(["run", "r1-string-slugify", "--json"]);
    let ran = command.env("FLEET_KEY", key).env("FLEET_SECRET", secret).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "the control: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_place_of_evidence_is_said_by_the_user_alone_and_in_full() {
    let world = crate::world();
    let rows = [
        ("url: gs://b/c", "s3://BUCKET/PREFIX or file:///PATH"),
        ("url: s3://cto/fleet", "`evidence.endpoint` is missing"),
        ("endpoint: http://127.0.0.1:1", "has no `url`"),
        ("url: file:///srv\n  ca: /x", "takes no other setting"),
        ("url: s3://cto\n  endpoint: https://k:secretword@h", "without a credential"),
        ("url: s3://cto\n  endpoint: http://127.0.0.1:1\n  access_key_env: A", "go together"),
        (
            "url: s3://cto\n  endpoint: http://127.0.0.1:1\n  access_key_env: NO_A\n  secret_key_env: NO_B",
            "NO_A, which is not set",
        ),
        ("url: s3://cto\n  endpoint: http://127.0.0.1:1\n  timeout_seconds: 0", "timeout_seconds"),
    ];
    for (setting, expected) in rows {
        configure(&world, &format!("evidence:\n  {setting}\n"));
        let refused = world.cto(["runs"]).expect(2);
        assert!(refused.stderr.contains(expected), "{setting}: {}", refused.stderr);
        assert!(!refused.stderr.contains("secretword"), "{}", refused.stderr);
    }
    configure(&world, "evidence:\n  url: s3://cto\n  endpoint: http://192.0.2.1\n");
    let refused = world.cto(["run", "r1-string-slugify"]).expect(3);
    assert!(refused.stderr.contains("its endpoint is not https"), "{}", refused.stderr);
    configure(&world, "{}\n");
    world.run("r1-string-slugify", 0);

    let _ = world.cto(["init", "."]).expect(0);
    world.write("harness.yaml", "evidence:\n  url: file:///srv/evidence\n");
    let refused = world.cto(["runs"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("may not have `evidence`"), "{}", refused.stderr);
}
