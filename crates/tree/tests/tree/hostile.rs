//! A repository that runs programs in every client that reads it runs none for the harness, and hides nothing from it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tree::{Manifest, SourceRepository, changes, ignored, materialise, work_repository};

use crate::support::{AUTHOR, World, files, git, repository, run_git, text, write};

const HOOKS: &[&str] = &[
    "post-index-change",
    "post-checkout",
    "pre-commit",
    "reference-transaction",
    "post-merge",
    "pre-auto-gc",
    "fsmonitor-watchman",
];

struct Trap {
    root: PathBuf,
    marker: PathBuf,
}

impl Trap {
    /// A repository in which every known way to a program leads to one that leaves a marker.
    fn set(world: &World) -> Trap {
        let (root, marker) = (world.path("hostile"), world.path("marker"));
        let evil = world.path("evil.sh");
        write(
            &evil,
            format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat 2>/dev/null\nexit 0\n", marker.display()).as_bytes(),
        );
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        repository(
            &root,
            &[("a.txt", "1\n"), ("f.x", "1\n"), ("t.td", "1\n"), ("nodiff.nd", "1\n"), (".gitignore", "*.ig\n")],
        );
        write(&root.join(".gitattributes"), b"*.x filter=evil ident\n*.td diff=evil\n*.nd -diff\n* merge=evil\n");
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-qm", "attributes"]);
        let trap = Trap { root, marker };
        trap.submodule(world, &evil);
        trap.configure(&trap.root.join(".git"), &evil);
        trap.replace();
        trap
    }

    fn configure(&self, git_dir: &Path, evil: &Path) {
        let evil = evil.display();
        let text = format!(
            "[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\taskPass = {evil}\n\
             [filter \"evil\"]\n\tclean = {evil} clean\n\tsmudge = {evil} smudge\n\trequired = true\n\
             [diff \"evil\"]\n\ttextconv = {evil}\n[diff]\n\texternal = {evil}\n\
             [merge \"evil\"]\n\tdriver = {evil}\n[gpg]\n\tprogram = {evil}\n[alias]\n\tdiff-tree = !{evil}\n\tapply = !{evil}\n"
        );
        write(&git_dir.join("more-config"), text.as_bytes());
        let config = git_dir.join("config");
        let include = format!("{}[include]\n\tpath = more-config\n", fs::read_to_string(&config).unwrap());
        write(&config, include.as_bytes());
        for hook in HOOKS {
            write(&git_dir.join("hooks").join(hook), fs::read(evil.to_string()).unwrap().as_slice());
            fs::set_permissions(git_dir.join("hooks").join(hook), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn submodule(&self, world: &World, evil: &Path) {
        let inner = world.path("inner");
        repository(&inner, &[("x", "1\n")]);
        git(&self.root, &["submodule", "add", "-q", inner.to_str().unwrap(), "mod"]);
        git(&self.root, &["commit", "-qm", "mod"]);
        self.configure(&self.root.join(".git/modules/mod"), evil);
        write(&self.root.join("mod/x"), b"2\n");
    }

    /// A replacement and a graft that show git another tree and another history than HEAD names.
    fn replace(&self) {
        let head = git(&self.root, &["-c", "core.fsmonitor=false", "rev-parse", "HEAD"]);
        let tree = git(&self.root, &["rev-parse", "HEAD^{tree}"]);
        let other = git(&self.root, &["commit-tree", "-m", "replaced", &tree]);
        git(&self.root, &["update-ref", &format!("refs/replace/{head}"), &other]);
        write(&self.root.join(".git/info/grafts"), format!("{head}\n").as_bytes());
    }

    fn sprung(&self) -> bool {
        let sprung = self.marker.exists();
        let _ = fs::remove_file(&self.marker);
        sprung
    }
}

#[test]
fn a_hostile_repository_runs_nothing() {
    let world = World::new();
    let trap = Trap::set(&world);
    trap.sprung();
    write(&trap.root.join("f.x"), b"dirty\n");
    write(&trap.root.join("t.td"), b"dirty\n");
    for control in
        [&["status"][..], &["diff"], &["log", "-p", "-1", "--ext-diff"], &["-C", "mod", "status"], &["add", "f.x"]]
    {
        run_git(&trap.root, control, b"");
        assert!(trap.sprung(), "control: plain git {control:?} runs the program");
    }
    let config = trap.root.join(".git/config");
    let elsewhere =
        format!("{}[core]\n\tworktree = /nonexistent\n\tbare = true\n", fs::read_to_string(&config).unwrap());
    write(&config, elsewhere.as_bytes());

    let source = SourceRepository::open_repository(&trap.root).unwrap();
    let before = source.digest(None).unwrap();
    let status = source.dirty_paths(world.store.git(), &world.fresh("scratch")).unwrap();
    let dirty: Vec<String> = status.dirty.iter().map(|path| text(path)).collect();
    assert_eq!(dirty, ["f.x", "t.td"]);
    let commit = source.fetch_into(&world.store).unwrap();
    let base = world.store.list_tree(commit).unwrap();
    let root = world.fresh("work");
    materialise(&world.store, &base, &root).unwrap();
    work_repository(&root, &world.store, commit, &base, AUTHOR).unwrap();
    let manifest = Manifest::record_workspace(&root, &base).unwrap();
    write(&root.join("f.x"), b"changed $Id$\n");
    write(&root.join("t.td"), b"changed\n");
    trap.configure(&root.join(".git"), &world.path("evil.sh"));
    let after = world.capture(&root, &manifest).listing;
    let (from, to) = (world.store.put_listing(&base).unwrap(), world.store.put_listing(&after).unwrap());
    let patch = world.store.patch(from, to).unwrap();
    assert_eq!(world.store.reapply(&base, &patch).unwrap(), to);
    ignored(&world.store, &base, &[b"x.ig".to_vec()], &world.fresh("rules")).unwrap();
    assert_eq!(source.digest(Some(&before)).unwrap(), before);
    assert!(!trap.sprung(), "the harness ran the program");
    run_git(&root, &["status"], b"");
    assert!(trap.sprung(), "control: plain git in the spoilt workspace runs the program");

    // Neither the replacement nor the graft reached the store.
    assert_eq!(world.store.tree_of(commit).unwrap(), base.tree_id());
    assert_eq!(git(world.store.dir(), &["rev-list", "--count", &commit.to_string()]), "3");
    assert_eq!(
        run_git(&trap.root, &["rev-list", "--count", "HEAD"], b"").stdout,
        b"1\n",
        "control: plain git is deceived"
    );
}

#[test]
fn nothing_an_engine_does_to_its_repository_hides_a_change() {
    let world = World::new();
    let names = ["nd", "x", "assumed", "skipped", "ignored", "excluded", "binary", "export"];
    let mut rows = vec![(".gitattributes", "nd -diff\nx filter=evil -text\nbinary binary\nexport export-ignore\n")];
    rows.extend(names.iter().map(|name| (*name, "one\ntwo\n")));
    let base = world.put(&files(&rows));
    let commit = world.commit(&base, &[]);
    let (root, manifest) = world.workspace("work", &base);
    work_repository(&root, &world.store, commit, &base, AUTHOR).unwrap();
    git(&root, &["update-index", "--assume-unchanged", "assumed"]);
    git(&root, &["update-index", "--skip-worktree", "skipped"]);
    git(&root, &["config", "filter.evil.clean", "printf 'one\\ntwo\\n'"]);
    git(&root, &["config", "core.ignoreStat", "true"]);
    write(&root.join(".gitignore"), b"*\n");
    write(&root.join(".git/info/exclude"), b"*\n");
    write(&root.join(".git/info/attributes"), b"* -diff\n");
    for name in names {
        write(&root.join(name), format!("one\nnow {name}\n").as_bytes());
    }
    write(&root.join("new"), b"new\n");
    let seen = git(&root, &["status", "--porcelain"]);
    assert!(
        !seen.contains("assumed") && !seen.contains("skipped") && !seen.contains("new"),
        "control: hidden from git: {seen}"
    );
    let after = world.capture(&root, &manifest).listing;
    let changed: Vec<String> = changes(&base, &after).iter().map(|change| text(&change.path)).collect();
    assert_eq!(
        changed,
        [".gitignore", "assumed", "binary", "excluded", "export", "ignored", "nd", "new", "skipped", "x"]
    );
    let patch =
        world.store.patch(world.store.put_listing(&base).unwrap(), world.store.put_listing(&after).unwrap()).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    for name in names {
        assert!(patch.contains(&format!("-two\n+now {name}\n")), "{name} in\n{patch}");
    }
    assert_eq!(world.store.reapply(&base, patch.as_bytes()).unwrap(), after.tree_id());
}

#[test]
fn git_is_found_and_new_enough() {
    let git = tree::Git::find_git(&[]).unwrap();
    assert!(git.version().unwrap() >= tree::GitVersion::OLDEST);
}
