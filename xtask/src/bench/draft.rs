//! `cto new` and `cto environment suggest` on a large repository against `git ls-files`,
//! which reads one file.

use std::fs;

use super::ledger::check_told;
use super::rounds::{Candidate, in_turns};
use super::workspace::large_repository;
use super::world::{World, git};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::command_output;

const ROUNDS: usize = 20;

/// Measures drafts in a large repository and returns the table.
pub(super) fn measure_drafts(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "new")?;
    let repository = world.path_of("repository");
    large_repository(&repository)?;
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", repository.display());
    // What makes it a project, untracked: a draft reads what lies there.
    fs::write(repository.join("Cargo.toml"), "[package]\nname = \"bench\"\n").map_err(fail)?;
    let (home, contract) = (world.path_of("home"), world.path_of("task.yaml"));
    let folder = repository.to_string_lossy().into_owned();
    let file = contract.to_string_lossy().into_owned();
    let candidates = vec![
        Candidate::new("`git ls-files`, 50,000 files", "ls-files", |_| {
            command_output(&mut git(&repository, &["ls-files"])).map(drop)
        }),
        Candidate::new("`cto environment suggest`", "suggest", |_| {
            check_told(bench, &home, &["environment", "suggest", &folder], "environment:")
        }),
        Candidate::new("`cto new`", "new", |_| {
            check_told(bench, &home, &["new", "--from", "x", "--repo", &folder, "--out", &file], "cargo")
        })
        .clearing(|_| fs::remove_file(&contract).map_err(|error| error.to_string())),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(bench_table(&rows, &[0]))
}
