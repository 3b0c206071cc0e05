//! Collections that die, and collections that meet.

use std::fs;
use std::time::Duration;

use ledger::{Collection, Ledger, RunCollected};
use testkit::{World, moment, stoppable, times};

use super::{ALL, bundles, check_whole, collect, quick_runs};
use crate::world;

fn open(world: &World) -> Ledger {
    Ledger::open_file(&world.home().join("ledger.db")).unwrap()
}

/// Writes the entry that a collection makes before it acts.
fn say(world: &World, run: &str) {
    let attestation = fs::read(world.bundles().join(run).join("attestation.dsse.json")).unwrap();
    let said = RunCollected {
        run_id: run.to_owned().try_into().unwrap(),
        time: "2026-03-01T10:00:00.000000Z".parse().unwrap(),
        collection: Collection {
            attestation_sha256: contract::Digest::of_bytes(&attestation),
            reason: "older than 1d".to_owned(),
            bytes: 1,
        },
    };
    open(world).runs_collected(&[said]).unwrap();
}

#[test]
fn what_one_began_the_next_one_finishes() {
    let world = world();
    let runs = quick_runs(&world, 5);
    let [said, moved, stated, ..] = runs.as_slice() else { unreachable!() };
    say(&world, said);
    assert!(world.cto(["show", said]).expect(0).text().starts_with("pass "), "what is still here is shown");
    say(&world, moved);
    fs::create_dir(world.home().join("trash")).unwrap();
    fs::rename(world.bundles().join(moved), world.home().join("trash").join(moved)).unwrap();
    fs::remove_file(world.home().join("trash").join(moved).join("report.json")).unwrap();
    say(&world, stated);
    let statements = world.home().join("statements").join(stated);
    fs::create_dir_all(&statements).unwrap();
    fs::write(statements.join("reverified.dsse.json"), "{}").unwrap();
    // Whatever it is asked to keep: that those go was decided before.
    let (document, fates) = collect(&world, &["gc"]);
    assert_eq!(fates[said], "collected");
    assert_eq!(fates[stated], "stated", "somebody stated something since");
    assert!(!fates.contains_key(moved) && fates.values().filter(|fate| *fate == "young").count() == 1, "{document}");
    check_whole(&world, &runs);
}

/// Killed anywhere: each run is here and whole, or gone and accounted for, and the next collection brings it to an end.
/// `CTO_TEST_GC_KILLS` sets the number of kills.
#[test]
fn a_collection_may_be_killed_at_any_time() {
    const RUNS: usize = 40;
    /// Kills that one lot of runs is enough for.
    const KILLS: u32 = 6;
    /// By then it has ended, most times.
    const LONGEST: Duration = Duration::from_millis(120);
    let world = world();
    let (mut runs, kills) = (quick_runs(&world, RUNS), times("CTO_TEST_GC_KILLS", KILLS));
    for round in 0..kills {
        if round > 0 && round % KILLS == 0 {
            let _ = collect(&world, &ALL);
            runs.extend(quick_runs(&world, RUNS));
        }
        let mut child = world.start(ALL);
        std::thread::sleep(moment(LONGEST));
        child.kill().unwrap();
        child.wait().unwrap();
        let ledger = open(&world);
        for run in runs.iter().filter(|run| !world.bundles().join(run).exists()) {
            let id = run.clone().try_into().unwrap();
            assert!(ledger.run_collection(&id).unwrap().is_some(), "{run} went before it was said");
        }
        assert!(ledger.verify().unwrap().is_intact());
    }
    let _ = collect(&world, &ALL);
    assert_eq!(bundles(&world).len(), 1, "the latest pass");
    for folder in ["trash", "work", "active"] {
        let left = fs::read_dir(world.home().join(folder)).map_or(0, Iterator::count);
        assert_eq!(left, 0, "nothing is left in {folder}/");
    }
    check_whole(&world, &runs);
}

/// The same at each of its effects.
#[test]
fn a_collection_may_be_killed_at_every_place() {
    let Some(binary) = stoppable("gc::interrupted::a_collection_may_be_killed_at_every_place") else { return };
    let world = World::new(binary.to_str().unwrap());
    let mut runs = quick_runs(&world, 3);
    for place in ["collect.looked", "collect.said", "collect.moved", "collect.removed"] {
        let output = world.command(ALL).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!(output.status.code(), None, "{place}: it is killed there: {output:?}");
        let _ = collect(&world, &ALL);
        assert_eq!(bundles(&world).len(), 1, "{place}: the latest pass");
        check_whole(&world, &runs);
        runs.extend(quick_runs(&world, 2));
    }
}

#[test]
fn several_at_once_do_it_once() {
    let world = world();
    let runs = quick_runs(&world, 30);
    let children = [(); 3].map(|()| world.start(ALL.iter().chain(&["--json"])));
    let collected = children.map(|child| World::finish(child).expect(0).json()["collected"]["runs"].as_u64());
    assert_eq!(collected.iter().map(|runs| runs.unwrap()).sum::<u64>(), 29);
    let ledger = open(&world);
    let entries = |run: &String| {
        let entries = ledger.run_entries(&run.clone().try_into().unwrap()).unwrap();
        entries.iter().filter(|entry| entry.kind == "evidence.collected").count()
    };
    assert_eq!(runs.iter().map(entries).sum::<usize>(), 29, "one entry each");
    check_whole(&world, &runs);
}
