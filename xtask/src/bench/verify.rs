//! `cto verify` of a large bundle, against hashing the same bytes; and of many small ones,
//! one after the other.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::rounds::{Candidate, in_turns};
use super::world::{World, bench_case, copy_tree};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{command_output, program};

const ROUNDS: usize = 5;
const SIZE: u64 = 1 << 30;
/// Small bundles that one command checks. Each is checked on one thread: there is too
/// little of it for more.
const SMALL: usize = 1000;

/// Measures a large bundle and many small ones and returns the tables.
pub(super) fn measure_verify(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "verify")?;
    let home = world.path_of("home");
    let bundle = sealed_bundle(bench, &world, &home)?;
    let small = small_bundles(&world, &bundle)?;
    enlarge(&bundle, &home)?;
    let candidates = vec![
        Candidate::new("SHA-256 of every file of the bundle, sha2 crate", "sha2", |_| hashed(&bundle)),
        Candidate::new("`cto verify` of the bundle", "cto", |_| verified(bench, &home, &bundle)),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    finds_damage(bench, &home, &bundle)?;
    Ok(format!("{}\n{}", bench_table(&rows, &[0]), many(bench, &home, &small)?))
}

/// Number of small bundles that one command checks in a second on one core.
fn many(bench: &Bench, home: &Path, small: &[PathBuf]) -> ChoreResult<String> {
    let candidate = Candidate::new("`cto verify` of small bundles", "small", |_| all_verified(bench, home, small));
    let rows = in_turns(vec![candidate], bench.rounds.unwrap_or(ROUNDS))?;
    let last = small.last().ok_or("there are no small bundles")?;
    finds_damage(bench, home, last)?;
    if all_verified(bench, home, small).is_ok() {
        return Err("one changed bundle among many verified too; these times mean nothing".to_owned());
    }
    let rate = |time: std::time::Duration| (small.len() as f64 / time.as_secs_f64()).round();
    let (p50, best) = (rate(rows[0].p50()), rate(rows[0].min()));
    Ok(format!(
        "| | p50 | best |\n| --- | --- | --- |\n| small bundles per second on one core, {SMALL} in one `cto verify` | {p50} | {best} |\n"
    ))
}

/// As a run leaves it.
fn sealed_bundle(bench: &Bench, world: &World, home: &Path) -> ChoreResult<PathBuf> {
    let case = world.path_of("case");
    bench_case(&case)?;
    let words = ["--home".as_ref(), home.as_os_str(), "run".as_ref(), case.as_os_str()];
    command_output(&mut program(&bench.cto, words))?;
    let fail = |error: std::io::Error| format!("cannot find the bundle: {error}");
    let mut bundles = std::fs::read_dir(home.join("harness-runs")).map_err(fail)?;
    Ok(bundles.next().ok_or("the run left no bundle")?.map_err(fail)?.path())
}

fn small_bundles(world: &World, bundle: &Path) -> ChoreResult<Vec<PathBuf>> {
    let copy = |number: usize| {
        let to = world.path_of(&format!("small/{number}"));
        copy_tree(bundle, &to).map(|()| to)
    };
    (0..SMALL).map(copy).collect()
}

/// Adds a large file, sealed again by the home's own key, so that the bundle has [`SIZE`]
/// bytes and more.
fn enlarge(bundle: &Path, home: &Path) -> ChoreResult {
    let mut grow =
        program("cargo", ["run", "--quiet", "--release", "--package", "testkit", "--example", "large_bundle", "--"]);
    grow.arg(bundle).arg(home.join("keys/harness.pem")).arg(SIZE.to_string());
    command_output(&mut grow)?;
    // The ledger knows the bundle by another attestation, and verify would say so.
    std::fs::remove_file(home.join("ledger.db")).map_err(|error| format!("cannot forget the run: {error}"))
}

fn hashed(folder: &Path) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            hashed(&path)?;
        } else {
            hash(&path).map_err(fail)?;
        }
    }
    Ok(())
}

fn hash(path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut hasher = Sha256::new();
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    std::hint::black_box(hasher.finalize());
    Ok(())
}

/// Ending with 0 is no proof: there is a line for each.
fn all_verified(bench: &Bench, home: &Path, bundles: &[PathBuf]) -> ChoreResult {
    let words = ["--home".as_ref(), home.as_os_str(), "verify".as_ref()];
    let told = command_output(program(&bench.cto, words).args(bundles))?;
    match told.lines().filter(|line| line.starts_with("pass ")).count() {
        count if count == bundles.len() => Ok(()),
        count => Err(format!("{count} of {} bundles were told of", bundles.len())),
    }
}

fn verified(bench: &Bench, home: &Path, bundle: &Path) -> ChoreResult {
    let words = ["--home".as_ref(), home.as_os_str(), "verify".as_ref(), bundle.as_os_str()];
    command_output(&mut program(&bench.cto, words)).map(drop)
}

/// Ending with 0 is no proof: the same command must refuse the bundle once a byte of it is
/// other.
fn finds_damage(bench: &Bench, home: &Path, bundle: &Path) -> ChoreResult {
    let report = bundle.join("report.json");
    let file = OpenOptions::new().append(true).open(&report);
    let added = file.and_then(|mut file| file.write_all(b" "));
    added.map_err(|error| format!("cannot change {}: {error}", report.display()))?;
    match verified(bench, home, bundle) {
        Err(_) => Ok(()),
        Ok(()) => Err("a changed bundle verified too; these times mean nothing".to_owned()),
    }
}
