//! The guard on real repositories: exact statuses, and nothing is written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::{Ran, Who, World, git, program, skip, wait_for};

use super::workspace;
use crate::world;

pub(super) fn core(world: &World) -> PathBuf {
    world.repository("core", &[("a.txt", "one\n")])
}

/// The write-ahead log of the asker's own ledger and its index, which readers of SQLite open for writing, are no content.
pub(super) const LEDGER_INDEX: [&str; 2] = ["ledger.db-shm", "ledger.db-wal"];

/// Inode, size, times and owner of everything below a folder: a write changes one of them even where it keeps the bytes.
fn stamps(root: &Path) -> BTreeMap<PathBuf, [i64; 7]> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(stat) = fs::symlink_metadata(&path) else { continue };
        if stat.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let times = [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()];
        let [a, b, c, d] = times;
        found.insert(path, [number(stat.ino()), number(stat.size()), a, b, c, d, i64::from(stat.uid())]);
    }
    found
}

/// Starts a command in Core as root, then the guard as the world's user, where no other process is seen: what else runs on the
/// machine belongs to others, whose folders that user may not read.
const ALONE: &str = "core=$1; uid=$2; beside=$3; shift 3; (cd \"$core\" && exec sh -c \"$beside\") & sleep 0.5; \
                     exec setpriv --reuid \"$uid\" --regid \"$uid\" --clear-groups \"$@\"";

/// Asks the guard about Core, as the user whose the world is, while a command runs beside it.
pub(super) fn ask(world: &World, core: &Path, beside: &str) -> Ran {
    let mut command = world.command(["guard", "--json", "--core", core.to_str().unwrap()]);
    let owner = fs::metadata(world.path()).unwrap().uid();
    if owner == fs::metadata("/proc/self").unwrap().uid() {
        return Ran::of(command.output().unwrap());
    }
    let mut alone = program("unshare", &world.here());
    alone.args(["--pid", "--fork", "--mount-proc", "sh", "-c", ALONE, "sh", core.to_str().unwrap()]);
    alone.arg(owner.to_string()).arg(beside).arg(command.get_program()).args(command.get_args());
    alone.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(alone.output().unwrap())
}

/// The report about a Core workspace. Everything in it, and the home and workspace of the asker, stays as it was.
fn guard(world: &World, core: &Path) -> Value {
    let look = || {
        let kept = [core.to_owned(), world.here()].map(|place| (stamps(&place), testkit::contents(&place, &[])));
        (kept, testkit::contents(&world.home(), &LEDGER_INDEX))
    };
    let before = look();
    let ran = ask(world, core, "true");
    assert!(look() == before, "the guard wrote something");
    let report = ran.json();
    let is_passed = report["guard_status"] == "passed";
    let _ = ran.expect(if is_passed { 0 } else { 3 });
    report
}

/// Holds a report to everything that follows from its reasons.
pub(super) fn expect_reasons(world: &World, core: &Path, main: Option<&str>, reasons: &[&str]) {
    let report = guard(world, core);
    let words = match reasons {
        [] => ["passed", "admitted", "open_governed_core_prd_route"],
        _ => ["blocked", "not_admitted", "wait_or_open_later_core_route_when_idle"],
    };
    let said = [&report["guard_status"], &report["core_route_admission_status"], &report["next_allowed_action"]];
    assert_eq!(said, words, "{report:#}");
    assert_eq!(report["blocked_reasons"], json!(reasons), "{report:#}");
    assert_eq!(report["blocked_reason"], json!(reasons.first()));
    assert_eq!(report["main"].get("state").unwrap_or(&Value::Null), &json!(main), "{report:#}");
    // Nothing was climbed here; a test of the climbed workspace has it true.
    assert_eq!(
        (&report["ready_for_core_route_review"], &report["recommended_next_decision"]),
        (&json!(false), &json!("open_governed_core_prd_route"))
    );
    for constant in [
        "do_not_touch_other_agent_work",
        "idle_governed_core_route_required",
        "no_active_conflicting_core_worktree_required",
    ] {
        assert_eq!(report[constant], true, "{constant}");
    }
    assert_eq!(
        (&report["runtime_default_activation"], &report["core_promotion_status"]),
        (&json!(false), &json!("not-promoted"))
    );
}

#[test]
fn each_state_of_core_has_its_own_status() {
    let world = workspace();
    let core = core(&world);
    let idle = || expect_reasons(&world, &core, Some("clean"), &[]);
    idle();

    fs::write(core.join("a.txt"), "two\n").unwrap();
    expect_reasons(&world, &core, Some("dirty"), &["core_main_dirty"]);
    git(&core, ["checkout", "-q", "a.txt"]);
    fs::write(core.join("new.txt"), "new\n").unwrap();
    expect_reasons(&world, &core, Some("dirty"), &["core_main_dirty"]);
    fs::remove_file(core.join("new.txt")).unwrap();
    idle();

    leave_a_rebase(&core);
    expect_reasons(&world, &core, Some("unfinished"), &["core_operation_unfinished"]);
    git(&core, ["rebase", "--abort"]);
    git(&core, ["checkout", "-q", "-"]);
    idle();

    let other = world.path().join("other");
    let active = "active_or_conflicting_core_work_present";
    git(&core, ["worktree", "add", "-q", other.to_str().unwrap()]);
    expect_reasons(&world, &core, Some("clean"), &[active]);
    git(&core, ["worktree", "lock", other.to_str().unwrap()]);
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain", active]);
    git(&core, ["worktree", "unlock", other.to_str().unwrap()]);
    fs::remove_file(other.join(".git")).unwrap();
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain", active]);
    fs::remove_dir_all(&other).unwrap();
    idle();

    let script = world.write("validate_core.sh", "exec sleep 60 # validate\n");
    let mut running = program("sh", &core).arg(&script).spawn().unwrap();
    expect_reasons(&world, &core, Some("clean"), &["validation_process_running"]);
    running.kill().unwrap();
    running.wait().unwrap();
    // A program of any name may validate; a shell that waits for a person does not.
    let mut running = program("sleep", &core).arg("60").spawn().unwrap();
    expect_reasons(&world, &core, Some("clean"), &["validation_process_running"]);
    running.kill().unwrap();
    running.wait().unwrap();
    if let Some(mut waiting) = wait_at_a_terminal(&world, &core) {
        idle();
        waiting.kill().unwrap();
        waiting.wait().unwrap();
    }

    let nothing = world.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    expect_reasons(&world, &nothing, None, &["core_unreadable"]);
    expect_reasons(&world, &world.path().join("nowhere"), None, &["core_unreadable"]);
}

/// A shell that waits for a person in Core, at a terminal of its own; `script` makes that, in another folder.
fn wait_at_a_terminal(world: &World, core: &Path) -> Option<Child> {
    let (above, here) = (world.path(), world.path().join("arrived"));
    // The command is in a file, so that the command of `script` has no word of a validation and no
    // path.
    fs::write(above.join("waits"), format!("cd '{}' && echo here > '{}' && exec sh\n", core.display(), here.display()))
        .unwrap();
    let mut command = program("script", above);
    let started = command.args(["-qfc", ". ./waits", "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let Ok(waiting) = started else {
        skip("guard: a shell that waits for a person", "there is no script");
        return None;
    };
    wait_for("the shell", || here.exists().then_some(()));
    Some(waiting)
}

/// A rebase that stopped at a conflict, as git itself leaves it.
fn leave_a_rebase(core: &Path) {
    git(core, ["checkout", "-q", "-b", "side"]);
    fs::write(core.join("a.txt"), "side\n").unwrap();
    git(core, ["commit", "-q", "-am", "side"]);
    git(core, ["checkout", "-q", "-b", "third", "HEAD~1"]);
    fs::write(core.join("a.txt"), "third\n").unwrap();
    git(core, ["commit", "-q", "-am", "third"]);
    let rebase = ["-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "rebase", "side"];
    let stopped = program("git", core).args(rebase).output().unwrap();
    assert!(!stopped.status.success() && core.join(".git/rebase-merge").is_dir(), "{stopped:?}");
}

#[test]
fn a_core_that_is_another_users_or_cannot_be_read_is_told_so() {
    let world = World::of(env!("CARGO_BIN_EXE_cto"), Who::Ordinary);
    let core = core(&world);
    world.give();
    expect_reasons(&world, &core, Some("clean"), &[]);
    let shut = |mode: u32| fs::set_permissions(core.join(".git"), fs::Permissions::from_mode(mode)).unwrap();
    shut(0o000);
    expect_reasons(&world, &core, None, &["core_unreadable"]);
    shut(0o755);
    expect_reasons(&world, &core, Some("clean"), &[]);
    if !Who::Ordinary.is_another() {
        return skip("guard: a git directory of another user", "only root can give a folder away");
    }
    lchown(core.join(".git"), Some(12_346), Some(12_346)).unwrap();
    expect_reasons(&world, &core, Some("clean"), &["ownership_uncertain"]);
}

/// Calls that change a file or a folder, with the flags of `open` that do.
const CHANGES: [&str; 36] = [
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmodat",
    "chown",
    "fchownat",
    "utimensat",
    "truncate",
    "creat",
    "mknodat",
    "fchmod",
    "fchown",
    "ftruncate",
    "setxattr",
    "fsetxattr",
    "lsetxattr",
    "removexattr",
    "fremovexattr",
    "lremovexattr",
    "lchown",
    "mknod",
    "utime",
    "utimes",
    "futimesat",
    "fallocate",
    "fchmodat2",
];

/// Lines of a trace by which something outside of `scratch` was changed.
fn list_changes(trace: &str, scratch: &Path) -> Vec<String> {
    let is_change = |line: &&str| {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let opens = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"].iter().any(|flag| call.contains(flag));
        let name = call.split_once('(').map_or("", |(name, _)| name);
        (name.starts_with("open") && opens) || CHANGES.contains(&name)
    };
    let is_index = |line: &str| {
        LEDGER_INDEX.iter().any(|name| ['"', '>'].iter().any(|end| line.contains(&format!("/home/{name}{end}"))))
    };
    let is_ours =
        |line: &str| line.contains(scratch.to_str().unwrap()) || line.contains("\"/dev/null\"") || is_index(line);
    trace
        .lines()
        .filter(is_change)
        .filter(|line| !line.contains(" = -1 ") && !is_ours(line))
        .map(str::to_owned)
        .collect()
}

/// True for a file that the kernel makes up: the users of a namespace, the limits of a control group.
fn is_of_kernel(line: &str) -> bool {
    let path = line.split('"').nth(1).unwrap_or_default();
    ["/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder))
}

#[test]
fn strace_sees_no_write_outside_of_scratch() {
    let there = program("strace", Path::new("/")).args(["-f", "true"]).output().is_ok_and(|ran| ran.status.success());
    if !there {
        return skip("guard under strace", "there is no strace, or it may not trace");
    }
    let world = workspace();
    let core = core(&world);
    let (file, scratch) = (world.path().join("trace"), world.tmp());
    // A question mark passes over calls that this machine or its strace does not have.
    let calls: Vec<String> = CHANGES.iter().map(|call| format!("?{call}")).collect();
    let kinds = format!("trace=?open,openat,openat2,{}", calls.join(","));
    let wrapper = ["strace", "-f", "-y", "-qq", "-s", "65536", "-e", &kinds, "-o", file.to_str().unwrap()];
    let trace = |words: &[&str]| {
        let output = world.under(&world.command(words), &wrapper).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        fs::read_to_string(&file).unwrap()
    };
    let text = trace(&["guard", "--json", "--core", core.to_str().unwrap()]);
    assert!(text.contains(core.to_str().unwrap()), "control: the trace sees Core");
    assert_eq!(list_changes(&text, &scratch), Vec::<String>::new());
    // A validator works in a sandbox, whose own files are none of these places.
    world.write("harness.yaml", "validators:\n  - name: own\n    argv: [sh, -c, \"echo x > made-by-it\"]\n");
    let text = trace(&["guard", "--json", "--core", core.to_str().unwrap()]);
    assert!(text.contains("made-by-it"), "control: the trace sees the validator");
    let (home, here) = (world.home(), world.here());
    let kept = [&core, &home, &here].map(|place| place.to_str().unwrap());
    // A call names the folder that it starts from, whatever it opens.
    let touched = |line: &String| kept.iter().any(|place| line.contains(place)) && !is_of_kernel(line);
    assert_eq!(list_changes(&text, &scratch).into_iter().filter(touched).collect::<Vec<_>>(), Vec::<String>::new());
    assert!(!here.join("made-by-it").exists());
    world.write("harness.yaml", "");
    let other = world.path().join("other");
    let states: [(&str, &str, &dyn Fn()); 6] = [
        ("dirty", "core_main_dirty", &|| fs::write(core.join("a.txt"), "two\n").unwrap()),
        ("unfinished", "core_operation_unfinished", &|| {
            git(&core, ["checkout", "-q", "a.txt"]);
            leave_a_rebase(&core);
        }),
        ("worktree", "active_or_conflicting_core_work_present", &|| {
            git(&core, ["rebase", "--abort"]);
            git(&core, ["worktree", "add", "-q", other.to_str().unwrap()]);
        }),
        ("uncertain", "ownership_uncertain", &|| drop(git(&core, ["worktree", "lock", other.to_str().unwrap()]))),
        ("running", "validation_process_running", &|| {
            git(&core, ["worktree", "unlock", other.to_str().unwrap()]);
            fs::remove_dir_all(&other).unwrap();
        }),
        ("unreadable", "core_unreadable", &|| {
            fs::rename(core.join(".git/HEAD"), core.join(".git/HEAD.aside")).unwrap()
        }),
    ];
    for (state, reason, enter) in states {
        enter();
        let mut running = (state == "running").then(|| program("sleep", &core).arg("60").spawn().unwrap());
        let asked = world.command(["guard", "--json", "--core", core.to_str().unwrap()]);
        let ran = Ran::of(world.under(&asked, &wrapper).output().unwrap()).expect(3);
        running.iter_mut().for_each(|child| child.kill().and_then(|()| child.wait()).map(drop).unwrap());
        assert_eq!(ran.json()["blocked_reason"], reason, "{state}");
        assert_eq!(list_changes(&fs::read_to_string(&file).unwrap(), &scratch), Vec::<String>::new(), "{state}");
    }
    let control = list_changes(&trace(&["work", "list", "--json"]), &scratch);
    assert_eq!(control, Vec::<String>::new(), "looking at the board writes nothing either");
    world.write("WORKBOARD.yaml", format!("items:\n{}", super::item("DEMO-WORK-001", "draft")));
    let moved = list_changes(
        &trace(&["work", "status", "DEMO-WORK-001", "candidate", "--evidence", "document:CONTEXT.md"]),
        &scratch,
    );
    assert!(!moved.is_empty(), "control: a write is seen");
}

#[test]
fn settings_name_route_worktrees_and_conflicts() {
    let world = world();
    let core = core(&world);
    let _ = world.cto(["init", "."]).expect(0);
    let told = |route: &str, more: &str| {
        fs::write(core.join(".git/route"), route).unwrap();
        let text = format!("core:\n  path: {}\n  sequence_route: .git/route\n{more}", core.display());
        world.write("harness.yaml", text);
        let ran = world.cto(["guard", "--json"]);
        ran.json()["blocked_reasons"].clone()
    };
    assert_eq!(told("status: idle\n", ""), json!([]));
    assert_eq!(told("route: CORE-PRD-7\n", ""), json!(["sequence_route_active"]));
    assert_eq!(told("nothing\n", ""), json!(["ownership_uncertain"]));
    assert_eq!(told("status: none\ncurrent_sequence_route: CORE-PRD-7\n", ""), json!(["ownership_uncertain"]));
    let branch =
        String::from_utf8(program("git", &core).args(["branch", "--show-current"]).output().unwrap().stdout).unwrap();
    assert_eq!(
        told("status: idle\n", &format!("  conflicts: [{}]\n", branch.trim())),
        json!(["active_or_conflicting_core_work_present"])
    );
    let _ = world.cto(["guard", "--core", "/nowhere/at/all"]).expect(3);
}
