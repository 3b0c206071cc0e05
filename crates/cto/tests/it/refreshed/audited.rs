//! The audit on the workspace that was climbed: all ten proven, and each falls with its own evidence.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{each_row, git};

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

pub(super) fn each_requirement_rests_on_its_evidence(scene: &Scene) {
    let home = scene.home();
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

    // Taken out of copies of the home: a bundle that does not verify proves nothing, and cannot be moved either.
    let refresh = refreshed["run_id"].as_str().unwrap();
    each_row(TAKEN.iter().map(|row| (row.0, row)), |(name, is_taken, expected)| {
        let copy = scene.copy_home("without");
        let taken = damage_bundles(&copy, |report| is_taken(report, refresh));
        assert!(taken > 0, "{name}: nothing was there to take away");
        assert_eq!(unproven(scene, &copy, 3), *expected);
    });
    // Any number of runs that a person calls like a refresh hides none.
    scene.world.case("named", &[("task_id", "stage6-real-governed-refresh")]);
    commit(&here);
    let _ = scene.cto(&["run", "./named", "--json"]).expect(0);
    let fallen: BTreeSet<&str> = TAKEN.iter().flat_map(|row| row.2.iter().copied()).collect();
    let alone = ["cortex_governs", "target_repos_stay_owned_and_protected", "transportable_stack"];
    assert_eq!(fallen.union(&BTreeSet::from(alone)).count(), 10, "each requirement has a row");
    assert_eq!(unproven(scene, &home, 0), Vec::<String>::new(), "the control again");
    transport_falls_alone(scene);
    a_pack_of_all_says_the_same_elsewhere(scene);
}

/// Each way in which the records could not be moved, and nothing else falls with it.
fn transport_falls_alone(scene: &Scene) {
    let (here, home) = (scene.world.here(), scene.home());
    let falls = |name: &str, after: &mut dyn FnMut()| {
        assert_eq!(unproven(scene, &home, 3), ["transportable_stack"], "{name}");
        after();
        assert_eq!(unproven(scene, &home, 0), Vec::<String>::new(), "control: {name}");
    };
    let aside = scene.world.path().join("aside.git");
    fs::rename(here.join(".git"), &aside).unwrap();
    falls("no git", &mut || fs::rename(&aside, here.join(".git")).unwrap());
    let head = git(&here, ["rev-parse", "HEAD"]);
    git(&here, ["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    falls("a remote behind", &mut || drop(git(&here, ["update-ref", "refs/remotes/origin/main", &head])));
    git(&here, ["update-ref", "-d", "refs/remotes/origin/main"]);
    falls("no remote", &mut || drop(git(&here, ["update-ref", "refs/remotes/origin/main", &head])));
    let settings = fs::read_to_string(here.join("harness.yaml")).unwrap();
    fs::write(here.join("harness.yaml"), format!("{settings}protected_roots: [{}]\n", scene.target.display())).unwrap();
    commit(&here);
    fs::write(scene.target.join("edited.txt"), "x\n").unwrap();
    falls("an edited protected tree", &mut || fs::remove_file(scene.target.join("edited.txt")).unwrap());
    fs::write(here.join("harness.yaml"), settings).unwrap();
    commit(&here);
}

/// The climbed workspace in another home: ladder and audit say the same to the byte.
fn a_pack_of_all_says_the_same_elsewhere(scene: &Scene) {
    let path = |name: &str| scene.world.path().join(name).display().to_string();
    let (pack, home, dir) = (path("climbed.pack"), path("moved-home"), path("moved"));
    let _ = scene.cto(&["pack", "-o", &pack]).expect(0);
    let key = scene.home().join("keys/harness.pub").display().to_string();
    let _ = scene.cto(&["--home", &home, "unpack", &pack, &dir, "--key", &key, "--trust-sender"]).expect(0);
    for words in [&["audit", "--json"][..], &["ladder", "--json"], &["packet", "promotion", "--json"]] {
        let there = [&["--home", &home, "--workspace", &dir], words].concat();
        assert_eq!(scene.cto(&there).expect(0).text(), scene.cto(words).expect(0).text(), "{words:?}");
    }
}

/// A report of a bundle, and the refresh that counts.
type IsTaken = fn(&Value, &str) -> bool;

/// Evidence that is taken away, and every requirement that falls with it.
const TAKEN: &[(&str, IsTaken, &[&str])] = &[
    (
        "runs of stage 1",
        |report, _| report["stage"] == 1,
        &[
            "cto_routes",
            "harness_proves",
            "case_executes_only_after_proof",
            "default_status_is_earned_not_assumed",
            "transportable_stack",
        ],
    ),
    (
        "runs of stage 4",
        |report, _| report["stage"] == 4,
        &[
            "harness_proves",
            "case_executes_only_after_proof",
            "default_status_is_earned_not_assumed",
            "transportable_stack",
        ],
    ),
    (
        "passes of stage 5",
        |report, _| report["stage"] == 5,
        &[
            "hermes_controls",
            "case_executes_only_after_proof",
            "bounded_code_changes_with_evidence",
            "target_repos_stay_owned_and_protected",
            "default_status_is_earned_not_assumed",
            "transportable_stack",
        ],
    ),
    (
        "comparisons of stage 6",
        |report, _| report["task_id"] == "stage6-candidate-default",
        &["default_status_is_earned_not_assumed", "transportable_stack"],
    ),
    (
        "the refresh",
        |report, refresh| report["run_id"] == refresh,
        &["candidate_default_evidence", "transportable_stack"],
    ),
];

/// Changes the report of each bundle that is meant; their number.
fn damage_bundles(home: &Path, is_meant: impl Fn(&Value) -> bool) -> usize {
    let reports = fs::read_dir(home.join("harness-runs")).unwrap().map(|run| run.unwrap().path().join("report.json"));
    let read = |path: &std::path::PathBuf| fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let meant: Vec<_> = reports.filter(|path| read(path).is_some_and(|report: Value| is_meant(&report))).collect();
    for path in &meant {
        let _ = fs::remove_file(path);
        fs::write(path, "{}").unwrap();
    }
    meant.len()
}
