//! The audit on the workspace that was climbed: all ten proven, and each falls with its own evidence.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{Who, World, copy_to_change, each_row, git};

use super::closed_out::a_landed_change_is_closed_out;
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

pub(super) fn commit(here: &Path) {
    git(here, ["add", "-A"]);
    git(
        here,
        [
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.invalid",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "records",
        ],
    );
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

/// Holds every piece of evidence to the runs and records that it names.
fn each_proof_names_its_evidence(scene: &Scene, refresh: &str, passes: [&str; 2]) {
    let audit = scene.cto(&["audit", "--json"]).expect(0).json();
    let evidence = |requirement: &str| -> BTreeSet<String> {
        let found = audit["requirements"].as_array().unwrap().iter().find(|one| one["requirement"] == requirement);
        found.unwrap()["evidence"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let report = |run: &str| scene.cto(&["show", run, "--json"]).expect(0).json();
    let of_passes = |word: &str, key: &str| -> BTreeSet<String> {
        passes.iter().map(|run| format!("{run} {word} {}", report(run)[key].as_str().unwrap())).collect()
    };
    let of_file = |file: &str| -> BTreeSet<String> {
        let bytes = fs::read(scene.world.here().join(file)).unwrap();
        BTreeSet::from([format!("{file} {}", contract::Digest::of_bytes(&bytes))])
    };
    let head = git(&scene.world.here(), ["rev-parse", "HEAD"]);
    for (requirement, expected) in [
        ("cortex_governs", of_file(&format!("admissions/source/{ENGINE}.yaml"))),
        ("hermes_controls", of_passes("approval", "approval_digest")),
        ("bounded_code_changes_with_evidence", of_passes("commit", "target_commit")),
        ("target_repos_stay_owned_and_protected", of_file("admissions/target/target.yaml")),
        ("candidate_default_evidence", BTreeSet::from([format!("{refresh} repeatability 2 of 2")])),
        ("transportable_stack", BTreeSet::from([format!("workspace commit {head}")])),
    ] {
        assert_eq!(evidence(requirement), expected, "{requirement}");
    }
    for (requirement, highest) in [
        ("cto_routes", 1),
        ("harness_proves", 4),
        ("case_executes_only_after_proof", 5),
        ("default_status_is_earned_not_assumed", 6),
    ] {
        let named = evidence(requirement);
        let stages: BTreeSet<u64> = named.iter().map(|one| stage_of(one, &report)).collect();
        let all: BTreeSet<u64> = (1..=highest).collect();
        assert_eq!(stages, all, "{requirement}");
        let of_stage_5: BTreeSet<&str> = named.iter().filter_map(|one| one.strip_prefix("stage 5 ")).collect();
        // A rung names the newest passes that it needs.
        assert!(of_stage_5.is_subset(&BTreeSet::from(passes)), "{requirement}: {of_stage_5:?}");
        assert_eq!(of_stage_5.is_empty(), highest < 5, "{requirement}");
    }
}

/// Stage of a piece `stage N RUN`; the run passed at that stage with the engine that climbed.
fn stage_of(piece: &str, report: &impl Fn(&str) -> Value) -> u64 {
    let (stage, run) = piece.strip_prefix("stage ").unwrap().split_once(' ').unwrap();
    let report = report(run);
    let stage: u64 = stage.parse().unwrap();
    assert_eq!((&report["stage"], &report["status"]), (&stage.into(), &"pass".into()), "{piece}");
    stage
}

pub(super) fn each_requirement_rests_on_its_evidence(scene: &Scene, first: &str, second: &str) {
    let home = scene.home();
    let refreshed = scene.refresh(&[], 0);
    keep_in_git(scene);
    assert_eq!(unproven(scene, &home, 0), Vec::<String>::new());
    each_proof_names_its_evidence(scene, refreshed["run_id"].as_str().unwrap(), [first, second]);
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
    an_outcome_that_is_taken_back(scene, [first, second]);
    transport_falls_alone(scene);
    a_landed_change_is_closed_out(scene, second);
    a_pack_of_all_says_the_same_elsewhere(scene);
}

/// A person rejects in a copy of the home what they had accepted. Bundles verify all the same, so that a pack does.
fn an_outcome_that_is_taken_back(scene: &Scene, passes: [&str; 2]) {
    let climbed = ["case_executes_only_after_proof", "default_status_is_earned_not_assumed"];
    let of_passes = ["hermes_controls", "bounded_code_changes_with_evidence", "target_repos_stay_owned_and_protected"];
    let all: BTreeSet<&str> = climbed.iter().chain(&of_passes).copied().collect();
    let rows = [
        // The other pass earns its rung still.
        ("the outcome of one pass", &passes[..1], BTreeSet::from([climbed[1]])),
        ("the outcomes of both passes", &passes[..], all),
    ];
    each_row(rows.map(|row| (row.0, row)), |(_, runs, expected)| {
        let copy = scene.copy_home("taken-back");
        let at = copy.to_str().unwrap();
        for run in runs {
            let _ = scene.cto(&["outcome", run, "reject", "--reason", "slower", "--home", at]).expect(0);
        }
        let missing = unproven(scene, &copy, 3);
        assert_eq!(missing.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    });
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

/// Commands whose output has to be the same elsewhere.
const SAID: [&[&str]; 3] = [&["audit", "--json"], &["ladder", "--json"], &["packet", "promotion", "--json"]];

/// The climbed workspace in another home, and in the home of another user: ladder and audit say the same to the byte.
fn a_pack_of_all_says_the_same_elsewhere(scene: &Scene) {
    let path = |name: &str| scene.world.path().join(name).display().to_string();
    let (pack, home, dir) = (path("climbed.pack"), path("moved-home"), path("moved"));
    let _ = scene.cto(&["pack", "-o", &pack]).expect(0);
    let key = scene.home().join("keys/harness.pub").display().to_string();
    let _ = scene.cto(&["--home", &home, "unpack", &pack, &dir, "--key", &key, "--trust-sender"]).expect(0);
    for words in SAID {
        let there = [&["--home", &home, "--workspace", &dir], words].concat();
        assert_eq!(scene.cto(&there).expect(0).text(), scene.cto(words).expect(0).text(), "{words:?}");
    }
    let there = World::of(env!("CARGO_BIN_EXE_cto"), Who::Ordinary);
    let at = |name: &str| there.path().join(name).display().to_string();
    copy_to_change(pack.as_ref(), at("climbed.pack").as_ref());
    copy_to_change(key.as_ref(), at("alice.pub").as_ref());
    there.give();
    let dir = at("moved");
    let words = ["unpack", &at("climbed.pack"), &dir, "--key", &at("alice.pub"), "--trust-sender"];
    let _ = there.cto(words).expect(0);
    for words in SAID {
        let moved = there.cto(["--workspace", &dir].iter().chain(words)).expect(0);
        assert_eq!(moved.text(), scene.cto(words).expect(0).text(), "another user: {words:?}");
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
