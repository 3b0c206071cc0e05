//! The guard on real repositories: exact statuses, and nothing is written.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{World, git, program};

use crate::world;

fn core(world: &World) -> std::path::PathBuf {
    world.repository("core", &[("a.txt", "one\n")])
}

/// The report about a Core workspace; blocked ones give their reasons.
fn guard(world: &World, core: &Path) -> Value {
    let ran = world.cto(["guard", "--json", "--core", core.to_str().unwrap()]);
    let report = ran.json();
    let code = if report["guard_status"] == "passed" { 0 } else { 3 };
    let _ = ran.expect(code);
    report
}

fn reasons(world: &World, core: &Path) -> Value {
    let before = testkit::contents(core, &[]);
    let report = guard(world, core);
    assert_eq!(testkit::contents(core, &[]), before, "Core is only read");
    assert_eq!(report["do_not_touch_other_agent_work"], true);
    assert_eq!(
        (&report["runtime_default_activation"], &report["core_promotion_status"]),
        (&json!(false), &json!("not-promoted"))
    );
    assert_eq!(report["blocked_reason"], report["blocked_reasons"].get(0).cloned().unwrap_or(Value::Null));
    report["blocked_reasons"].clone()
}

#[test]
fn each_state_of_core_has_its_own_status() {
    let world = world();
    let core = core(&world);
    assert_eq!(reasons(&world, &core), json!([]));
    let passed = guard(&world, &core);
    assert_eq!(
        (&passed["core_route_admission_status"], &passed["next_allowed_action"]),
        (&json!("admitted"), &json!("open_governed_core_prd_route"))
    );

    fs::write(core.join("a.txt"), "two\n").unwrap();
    assert_eq!(reasons(&world, &core), json!(["core_main_dirty"]));
    assert_eq!(guard(&world, &core)["next_allowed_action"], "wait_or_open_later_core_route_when_idle");
    git(&core, ["checkout", "-q", "a.txt"]);

    fs::create_dir(core.join(".git/rebase-merge")).unwrap();
    assert_eq!(reasons(&world, &core), json!(["core_operation_unfinished"]));
    fs::remove_dir(core.join(".git/rebase-merge")).unwrap();

    let other = world.path().join("other");
    git(&core, ["worktree", "add", "-q", other.to_str().unwrap()]);
    assert_eq!(reasons(&world, &core), json!(["active_or_conflicting_core_work_present"]));
    git(&core, ["worktree", "lock", other.to_str().unwrap()]);
    assert_eq!(reasons(&world, &core), json!(["ownership_uncertain", "active_or_conflicting_core_work_present"]));
    git(&core, ["worktree", "unlock", other.to_str().unwrap()]);
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(reasons(&world, &core), json!([]), "a worktree whose folder is gone is nobody's work");

    let script = world.write("validate_core.sh", "sleep 60\n");
    let mut running = program("sh", &core).arg(&script).spawn().unwrap();
    assert_eq!(reasons(&world, &core), json!(["validation_process_running"]));
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(reasons(&world, &core), json!([]), "the control again");

    let nothing = world.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    assert_eq!(reasons(&world, &nothing), json!(["core_unreadable"]));
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
    let branch =
        String::from_utf8(program("git", &core).args(["branch", "--show-current"]).output().unwrap().stdout).unwrap();
    assert_eq!(
        told("status: idle\n", &format!("  conflicts: [{}]\n", branch.trim())),
        json!(["active_or_conflicting_core_work_present"])
    );
    let _ = world.cto(["guard", "--core", "/nowhere/at/all"]).expect(3);
}
