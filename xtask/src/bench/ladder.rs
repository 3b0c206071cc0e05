//! `cto ladder` and `cto status` with few and with many runs in the ledger: the two must
//! cost the same, whatever the runs are.

use std::path::PathBuf;

use super::ledger::{FEW, MANY, check_told, covered_home, shaped_home};
use super::rounds::{Candidate, in_turns};
use super::world::World;
use super::{Bench, bench_table};
use crate::ChoreResult;

const ROUNDS: usize = 40;

/// A command that is measured in homes with runs of one shape: made-up runs of other
/// engines, whose bundles are gone unless the shape says otherwise.
struct Shaped {
    shape: &'static str,
    place: RealPass,
    words: &'static [&'static str],
    /// A part of its answer.
    says: &'static str,
    /// Names of the rows, with few runs and with many.
    names: [&'static str; 2],
    shorts: [&'static str; 2],
}

/// Place of the one real run among the made-up ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RealPass {
    Newest,
    Oldest,
}

const STATUS: &[&str] = &["status"];
const SHAPED: [Shaped; 10] = [
    Shaped {
        shape: "mixed",
        place: RealPass::Newest,
        // The one real run, which had no model, is verified each time.
        words: &["ladder", "--engine", "fake"],
        says: "2 stale proof_for=model none",
        names: ["`cto ladder --engine fake`, 100 runs", "`cto ladder --engine fake`, 100,000 runs"],
        shorts: ["ladder, 100", "ladder, 100,000"],
    },
    Shaped {
        shape: "mixed",
        place: RealPass::Newest,
        words: STATUS,
        says: "ladder codex made/up validated=0 next=",
        names: ["`cto status`, 100 runs", "`cto status`, 100,000 runs"],
        shorts: ["status, 100", "status, 100,000"],
    },
    Shaped {
        shape: "collected",
        place: RealPass::Newest,
        words: STATUS,
        says: "ladder codex made/up validated=0 next=",
        names: ["`cto status`, 100 collected passes", "`cto status`, 100,000 collected passes"],
        shorts: ["collected, 100", "collected, 100,000"],
    },
    Shaped {
        shape: "waiting",
        place: RealPass::Newest,
        words: STATUS,
        says: "waiting 50 running=0",
        names: ["`cto status`, 100 passes without outcome", "`cto status`, 100,000 passes without outcome"],
        shorts: ["waiting, 100", "waiting, 100,000"],
    },
    Shaped {
        shape: "answered",
        place: RealPass::Newest,
        words: STATUS,
        says: "clear 0 running=0",
        names: ["`cto status`, 100 answered passes", "`cto status`, 100,000 answered passes"],
        shorts: ["answered, 100", "answered, 100,000"],
    },
    // Runs of the climber's own identity; none of them decides its rung.
    Shaped {
        shape: "collected_outages",
        place: RealPass::Newest,
        words: STATUS,
        says: "ladder codex made/up validated=0 next=",
        names: ["`cto status`, 100 collected outages", "`cto status`, 100,000 collected outages"],
        shorts: ["collected outages, 100", "collected outages, 100,000"],
    },
    Shaped {
        shape: "kept_outages",
        place: RealPass::Newest,
        words: STATUS,
        says: "ladder codex made/up validated=0 next=",
        names: ["`cto status`, 100 outages with bundles", "`cto status`, 100,000 outages with bundles"],
        shorts: ["outages, 100", "outages, 100,000"],
    },
    // Every engine at once.
    Shaped {
        shape: "mixed",
        place: RealPass::Newest,
        words: &["ladder"],
        says: "2 stale proof_for=model none",
        names: ["`cto ladder`, 100 runs", "`cto ladder`, 100,000 runs"],
        shorts: ["every ladder, 100", "every ladder, 100,000"],
    },
    // A rung that is validated, by the real pass.
    Shaped {
        shape: "own_outages",
        place: RealPass::Newest,
        words: &["ladder", "--engine", "fake"],
        says: VALIDATED,
        names: ["`cto ladder`, a pass above 100 outages", "`cto ladder`, a pass above 100,000 outages"],
        shorts: ["above, 100", "above, 100,000"],
    },
    Shaped {
        shape: "own_outages",
        place: RealPass::Oldest,
        words: &["ladder", "--engine", "fake"],
        says: VALIDATED,
        names: ["`cto ladder`, a pass below 100 outages", "`cto ladder`, a pass below 100,000 outages"],
        shorts: ["below, 100", "below, 100,000"],
    },
];
const VALIDATED: &str = "2 validated";

/// Measures homes with few and many runs and returns the table.
pub(super) fn measure_ladder(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "ladder")?;
    let homes = SHAPED.iter().map(|shaped| fill_homes(bench, &world, shaped)).collect::<ChoreResult<Vec<_>>>()?;
    let mut candidates = Vec::new();
    for (shaped, homes) in SHAPED.iter().zip(&homes) {
        for (number, home) in homes.iter().enumerate() {
            let measured = move |_| check_told(bench, home, shaped.words, shaped.says);
            candidates.push(Candidate::new(shaped.names[number], shaped.shorts[number], measured));
        }
    }
    let floors: Vec<usize> = (0..candidates.len()).step_by(2).collect();
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(bench_table(&rows, &floors))
}

type MakeHome = fn(&Bench, &World, &str, u32, &str) -> ChoreResult<PathBuf>;

/// Homes with few and with many runs; two commands with runs of the same shape share them.
fn fill_homes(bench: &Bench, world: &World, shaped: &Shaped) -> ChoreResult<[PathBuf; 2]> {
    let fill = |size: &str, runs| {
        let (prefix, make_home) = match shaped.place {
            RealPass::Newest => ("above", shaped_home as MakeHome),
            RealPass::Oldest => ("below", covered_home as MakeHome),
        };
        let name = format!("{prefix}-{}-{size}", shaped.shape);
        let made = world.path_of(&name);
        if made.is_dir() { Ok(made) } else { make_home(bench, world, &name, runs, shaped.shape) }
    };
    Ok([fill("few", FEW)?, fill("many", MANY)?])
}
