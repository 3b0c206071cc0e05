//! The harness is killed at any moment of a run: everything it started dies with it, and what was begun is sealed.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Who, World, left_within, times, wait_for, work_areas};

use super::check::{in_words, living};
use super::program::{TRIED, shell};
use super::scene::all_verify;

/// Never still: at any moment something is being started.
const RESTLESS: &str = "while :; do sleep 600 & setsid sleep 601 & sleep 0.01; done";
const DONE: &str = "true";

/// Time at which the harness is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// On the way to the engine's start, or a little later.
    Before,
    /// While the engine works.
    During,
    /// While the engine's work is judged and sealed, or when all is over.
    After,
}

/// Kills runs and checks that all their processes are dead, as often as everyday tests do.
pub(super) fn check(test: &str) {
    for who in Who::all(test) {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who).with_own_binary();
        let usual = usual(&world);
        for round in 0..times("CTO_TEST_KILLS", 12) {
            let moment = [Moment::Before, Moment::During, Moment::After][round as usize % 3];
            kill(&world, moment, usual);
            recover(&world);
        }
        all_verify(&world);
    }
}

/// Time that a run takes until its engine works.
fn usual(world: &World) -> Duration {
    set(world, DONE);
    // The first run makes the home and tries the sandbox.
    let _ = world.cto(["run", "./made"]).expect(0);
    set(world, RESTLESS);
    let began = Instant::now();
    let mut child = start(world);
    wait_for("an engine at work", || works(world).then_some(()));
    let usual = began.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    recover(world);
    usual
}

fn set(world: &World, script: &str) {
    let steps = json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": shell(script)}}]});
    world.case("made", &[("fake", &steps.to_string())]);
}

fn start(world: &World) -> Child {
    world.command(["run", "./made"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// True if the engine's program says that it was started.
fn works(world: &World) -> bool {
    names(&world.home().join("active")).iter().any(|run| {
        let events = world.home().join("active").join(run).join("events.normalized.jsonl");
        fs::read_to_string(events).is_ok_and(|events| events.contains(TRIED))
    })
}

fn kill(world: &World, moment: Moment, usual: Duration) {
    set(world, if matches!(moment, Moment::After) { DONE } else { RESTLESS });
    let mut child = start(world);
    let delay = match moment {
        Moment::Before => usual.mul_f64(random()),
        Moment::During => {
            wait_for("an engine at work", || works(world).then_some(()));
            Duration::from_millis(100).mul_f64(random())
        }
        Moment::After => usual.mul_f64(2.0 * random()),
    };
    // No wait for anything: it is the moment that is tried.
    std::thread::sleep(delay);
    let runs = names(&world.home().join("active"));
    let before = living(world, &runs).len();
    child.kill().unwrap();
    child.wait().unwrap();
    if matches!(moment, Moment::During) {
        // Harness, stage, the first process inside, the engine, and what it started.
        assert!(before > 4, "control: only {before} processes were to be killed after {delay:?}");
    }
    let left = left_within(Duration::from_secs(1), || living(world, &names(&world.home().join("active"))));
    assert!(left.is_empty(), "{moment:?}, killed after {delay:?}: {} still live", in_words(&left));
}

/// Between 0 and 1.
fn random() -> f64 {
    f64::from(u16::try_from(RandomState::new().hash_one(0) >> 48).unwrap()) / f64::from(u16::MAX)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Checks that a run that was begun is sealed, and that nothing else of it is left.
fn recover(world: &World) {
    let began = names(&world.home().join("active"));
    let recovered = world.cto(["recover", "--json"]).expect(0).json();
    assert_eq!((&recovered["alive"], &recovered["failed"]), (&json!([]), &json!([])), "{recovered}");
    for folder in ["active", "work"] {
        assert_eq!(names(&world.home().join(folder)), BTreeSet::new(), "{folder}/ is empty");
    }
    let sealed = names(&world.bundles());
    let removed = recovered["removed"].as_array().map_or(0, Vec::len);
    assert!(began.difference(&sealed).count() <= removed, "{recovered}");
    for run in began {
        let left = work_areas(&world.home(), &run).into_iter().find(|area| area.exists());
        assert_eq!(left, None, "its work area is left");
    }
}
