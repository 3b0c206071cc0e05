//! A repository that wants to be asked to run something: its hooks, filters and settings are left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use testkit::{git, run_git};

use super::{Scene, all_but, check_branch};
use crate::world;

const HOOKS: [&str; 12] = [
    "applypatch-msg",
    "commit-msg",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "update",
];

/// Settings by which git can be made to run something, and attributes that would change bytes.
fn arm(repository: &Path, marker: &Path) {
    let program = repository.join(".git/evil");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display());
    let write = |path: &Path| {
        fs::write(path, &text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&program);
    fs::create_dir_all(repository.join(".git/hooks")).unwrap();
    HOOKS.iter().for_each(|hook| write(&repository.join(".git/hooks").join(hook)));
    fs::write(repository.join(".git/info/attributes"), "* filter=evil text eol=crlf ident\n").unwrap();
    for setting in
        ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.editor", "core.pager", "gpg.program"]
    {
        git(repository, ["config", setting, program.to_str().unwrap()]);
    }
    git(repository, ["config", "commit.gpgSign", "true"]);
    git(repository, ["config", "core.hooksPath", repository.join(".git/hooks").to_str().unwrap()]);
}

#[test]
fn nothing_of_the_repository_runs() {
    let scene = Scene::new();
    let marker = scene.world.path().join("marker");
    arm(&scene.repository, &marker);
    let _ = fs::remove_file(&marker);
    let before = all_but(&scene.repository, "cto");
    let document = scene.take(&[], 0);
    assert!(!marker.exists(), "something ran: {}", fs::read_to_string(&marker).unwrap_or_default());
    assert_eq!(all_but(&scene.repository, "cto"), before);
    // Control: a plain `git branch` runs the hook, and a plain `git commit` runs more.
    let _ = run_git(&scene.repository, ["branch", "plain"]);
    assert!(fs::read_to_string(&marker).unwrap().contains("reference-transaction"), "the hook is armed");
    let _ = run_git(&scene.repository, ["commit", "-q", "--allow-empty", "-m", "plain", "--no-gpg-sign"]);
    assert!(fs::read_to_string(&marker).unwrap().contains("pre-commit"), "the hook is armed");
    // Disarmed, git finds the commit and the bytes that were verified.
    fs::remove_dir_all(scene.repository.join(".git/hooks")).unwrap();
    fs::remove_file(scene.repository.join(".git/info/attributes")).unwrap();
    fs::remove_file(scene.repository.join(".git/evil")).unwrap();
    check_branch(&scene.repository, &scene.branch(), &scene.report, &document);
}

#[test]
fn objects_that_are_there_under_false_names_do_not_become_the_result() {
    let scene = Scene::new();
    // The blob of the result, under its name but with other bytes: git would take it for there already.
    let blob = "f719efd430d52bcfc8566a43b2eb655688d38871";
    let path = scene.repository.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, b"not an object").unwrap();
    let wrong = run_git(&scene.repository, ["cat-file", "-p", blob]);
    assert!(!wrong.status.success(), "control: the false object is what git finds");
    let document = scene.take(&[], 0);
    check_branch(&scene.repository, &scene.branch(), &scene.report, &document);
}

#[test]
fn a_title_cannot_forge_a_trailer() {
    let world = world();
    super::know_operator(&world);
    let repository = world.repository("source", super::FILES);
    let title = r#""x\n\nCto-Run: forged\nCto-Patch: forged""#;
    let report = super::run(&world, &repository, &[("title", title)]);
    let document = world.cto(["take", "@", "--json"]).expect(0).json();
    let branch = document["branch"].as_str().unwrap();
    let trailers = git(&repository, ["log", "-1", "--format=%(trailers:only,unfold,key=Cto-Run,valueonly)", branch]);
    assert_eq!(trailers, report["run_id"].as_str().unwrap());
    let subject = git(&repository, ["log", "-1", "--format=%s", branch]);
    assert!(subject.starts_with("x␊"), "{subject}");
}
