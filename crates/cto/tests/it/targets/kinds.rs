//! Kinds of targets: hooks, bare, worktrees, packed references, submodules, alternates.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use testkit::{each_row, git};

use super::{Scene, bare, reasons};
use crate::world;

type Prepare = fn(&Path) -> PathBuf;

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

/// Puts hooks that leave a mark into a folder.
fn write_hooks(folder: &Path, mark: &Path) {
    fs::create_dir_all(folder).unwrap();
    for hook in ["reference-transaction", "post-commit", "pre-commit", "commit-msg", "post-index-change"] {
        let file = folder.join(hook);
        fs::write(&file, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A target whose hooks lie in its git directory, and one whose configuration names another folder of hooks.
const HOOKED: &[(&str, Prepare)] = &[
    ("in the git directory", |target| {
        write_hooks(&target.join(".git/hooks"), &target.with_extension("hooked"));
        same(target)
    }),
    ("where core.hooksPath says", |target| {
        let folder = target.with_extension("hooks");
        write_hooks(&folder, &target.with_extension("hooked"));
        git(target, ["config", "core.hooksPath", folder.to_str().unwrap()]);
        same(target)
    }),
];

#[test]
fn hooks_of_the_target_never_run() {
    each_row(HOOKED.iter().map(|row| (row.0, row.1)), |prepare| {
        let Some(scene) = Scene::with("hooks_of_the_target_never_run", world(), prepare, &[]) else { return };
        let hooked = scene.target.with_extension("hooked");
        let _ = fs::remove_file(&hooked);
        scene.approve("5");
        assert!(scene.run("5", 0)["target_commit"].is_string());
        assert!(!hooked.exists());
        scene.git(&["branch", "by-git"]);
        assert!(hooked.exists(), "control: git itself runs them");
    });
}

#[test]
fn packed_references_and_a_linked_worktree_are_no_hindrance() {
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
