//! Remedies of approvals, each pasted in the state that prints it, one after the other until the run passes.

use std::fs;

use serde_json::json;

use super::forged::{begin_forgery, record_forgery};
use super::{Scene, text};
use crate::advice::Shell;

/// The reason for which a run is refused, and what people did to its request before.
type Undone = (&'static str, fn(&Scene, &str));

const UNDONE: &[Undone] = &[
    ("approval_missing", |_, _| {}),
    ("approval_consumed", |scene, name| {
        let _ = scene.approve(name, &[]).expect(0);
        let _ = scene.run(0);
    }),
    ("approval_revoked", |scene, name| {
        let _ = scene.approve(name, &[]).expect(0);
        decide(scene, "revoke", name);
    }),
    ("approval_denied", |scene, name| decide(scene, "deny", name)),
    ("approval_held", |scene, name| {
        let _ = scene.approve(name, &[]).expect(0);
        decide(scene, "hold", name);
    }),
    ("approval_expired", |scene, name| {
        let _ = scene.approve(name, &["--ttl", "1"]).expect(0);
        testkit::wait_for("the end of the approval", || (scene.packet(name)["state"] == "expired").then_some(()));
    }),
    ("approval_mismatch", |scene, name| {
        let _ = scene.approve(name, &[]).expect(0);
        let good = [("mutation_mode", "candidate-default"), ("allowed_paths", "[a.txt, b.txt]")];
        scene.world.case("made", &good);
    }),
    ("approval_not_comparable", |scene, name| {
        decide(scene, "revoke", name);
        let (_, mut request) = begin_forgery(scene);
        request["plan"]["schema"] = json!("cto-plan@v2");
        request["plan"]["nonce"] = json!("c".repeat(32));
        record_forgery(scene, &mut request);
    }),
    ("ledger_continuity_unknown", |scene, name| {
        let backup = scene.world.path().join("backup");
        fs::create_dir(&backup).unwrap();
        super::refused::copy_ledger(&scene.world.home(), &backup);
        let _ = scene.approve(name, &[]).expect(0);
        super::refused::copy_ledger(&backup, &scene.world.home());
    }),
];

fn decide(scene: &Scene, command: &str, name: &str) {
    let _ = scene.cto(&[command, name, "--reason", "not today"]).expect(0);
}

#[test]
fn every_remedy_of_an_approval_leads_to_a_run() {
    let test = "approvals::remedies::every_remedy_of_an_approval_leads_to_a_run";
    if Scene::new(test).is_none() {
        return;
    }
    testkit::each_row(UNDONE.iter().map(|row| (row.0, row)), |(reason, undo)| {
        let scene = Scene::new(test).unwrap();
        let name = text(&scene.request()["request"]);
        undo(&scene, &name);
        let shell = Shell { cto: &|words| scene.cto(words), repository: &scene.world.here() };
        let met = shell.follow(&|| scene.cto(&["run", "./made", "--stage", "4"]));
        assert!(met.iter().any(|met| met == reason), "{met:?}");
    });
}
