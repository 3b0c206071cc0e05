//! Ways in which Core could be busy unseen: each blocks, and the same Core without it passes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Who, World, git, program, skip, wait_for};

use super::guarded::{LEDGER_INDEX, ask, core, expect_reasons};
use super::workspace;
use crate::interrupted::{self, Phase};

const ACTIVE: &str = "active_or_conflicting_core_work_present";

/// Reasons of the guard for the Core that the settings name.
fn reasons(world: &World) -> Value {
    world.cto(["guard", "--json"]).json()["blocked_reasons"].clone()
}

#[test]
fn a_validation_is_seen_however_core_is_named() {
    let world = workspace();
    let core = core(&world);
    symlink(&core, world.path().join("link")).unwrap();
    let settings = |path: &str| world.write("harness.yaml", format!("core:\n  path: {path}\n"));
    for path in ["../core", "../here/../core", "../link"] {
        settings(path);
        assert_eq!(reasons(&world), json!([]), "control: {path}");
        let mut running = program("sleep", &core).arg("60").spawn().unwrap();
        assert_eq!(reasons(&world), json!(["validation_process_running"]), "{path}");
        running.kill().unwrap();
        running.wait().unwrap();
    }
    // The validator runs in another folder, by its name in the command.
    let script = world.write("validate.sh", "sleep 60\n");
    let mut running = program("sh", Path::new("/")).arg(&script).arg(&core).spawn().unwrap();
    assert_eq!(reasons(&world), json!(["validation_process_running"]));
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(reasons(&world), json!([]), "control");
}

/// Processes that are busy with Core under another name or from another folder, each with the same that is not.
#[test]
fn a_process_is_judged_by_what_it_does_and_not_by_its_name() {
    let world = workspace();
    let core = core(&world);
    symlink(&core, world.path().join("link")).unwrap();
    let script = world.write("validate.sh", "while :; do sleep 0.2; done\n");
    let (script, above) = (script.to_str().unwrap(), world.path());
    let open = |path: PathBuf| fs::File::options().append(true).create(true).open(path).unwrap();
    let in_core = |words: &[&str]| started(words, &core);
    let beside = |words: &[&str]| started(words, above);
    fs::write(above.join("notes"), "x\n").unwrap();
    let rows: Vec<(&str, Command, bool)> = vec![
        ("another first argument", in_core(&["bash", "-c", "exec -a tmux sleep 60"]), true),
        ("a shell that reads a pipe", in_core(&["sh"]), true),
        ("a relative path", beside(&["sh", script, "core/a.txt"]), true),
        ("a path behind a setting", beside(&["sh", script, "--rootdir=./core"]), true),
        ("a path by another name", beside(&["sh", script, "link/not/there"]), true),
        ("no path of Core", beside(&["sh", script, "cores/a.txt"]), false),
        ("a file of Core that is read", with_input(beside(&["sh", script]), &core.join("a.txt")), true),
        ("a file beside Core", with_input(beside(&["sh", script]), &above.join("notes")), false),
        ("a file of Core that is written", with_output(beside(&["sleep", "60"]), open(core.join(".git/log"))), true),
        ("a file beside Core that is written", with_output(beside(&["sleep", "60"]), open(above.join("log"))), false),
    ];
    for (name, mut command, is_seen) in rows {
        let mut running = command.spawn().unwrap();
        wait_for(name, || {
            fs::read_to_string(format!("/proc/{}/stat", running.id())).unwrap().contains(" S ").then_some(())
        });
        let found = world.cto(["guard", "--json", "--core", core.to_str().unwrap()]).json()["blocked_reasons"].clone();
        running.kill().unwrap();
        running.wait().unwrap();
        let expected = if is_seen { json!(["validation_process_running"]) } else { json!([]) };
        assert_eq!(found, expected, "{name}");
    }
    expect_reasons(&world, &core, Some("clean"), &[]);
}

fn started(words: &[&str], folder: &Path) -> Command {
    let mut command = program(words[0], folder);
    command.args(&words[1..]).stdin(Stdio::piped());
    command
}

fn with_input(mut command: Command, file: &Path) -> Command {
    command.stdin(fs::File::open(file).unwrap());
    command
}

fn with_output(mut command: Command, file: fs::File) -> Command {
    command.stdout(file);
    command
}

/// A submodule that is not as Core has it, and one within a submodule.
#[test]
fn a_submodule_is_a_part_of_core() {
    let world = workspace();
    let core = core(&world);
    let (inner, outer) =
        (world.repository("inner", &[("i.txt", "i\n")]), world.repository("outer", &[("o.txt", "o\n")]));
    let allow = ["-c", "protocol.file.allow=always", "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid"];
    let run = |folder: &Path, words: &[&str]| drop(git(folder, [&allow[..], words].concat()));
    run(&outer, &["submodule", "add", "-q", inner.to_str().unwrap(), "inner"]);
    run(&outer, &["commit", "-q", "-m", "inner"]);
    run(&core, &["submodule", "add", "-q", outer.to_str().unwrap(), "sub"]);
    run(&core, &["submodule", "update", "-q", "--init", "--recursive"]);
    expect_reasons(&world, &core, Some("dirty"), &["core_main_dirty"]);
    run(&core, &["commit", "-q", "-m", "sub"]);
    expect_reasons(&world, &core, Some("clean"), &[]);
    for path in ["sub/o.txt", "sub/new.txt", "sub/inner/i.txt", "sub/inner/new.txt"] {
        let before = fs::read(core.join(path)).ok();
        fs::write(core.join(path), "changed\n").unwrap();
        expect_reasons(&world, &core, Some("dirty"), &["core_main_dirty"]);
        match before {
            Some(bytes) => fs::write(core.join(path), bytes).unwrap(),
            None => fs::remove_file(core.join(path)).unwrap(),
        }
        expect_reasons(&world, &core, Some("clean"), &[]);
    }
    run(&core.join("sub"), &["commit", "-q", "--allow-empty", "-m", "moved"]);
    expect_reasons(&world, &core, Some("dirty"), &["core_main_dirty"]);
    run(&core, &["submodule", "update", "-q"]);
    expect_reasons(&world, &core, Some("clean"), &[]);
    run(&core, &["submodule", "deinit", "-q", "-f", "sub"]);
    expect_reasons(&world, &core, Some("clean"), &[]);
    fs::write(core.join("sub/.git"), "gitdir: /nowhere\n").unwrap();
    expect_reasons(&world, &core, Some("unreadable"), &["core_unreadable"]);
}

#[test]
fn a_worktree_is_found_by_a_relative_path_too() {
    let world = workspace();
    let core = core(&world);
    let other = world.path().join("other");
    git(&core, ["worktree", "add", "-q", other.to_str().unwrap()]);
    fs::write(core.join(".git/worktrees/other/gitdir"), "../../../../other/.git\n").unwrap();
    expect_reasons(&world, &core, Some("clean"), &[ACTIVE]);
    fs::remove_dir_all(&other).unwrap();
    expect_reasons(&world, &core, Some("clean"), &[]);
}

#[test]
fn what_belongs_to_others_is_uncertain() {
    if !Who::Ordinary.is_another() {
        return skip("guard: folders and processes of another user", "only root can give a folder away");
    }
    let world = World::of(env!("CARGO_BIN_EXE_cto"), Who::Ordinary);
    let core = core(&world);
    let shut = world.path().join("shut");
    fs::create_dir(&shut).unwrap();
    git(&core, ["worktree", "add", "-q", shut.join("tree").to_str().unwrap()]);
    world.give();
    let mode = |mode: u32| fs::set_permissions(&shut, fs::Permissions::from_mode(mode)).unwrap();
    let own = |path: &Path, uid: u32| std::os::unix::fs::lchown(path, Some(uid), Some(uid)).unwrap();
    let uid = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&core).unwrap());
    expect_reasons(&world, &core, Some("clean"), &[ACTIVE]);
    own(&shut, 12_346);
    mode(0o700);
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain", ACTIVE]);
    own(&shut, uid);
    own(&shut.join("tree"), 12_346);
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain", ACTIVE]);
    fs::remove_dir_all(&shut).unwrap();
    expect_reasons(&world, &core, Some("clean"), &[]);

    own(&core, 12_346);
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain"]);
    own(&core, uid);

    // A process of somebody else: where it works cannot be read.
    let told = |beside: &str| {
        let ran = ask(&world, &core, &format!("exec setpriv --reuid 12346 --regid 12346 --clear-groups {beside}"));
        ran.json()["blocked_reasons"].clone()
    };
    world.write("validate.sh", "sleep 60\n");
    assert_eq!(told(&format!("sh {}", world.here().join("validate.sh").display())), json!(["ownership_uncertain"]));
    assert_eq!(told("python3 -m unittest_or_sleep 2>/dev/null || exec sleep 60"), json!([]), "control: no validation");
}

/// A run that was killed is sealed by the next command that needs the home; reading needs nothing of it.
#[test]
fn looking_seals_no_run_and_makes_no_key_where_validators_run() {
    let world = workspace();
    let core = core(&world);
    let nap = interrupted::nap();
    let case = interrupted::case(&world, Phase::Engine, &nap);
    let mut child = world.start(["run", case.to_str().unwrap()]);
    wait_for("the nap", || interrupted::is_napping(&nap).then_some(()));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    wait_for("the end of the nap", || (!interrupted::is_napping(&nap)).then_some(()));
    world.write("harness.yaml", "validators:\n  - name: own\n    argv: [test, -f, WORKBOARD.yaml]\n");
    let key = world.home().join("keys/harness.pem");
    fs::rename(&key, world.path().join("aside.pem")).unwrap();
    let look = || (testkit::contents(&world.home(), &LEDGER_INDEX), testkit::contents(&world.here(), &[]));
    let before = look();
    let core = core.to_str().unwrap();
    for words in [
        &["guard", "--json", "--core", core][..],
        &["audit", "--json"],
        &["packet", "promotion", "--json"],
        &["validate", "workspace", "--json"],
    ] {
        let _ = world.cto(words);
        assert!(look() == before, "{words:?}");
    }
    let found = world.cto(["validate", "workspace", "--json"]).expect(0).json();
    assert_eq!(found["validators"], json!([{"name": "own", "passed": true, "exit": 0}]), "control: it ran");
    fs::rename(world.path().join("aside.pem"), &key).unwrap();
    world.recover_killed();
    assert!(look() != before, "control: the run waited to be sealed");
}
