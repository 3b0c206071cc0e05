//! Source repositories that want to be more than data: they run nothing, hide nothing, and stay as they are.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{World, content_digest, git, program, run_git};

use crate::world;

/// A run of a made case on `source`; gives its report and its bundle. The source must be what it was.
fn check(world: &World, source: &Path, changes: &[(&str, &str)], exit: i32) -> (Value, PathBuf) {
    world.case("made", changes);
    let before = content_digest(source, &[]);
    let report = world.cto(["run", "./made", "--json", "--repo", source.to_str().unwrap()]).expect(exit).json();
    assert_eq!(content_digest(source, &[]), before, "the source is what it was");
    let run_id = report["run_id"].as_str().unwrap().to_owned();
    let _ = world.cto(["verify", &run_id]).expect(0);
    let bundle = world.bundles().join(run_id);
    (report, bundle)
}

/// A program that leaves a marker when it runs, and every way of git to such a program.
struct Trap {
    root: PathBuf,
    program: PathBuf,
    marker: PathBuf,
}

impl Trap {
    fn set(world: &World) -> Self {
        let (program, marker) = (world.path().join("evil.sh"), world.path().join("marker"));
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat 2>/dev/null\nexit 0\n", marker.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let attributes = "*.x filter=evil ident\n*.p filter=evil-process\n*.td diff=evil\n* merge=evil\n";
        let root = world.repository(
            "source",
            &[("a.txt", "one\n"), ("f.x", "1\n"), ("f.p", "1\n"), ("t.td", "1\n"), (".gitattributes", attributes)],
        );
        let trap = Self { root, program, marker };
        trap.submodule(world);
        trap.configure(&trap.root.join(".git"));
        trap
    }

    fn submodule(&self, world: &World) {
        let inner = world.repository("inner", &[("x", "1\n")]);
        git(&self.root, ["submodule", "add", "-q", inner.to_str().unwrap(), "mod"]);
        git(&self.root, ["commit", "-qm", "submodule"]);
        self.configure(&self.root.join(".git/modules/mod"));
    }

    fn configure(&self, git_dir: &Path) {
        let evil = self.program.display();
        let text = format!(
            "[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\
             [filter \"evil\"]\n\tclean = {evil} clean\n\tsmudge = {evil} smudge\n\trequired = true\n\
             [filter \"evil-process\"]\n\tprocess = {evil} process\n\
             [diff \"evil\"]\n\ttextconv = {evil}\n[diff]\n\texternal = {evil}\n\
             [merge \"evil\"]\n\tdriver = {evil}\n[gpg]\n\tprogram = {evil}\n[alias]\n\tdiff-tree = !{evil}\n"
        );
        fs::write(git_dir.join("more-config"), text).unwrap();
        let config = git_dir.join("config");
        let include = fs::read_to_string(&config).unwrap() + "[include]\n\tpath = more-config\n";
        fs::write(&config, include).unwrap();
        for hook in ["post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"]
        {
            fs::create_dir_all(git_dir.join("hooks")).unwrap();
            fs::copy(&self.program, git_dir.join("hooks").join(hook)).unwrap();
        }
    }

    fn sprung(&self) -> bool {
        let sprung = self.marker.exists();
        let _ = fs::remove_file(&self.marker);
        sprung
    }
}

#[test]
fn a_hostile_source_runs_nothing() {
    let world = world();
    let trap = Trap::set(&world);
    trap.sprung();
    let config = trap.root.join(".git/config");
    let plain = fs::read(&config).unwrap();
    let with_worktree = [plain.as_slice(), b"[core]\n\tworktree = /nonexistent\n"].concat();

    fs::write(&config, with_worktree).unwrap();
    let (report, _) = check(&world, &trap.root, &[], 0);
    assert!(!trap.sprung(), "the harness ran the program");
    assert_eq!(report["changed_files"], json!(["a.txt"]));
    assert_eq!(report["source_repository_mutated"], false);

    fs::write(&config, plain).unwrap();
    fs::write(trap.root.join("f.x"), "dirty\n").unwrap();
    fs::write(trap.root.join("t.td"), "dirty\n").unwrap();
    let (report, _) = check(&world, &trap.root, &[], 3);
    assert_eq!(report["blocker_reasons"], json!(["dirty_starting_tree"]));
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("`f.x` and 1 more"), "{}", report["blockers"]);
    assert!(!trap.sprung(), "the harness ran the program");

    for control in [&["status"][..], &["diff"], &["-C", "mod", "status"], &["add", "f.x"]] {
        run_git(&trap.root, control);
        assert!(trap.sprung(), "control: plain git {control:?} runs it");
    }
}

#[test]
fn attributes_and_index_bits_hide_nothing() {
    let world = world();
    let names = ["nodiff", "binary", "exported", "filtered", "assumed", "skipped", "a.txt"];
    let attributes = "nodiff -diff\nbinary binary\nexported export-ignore\nfiltered filter=same\n";
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "one\n")).collect();
    files.push((".gitattributes", attributes));
    let source = world.repository("source", &files);
    git(&source, ["config", "filter.same.clean", "cat >/dev/null; echo one"]);

    // What the engine changes stands in the patch, line by line.
    let steps: Vec<Value> = names.iter().map(|name| json!({"write": {"path": name, "text": "two\n"}})).collect();
    let fake = json!({"steps": steps}).to_string();
    let (report, bundle) = check(&world, &source, &[("fake", &fake), ("allowed_paths", "[\"**\"]")], 0);
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    assert_eq!(report["changed_files"], json!(sorted));
    let patch = fs::read_to_string(bundle.join("patch.diff")).unwrap();
    assert_eq!(patch.matches("-one\n+two\n").count(), names.len(), "{patch}");

    // What the operator left unfinished is seen, though git is told not to look.
    git(&source, ["update-index", "--assume-unchanged", "assumed"]);
    git(&source, ["update-index", "--skip-worktree", "skipped"]);
    for name in ["assumed", "filtered", "skipped"] {
        // As long as it was: git looks no further where the size says enough.
        fs::write(source.join(name), "own\n").unwrap();
    }
    let status = ["--no-optional-locks", "status", "--porcelain"];
    assert_eq!(git(&source, status), "", "control: plain git is deceived");
    let (report, bundle) = check(&world, &source, &[], 3);
    assert_eq!(report["blocker_reasons"], json!(["dirty_starting_tree"]));
    let trace = fs::read_to_string(bundle.join("trace.jsonl")).unwrap();
    assert!(trace.contains(r#""dirty_paths":["assumed","filtered","skipped"]"#), "{trace}");
}

/// Objects of another repository are not the source's to give.
#[test]
fn a_source_that_borrows_objects_is_refused() {
    let world = world();
    let source = world.repository("source", &[("a.txt", "one\n")]);
    let other = world.repository("other", &[("a.txt", "one\n"), ("b.txt", "only there\n")]);
    let alternates = format!("{}\n", other.join(".git/objects").display());
    fs::write(source.join(".git/objects/info/alternates"), alternates).unwrap();
    git(&source, ["cat-file", "-e", &git(&other, ["rev-parse", "HEAD"])]);
    let (report, _) = check(&world, &source, &[], 3);
    assert_eq!(report["blocker_reasons"], json!(["source_missing"]));
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("objects/info/alternates"));
}

/// Questions of the engine to its repository. A source that knows more than its HEAD has to hide the answers.
const ASK: &str = "git log --all --format=%s; echo --; git tag; git branch -a --format='%(refname)'; git remote; \
    git notes list; git stash list; git reflog --all --format=%gs; cat .git/objects/info/alternates; \
    git cat-file --batch-all-objects --batch-check | wc -l; echo --; git rev-list --count HEAD; \
    for id in $(cat later.txt); do git cat-file -e $id && echo found $id; done";

#[test]
fn the_workspace_knows_nothing_but_its_baseline() {
    let world = world();
    let source = world.repository("source", &[("a.txt", "one\n")]);
    let base = git(&source, ["rev-parse", "HEAD"]);
    fs::write(source.join("a.txt"), "two\n").unwrap();
    git(&source, ["commit", "-qam", "the answer"]);
    let answer = git(&source, ["rev-parse", "HEAD"]);
    git(&source, ["tag", "v2"]);
    git(&source, ["notes", "add", "-m", "a note", &base]);
    git(&source, ["branch", "later"]);
    git(&source, ["remote", "add", "origin", "https://example.invalid/secret.git"]);
    git(&source, ["reset", "-q", "--hard", &base]);
    fs::write(source.join("a.txt"), "stashed\n").unwrap();
    git(&source, ["stash", "-q"]);
    fs::write(source.join("later.txt"), format!("{answer}\nstash@{{0}}\nv2\nORIG_HEAD\n")).unwrap();
    git(&source, ["add", "later.txt"]);
    git(&source, ["commit", "-qm", "baseline"]);
    let asked = program("sh", &source).args(["-c", ASK]).output().unwrap();
    let known = String::from_utf8(asked.stdout).unwrap();
    for word in ["the answer", "v2", "origin", "refs/heads/later", &format!("found {answer}")] {
        assert!(known.contains(word), "control: the source knows {word}: {known}");
    }

    let fake = json!({"steps": [
        {"run": {"argv": ["sh", "-c", ASK]}},
        {"write": {"path": "a.txt", "text": "two\n"}},
    ]});
    let (_, bundle) = check(&world, &source, &[("fake", &fake.to_string())], 0);
    let said = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with('{')).collect();
    insta::assert_snapshot!(said.join("\n"), @"
    baseline
    first
    --
    refs/heads/main
    6
    --
    2
    ");
}

/// Names, modes and contents that patches are known to stumble over.
#[test]
fn the_patch_of_odd_files_applies_with_plain_git() {
    let world = world();
    let source = world.repository("source", &[("a.txt", "one\n")]);
    let odd: &[(&[u8], &[u8])] = &[
        (b"new\nline", b"one\n"),
        (b"tab\there", b"one\n"),
        (b"quote\"and'back\\slash", b"one\n"),
        (b"-leading-dash", b"one\n"),
        ("nfc-\u{e9}".as_bytes(), b"one\n"),
        ("nfd-e\u{301}".as_bytes(), b"one\n"),
        (b" space ", b"one\n"),
        (b"crlf", b"one\r\ntwo\r\n"),
        (b"no-final-newline", b"one"),
        (b"binary", b"\0\x01\xff\xfe\0"),
        (b"gone", b"one\n"),
        (b"becomes-a-link", b"one\n"),
        (b"mode", b"one\n"),
        (b"dir/deep/file", b"one\n"),
    ];
    for (name, bytes) in odd {
        let path = source.join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    symlink("a.txt", source.join("link")).unwrap();
    git(&source, ["add", "-A"]);
    git(&source, ["commit", "-qm", "odd"]);
    let change = r#"
        for name in "$(printf 'new\nline')" "$(printf 'tab\there')" "quote\"and'back\\slash" -leading-dash nfc-* nfd-* ' space '; do
            printf 'two\n' > "./$name"
        done
        printf 'one\r\ntwo\r\nthree' > crlf
        printf 'two' > no-final-newline
        printf '\000\001\377\000new' > binary
        printf '\000' > new-binary
        rm gone becomes-a-link
        ln -s dir/deep/file becomes-a-link
        ln -sfn crlf link
        chmod +x mode
        : > empty
        rm -r dir; printf 'now a file\n' > dir
        mkdir -p -- '-x/y z'; printf 'new\n' > "./-x/y z/$(printf 'n\nl')"
        printf 'two\n' > a.txt
    "#;
    let fake = json!({"steps": [{"run": {"argv": ["sh", "-ec", change]}}]}).to_string();
    let changes = [("fake", fake.as_str()), ("allowed_paths", "[\"**\", \"binary\", \"new-binary\"]")];
    let (report, bundle) = check(&world, &source, &changes, 0);
    assert_eq!(report["changed_files"].as_array().unwrap().len(), 20, "{:#}", report["changed_files"]);

    let clone = world.path().join("clone");
    git(world.path(), ["clone", "-q", source.to_str().unwrap(), clone.to_str().unwrap()]);
    git(&clone, ["apply", "--index", bundle.join("patch.diff").to_str().unwrap()]);
    assert_eq!(report["result_tree"], git(&clone, ["write-tree"]));
    assert_eq!(git(&clone, ["status", "--porcelain", "-z"]).matches('\0').count(), 20, "the files are there too");
}
