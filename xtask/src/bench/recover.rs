//! `cto recover` with nothing to do, with few and with many runs in the ledger: the two
//! must cost the same.

use super::ledger::{check_told, cto, home};
use super::rounds::{Candidate, in_turns};
use super::world::World;
use super::{Bench, bench_table};
use crate::ChoreResult;

const ROUNDS: usize = 40;
const FEW: u32 = 100;
const MANY: u32 = 100_000;

const NOTHING: &str = "nothing was interrupted";

/// Measures homes with few and many runs and returns the table.
pub(super) fn measure_recover(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "recover")?;
    let few = home(bench, &world, "few", FEW)?;
    let many = home(bench, &world, "many", MANY)?;
    let candidates = vec![
        Candidate::new("`cto recover`, 100 runs", "recover, 100", |_| check_told(bench, &few, &["recover"], NOTHING)),
        Candidate::new("`cto recover`, 100,000 runs", "recover, 100,000", |_| {
            check_told(bench, &many, &["recover"], NOTHING)
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    finds_what_was_interrupted(bench, &many)?;
    Ok(bench_table(&rows, &[0]))
}

/// Saying that nothing was interrupted is no proof: the same command must find what was.
fn finds_what_was_interrupted(bench: &Bench, home: &std::path::Path) -> ChoreResult {
    let made = home.join("active/20200101T000000Z-bench-zzzz");
    std::fs::create_dir(&made).map_err(|error| format!("cannot make {}: {error}", made.display()))?;
    match cto(bench, home, &["recover"])?.contains(NOTHING) {
        false => Ok(()),
        true => Err("a folder of a dead run was passed over; these times mean nothing".to_owned()),
    }
}
