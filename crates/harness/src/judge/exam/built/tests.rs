//! Remains of a build in the exam's tree, in the folder of its changes.
#![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

use std::fs;
use std::os::unix::fs::symlink;

use contract::Ecosystem;
use serde_json::json;
use tempfile::TempDir;
use tree::{ListingEntry as TreeEntry, Oid, PathMode};

use super::*;
use crate::run::tests::contract;

const TREE: &[&str] = &["app.py", "tests/test_a.py", "tests/data/x.txt", "src/deep/b.py"];

fn listing() -> Listing {
    let entry = TreeEntry { mode: PathMode::File, oid: Oid([1; 20]) };
    Listing(TREE.iter().map(|path| (path.as_bytes().to_vec(), entry)).collect())
}

/// Writes what a build made.
fn changes(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

struct Left {
    restored: Vec<String>,
    rewritten: Vec<String>,
    hooks: BTreeMap<String, Digest>,
    made: BTreeSet<String>,
}

/// Restores the exam; `of_baseline` are the hooks that the baseline's build makes, or that it is the one.
fn restore(folder: &TempDir, of_baseline: Option<&[(&str, &str)]>) -> Left {
    let (listing, rules) = (listing(), contract(json!({})).path_rules(&[Ecosystem::Python]).unwrap());
    let digests = |known: &[(&str, &str)]| {
        known.iter().map(|(path, text)| ((*path).to_owned(), Digest::of_bytes(text.as_bytes()))).collect()
    };
    let restoring = Restoring {
        listing: &listing,
        rules: &rules,
        of_baseline: of_baseline.map(digests),
        rewritten: Vec::new(),
        restored: Vec::new(),
        hooks: BTreeMap::new(),
        made: BTreeSet::new(),
    };
    let Restoring { mut rewritten, mut restored, hooks, made, .. } = restoring.restore(folder.path()).unwrap();
    rewritten.sort();
    restored.sort();
    Left { restored, rewritten: rewritten.iter().map(|path| path_text(path)).collect(), hooks, made }
}

#[test]
fn a_file_of_the_exam_that_a_build_wrote_is_put_back() {
    let folder = changes(&[("app.py", "x"), ("tests/test_a.py", "x"), ("tests/data/x.txt", "x")]);
    let left = restore(&folder, Some(&[]));
    assert_eq!(left.restored, ["tests/data/x.txt", "tests/test_a.py"]);
    assert_eq!(left.rewritten, ["app.py"], "a file of the tree that is no exam");
    assert!(folder.path().join("app.py").exists() && !folder.path().join("tests/test_a.py").exists());
}

#[test]
fn a_file_in_the_place_of_a_folder_of_the_exam_is_taken_out() {
    let folder = changes(&[("tests", "x"), ("src", "x")]);
    assert_eq!(restore(&folder, Some(&[])).restored, ["tests"], "`src` holds nothing of the exam");
    let link = changes(&[]);
    symlink("/nowhere", link.path().join("tests")).unwrap();
    assert_eq!(restore(&link, Some(&[])).restored, ["tests"]);
}

/// New files, by where they lie and what they are.
#[test]
fn a_new_file_that_runs_unasked_or_configures_is_taken_out() {
    for (path, text, is_hook) in [
        ("conftest.py", "x", true),
        ("out/deep/conftest.py", "x", true),
        ("out/sitecustomize.py", "x", true),
        ("pytest.ini", "x", true),
        ("src/deep/pytest.ini", "x", true),
        ("out/pytest.ini", "x", false),
        ("out/helper.py", "x", false),
        ("pkg.dist-info/entry_points.txt", "[pytest11]\n", true),
        ("pkg.dist-info/entry_points.txt", "[console_scripts]\n", false),
    ] {
        let folder = changes(&[(path, text)]);
        let left = restore(&folder, Some(&[]));
        assert_eq!(left.restored, if is_hook { vec![path] } else { Vec::new() }, "{path}");
        assert_eq!(folder.path().join(path).exists(), !is_hook, "{path}");
        assert!(left.rewritten.is_empty() && left.made.is_empty(), "{path}");
    }
}

#[test]
fn a_hook_that_the_build_of_the_baseline_makes_too_stays() {
    for (path, before, now, stays) in [
        ("conftest.py", "x", "x", true),
        ("conftest.py", "x", "y", false),
        ("pytest.ini", "x", "y", true),
        ("a/entry_points.txt", "pytest11", "pytest11", true),
        ("a/entry_points.txt", "pytest11", "pytest11 y", false),
    ] {
        let left = restore(&changes(&[(path, now)]), Some(&[(path, before)]));
        assert_eq!(left.restored.is_empty(), stays, "{path} {now}");
        assert_eq!(left.hooks.contains_key(path), stays, "{path} {now}");
    }
    let other = restore(&changes(&[("pytest.ini", "x")]), Some(&[("conftest.py", "x")]));
    assert_eq!(other.restored, ["pytest.ini"], "another one");
}

#[test]
fn the_build_of_the_baseline_is_written_down() {
    let folder = changes(&[
        ("conftest.py", "x"),
        ("out/a/b.txt", "x"),
        ("out/c.txt", "x"),
        ("src/new.txt", "x"),
        ("app.py", "x"),
    ]);
    let left = restore(&folder, None);
    assert!(left.restored.is_empty());
    assert_eq!(left.hooks, BTreeMap::from([("conftest.py".to_owned(), Digest::of_bytes(b"x"))]));
    assert_eq!(left.made.iter().map(String::as_str).collect::<Vec<_>>(), ["conftest.py", "out", "src/new.txt"]);
    assert_eq!(left.rewritten, ["app.py"]);
    let link = changes(&[]);
    symlink("app.py", link.path().join("conftest.py")).unwrap();
    assert_eq!(restore(&link, None).restored, ["conftest.py"], "a hook is a plain file");
}
