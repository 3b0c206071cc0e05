//! The repository an engine gets holds what the baseline reaches, and git finds nothing wrong with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tree::{SourceRepository, materialise, work_repository};

use crate::support::{AUTHOR, Node, World, files, git, program, repository, write};

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn check(root: &Path) {
    let held = lines(&git(root, &["cat-file", "--batch-all-objects", "--batch-check"]));
    let reachable = lines(&git(root, &["rev-list", "--objects", "--no-object-names", "HEAD"]));
    assert_eq!(held, reachable);
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    assert_eq!(git(root, &["fsck", "--full", "--strict"]), "");
    assert_eq!(git(root, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(git(root, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(git(root, &["remote"]), "");
    for absent in ["objects/info/alternates", "hooks", "logs", "packed-refs", "info/attributes"] {
        assert!(!root.join(".git").join(absent).exists(), "{absent}");
    }
}

/// If device, inode, ctime and owner differ, as through an overlay, the index still shows that nothing changed: `diff-files` reads no
/// file.
fn unread_elsewhere(world: &World, root: &Path) {
    let elsewhere = world.path("elsewhere");
    assert!(program("cp").arg("-a").args([root, &elsewhere]).status().unwrap().success());
    assert_eq!(git(&elsewhere, &["diff-files", "--name-only"]), "");
    assert_eq!(git(&elsewhere, &["status", "--porcelain"]), "");
    write(&elsewhere.join("lf.txt"), b"b\n");
    assert_eq!(git(&elsewhere, &["status", "--porcelain"]), " M lf.txt", "the same size, and seen all the same");
}

#[test]
fn of_one_commit() {
    let world = World::new();
    let mut nodes = files(&[
        (".gitattributes", "*.txt text eol=crlf\n*.x filter=none ident\n"),
        ("crlf.txt", "a\r\nb\r\n"),
        ("lf.txt", "a\n"),
        ("id.x", "$Id$\n"),
        ("d/e/f", "deep\n"),
        ("odd \"name\n", ""),
    ]);
    nodes.insert(b"run".to_vec(), Node::Executable(b"#!/bin/sh\n".to_vec()));
    nodes.insert(b"link".to_vec(), Node::Link(b"run".to_vec()));
    let base = world.put(&nodes);
    let commit = world.commit(&base, &[]);
    world.commit(&world.put(&files(&[("later", "secret answer\n")])), &[commit]);
    let (root, _) = world.workspace("work", &base);
    work_repository(&root, &world.store, commit, &base, AUTHOR).unwrap();
    check(&root);
    assert_eq!(git(&root, &["rev-parse", "HEAD"]), commit.to_string());
    unread_elsewhere(&world, &root);
    write(&root.join("d/e/f"), b"changed\n");
    assert_eq!(git(&root, &["status", "--porcelain"]), " M d/e/f");
    git(&root, &["commit", "-qam", "changed"]);
    let mut changed = base.clone();
    changed.0.insert(b"d/e/f".to_vec(), world.put(&files(&[("f", "changed\n")])).0[b"f".as_slice()]);
    assert_eq!(
        git(&root, &["rev-parse", "HEAD^{tree}"]),
        changed.tree_id().to_string(),
        "trees of the index are right"
    );
    assert_eq!(git(&root, &["fsck", "--full", "--strict"]), "");
    assert!(git(&root, &["config", "user.email"]).contains('@'));
}

#[test]
fn of_a_source_with_history() {
    let world = World::new();
    let from = world.path("source");
    repository(&from, &[("a", "1\n"), ("d/b", "2\n")]);
    for n in 0..5 {
        write(&from.join("a"), format!("{n}\n").as_bytes());
        git(&from, &["commit", "-qam", "more"]);
    }
    git(&from, &["gc", "-q"]);
    let baseline = SourceRepository::open_repository(&from).unwrap().fetch_into(&world.store).unwrap();
    write(&from.join("answer"), b"the answer\n");
    git(&from, &["add", "-A"]);
    git(&from, &["commit", "-qm", "answer"]);
    git(&from, &["tag", "later"]);
    // The store learns of the later commit too; the engine must not.
    let later = SourceRepository::open_repository(&from).unwrap().fetch_into(&world.store).unwrap();
    assert_ne!(baseline, later);
    let listing = world.store.list_tree(baseline).unwrap();
    let root = world.fresh("work");
    materialise(&world.store, &listing, &root).unwrap();
    work_repository(&root, &world.store, baseline, &listing, AUTHOR).unwrap();
    check(&root);
    assert_eq!(git(&root, &["rev-list", "--count", "HEAD"]), "6");
    assert!(!crate::support::run_git(&root, &["cat-file", "-e", &later.to_string()], b"").status.success());
}

#[test]
fn the_engine_cannot_write_into_the_store() {
    let world = World::new();
    let base = world.put(&files(&[("a", "1\n")]));
    let commit = world.commit(&base, &[]);
    let (root, _) = world.workspace("work", &base);
    work_repository(&root, &world.store, commit, &base, AUTHOR).unwrap();
    use std::os::unix::fs::MetadataExt;
    let mut directories = vec![root.join(".git")];
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let meta = entry.as_ref().unwrap().metadata().unwrap();
            if meta.is_dir() {
                directories.push(entry.unwrap().path());
            } else {
                assert_eq!(meta.nlink(), 1);
            }
        }
    }
}
