//! Completion by proof in a repository that has a history: a commit that was there before the run is never the run's work.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testkit::git;

use super::expected::{COMPLETED, Expected, TIMEOUT};
use super::scene::{COMMIT, Scene, WORK, good, working};

const NAIVE: &str = "def slugify(text):\n    return text.lower().replace(\" \", \"-\")\n";
const TESTS: &str = "import unittest\nfrom strings import slugify\n\n\nclass Slugs(unittest.TestCase):\n    \
    def test_plain(self):\n        self.assertEqual(slugify(\"A B\"), \"a-b\")\n";

/// Takes every object out of the pack that the copy came with.
const UNPACK: &str =
    "mv .git/objects/pack/*.pack /tmp/p && rm -f .git/objects/pack/* && git unpack-objects -q < /tmp/p";

/// Three commits: the first with other content, the last with none of its own.
fn repository(scene: &Scene) -> (PathBuf, PathBuf) {
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
    let contract = json!({
        "schema_version": "1", "task_id": "mine", "title": "Whitespace in slugs",
        "brief": "ca-stand-in: linger quiet\nMake repeated spaces one hyphen.", "risk_class": "low", "source_owner": "me",
        "source_classification": "owned_local", "allowed_paths": ["strings.py"], "forbidden_actions": ["push"],
        "mutation_mode": "copied-fixture", "verification_commands": [{"argv": ["python3", "-m", "unittest"]}],
    });
    (repository, scene.world.write("mine.yaml", contract.to_string()))
}

/// Stages 1 and 2, and the program admitted, so that a copy of a repository may be worked on.
fn climb(scene: &mut Scene) {
    scene.climb();
    let _ = scene.check("the rung below", super::scene::TASK, &Expected::PASS);
    let _ = scene.cto(&["admit", "source", "case"]).expect(0);
    let file = scene.world.here().join("admissions/source/case.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text = testkit::fill_in(&text)
        .replace("status: \"draft\"", "status: admitted")
        .replace("license_status: \"unresolved\"", "license_status: resolved");
    fs::write(&file, text).unwrap();
    scene.set("CTO_HARNESS_CASE_STAGE", "3");
}

#[test]
fn an_old_commit_is_never_the_work() {
    let mut scene = Scene::new(good());
    climb(&mut scene);
    let (repository, contract) = repository(&scene);
    let late = Expected {
        reasons: &["claim_contradicted", "timeout"],
        says: "",
        exit: Some(124),
        stopped_by: "time limit",
        markers: &[TIMEOUT],
    };
    let patched = Expected { reasons: &["lifecycle_timeout_after_valid_patch"], ..late };
    let done = Expected { stopped_by: "harness", markers: &[COMPLETED], ..Expected::PASS };
    for (name, command, seconds, expected) in [
        // HEAD differs from the baseline and the tree is clean in all of them. Objects that lie loose are the ones that are read.
        ("an older commit that lies loose", format!("{UNPACK} && git reset -q --hard HEAD~1"), "6", late),
        ("an older commit of the same tree", "git reset -q --hard HEAD~1".to_owned(), "6", late),
        ("an older commit of another tree", "git checkout -q --detach HEAD~2".to_owned(), "6", patched),
        ("a branch at an older commit", "git checkout -q -b other HEAD~1".to_owned(), "6", late),
        // The control: a commit that the run made.
        ("a new commit", format!("{WORK} && {COMMIT}"), "60", done),
    ] {
        scene.answer(working(&command, json!({})));
        scene.set("CTO_HARNESS_CASE_TIMEOUT_SECONDS", seconds);
        let what = [contract.to_str().unwrap(), "--stage", "3", "--repo", repository.to_str().unwrap()];
        let code = i32::from(!expected.reasons.is_empty());
        let (report, bundle) = scene.run_named(name, &what, code);
        scene.judge(name, &expected, &report, &bundle);
    }
}
