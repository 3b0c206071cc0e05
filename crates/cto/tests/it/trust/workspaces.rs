//! Workspaces that count.

use std::fs;

use serde_json::json;

use super::scene::TrustScene;

#[test]
fn a_workspace_counts_while_it_is_listed() {
    let scene = TrustScene::new();
    let dir = scene.world.path().join("other");
    fs::create_dir(&dir).unwrap();
    let other = dir.canonicalize().unwrap().display().to_string();
    let use_it = |code| scene.cto(&["--workspace", &other, "records"]).expect(code);
    assert!(use_it(2).stderr.contains("is not a registered workspace"));
    let _ = scene.cto(&["trust", "workspace", &other]).expect(0);
    let _ = use_it(0);
    assert_eq!(scene.cto(&["trust", "workspace", &other, "--json"]).expect(0).json()["changed"], false);
    let listed = scene.cto(&["trust", "workspace", "list", "--json"]).expect(0).json();
    let here = scene.world.here().canonicalize().unwrap().display().to_string();
    assert_eq!(listed, json!({"changed_by_hand": [], "workspaces": [here, other]}));
    let _ = scene.cto(&["trust", "workspace", "remove", &other]).expect(0);
    let _ = use_it(2);
    let gone = scene.cto(&["trust", "workspace", "remove", &other]).expect(2);
    assert!(gone.stderr.contains("is no workspace of this home"), "{gone:?}");
    let missing = scene.cto(&["trust", "workspace", "/nowhere"]).expect(2);
    assert!(missing.stderr.contains("/nowhere is no folder"), "{missing:?}");
    let acts: Vec<_> = scene.trust_entries().iter().map(|entry| entry["act"].clone()).collect();
    assert_eq!(acts, ["workspace_added", "workspace_added", "workspace_removed"]);
}

#[test]
fn a_workspace_that_somebody_wrote_into_the_list_is_said() {
    let scene = TrustScene::new();
    let file = scene.world.home().join("trust/workspaces");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}/srv/other\n")).unwrap();
    let listed = scene.cto(&["trust", "workspace", "list"]).expect(0).text();
    assert!(listed.contains("workspace /srv/other  (is not there)") && listed.contains("changed_by_hand "), "{listed}");
}

#[test]
fn target_admissions_are_named_by_variable_and_configuration() {
    let scene = TrustScene::new();
    scene.world.write("harness.yaml", "engines: {codex: {target_admission: admissions/target/site.yaml}}\n");
    let mut command = scene.world.command(["config", "--json"]);
    for engine in ["CASE", "FAKE"] {
        command.env(format!("CTO_HARNESS_{engine}_STAGE5_TARGET_ADMISSION_FILE"), "/srv/admission.yaml");
    }
    let ran = command.output().unwrap();
    let settings: Vec<serde_json::Value> = serde_json::from_slice(&ran.stdout).unwrap();
    let here = scene.world.here().canonicalize().unwrap().display().to_string();
    for (engine, value, source) in [
        ("case", "/srv/admission.yaml".to_owned(), "environment".to_owned()),
        ("fake", "/srv/admission.yaml".to_owned(), "environment".to_owned()),
        ("codex", format!("{here}/admissions/target/site.yaml"), format!("{here}/harness.yaml")),
    ] {
        let name = format!("engines.{engine}.target_admission");
        let row = settings.iter().find(|row| row["name"] == name.as_str()).unwrap();
        let shown = row["value"].as_str().unwrap();
        assert!(value.ends_with(shown) && row["source"] == source.as_str(), "{row}");
    }
}
