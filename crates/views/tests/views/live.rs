//! Runs that the ledger calls running.

use std::fs;

use contract::{Digest, EventKind, Stamp};
use views::{Liveness, RunPhase, RunQuery};

use crate::world::{World, at, now, owner, run};

fn state(world: &World, shared_as: Option<Digest>, now: Stamp) -> Liveness {
    let live = world.shared_views(shared_as).list_live(now).unwrap();
    let [one] = live.as_slice() else { panic!("one run is open: {live:?}") };
    let page = world.shared_views(shared_as).list_runs(&RunQuery { limit: 1, ..RunQuery::default() }, now).unwrap();
    assert_eq!(page.runs[0].interrupted, one.state == Liveness::Interrupted, "list and live agree");
    one.state
}

#[test]
fn a_run_lives_as_long_as_its_process_holds_its_folder() {
    let world = World::new();
    let one = run("aaaa");
    world.start(&one, at("2026-11-16T07:00:00Z"), Some(owner("aa")), Some(at("2026-11-16T07:01:00Z")));
    let lock = world.draft(&one, 3);
    assert_eq!(state(&world, None, now()), Liveness::Running, "its lease has lapsed, and it is here");
    // The rename of the seal comes before the entry in the ledger.
    fs::rename(world.root().join("active").join(one.as_str()), world.bundles.bundle_dir(&one)).unwrap();
    assert_eq!(state(&world, None, now()), Liveness::Running);
    drop(lock);
    assert_eq!(state(&world, None, now()), Liveness::Interrupted);
}

#[test]
fn a_run_whose_folder_is_gone_is_dead_and_one_of_another_home_lives_by_its_lease() {
    let world = World::new();
    let (before, until, after) = (at("2026-11-16T07:00:59Z"), at("2026-11-16T07:01:00Z"), at("2026-11-16T07:01:01Z"));
    world.start(&run("aaaa"), at("2026-11-16T07:00:00Z"), Some(owner("aa")), Some(until));
    for (here, now, expected) in [
        (Some(owner("bb")), before, Liveness::Running),
        (Some(owner("bb")), until, Liveness::Interrupted),
        (Some(owner("bb")), after, Liveness::Interrupted),
        (Some(owner("aa")), before, Liveness::Interrupted),
        (None, before, Liveness::Interrupted),
    ] {
        assert_eq!(state(&world, here, now), expected, "{here:?} {now}");
    }
}

#[test]
fn the_last_events_say_how_far_a_run_is() {
    let world = World::new();
    let one = run("aaaa");
    world.start(&one, at("2026-11-16T07:00:00Z"), None, None);
    let phase = |world: &World| {
        let live = world.views().list_live(now()).unwrap().remove(0);
        (live.phase, live.last_event.map(|event| event.kind))
    };
    assert_eq!(phase(&world), (RunPhase::Deciding, None), "by the ledger alone");
    let mut seen = Vec::new();
    for events in 1..40 {
        let lock = world.draft(&one, events);
        seen.push(phase(&world));
        drop(lock);
        fs::remove_dir_all(world.root().join("active").join(one.as_str())).unwrap();
    }
    seen.dedup();
    let phases = {
        let mut phases: Vec<RunPhase> = seen.iter().map(|(phase, _)| *phase).collect();
        phases.dedup();
        phases
    };
    let all = [RunPhase::Deciding, RunPhase::Preparing, RunPhase::Working, RunPhase::Verifying, RunPhase::Sealing];
    assert_eq!(phases, all);
    assert_eq!(seen.last().unwrap().1, Some(EventKind::RunCompleted));
    world.ledger().engine_starting(&one, None, at("2026-11-16T07:00:01Z"), &serde_json::json!({}), None).unwrap();
    assert_eq!(phase(&world), (RunPhase::Working, None), "by the ledger alone");
}

#[test]
fn an_event_that_is_being_written_is_not_read() {
    let world = World::new();
    let one = run("aaaa");
    world.start(&one, at("2026-11-16T07:00:00Z"), None, None);
    let _lock = world.draft(&one, 2);
    let file = world.root().join("active").join(one.as_str()).join("events.normalized.jsonl");
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend_from_slice(br#"{"seq":3,"time":"2026-11-"#);
    fs::write(&file, bytes).unwrap();
    let live = world.views().list_live(now()).unwrap().remove(0);
    assert_eq!(live.last_event.map(|event| event.kind), Some(EventKind::TaskContractCreated));
}
