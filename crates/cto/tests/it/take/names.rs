//! Names of branches that block others, or are invalid.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use testkit::{git, run_git};

use super::{FILES, Scene, all_but, check_branch, know_operator, objects, run};
use crate::world;

/// Prepares the repository, then asks for a branch and is refused; nothing is written. The same name is taken where nothing
/// is in its way.
fn check(prepare: impl Fn(&Path), branch: &str, said: &str) {
    let scene = Scene::new();
    prepare(&scene.repository);
    let (before, had) = (all_but(&scene.repository, "none"), objects(&scene.repository));
    let refused = scene.take(&["--branch", branch], 3).to_string();
    assert!(refused.contains(said) && refused.contains("cto take"), "{branch}: {refused}");
    assert_eq!((all_but(&scene.repository, "none"), objects(&scene.repository)), (before, had), "{branch}");
    assert!(scene.recorded().is_empty() && !scene.world.home().join("statements").join(scene.run_id()).exists());
    let free = Scene::new();
    let document = free.take(&["--branch", branch], 0);
    check_branch(&free.repository, branch, &free.report, &document);
}

fn branch(repository: &Path, name: &str) {
    git(repository, ["branch", name]);
}

fn packed(repository: &Path, name: &str) {
    branch(repository, name);
    git(repository, ["pack-refs", "--all", "--prune"]);
    assert!(!repository.join(".git/refs/heads").join(name).exists(), "it is packed");
}

#[test]
fn what_is_there_stays_loose_or_packed() {
    check(|r| branch(r, "fix"), "fix", "is there already, at");
    check(|r| packed(r, "fix"), "fix", "is there already, at");
    check(|r| branch(r, "fix"), "fix/one", "cannot be beside fix");
    check(|r| packed(r, "fix"), "fix/one", "cannot be beside fix");
    check(|r| branch(r, "fix/one"), "fix", "cannot be beside fix/");
    check(|r| packed(r, "fix/one"), "fix", "cannot be beside fix/one");
    let symbolic = |r: &Path| drop(git(r, ["symbolic-ref", "refs/heads/fix", "refs/heads/none"]));
    check(symbolic, "fix", "is not simply a commit");
}

#[test]
fn packed_references_are_no_hindrance() {
    let scene = Scene::new();
    packed(&scene.repository, "cto/made/another");
    git(&scene.repository, ["pack-refs", "--all", "--prune"]);
    let before = all_but(&scene.repository, "cto");
    let document = scene.take(&[], 0);
    assert_eq!(all_but(&scene.repository, "cto"), before, "packed-refs is as it was");
    check_branch(&scene.repository, &scene.branch(), &scene.report, &document);
    git(&scene.repository, ["pack-refs", "--all", "--prune"]);
    assert_eq!(scene.take(&[], 0)["was_there"], true, "found where git has put it since");
}

#[test]
fn an_empty_folder_that_git_left_is_no_branch() {
    let scene = Scene::new();
    fs::create_dir_all(scene.repository.join(".git/refs/heads/fix")).unwrap();
    let document = scene.take(&["--branch", "fix"], 0);
    check_branch(&scene.repository, "fix", &scene.report, &document);
}

#[test]
fn a_folder_of_branches_that_leads_elsewhere_is_not_followed() {
    let scene = Scene::new();
    let elsewhere = scene.world.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, scene.repository.join(".git/refs/heads/cto")).unwrap();
    let refused = scene.take(&[], 3).to_string();
    assert!(refused.contains("cannot be beside cto"), "{refused}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    // Control: git itself follows it.
    branch(&scene.repository, "cto/plain");
    assert!(elsewhere.join("plain").is_file());
}

#[test]
fn a_lock_that_stays_is_told_and_nothing_is_forced() {
    let scene = Scene::new();
    let lock = scene.repository.join(".git/refs/heads/fix.lock");
    fs::write(&lock, "").unwrap();
    let refused = scene.take(&["--branch", "fix"], 3).to_string();
    assert!(refused.contains("fix.lock") && refused.contains("remove that file"), "{refused}");
    assert!(lock.is_file() && scene.recorded().is_empty());
    // Control: git is refused by the same lock.
    assert!(!run_git(&scene.repository, ["branch", "fix"]).status.success());
    fs::remove_file(&lock).unwrap();
    let document = scene.take(&["--branch", "fix"], 0);
    check_branch(&scene.repository, "fix", &scene.report, &document);
}

#[test]
fn names_that_git_does_not_take_are_wrong_usage() {
    let scene = Scene::new();
    let before = all_but(&scene.repository, "none");
    for name in
        ["", "a b", "a..b", ".a", "a/.b", "a.lock", "a/b.lock/c", "a//b", "/a", "a/", "a~1", "a^", "a:b", "a?", "a*"]
            .into_iter()
            .chain(["a[b", "a\\b", "a@{b", "a.", "a\u{7f}", "a\tb", "../x", "HEAD"])
    {
        let ran = scene.world.cto(["take", scene.run_id(), &format!("--branch={name}")]).expect(2);
        assert!(ran.stderr.contains("no such name for a branch"), "{name:?}: {}", ran.stderr);
        // Control: git would not have it either.
        assert!(!run_git(&scene.repository, ["branch", name]).status.success(), "{name:?}");
    }
    // Git takes these for something else than a name.
    for name in ["-a", "@", "refs/heads/a"] {
        let _ = scene.world.cto(["take", scene.run_id(), &format!("--branch={name}")]).expect(2);
    }
    assert_eq!(all_but(&scene.repository, "none"), before);
}

#[test]
fn the_contract_names_the_branch() {
    for (policy, expected) in [
        ("fix/<task>", Some("fix/made".to_owned())),
        ("work/<request>/x", Some("work/SUFFIX/x".to_owned())),
        ("current", Some("cto/made/SUFFIX".to_owned())),
        ("a..b", None),
    ] {
        let world = world();
        know_operator(&world);
        let repository = world.repository("source", FILES);
        let report = run(&world, &repository, &[("branch_policy", &format!("\"{policy}\""))]);
        let suffix = report["run_id"].as_str().unwrap().rsplit('-').next().unwrap();
        match expected {
            Some(expected) => {
                let document = world.cto(["take", "@", "--json"]).expect(0).json();
                assert_eq!(document["branch"], expected.replace("SUFFIX", suffix), "{policy}");
            }
            None => {
                let refused = world.cto(["take", "@"]).expect(3);
                assert!(refused.stderr.contains("branch policy") && refused.stderr.contains("--branch NAME"));
            }
        }
    }
}
