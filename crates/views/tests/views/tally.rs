//! Counts of sealed runs, kept up to an entry of the ledger.

use views::RunTally;

use crate::world::{World, at, run};

fn counted(world: &World, tally: &mut RunTally) -> Vec<(String, u64, u64, u64)> {
    world.views().count_sealed(tally).unwrap();
    tally.counts().map(|(day, _, count)| (day.to_owned(), count.pass, count.fail, count.blocked)).collect()
}

#[test]
fn a_tally_goes_on_and_gives_what_a_new_one_gives() {
    let world = World::new();
    let mut tally = RunTally::default();
    assert!(counted(&world, &mut tally).is_empty());
    world.start(&run("r001"), at("2026-11-16T08:00:00Z"), None, None);
    assert!(counted(&world, &mut tally).is_empty(), "a run that goes on has no verdict");
    let mut seen = Vec::new();
    for kind in ["pass", "fail", "blocked"] {
        world.seal(kind);
        let now = counted(&world, &mut tally);
        assert_eq!(now, counted(&world, &mut RunTally::default()), "{kind}: the same as counted anew");
        assert_eq!(now, counted(&world, &mut tally), "{kind}: nothing is counted twice");
        seen.push(now.iter().map(|(_, pass, fail, blocked)| pass + fail + blocked).sum::<u64>());
    }
    assert_eq!(seen, [1, 2, 3]);
}

#[test]
fn another_ledger_is_counted_anew() {
    let (first, second) = (World::new(), World::new());
    let mut tally = RunTally::default();
    first.seal("pass");
    first.seal("fail");
    let _ = counted(&first, &mut tally);
    second.seal("blocked");
    let found = counted(&second, &mut tally);
    assert_eq!(found.iter().map(|(_, pass, fail, blocked)| (*pass, *fail, *blocked)).collect::<Vec<_>>(), [(0, 0, 1)]);
}
