//! Many runs on one home at once, and runs that are ended from outside: every one of them ends in a bundle that verifies.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{Ran, World, left_running, wait_for};

use crate::world;

/// Processes at a time.
const AT_ONCE: usize = 16;
const SLEEPS: &str = "{steps: [{spawn: {argv: [sleep, \"600\"], detach: true}}, {sleep: {seconds: 600}}]}";

/// Checks the state after the end of all runs: these runs and all others.
fn check(world: &World, runs: &BTreeSet<String>) {
    let listed: Vec<Value> = ledger_rows(world);
    let ids: BTreeSet<String> = listed.iter().map(|row| text(&row["run_id"])).collect();
    assert_eq!(listed.len(), ids.len(), "no run is listed twice");
    assert!(ids.is_superset(runs), "every run is listed");
    assert!(listed.iter().all(|row| row["status"] != "running"), "every run is over: {listed:#?}");
    let bundles = names_in(world, "harness-runs");
    assert_eq!(bundles, ids, "one bundle a run");
    let verified = world.cto(["verify", "--json"].iter().copied().chain(bundles.iter().map(String::as_str)));
    let verified = verified.expect(0).json();
    assert_eq!(verified.as_array().map_or(1, Vec::len), bundles.len());
    for folder in ["active", "work"] {
        assert_eq!(names_in(world, folder), BTreeSet::new(), "{folder}/ is empty");
    }
    let left: Vec<String> = ids.iter().flat_map(|run| left_running(run)).collect();
    assert_eq!(left, Vec::<String>::new(), "no process is left");
    let doctor = world.cto(["doctor"]).expect(0).text();
    assert!(doctor.contains("ledger entries, chain holds"), "{doctor}");
}

fn ledger_rows(world: &World) -> Vec<Value> {
    let rows = world.cto(["runs", "--json", "--limit", "1000"]).expect(0).text();
    rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn names_in(world: &World, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(world.home().join(folder)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn run_id(ran: &Ran) -> String {
    text(&ran.json()["run_id"])
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Looking and writing at once on a home that is new: everybody finds nothing or a whole ledger.
#[test]
fn many_processes_make_a_home_together() {
    for _ in 0..3 {
        let world = world();
        fs::create_dir(world.home()).unwrap();
        fs::set_permissions(world.home(), fs::Permissions::from_mode(0o700)).unwrap();
        let rows: [&[&str]; 6] = [
            &["runs"],
            &["halt", "--reason", "r"],
            &["approvals"],
            &["status"],
            &["ledger", "verify"],
            &["key", "init"],
        ];
        let children: Vec<(usize, Child)> =
            (0..18).map(|number| (number, world.start(rows[number % rows.len()].iter().copied()))).collect();
        for (number, child) in children {
            let ran = World::finish(child);
            let words = rows[number % rows.len()];
            assert!(ran.code == 0 || words == ["key", "init"], "{words:?}: {}", ran.told());
            assert!(!ran.stderr.contains("not a ledger") && !ran.stderr.contains("damaged"), "{words:?}: {ran:?}");
        }
        let _ = world.cto(["ledger", "verify"]).expect(0);
    }
}

/// The first of them also make the home, its key and its ledger, all at the same time.
#[test]
fn a_hundred_runs_on_one_home() {
    let world = world();
    world.case("made", &[("verification_commands", "[[\"true\"]]")]);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut ids = Vec::new();
        while next.fetch_add(1, Ordering::Relaxed) < 100 {
            ids.push(run_id(&world.cto(["run", "./made", "--json"]).expect(0)));
        }
        ids
    };
    let ids: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        // Recoveries meanwhile take no living run for a dead one.
        scope.spawn(|| {
            while next.load(Ordering::Relaxed) < 100 {
                let recovered = world.cto(["recover", "--json"]).expect(0).json();
                assert_eq!(recovered["sealed"], serde_json::json!([]));
            }
        });
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let distinct: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!((ids.len(), distinct.len()), (100, 100));
    check(&world, &distinct);
    assert_eq!(ledger_rows(&world).len(), 100);
}

fn sleeping(world: &World, run: &str) -> bool {
    let events = world.home().join("active").join(run).join("events.normalized.jsonl");
    fs::read_to_string(events).is_ok_and(|events| events.contains(r#"\"do\":\"sleep\""#))
}

#[test]
fn ten_runs_interrupted() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let children: Vec<Child> = (0..10).map(|_| world.start(["run", "./made", "--json"])).collect();
    wait_for("ten sleeping engines", || {
        let active = world.home().join("active").is_dir().then(|| names_in(&world, "active"))?;
        (active.iter().filter(|name| sleeping(&world, name)).count() == 10).then_some(())
    });
    children.iter().for_each(|child| signal(child, Signal::INT));
    let ran: Vec<Ran> = children.into_iter().map(World::finish).collect();
    let mut runs = BTreeSet::new();
    for ran in ran {
        let ran = ran.expect(130);
        assert_eq!(ran.json()["blocker_reasons"], serde_json::json!(["harness_interrupted"]));
        runs.insert(run_id(&ran));
    }
    assert_eq!(runs.len(), 10);
    check(&world, &runs);
}

/// Starts ten runs and kills each at another moment of its life: three almost at once, the others when five have begun.
fn kill_ten(world: &World) {
    let children: Vec<Child> = (0..10).map(|_| world.start(["run", "./made", "--json"])).collect();
    let begun = |name: &String| world.home().join("active").join(name).join("events.normalized.jsonl").exists();
    for (index, mut child) in children.into_iter().enumerate() {
        if index == 3 {
            wait_for("five runs", || {
                (names_in(world, "active").iter().filter(|it| begun(it)).count() >= 5).then_some(())
            });
        }
        std::thread::sleep(Duration::from_millis(20));
        signal(&child, Signal::KILL);
        child.wait().unwrap();
    }
}

#[test]
fn ten_runs_killed_then_listed() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let first = world.run("fail-critical-risk", 3).0;
    kill_ten(&world);
    let sealed = world.cto(["runs"]).expect(0);
    assert!(sealed.text().lines().all(|line| !line.contains(" running ")), "{}", sealed.text());
    // A run that was killed before it was written down is no run: its empty folder goes with the next recovery.
    let recovered = world.cto(["recover", "--json"]).expect(0).json();
    assert_eq!((&recovered["sealed"], &recovered["alive"]), (&serde_json::json!([]), &serde_json::json!([])));
    check(&world, &BTreeSet::from([text(&first["run_id"])]));
    let interrupted = ledger_rows(&world).iter().filter(|row| row["reasons"][0] == "harness_interrupted").count();
    assert!((5..=10).contains(&interrupted), "{interrupted} were killed while they ran");
}

#[test]
fn ten_runs_killed_then_recovered_by_several_at_once() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let first = world.run("fail-critical-risk", 3).0;
    kill_ten(&world);
    let open = ["recover", "recover", "runs"].map(|command| world.start([command]));
    for child in open {
        let _ = World::finish(child).expect(0);
    }
    check(&world, &BTreeSet::from([text(&first["run_id"])]));
}

/// The processes of a run, as long as nobody has killed them: its supervising stage first.
fn stage_of(child: &Child) -> Option<Pid> {
    let pid = child.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
}

/// Harness and stage are both killed, so that nobody is left who would end the engine (a sandbox ends with its stage, so
/// there is none); and a recovery before died too.
#[test]
fn a_run_whose_stage_is_killed_with_it() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let mut child = world.start(["run", "./made", "--json", "--sandbox", "none"]);
    let run = wait_for("a sleeping engine", || {
        let active = world.home().join("active").is_dir().then(|| names_in(&world, "active"))?;
        active.into_iter().find(|name| sleeping(&world, name))
    });
    let stage = wait_for("the stage", || stage_of(&child));
    signal(&child, Signal::STOP);
    kill_process(stage, Signal::KILL).unwrap();
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    assert!(!left_running(&run).is_empty(), "control: the engine lives on");
    let stale = world.home().join("active").join(format!("{run}.recover"));
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join("report.json"), "{").unwrap();
    let recovered = world.cto(["recover", "--json"]).expect(0).json();
    assert_eq!(recovered["sealed"][0]["run_id"], run);
    check(&world, &BTreeSet::from([run]));
}

#[test]
fn two_matrices_at_once() {
    let world = world();
    let both = [0, 1].map(|_| world.start(["matrix", "--jobs", "4", "--json"]));
    let mut runs = BTreeSet::new();
    for child in both {
        let matrix = World::finish(child).expect(0).json();
        assert_eq!(matrix["status"], "pass");
        runs.extend(matrix["cases"].as_array().unwrap().iter().map(|row| text(&row["run_id"])));
    }
    assert_eq!(runs.len(), 2 * fixtures::builtin().len());
    check(&world, &runs);
}

#[test]
fn workspaces_made_at_once_are_all_registered() {
    let world = world();
    let names: Vec<String> = (0..48).map(|number| format!("made-{number}")).collect();
    let children: Vec<Child> = names.iter().map(|name| world.start(["init", name])).collect();
    for child in children {
        let _ = World::finish(child).expect(0);
    }
    let registered = fs::read_to_string(world.home().join("trust/workspaces")).unwrap();
    let registered: BTreeSet<&str> = registered.lines().collect();
    let here = fs::canonicalize(world.here()).unwrap();
    for name in &names {
        assert!(registered.contains(here.join(name).to_str().unwrap()), "{name}: {registered:?}");
    }
}
