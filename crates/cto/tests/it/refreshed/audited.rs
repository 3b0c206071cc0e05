//! The audit on the workspace that was climbed: all ten proven, and each falls with its own evidence.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::git;

use super::scene::{ENGINE, Scene};

/// Makes the workspace what a team would keep: in git, clean, with its admissions in place, equal to what was pushed.
fn keep_in_git(scene: &Scene) {
    let here = scene.world.here();
    for name in ["target.yaml", "target.yaml.sig"] {
        fs::copy(here.join(name), here.join("admissions/target").join(name)).unwrap();
    }
    let ignored = fs::read_to_string(here.join(".gitignore")).unwrap();
    fs::write(here.join(".gitignore"), format!("{ignored}/target/\n/target.yaml*\n")).unwrap();
    git(&here, ["init", "-q", "-b", "main"]);
    commit(&here);
}

fn commit(here: &Path) {
    git(here, ["add", "-A"]);
    git(here, ["-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "commit", "-q", "-m", "records"]);
    git(here, ["update-ref", "refs/remotes/origin/main", "HEAD"]);
}

/// Requirements that are not proven.
fn unproven(scene: &Scene, home: &Path, code: i32) -> Vec<String> {
    let audit = scene.cto(&["--home", home.to_str().unwrap(), "audit", "--json"]).expect(code).json();
    let all = audit["requirements"].as_array().unwrap();
    assert_eq!(all.len(), 10);
    assert_eq!(
        (&audit["runtime_default_activation"], &audit["core_promotion_status"]),
        (&Value::Bool(false), &"not-promoted".into())
    );
    let missing = all.iter().filter(|one| one["status"] != "proven");
    let missing: Vec<String> = missing.map(|one| one["requirement"].as_str().unwrap().to_owned()).collect();
    assert_eq!(audit["completion_status"] == "complete", missing.is_empty());
    missing
}

pub(super) fn each_requirement_rests_on_its_evidence(scene: &Scene, first: &str) {
    let home = scene.home();
    let runs = scene.cto(&["runs", "--json", "--limit", "1000"]).expect(0).text();
    let mut runs = runs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_passed = |run: &Value| run["task_id"] == "stage6-candidate-default" && run["status"] == "pass";
    let comparison = runs.find(is_passed).unwrap();
    scene.accept(comparison["run_id"].as_str().unwrap());
    let refreshed = scene.refresh(&[], 0);
    keep_in_git(scene);
    assert_eq!(unproven(scene, &home, 0), Vec::<String>::new());
    let packet = scene.cto(&["packet", "promotion", "--json"]).expect(0).json();
    assert_eq!(
        (&packet["ready_for_core_review"], &packet["decision_status"]),
        (&Value::Bool(true), &"not_decided".into())
    );

    let here = scene.world.here();
    let aside = |path: &str, expected: &[&str]| {
        let (from, to) = (here.join(path), scene.world.path().join("aside"));
        fs::rename(&from, &to).unwrap();
        commit(&here);
        assert_eq!(unproven(scene, &home, 3), expected, "{path}");
        fs::rename(&to, &from).unwrap();
        commit(&here);
    };
    aside(&format!("admissions/source/{ENGINE}.yaml.sig"), &["cortex_governs"]);
    aside("admissions/target/target.yaml.sig", &["target_repos_stay_owned_and_protected"]);
    fs::write(here.join("CONTEXT.md.new"), "x").unwrap();
    assert_eq!(unproven(scene, &home, 3), ["transportable_stack"], "not committed");
    fs::remove_file(here.join("CONTEXT.md.new")).unwrap();

    let without = scene.copy_home("without-refresh");
    fs::write(without.join("harness-runs").join(refreshed["run_id"].as_str().unwrap()).join("report.json"), "{}")
        .unwrap();
    let missing = unproven(scene, &without, 3);
    assert!(missing.contains(&"candidate_default_evidence".to_owned()), "{missing:?}");
    let without = scene.copy_home("without-pass");
    fs::write(without.join("harness-runs").join(first).join("report.json"), "{}").unwrap();
    let missing = unproven(scene, &without, 3);
    assert!(missing.contains(&"transportable_stack".to_owned()), "{missing:?}");
    assert_eq!(unproven(scene, &home, 0), Vec::<String>::new(), "the control again");
}
