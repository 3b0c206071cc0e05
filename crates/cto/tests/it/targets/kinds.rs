//! Kinds of targets: hooks, bare, worktrees, packed references, submodules, alternates.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use testkit::git;

use super::{Scene, bare, reasons};
use crate::world;

fn same(target: &Path) -> PathBuf {
    target.to_owned()
}

/// The reasons of a run on a target that was prepared so, and its branches afterwards.
fn check(test: &str, prepare: fn(&Path) -> PathBuf, changes: &[(&str, &str)], code: i32) -> Option<(String, usize)> {
    let scene = Scene::with(test, world(), prepare, changes)?;
    if code == 0 {
        scene.approve("5");
    }
    let before = scene.untouched();
    let report = scene.run("5", code);
    assert!(code != 0 || report["target_commit"].is_string(), "{report:#}");
    if !changes.iter().any(|(key, _)| *key == "branch_policy") {
        assert_eq!(scene.untouched(), before);
    }
    let _ = scene.world.cto(["verify", "@"]).expect(0);
    Some((reasons(&report), scene.branches().len()))
}

#[test]
fn hooks_of_the_target_never_run() {
    let Some(scene) = Scene::with(
        "hooks_of_the_target_never_run",
        world(),
        |target| {
            for hook in ["reference-transaction", "post-commit", "pre-commit", "commit-msg", "post-index-change"] {
                let file = target.join(".git/hooks").join(hook);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, format!("#!/bin/sh\ntouch {}\n", target.with_extension("hooked").display())).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            }
            same(target)
        },
        &[],
    ) else {
        return;
    };
    let hooked = scene.target.with_extension("hooked");
    scene.approve("5");
    scene.run("5", 0);
    assert!(!hooked.exists());
    scene.git(&["branch", "by-git"]);
    assert!(hooked.exists(), "control: git itself runs them");
}

#[test]
fn packed_references_and_a_linked_worktree_are_no_hindrance() {
    type Prepare = fn(&Path) -> PathBuf;
    let rows: &[(&str, Prepare)] = &[
        ("packed", |target| {
            git(target, ["pack-refs", "--all"]);
            git(target, ["gc", "-q"]);
            same(target)
        }),
        ("worktree", |target| {
            let linked = target.with_extension("linked");
            git(target, ["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
            linked
        }),
        ("bare", bare),
    ];
    for (name, prepare) in rows {
        let Some(found) = check("packed_references_and_a_linked_worktree_are_no_hindrance", *prepare, &[], 0) else {
            return;
        };
        assert_eq!(found, (String::new(), 1), "{name}");
    }
}

#[test]
fn the_current_branch_is_moved_only_where_no_work_tree_has_it() {
    let test = "the_current_branch_is_moved_only_where_no_work_tree_has_it";
    let current = [("branch_policy", "current")];
    let Some(found) = check(test, same, &current, 3) else { return };
    assert!(found.0.contains("gate_missing"), "{found:?}");
    let Some(found) = check(test, bare, &current, 0) else { return };
    assert_eq!(found, (String::new(), 0), "control: a bare repository's own branch is moved");
}

#[test]
fn a_target_that_cannot_be_read_whole_is_refused() {
    let test = "a_target_that_cannot_be_read_whole_is_refused";
    let alternates: fn(&Path) -> PathBuf = |target| {
        let info = target.join(".git/objects/info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("alternates"), "/nowhere/objects\n").unwrap();
        same(target)
    };
    let Some(found) = check(test, alternates, &[], 3) else { return };
    assert!(found.0.contains("source_missing"), "{found:?}");
    let dirty: fn(&Path) -> PathBuf = |target| {
        fs::write(target.join("a.txt"), "three\n").unwrap();
        same(target)
    };
    let Some(found) = check(test, dirty, &[], 3) else { return };
    assert!(found.0.contains("dirty_starting_tree"), "{found:?}");
}
