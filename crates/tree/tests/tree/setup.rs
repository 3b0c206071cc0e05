//! Layers between the checkout and the program's own: what a setup brought is not the program's, what the program did to it is.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use tree::{FoundCommit, changes, find_commit, find_commit_in_layer};

use crate::capture::{changed_paths, summary};
use crate::layer::PairedWorkspaces;
use crate::overlay::Overlay;
use crate::support::{Node, files, git, write};

const BASE: &[(&str, &str)] = &[("a.py", "1\n"), ("b.py", "2\n"), ("d/e", "3\n"), ("d/f", "4\n"), ("lib/x.so", "5\n")];

fn base() -> PairedWorkspaces {
    let mut nodes = files(BASE);
    nodes.insert(b"l".to_vec(), Node::Link(b"a.py".to_vec()));
    PairedWorkspaces::new(&nodes, &[b"mod"])
}

/// Checks the files of a setup, the changes of the program on top of it, the capture, and the changes against the baseline.
fn check(setup: &str, program: &str, says: &str, changed: &[&str]) {
    let twice = base();
    let layers = [twice.layer("setup", &[], |overlay| overlay.run(setup))];
    let upper = twice.layer("upper", &layers, |overlay| overlay.run(program));
    let found = twice.capture_layer(&upper, &layers);
    let name = format!("after `{setup}`: `{program}`");
    assert_eq!(summary(&found).trim(), says, "{name}");
    assert_eq!(changed_paths(&twice.base, &found), changed, "{name}");
    twice.checkout.check_files(&twice.base).unwrap();
}

#[test]
fn what_only_the_setup_has_is_no_change_until_it_is_changed() {
    let setup = "mkdir -p node_modules/p .venv/bin && echo x > node_modules/p/i.js && ln -s /usr/bin/python3 .venv/bin/py && echo s > s.sh && chmod 755 s.sh";
    check(setup, "true", "", &[]);
    check(setup, "touch s.sh node_modules/p/i.js && chmod 700 s.sh", "", &[]);
    check(setup, "cp s.sh t && rm s.sh && mv t s.sh && chmod 755 s.sh", "", &[]);
    check(setup, "chmod 644 s.sh", "", &["s.sh"]);
    check(setup, "echo t > s.sh", "", &["s.sh"]);
    check(setup, "echo more >> s.sh", "", &["s.sh"]);
    check(setup, "echo y > node_modules/p/i.js", "", &["node_modules/p/i.js"]);
    check(setup, "echo y > node_modules/q", "", &["node_modules/q"]);
    check(setup, "rm -r node_modules s.sh", "", &[]);
    check(setup, "rm -r node_modules && mkdir -p node_modules/p && echo x > node_modules/p/i.js", "", &[]);
    check(setup, "rm .venv/bin/py && ln -s /usr/bin/python3 .venv/bin/py", "", &[]);
    check(
        setup,
        "rm .venv/bin/py && ln -s /bin/sh .venv/bin/py",
        "LinkLeavesRepository .venv/bin/py;",
        &[".venv/bin/py"],
    );
    check(setup, "rm s.sh && mkdir s.sh && echo n > s.sh/n", "", &["s.sh/n"]);
    check(setup, "rm -r node_modules && echo f > node_modules", "", &["node_modules"]);
    check(setup, "mkdir -p node_modules/cache/deep", "empty node_modules/cache;", &[]);
}

#[test]
fn what_the_setup_did_to_the_baseline_is_not_the_programs() {
    let changed = "echo 9 > a.py && chmod 755 b.py";
    check(changed, "true", "", &[]);
    check(changed, "touch a.py b.py", "", &[]);
    check(changed, "echo 8 > a.py", "", &["a.py"]);
    check(changed, "echo 1 > a.py && chmod 644 b.py", "", &[]);
    check(changed, "rm a.py", "", &["a.py"]);
    check("echo 9 > lib/x.so", "touch lib/x.so", "", &[]);
    check("echo 9 > lib/x.so", "echo 8 > lib/x.so", "", &["lib/x.so"]);
    let removed = "rm a.py d/e";
    check(removed, "true", "", &[]);
    check(removed, "echo 1 > a.py", "", &[]);
    check(removed, "echo 8 > a.py", "", &["a.py"]);
    check(removed, "echo 8 > a.py && rm a.py", "", &[]);
    check(removed, "rm -r d", "", &["d/e", "d/f"]);
    check(removed, "rm -r d && mkdir d && echo 4 > d/f", "", &[]);
    check("rm -r d", "mkdir d && echo 8 > d/g", "", &["d/g"]);
    check("rm -r d && echo f > d", "touch d", "", &[]);
    check("rm -r d && echo f > d", "echo g > d", "", &["d", "d/e", "d/f"]);
    check("rm a.py && mkdir a.py && echo s > a.py/s", "touch a.py/s", "", &[]);
    check("rm a.py && mkdir a.py && echo s > a.py/s", "echo t > a.py/s", "", &["a.py", "a.py/s"]);
    check("rm a.py && mkdir a.py", "ln -s b.py a.py/.gitmodules", "GitName a.py/.gitmodules;", &["a.py"]);
    check("rm l && ln -s b.py l", "touch -h l", "", &[]);
    check("rm l && ln -s b.py l", "rm l && ln -s d l", "", &["l"]);
}

#[test]
fn what_no_tree_carries_is_the_programs_only_where_the_program_made_it() {
    check("mkfifo p", "chmod 600 p", "", &[]);
    check("mkfifo p", "mkfifo q", "special q;", &[]);
    check("mkfifo a.py.p && rm a.py", "mkfifo a.py", "special a.py;", &["a.py"]);
    check("mkdir n && git init -q n", "echo > n/f", "", &["n/f"]);
    check("mkdir n && git init -q n", "rm -r n/.git && echo > n/f", "", &["n/f"]);
    check("mkdir n", "git init -q n && echo > n/f", "nested n;", &["n/f"]);
    check("echo > mod/f", "true", "", &[]);
    check("echo > mod/f", "rm mod/f", "", &[]);
    check("echo > mod/f", "echo > mod/g", "GitlinkChanged mod;", &[]);
    check("echo > mod/f", "rm -r mod", "GitlinkChanged mod;", &["mod"]);
    check("rmdir mod", "mkdir mod", "", &[]);
    check("rmdir mod", "true", "", &[]);
    check("echo > .git/MERGE_HEAD", "true", "", &[]);
    check("echo > .git/MERGE_HEAD; echo > .git/refs/stash", "rm .git/MERGE_HEAD .git/refs/stash", "", &[]);
    check("echo > .git/MERGE_HEAD", "echo > .git/refs/stash", "unfinished refs/stash;", &[]);
}

/// Three layers: the topmost that says something about a path is believed.
#[test]
fn setup_layers_hide_each_other() {
    let twice = base();
    let bottom =
        twice.layer("bottom", &[], |overlay| overlay.run("mkdir s && echo 1 > s/x && echo 1 > s/y && echo 9 > a.py"));
    let below = [bottom.clone()];
    let middle = twice.layer("middle", &below, |o| o.run("rm -r s && mkdir s && echo 2 > s/x && rm a.py"));
    let layers = [middle, bottom];
    let program = "echo 2 > t && cat t > s/x && rm t && echo 1 > s/y && echo 9 > a.py";
    let upper = twice.layer("upper", &layers, |overlay| overlay.run(program));
    let found = twice.capture_layer(&upper, &layers);
    assert_eq!(
        changed_paths(&twice.base, &found),
        ["a.py", "s/y"],
        "s/x is as the middle layer has it, s/y is hidden by it"
    );
}

/// Git's view of a workspace of layers: no change at first, and then the changes that were made.
#[test]
fn git_works_on_layers_and_commits_are_found() {
    let twice = base();
    let lower = [twice.checkout.root.clone()];
    let in_git = |overlay: &mut Overlay| {
        // The index alone tells that nothing changed: this reads no file again.
        overlay.run("test -z \"$(git diff-files --name-only)\"");
        overlay.run("test -z \"$(git status --porcelain)\"");
        overlay.run("echo 8 > a.py && git commit -qam changed");
    };
    let upper = twice.layer("upper", &[], in_git);
    let packs = |upper: &Path| fs::read_dir(upper.join(".git/objects/pack")).into_iter().flatten().count();
    assert_eq!(packs(&upper), 0, "a commit copies no history up");
    let found = twice.capture_layer(&upper, &[]);
    assert_eq!(changed_paths(&twice.base, &found), ["a.py"]);
    let made = fs::read_to_string(upper.join(".git/refs/heads/main")).unwrap();
    let began = git(&twice.copy, &["rev-parse", "HEAD"]);
    let find = |lower: &[PathBuf], id: &str| find_commit_in_layer(fs::File::open(&upper).unwrap().as_fd(), lower, id);
    let tree = FoundCommit::Tree(found.listing.tree_id());
    let never = "0123456789abcdef0123456789abcdef01234567";
    for (id, expected) in [
        (made.trim(), tree),
        (&made[..7], tree),
        (&made.to_uppercase()[..9], tree),
        (&made[..6], FoundCommit::Absent),
        (&began, FoundCommit::Absent),
        (never, FoundCommit::Absent),
        ("not hex at all", FoundCommit::Absent),
        ("", FoundCommit::Absent),
    ] {
        assert_eq!(find(&lower, id), expected, "{id}");
    }
    twice.layer("upper", &[], |overlay| overlay.run("touch .git/objects/pack/*.pack"));
    assert!(packs(&upper) > 0, "copied up");
    assert_eq!((find(&lower, never), find(&[], never)), (FoundCommit::Absent, FoundCommit::Unknown));
    twice.layer("upper", &[], |overlay| overlay.run("git gc -q"));
    assert_eq!(find(&lower, made.trim()), FoundCommit::Unknown);
    twice.checkout.check_files(&twice.base).unwrap();
}

#[test]
fn commits_are_found_in_a_copy() {
    let twice = base();
    let began = git(&twice.copy, &["rev-parse", "HEAD"]);
    assert_eq!(find_commit(&twice.copy, &began), FoundCommit::Absent, "not made here");
    write(&twice.copy.join("a.py"), b"8\n");
    git(&twice.copy, &["commit", "-qam", "changed"]);
    let made = git(&twice.copy, &["rev-parse", "HEAD"]);
    let tree = FoundCommit::Tree(twice.capture_copy().listing.tree_id());
    assert_eq!((find_commit(&twice.copy, &made), find_commit(&twice.copy, &made[..8])), (tree, tree));
    assert_eq!(find_commit(&twice.world.path("nowhere"), &made), FoundCommit::Absent);
    // What stands under a name must be what the name says.
    let loose = |id: &str| twice.copy.join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let other = loose("0123456789abcdef0123456789abcdef01234567");
    write(&other, &fs::read(loose(&made)).unwrap());
    assert_eq!(find_commit(&twice.copy, "0123456789abcdef0123456789abcdef01234567"), FoundCommit::Absent);
    git(&twice.copy, &["repack", "-q", "-d"]);
    assert_eq!(find_commit(&twice.copy, &made), FoundCommit::Unknown);
}

/// A layer of a program that did nothing but look costs nothing and says nothing.
#[test]
fn an_empty_layer_is_the_baseline() {
    let twice = base();
    let upper: PathBuf =
        twice.layer("upper", &[], |overlay| overlay.run("cat a.py d/* > /dev/null && find . > /dev/null"));
    let found = twice.capture_layer(&upper, &[]);
    assert_eq!(changes(&twice.base, &found.listing), []);
    assert_eq!(summary(&found), "");
}
