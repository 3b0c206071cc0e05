//! `cto runs` and `cto show` with few and with many runs in the ledger: the two must cost
//! the same.

use std::path::{Path, PathBuf};

use super::rounds::{Candidate, in_turns};
use super::world::{World, bench_case};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{command_output, program};

const ROUNDS: usize = 40;
/// Runs of the small ledger.
pub(super) const FEW: u32 = 100;
/// Runs of the large ledger.
pub(super) const MANY: u32 = 100_000;

/// Prefix of the invented runs' task ids, and the task id of the real run.
const MADE_UP: &str = "made-up-";
const REAL: &str = "bench";

/// Measures homes with few and many runs and returns the table.
pub(super) fn measure_ledger(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "ledger")?;
    let few = home(bench, &world, "few", FEW)?;
    let many = home(bench, &world, "many", MANY)?;
    let candidates = vec![
        Candidate::new("`cto runs`, 100 runs", "runs, 100", |_| check_told(bench, &few, &["runs"], MADE_UP)),
        Candidate::new("`cto runs`, 100,000 runs", "runs, 100,000", |_| check_told(bench, &many, &["runs"], MADE_UP)),
        Candidate::new("`cto show @`, 100 runs", "show, 100", |_| check_told(bench, &few, &["show", "@"], REAL)),
        Candidate::new("`cto show @`, 100,000 runs", "show, 100,000", |_| {
            check_told(bench, &many, &["show", "@"], REAL)
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(bench_table(&rows, &[0, 2]))
}

/// A home whose ledger holds this many made-up runs and, as the newest, a real one with its bundle.
pub(super) fn home(bench: &Bench, world: &World, name: &str, runs: u32) -> ChoreResult<PathBuf> {
    shaped_home(bench, world, name, runs, "mixed")
}

/// The same with made-up runs of a shape that the example `fill` knows.
pub(super) fn shaped_home(bench: &Bench, world: &World, name: &str, runs: u32, shape: &str) -> ChoreResult<PathBuf> {
    let home = empty_home(world, name)?;
    fill(bench, &home, runs, shape)?;
    run_real(bench, world, &home, name)?;
    Ok(home)
}

/// The same with the real run as the oldest.
pub(super) fn covered_home(bench: &Bench, world: &World, name: &str, runs: u32, shape: &str) -> ChoreResult<PathBuf> {
    let home = empty_home(world, name)?;
    run_real(bench, world, &home, name)?;
    fill(bench, &home, runs, shape)?;
    Ok(home)
}

fn empty_home(world: &World, name: &str) -> ChoreResult<PathBuf> {
    let home = world.path_of(name);
    std::fs::create_dir(&home).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    Ok(home)
}

fn run_real(bench: &Bench, world: &World, home: &Path, name: &str) -> ChoreResult<String> {
    let case = world.path_of(&format!("{name}-case"));
    bench_case(&case)?;
    cto(bench, home, &["run", &case.to_string_lossy(), "--sandbox", "none", "--json"])
}

/// Endings of the files of a ledger; its write-ahead log is there while entries are not yet in the file itself.
const LEDGER_FILES: [&str; 2] = ["", "-wal"];

/// Made in memory where there is such a place, since each entry is flushed to the disk it is made on, and moved.
/// Goes on with the ledger of the home, if it has one.
fn fill(bench: &Bench, home: &Path, runs: u32, shape: &str) -> ChoreResult {
    let memory = Path::new("/dev/shm");
    let made_in = if memory.is_dir() { memory } else { Path::new("/tmp") };
    let made = World::new(made_in, "fill")?;
    let (temporary, own) = (made.path_of("ledger.db"), home.join("ledger.db"));
    for ending in LEDGER_FILES {
        copy_if_there(&format!("{}{ending}", own.display()), &format!("{}{ending}", temporary.display()))?;
    }
    let example = bench.example("ledger", "fill")?;
    let runs = runs.to_string();
    command_output(&mut program(example, [temporary.as_os_str(), runs.as_ref(), shape.as_ref(), home.as_os_str()]))?;
    for ending in LEDGER_FILES {
        let _ = std::fs::remove_file(format!("{}{ending}", own.display()));
        copy_if_there(&format!("{}{ending}", temporary.display()), &format!("{}{ending}", own.display()))?;
    }
    Ok(())
}

fn copy_if_there(from: &str, to: &str) -> ChoreResult {
    if Path::new(from).is_file() {
        std::fs::copy(from, to).map_err(|error| format!("cannot copy {from} to {to}: {error}"))?;
    }
    Ok(())
}

/// Output of our program in a home.
pub(super) fn cto(bench: &Bench, home: &Path, arguments: &[&str]) -> ChoreResult<String> {
    command_output(program(&bench.cto, ["--home".as_ref(), home.as_os_str()]).args(arguments))
}

/// Ending with 0 is no proof: what was asked for must be in the answer.
pub(super) fn check_told(bench: &Bench, home: &Path, arguments: &[&str], expected: &str) -> ChoreResult {
    match cto(bench, home, arguments)?.contains(expected) {
        true => Ok(()),
        false => Err(format!("{expected:?} is not in what it printed; its time means nothing")),
    }
}
