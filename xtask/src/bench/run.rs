//! One whole run of the `fake` engine, sealed, against two floors that keep no evidence at all.

use std::fs::OpenOptions;
use std::path::Path;

use super::rounds::{Candidate, in_turns};
use super::world::{World, bench_case, copy_tree, git, repository, small_case};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{command_output, program};

const ROUNDS: usize = 60;

/// Measures a whole run against its floors and returns the table.
pub(super) fn measure_run(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "run")?;
    let (repository_folder, case, home) =
        (world.path_of("repository"), world.path_of("bench-case"), world.path_of("home"));
    repository(&repository_folder)?;
    bench_case(&case)?;
    let candidates = vec![
        Candidate::new("floor C: copy, `sh` agent, `true`, one fsync", "C", |_| copied(&world.path_of("copy")))
            .clearing(|_| remove(&world.path_of("copy"))),
        Candidate::new("floor B: git worktree add, apply, status, diff, `true`, remove", "B", |_| {
            worktree(&repository_folder, &world.path_of("worktree"))
        }),
        Candidate::new("`cto run`, `fake`, no sandbox, verified and sealed", "cto", |_| sealed(bench, &home, &case)),
    ];
    let rounds = bench.rounds.unwrap_or(ROUNDS);
    let rows = in_turns(candidates, rounds)?;
    all_sealed(&home, rounds + 1)?;
    Ok(bench_table(&rows, &[0, 1]))
}

/// Floor C: what is left when nothing is checked and nothing is written down.
fn copied(folder: &Path) -> ChoreResult {
    copy_tree(&small_case().join("files"), folder)?;
    command_output(program("sh", ["-c", "echo '# changed' >> strings.py"]).current_dir(folder))?;
    command_output(program("true", [""; 0]).current_dir(folder))?;
    let file = OpenOptions::new().append(true).open(folder.join("strings.py"));
    file.and_then(|file| file.sync_all()).map_err(|error| format!("cannot flush: {error}"))
}

fn remove(folder: &Path) -> ChoreResult {
    std::fs::remove_dir_all(folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))
}

/// Floor B: what a script around git does.
fn worktree(repository: &Path, folder: &Path) -> ChoreResult {
    let name = folder.to_string_lossy();
    let patch = small_case().join("good.patch");
    command_output(&mut git(repository, &["worktree", "add", "--quiet", "--detach", &name, "HEAD"]))?;
    command_output(&mut git(folder, &["apply", &patch.to_string_lossy()]))?;
    command_output(&mut git(folder, &["status", "--porcelain"]))?;
    command_output(&mut git(folder, &["diff"]))?;
    command_output(program("true", [""; 0]).current_dir(folder))?;
    command_output(&mut git(repository, &["worktree", "remove", "--force", &name])).map(drop)
}

fn sealed(bench: &Bench, home: &Path, case: &Path) -> ChoreResult {
    let words = ["--home".as_ref(), home.as_os_str(), "run".as_ref(), case.as_os_str()];
    command_output(program(&bench.cto, words).args(["--sandbox", "none", "--json"])).map(drop)
}

/// Ending with 0 is no proof: a program that does nothing would win. Every run must have
/// left a sealed bundle.
fn all_sealed(home: &Path, expected: usize) -> ChoreResult {
    let folder = home.join("harness-runs");
    let bundles = std::fs::read_dir(&folder).map_err(|error| format!("no bundles in {}: {error}", folder.display()))?;
    let sealed = bundles.flatten().filter(|bundle| bundle.path().join("attestation.dsse.json").is_file()).count();
    match sealed == expected {
        true => Ok(()),
        false => Err(format!("{expected} runs left {sealed} sealed bundles; these times mean nothing")),
    }
}
