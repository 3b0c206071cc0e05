//! Completion by proof in a repository that has a history: a commit that was there before the run is never the run's work.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testkit::git;

use super::scene::{COMMIT, Scene, WORK};
use super::stayer::{Stayed, Stayer};

const NAIVE: &str = "def slugify(text):\n    return text.lower().replace(\" \", \"-\")\n";
const TESTS: &str = "import unittest\nfrom strings import slugify\n\n\nclass Slugs(unittest.TestCase):\n    \
    def test_plain(self):\n        self.assertEqual(slugify(\"A B\"), \"a-b\")\n";

/// Takes every object out of the pack that the copy came with.
const UNPACK: &str =
    "mv .git/objects/pack/*.pack /tmp/p && rm -f .git/objects/pack/* && git unpack-objects -q < /tmp/p";

/// Three commits: the first with other content, the last with none of its own.
fn repository(scene: &Scene) -> PathBuf {
    let repository = scene.world.path().join("mine");
    fs::create_dir_all(&repository).unwrap();
    let commit = |words: &[&str]| drop(git(&repository, [&["commit", "-q"], words].concat()));
    let _ = git(&repository, ["init", "-q"]);
    fs::write(repository.join("test_strings.py"), TESTS).unwrap();
    fs::write(repository.join("strings.py"), format!("# old\n{NAIVE}")).unwrap();
    let _ = git(&repository, ["add", "."]);
    commit(&["-m", "old"]);
    fs::write(repository.join("strings.py"), NAIVE).unwrap();
    commit(&["-am", "new"]);
    commit(&["--allow-empty", "-m", "newest"]);
    repository
}

/// A contract whose brief has commands for the engine.
fn contract(scene: &Scene, commands: &str) -> PathBuf {
    let contract = json!({
        "schema_version": "1", "task_id": "mine", "title": "Whitespace in slugs",
        "brief": format!("Make repeated spaces one hyphen.\nSTAYER: {commands}"), "risk_class": "low", "source_owner": "me",
        "source_classification": "owned_local", "allowed_paths": ["strings.py"], "forbidden_actions": ["push"],
        "mutation_mode": "copied-fixture", "verification_commands": [{"argv": ["python3", "-m", "unittest"]}],
    });
    scene.world.write("mine.yaml", contract.to_string())
}

/// Stage 2, and the program admitted, so that a copy of a repository may be worked on.
fn climb(stayer: &mut Stayer) {
    let task = stayer.told(&format!("{WORK} && {COMMIT}"));
    let rung = Stayed { name: "the rung below", by_harness: true, reasons: Some(&[]) };
    let _ = stayer.check(&[&task, "--stage", "2"], &rung);
    let _ = stayer.scene.cto(&["admit", "source", "stayer"]).expect(0);
    let file = stayer.scene.world.here().join("admissions/source/stayer.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text = testkit::fill_in(&text)
        .replace("status: \"draft\"", "status: admitted")
        .replace("license_status: \"unresolved\"", "license_status: resolved");
    fs::write(&file, text).unwrap();
    stayer.set_stage("3");
}

#[test]
fn an_old_commit_is_never_the_work() {
    let mut stayer = Stayer::new();
    climb(&mut stayer);
    let repository = repository(&stayer.scene);
    let (late, patched) = (&["timeout"][..], &["lifecycle_timeout_after_valid_patch"][..]);
    for (name, command, reasons) in [
        // HEAD differs from the baseline and the tree is clean in all of them. Objects that lie loose are the ones that are read.
        ("an older commit that lies loose", format!("{UNPACK} && git reset -q --hard HEAD~1"), late),
        ("an older commit of the same tree", "git reset -q --hard HEAD~1".to_owned(), late),
        ("an older commit of another tree", "git checkout -q --detach HEAD~2".to_owned(), patched),
        ("a branch at an older commit", "git checkout -q -b other HEAD~1".to_owned(), late),
        // The control: a commit that the run made.
        ("a new commit", format!("{WORK} && {COMMIT}"), &[]),
    ] {
        let contract = contract(&stayer.scene, &command);
        let what = [contract.to_str().unwrap(), "--stage", "3", "--repo", repository.to_str().unwrap()];
        let _ = stayer.check(&what, &Stayed { name, by_harness: reasons.is_empty(), reasons: Some(reasons) });
    }
}
