//! `cto take`: a verified patch on a new branch, and nothing else of the repository touched.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod changed;
mod hostile;
mod killed;
mod names;
mod refused;
mod together;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use contract::Digest;
use serde_json::{Value, json};
use testkit::{World, content_digest, git};

use crate::world;

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("deep/er/b.txt", "stays\n")];

/// A world with an operator that git knows, a repository and a run on it that passed.
struct Scene {
    world: World,
    repository: PathBuf,
    report: Value,
}

impl Scene {
    fn new() -> Self {
        Self::with(world(), FILES, |_| {})
    }

    /// `prepare` gets the repository before anything runs.
    fn with(world: World, files: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Self {
        know_operator(&world);
        let repository = world.repository("source", files);
        prepare(&repository);
        let report = run(&world, &repository, &[]);
        Self { world, repository, report }
    }

    fn run_id(&self) -> &str {
        self.report["run_id"].as_str().unwrap()
    }

    fn bundle(&self) -> PathBuf {
        self.world.bundles().join(self.run_id())
    }

    fn suffix(&self) -> &str {
        self.run_id().rsplit('-').next().unwrap()
    }

    fn branch(&self) -> String {
        format!("cto/made/{}", self.suffix())
    }

    /// Takes with more words and gives the document.
    fn take(&self, more: &[&str], code: i32) -> Value {
        let words = ["take", self.run_id(), "--json"].into_iter().chain(more.iter().copied());
        self.world.cto(words).expect(code).json()
    }

    fn recorded(&self) -> Vec<Value> {
        recorded(&self.world, self.run_id())
    }
}

fn know_operator(world: &World) {
    fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
}

/// A run on the repository that passes; gives its report.
fn run(world: &World, repository: &Path, changes: &[(&str, &str)]) -> Value {
    let case = world.case("case", changes);
    let words = ["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"];
    world.cto(words).expect(0).json()
}

/// The bodies of the ledger's entries that say a patch was taken.
fn recorded(world: &World, run: &str) -> Vec<Value> {
    let ledger = ledger::Ledger::open_existing_read_only(&world.home().join("ledger.db")).unwrap();
    assert!(ledger.verify().unwrap().problems.is_empty());
    let entries = ledger.run_entries(&run.to_owned().try_into().unwrap()).unwrap().into_iter();
    entries.filter(|entry| entry.kind == "patch.taken").map(|entry| entry.body).collect()
}

/// Every object file by its bytes.
fn objects(repository: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => walk(&path, found),
                path => drop(found.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&repository.join(".git/objects"), &mut found);
    found
}

/// All of a repository but its objects and the branches of one folder: work tree, index, HEAD, refs, logs, configuration, hooks.
fn all_but(repository: &Path, branches: &str) -> Digest {
    content_digest(repository, &[".git/objects", &format!(".git/refs/heads/{branches}")])
}

/// Checks a taken branch with the operator's own git.
fn check_branch(repository: &Path, branch: &str, report: &Value, document: &Value) {
    let of = |what: &str| git(repository, ["rev-parse", &format!("{branch}{what}")]);
    assert_eq!(of(""), document["commit"].as_str().unwrap());
    assert_eq!(of("^{tree}"), report["result_tree"].as_str().unwrap());
    assert_eq!(of("^@"), report["baseline_commit"].as_str().unwrap(), "one parent, the baseline");
    git(repository, ["fsck", "--strict", "--full"]);
    assert_eq!(git(repository, ["show", &format!("{branch}:a.txt")]), "two");
}

#[test]
fn a_patch_is_one_commit_on_a_new_branch_and_nothing_else_changed() {
    let scene = Scene::new();
    let repository = &scene.repository;
    let (before, had) = (all_but(repository, "cto"), objects(repository));
    let document = scene.take(&[], 0);
    assert_eq!(all_but(repository, "cto"), before, "work tree, index, HEAD, other refs and settings are as they were");
    let has = objects(repository);
    assert!(had.iter().all(|(path, bytes)| has.get(path) == Some(bytes)), "no object was touched");
    assert_eq!(has.len() - had.len(), 3, "a blob, a tree, a commit; what was there is not written again");
    assert_eq!(document["branch"], scene.branch());
    check_branch(repository, &scene.branch(), &scene.report, &document);
    let refs = git(repository, ["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs.lines().count(), 2, "{refs}");

    let text = |format: &str| git(repository, ["log", "-1", &format!("--format={format}"), &scene.branch()]);
    assert_eq!(text("%an <%ae> %cn <%ce>"), "Ada <ada@example.invalid> Ada <ada@example.invalid>");
    assert_eq!(text("%s"), "turn one into two");
    let body = text("%b");
    assert!(body.contains("Verified: ") && body.contains("exam: 1 of 1 held"), "{body}");
    let patch = Digest::of_bytes(&fs::read(scene.bundle().join("patch.diff")).unwrap());
    let trailers = text("%(trailers:only,unfold)");
    let contract = scene.report["contract_digest"].as_str().unwrap();
    assert_eq!(trailers, format!("Cto-Run: {}\nCto-Contract: {contract}\nCto-Patch: {patch}", scene.run_id()));
}

#[test]
fn it_is_signed_recorded_and_kept() {
    let scene = Scene::new();
    let before = content_digest(&scene.bundle(), &[]);
    let document = scene.take(&[], 0);
    assert_eq!(content_digest(&scene.bundle(), &[]), before, "the bundle is only read");
    let statement = fs::read(document["statement"].as_str().unwrap()).unwrap();
    let envelope: Value = serde_json::from_slice(&statement).unwrap();
    let payload = base64::engine::general_purpose::STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let schema = scene.world.cto(["schema", "patch-taken"]).expect(0).json();
    assert!(jsonschema::is_valid(&schema, &payload), "{payload}");
    let attestation = Digest::of_bytes(&fs::read(scene.bundle().join("attestation.dsse.json")).unwrap()).to_string();
    assert_eq!(payload["subject"][0]["digest"]["sha256"], attestation);
    assert_eq!(payload["predicate"]["commit"], document["commit"]);
    let [entry] = &scene.recorded()[..] else { panic!("said once: {:?}", scene.recorded()) };
    assert_eq!((&entry["attestation_sha256"], &entry["branch"]), (&json!(attestation), &json!(scene.branch())));
    assert_eq!(entry["statement_sha256"], Digest::of_bytes(&statement).to_string());
    assert_eq!(fs::read_dir(scene.world.home().join("work")).unwrap().count(), 0, "nothing is left to work in");

    // A later pass of the same task takes the reason away that its latest pass stays; what was taken still stays.
    let later = run(&scene.world, &scene.repository, &[]);
    let document = scene.world.cto(["gc", "--older-than", "0s", "--keep", "0", "--json"]).expect(0).json();
    let kept: Vec<&Value> = document["runs"].as_array().unwrap().iter().collect();
    let fate = |run: &str| kept.iter().find(|row| row["run_id"] == run).map(|row| row["fate"].clone());
    assert_eq!(fate(scene.run_id()), Some(json!("stated")), "{document}");
    assert!(scene.bundle().is_dir(), "{later}");

    // The archive of the run carries the statement.
    let archive = scene.world.path().join("run.cto.tar.zst");
    let words = ["export", scene.run_id(), "-o", archive.to_str().unwrap(), "--json"];
    assert_eq!(scene.world.cto(words).expect(0).json()["statements"], json!(1));
}

#[test]
fn twice_is_once() {
    let scene = Scene::new();
    let first = scene.take(&[], 0);
    let (refs, had) = (all_but(&scene.repository, "none"), objects(&scene.repository));
    let second = scene.take(&[], 0);
    assert_eq!((&first["was_there"], &second["was_there"]), (&json!(false), &json!(true)));
    assert_eq!((&second["commit"], &second["statement"]), (&first["commit"], &Value::Null));
    assert_eq!((all_but(&scene.repository, "none"), objects(&scene.repository)), (refs, had), "nothing was written");
    assert_eq!(scene.recorded().len(), 1);
    let third = scene.take(&["--branch", "fix/other"], 0);
    assert_eq!(third["was_there"], json!(false));
    check_branch(&scene.repository, "fix/other", &scene.report, &third);
    assert_eq!(scene.recorded().len(), 2, "another branch is another act");
}

#[test]
fn people_and_pipes_are_told_what_to_do_next() {
    let scene = Scene::new();
    let shown = scene.world.on_terminal(["take", scene.run_id(), "--branch", "a&b"]);
    let screen = shown.screen().join("\n");
    assert_eq!(shown.code, 0, "{screen}");
    assert!(screen.starts_with("pass  "), "verdict first: {screen}");
    for wanted in ["is on branch a&b", "git switch 'a&b'", "git log -1 'a&b'", "git branch -D 'a&b'", "Ada"] {
        assert!(screen.contains(wanted), "{wanted}: {screen}");
    }
    let piped = scene.world.cto(["take", scene.run_id()]).expect(0).text();
    let lines: Vec<&str> = piped.lines().collect();
    assert_eq!(lines[0], format!("pass {}", scene.run_id()));
    assert_eq!(lines[1], format!("branch {} made", scene.branch()));
    assert!(lines.contains(&format!("undo git branch -D {}", scene.branch()).as_str()), "{piped}");
    git(&scene.repository, ["branch", "-q", "-D", &scene.branch()]);
    let again = scene.world.cto(["take", scene.run_id()]).expect(0).text();
    assert!(again.contains(" made\n"), "what was undone can be taken again: {again}");
}

#[test]
fn a_linked_worktree_shares_its_branches() {
    let world = world();
    know_operator(&world);
    let main = world.repository("main", FILES);
    let linked = world.path().join("linked");
    git(&main, ["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let report = run(&world, &linked, &[]);
    let (before, linked_before) = (all_but(&main, "cto"), content_digest(&linked, &[]));
    let document = world.cto(["take", "@", "--json"]).expect(0).json();
    assert_eq!((all_but(&main, "cto"), content_digest(&linked, &[])), (before, linked_before));
    let branch = document["branch"].as_str().unwrap();
    for place in [&main, &linked] {
        check_branch(place, branch, &report, &document);
    }
}

#[test]
fn a_run_of_another_home_needs_a_repository_of_this_one() {
    let scene = Scene::new();
    let archive = scene.world.path().join("run.cto.tar.zst");
    let _ = scene.world.cto(["export", scene.run_id(), "-o", archive.to_str().unwrap()]).expect(0);
    let other = world();
    know_operator(&other);
    let key = scene.world.home().join("keys/harness.pub");
    let _ = other.cto(["import", archive.to_str().unwrap(), "--key", key.to_str().unwrap()]).expect(0);
    let before = content_digest(&scene.repository, &[]);
    let refused = other.cto(["take", scene.run_id()]).expect(3);
    assert!(refused.stderr.contains("another home") && refused.stderr.contains("--repo DIR"), "{}", refused.stderr);
    assert_eq!(content_digest(&scene.repository, &[]), before, "the path it names is there, and was not written to");
    git(other.path(), ["clone", "-q", "--no-hardlinks", scene.repository.to_str().unwrap(), "clone"]);
    let clone = other.path().join("clone");
    let words = ["take", scene.run_id(), "--repo", clone.to_str().unwrap(), "--json"];
    let document = other.cto(words).expect(0).json();
    check_branch(&clone, &scene.branch(), &scene.report, &document);
    assert_eq!(recorded(&other, scene.run_id()).len(), 1);
}

#[test]
fn a_clone_of_the_repository_can_be_named() {
    let scene = Scene::new();
    let clone = scene.world.path().join("clone");
    git(scene.world.path(), ["clone", "-q", "--no-hardlinks", "source", "clone"]);
    fs::rename(&scene.repository, scene.world.path().join("gone")).unwrap();
    let refused = scene.take(&[], 3).to_string();
    assert!(refused.contains("--repo DIR"), "{refused}");
    let document = scene.take(&["--repo", clone.to_str().unwrap()], 0);
    check_branch(&clone, &scene.branch(), &scene.report, &document);
}
