//! A pack moves to another home and another user, where everything verifies; its sender is trusted by a person or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Ran, Who, World, copy_to_change, git};

use super::guarded::LEDGER_INDEX;
use super::{item, workspace};

/// A workspace with a governed run as evidence, its pack, and the run.
pub(super) fn packed_world() -> (World, String) {
    let world = workspace();
    let run = world.cto(["run", "r1-string-slugify", "--work", "DEMO-WORK-001", "--json"]).expect(0).json();
    let run = run["run_id"].as_str().unwrap().to_owned();
    world.write("WORKBOARD.yaml", format!("items:\n{}", item("DEMO-WORK-001", "draft")));
    let _ =
        world.cto(["work", "status", "DEMO-WORK-001", "validated", "--evidence", &format!("bundle:{run}")]).expect(0);
    let _ = world.cto(["pack", "-o", pack_of(&world).to_str().unwrap()]).expect(0);
    (world, run)
}

pub(super) fn pack_of(world: &World) -> PathBuf {
    world.path().join("team.pack")
}

pub(super) fn key_of(world: &World) -> PathBuf {
    world.home().join("keys/harness.pub")
}

/// Unpacks into a home and a folder that are named after `to`.
pub(super) fn unpack(world: &World, file: &Path, key: &Path, to: &str, more: &[&str]) -> Ran {
    let (home, dir) = (world.path().join(format!("{to}-home")), world.path().join(to));
    let words = ["unpack", file.to_str().unwrap(), dir.to_str().unwrap(), "--key", key.to_str().unwrap()];
    world.cto(["--home", home.to_str().unwrap()].iter().chain(&words).chain(more))
}

/// Names beside the world's folders: a refused pack leaves none, not even for a moment's use.
pub(super) fn names_in(world: &World) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(world.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_pack_verifies_in_another_home_of_another_user_and_says_the_same() {
    let (world, run) = packed_world();
    let again = world.path().join("again.pack");
    let _ = world.cto(["pack", "-o", again.to_str().unwrap()]).expect(0);
    assert_eq!(fs::read(pack_of(&world)).unwrap(), fs::read(&again).unwrap(), "two packs of the same are the same");

    let there = World::of(env!("CARGO_BIN_EXE_cto"), Who::Ordinary);
    let (pack, key) = (there.path().join("team.pack"), there.path().join("alice.pub"));
    copy_to_change(&pack_of(&world), &pack);
    copy_to_change(&key_of(&world), &key);
    there.give();
    let moved = there.path().join("moved");
    let words = ["unpack", pack.to_str().unwrap(), moved.to_str().unwrap(), "--key", key.to_str().unwrap()];
    let _ = there.cto(words.iter().chain(&["--trust-sender"])).expect(0);
    let at = |words: &[&str]| there.cto(["--workspace", moved.to_str().unwrap()].iter().chain(words));
    let _ = at(&["verify", &run]).expect(0);
    let _ = at(&["ledger", "verify"]).expect(0);
    assert_eq!(at(&["validate", "workspace", "--json"]).expect(0).json()["errors"], serde_json::json!([]));
    for words in [&["ladder", "--json"][..], &["audit", "--json"], &["work", "show", "DEMO-WORK-001", "--json"]] {
        assert_eq!(at(words).text(), world.cto(words).text(), "{words:?}");
    }
    for name in ["keys/operator", "keys/operator.pem", "keys/harness.pem"] {
        assert!(!there.home().join(name).exists(), "no private key travels: {name}");
    }
    let _ = there.cto(words.iter().chain(&["--trust-sender"])).expect(2);

    // What was unpacked can be packed and moved on; the first harness's key travels with it.
    let onward = there.path().join("onward.pack");
    let _ = at(&["pack", "-o", onward.to_str().unwrap()]).expect(0);
    let _ = unpack(&there, &onward, &there.home().join("keys/harness.pub"), "third", &["--trust-sender"]).expect(0);
    let home = there.path().join("third-home");
    let _ = there.cto(["--home", home.to_str().unwrap(), "verify", &run]).expect(0);
}

#[test]
fn a_git_workspace_travels_without_what_git_would_act_on() {
    let world = workspace();
    let here = world.here();
    // Left behind: settings of an environment, scratch, what is made again, and another repository's own folder.
    let left = [".env.local", "sub/.env", "scratch/x", "sub/node_modules/y", "vendored/.git/config"];
    left.iter()
        .chain(&["vendored/a.txt", "sub/a.txt", "sub/.env.example"])
        .for_each(|path| drop(world.write(path, "x\n")));
    let ignored = fs::read_to_string(here.join(".gitignore")).unwrap();
    world.write(".gitignore", format!("{ignored}vendored/\n!.env.example\n"));
    git(&here, ["init", "-q", "-b", "main"]);
    git(&here, ["add", "-A"]);
    git(&here, ["commit", "-q", "-m", "records"]);
    git(&here, ["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(&here, ["gc", "-q"]);
    assert!(!here.join(".git/refs/heads/main").exists(), "the references are packed");
    git(&here, ["config", "credential.helper", "store"]);
    let hook = here.join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch acted\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = world.cto(["run", "r1-string-slugify"]).expect(0);
    let _ = world.cto(["pack", "-o", pack_of(&world).to_str().unwrap()]).expect(0);
    let _ = unpack(&world, &pack_of(&world), &key_of(&world), "there", &["--trust-sender"]).expect(0);
    let there = world.path().join("there");
    assert_eq!(git(&there, ["rev-parse", "HEAD", "main"]), git(&here, ["rev-parse", "HEAD", "main"]));
    assert_eq!(git(&there, ["status", "--porcelain"]), "");
    git(&there, ["commit", "-q", "--allow-empty", "-m", "another"]);
    git(&there, ["reset", "-q", "--hard", "HEAD~1"]);
    assert!(!there.join("acted").exists());
    for path in left.iter().chain(&[".git/hooks/post-index-change"]) {
        assert!(here.join(path).exists() && !there.join(path).exists(), "{path}");
    }
    for path in ["vendored/a.txt", "sub/a.txt", "sub/.env.example"] {
        assert!(there.join(path).exists(), "control: {path}");
    }
    assert!(!fs::read_to_string(there.join(".git/config")).unwrap().contains("credential"));
    let home = world.path().join("there-home");
    let words = ["--home", home.to_str().unwrap(), "--workspace", there.to_str().unwrap(), "audit", "--json"];
    assert_eq!(world.cto(words).text(), world.cto(["audit", "--json"]).text());

    // What does not verify here would not verify there.
    let run = fs::read_dir(world.bundles()).unwrap().next().unwrap().unwrap().path();
    let _ = fs::remove_file(run.join("report.json"));
    let refused = world.cto(["pack", "-o", world.path().join("another.pack").to_str().unwrap()]).expect(1);
    assert!(refused.stderr.contains("does not verify"), "{}", refused.stderr);
}

#[test]
fn a_repository_that_lies_elsewhere_too_cannot_be_packed() {
    let world = workspace();
    let here = world.here();
    git(&here, ["init", "-q", "-b", "main"]);
    git(&here, ["add", "-A"]);
    git(&here, ["commit", "-q", "-m", "records"]);
    let _ = world.cto(["run", "r1-string-slugify"]).expect(0);
    let linked = world.path().join("linked");
    let borrowing = world.path().join("borrowing");
    git(&here, ["worktree", "add", "-q", linked.to_str().unwrap()]);
    git(world.path(), ["clone", "-q", "-s", here.to_str().unwrap(), borrowing.to_str().unwrap()]);
    let pack = |from: &Path, to: &str| {
        let (from, to) = (from.to_str().unwrap(), world.path().join(to));
        let _ = world.cto(["init", from]).expect(0);
        world.cto(["--workspace", from, "pack", "-o", to.to_str().unwrap()])
    };
    for (from, why) in [(&linked, "is a linked work tree"), (&borrowing, "borrows objects of another repository")] {
        let refused = pack(from, "refused.pack").expect(3);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let _ = pack(&here, "control.pack").expect(0);
}

#[test]
fn a_sender_is_trusted_by_a_person_and_the_ledger_keeps_it() {
    let (world, _) = packed_world();
    let (pack, key, before) = (pack_of(&world), key_of(&world), names_in(&world));
    let asked = unpack(&world, &pack, &key, "asked", &[]).expect(3);
    let signer = evidence::HarnessKey::open_file(&world.home().join("keys/harness.pem")).unwrap().public().key_id();
    assert!(asked.stderr.contains(&signer) && asked.stderr.contains("--trust-sender"), "{}", asked.stderr);
    let trust = "0 of people's keys, 0 of other harnesses, 0 imported runs and no approval policy";
    assert!(asked.stderr.contains(trust), "{}", asked.stderr);
    assert_eq!(names_in(&world), before, "nothing was written");

    let _ = unpack(&world, &pack, &key, "given", &["--trust-sender"]).expect(0);
    let home = world.path().join("given-home");
    assert!(home.join("trust/harness_keys").is_file());
    let raw = rusqlite::Connection::open(home.join("ledger.db")).unwrap();
    let mut statement = raw.prepare("SELECT body FROM entries WHERE kind = 'trust.changed' ORDER BY seq").unwrap();
    let bodies: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let acts: Vec<Value> = bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let said: Vec<&str> = acts.iter().rev().take(2).filter_map(|body| body["act"].as_str()).collect();
    assert_eq!(said, ["workspace_added", "harness_key_added"], "{acts:?}");
}

#[test]
fn looking_at_the_end_goal_writes_nothing_and_makes_no_key() {
    let world = workspace();
    let key = world.home().join("keys/harness.pem");
    let _ = fs::remove_file(&key);
    for words in [&["audit", "--json"][..], &["packet", "promotion", "--json"], &["validate", "workspace", "--json"]] {
        let look = || (testkit::contents(&world.home(), &LEDGER_INDEX), testkit::contents(&world.here(), &[]));
        let before = look();
        let _ = world.cto(words);
        assert!(look() == before, "{words:?}");
    }
    let _ = world.cto(["pack", "-o", pack_of(&world).to_str().unwrap()]).expect(0);
    assert!(key.exists(), "control: packing makes the key that signs");
}

/// Paths below a folder whose file holds a private key.
fn keys_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(keys_below(&path));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("PRIVATE KEY-----") {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_below_a_home_and_no_private_key_travels_as_part_of_a_workspace() {
    let world = workspace();
    let here = world.here();
    let at = |home: &Path, words: &[&str]| world.cto(["--home", home.to_str().unwrap()].iter().chain(words));
    // The home that packs lies in the workspace, under another name too, and beside it lies the home of somebody else.
    let (inside, other) = (here.join(".cto"), here.join("sub/other"));
    let _ = at(&inside, &["init", "."]).expect(0);
    let _ = at(&inside, &["run", "r1-string-slugify"]).expect(0);
    let _ = at(&other, &["key", "init"]).expect(0);
    assert!(!keys_below(&inside).is_empty() && !keys_below(&other).is_empty(), "control: keys lie there");
    let packed = world.path().join("inside.pack");
    let pack = |home: &Path, to: &Path| at(home, &["pack", "-o", to.to_str().unwrap()]);
    let _ = pack(&inside, &packed).expect(0);
    let _ = unpack(&world, &packed, &inside.join("keys/harness.pub"), "there", &["--trust-sender"]).expect(0);
    let there = world.path().join("there");
    assert_eq!(keys_below(&there), Vec::<PathBuf>::new());
    assert!(!there.join(".cto").exists() && !there.join("sub/other").exists());
    assert!(there.join("WORKBOARD.yaml").is_file() && world.path().join("there-home/ledger.db").is_file(), "control");

    // A private key by its content, under a name that says nothing.
    let refused = world.path().join("refused.pack");
    let note = world.write("notes.txt", fs::read(inside.join("keys/harness.pem")).unwrap());
    let told = pack(&inside, &refused).expect(3).stderr;
    assert!(told.contains("notes.txt") && told.contains("holds a private key"), "{told}");
    fs::write(&note, "The line -----BEGIN PRIVATE KEY----- begins a key.\n").unwrap();
    let _ = pack(&inside, &world.path().join("control.pack")).expect(0);

    // A workspace that is a home itself.
    let both = world.path().join("both");
    fs::create_dir(&both).unwrap();
    let of_both = |words: &[&str]| at(&both, &[&["--workspace", both.to_str().unwrap()][..], words].concat());
    let _ = at(&both, &["init", both.to_str().unwrap()]).expect(0);
    let _ = of_both(&["run", "r1-string-slugify"]).expect(0);
    let told = of_both(&["pack", "-o", refused.to_str().unwrap()]).expect(3).stderr;
    assert!(told.contains("is itself a home") && !refused.exists(), "{told}");
}

/// A pack that is written into the workspace itself, again beside what a killed one left, holds no part of another pack.
#[test]
fn a_pack_in_the_workspace_holds_no_pack() {
    let world = workspace();
    let _ = world.cto(["run", "r1-string-slugify"]).expect(0);
    world.write(".cto-pack.part-1/ledger.db", "half a ledger\n");
    world.write("kept/ledger.txt", "a file of the team\n");
    let _ = world.cto(["pack", "-o", "a.pack"]).expect(0);
    let _ = unpack(&world, &world.here().join("a.pack"), &key_of(&world), "there", &["--trust-sender"]).expect(0);
    let there = world.path().join("there");
    assert!(!there.join(".cto-pack.part-1").exists());
    assert!(there.join("kept/ledger.txt").is_file(), "control");
}
