//! The thin line: from contract to a bundle that verifies.

use crate::world;

#[test]
fn the_demo_holds() {
    let world = world();
    let ran = world.cto(["demo", "--json"]).expect(0).json();
    assert_eq!(ran["status"], "pass");
    assert_eq!(ran["acts"][1]["status"], "fail");
    assert_eq!(ran["acts"][2]["failed_checks"][0]["file"], "patch.diff");
    assert!(!world.home().exists(), "the demo leaves nothing in the operator's home");
}

#[test]
fn a_run_gives_a_bundle_that_verifies() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    assert_eq!(report["status"], "pass");
    assert_eq!(report["changed_files"], serde_json::json!(["strings.py"]));
    assert_eq!(std::fs::read(bundle.join("report.json")).unwrap(), world.cto(["show", "@", "--json"]).expect(0).stdout);
    let verified = world.cto(["verify", "@", "--json"]).expect(0).json();
    assert_eq!(verified["ok"], true);
}

/// The last run's bundle is whole, whatever its verdict.
fn verifies(world: &testkit::World) {
    let verified = world.cto(["verify", "@", "--json"]).expect(0).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

#[test]
fn a_control_that_does_not_apply_is_no_control() {
    let world = world();
    world.case("made", &[("control_patch", "control.patch")]);
    world.write("made/control.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-none\n+three\n");
    let (report, _) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], serde_json::json!(["verification_weakened"]));
    assert!(report["coverage"].as_array().unwrap().contains(&"exam_without_control".into()));
    verifies(&world);
}

#[test]
fn state_deeper_than_a_bundle_may_be_is_left_out() {
    let world = world();
    let deep = "d/".repeat(40);
    let steps = format!(
        "{{steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{state: {{path: {deep}f, text: x}}}}, {{state: {{path: d/g, text: y}}}}]}}"
    );
    world.case("made", &[("fake", &steps)]);
    let (_, bundle) = world.run("./made", 0);
    assert_eq!(std::fs::read(bundle.join("backend/d/g")).unwrap(), b"y");
    assert!(std::fs::read_to_string(bundle.join("trace.jsonl")).unwrap().contains("state.left_out"));
    verifies(&world);
}

#[test]
fn several_bundles_are_one_document_also_when_one_is_none() {
    let world = world();
    world.case("made", &[]);
    let (_, bundle) = world.run("./made", 0);
    let checked = world.cto(["verify", "--json", bundle.to_str().unwrap(), "./made"]).expect(2).json();
    assert_eq!((&checked[0]["ok"], &checked[1]["ok"]), (&true.into(), &false.into()));
}

#[test]
fn one_run_that_cannot_be_sealed_keeps_no_other_from_being_sealed() {
    let world = world();
    world.case("made", &[("fake", "{steps: [{sleep: {seconds: 600}}]}")]);
    let children = [world.start(["run", "./made"]), world.start(["run", "./made"])];
    let active = world.home().join("active");
    let started = |id: &std::ffi::OsStr| {
        let events = std::fs::read_to_string(active.join(id).join("events.normalized.jsonl"));
        events.is_ok_and(|events| events.contains("engine.started"))
    };
    let mut ids = testkit::wait_for("both engines to start", || {
        let entries = std::fs::read_dir(&active).into_iter().flatten().flatten();
        let ids: Vec<_> = entries.map(|entry| entry.file_name()).filter(|id| started(id)).collect();
        (ids.len() == 2).then_some(ids)
    });
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    ids.sort();
    let first = ids[0].to_str().unwrap();
    // A file where the first one's new bundle would be made.
    let in_the_way = active.join(format!("{first}.recover"));
    std::fs::write(&in_the_way, "").unwrap();
    let done = world.cto(["recover", "--json"]).expect(3).json();
    assert_eq!((&done["failed"][0]["run_id"], &done["sealed"][0]["run_id"]), (&first.into(), &ids[1].to_str().into()));
    std::fs::remove_file(in_the_way).unwrap();
    let again = world.cto(["recover", "--json"]).expect(0).json();
    assert_eq!(again["sealed"][0]["run_id"], first, "the next command tries again");
}
