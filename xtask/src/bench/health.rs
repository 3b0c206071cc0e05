//! `cto health` on two processors, in a home without Case, beside one run of the fake engine.
//! The homes of its runs are made and removed in the measured time, as an operator's CI has it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::rounds::{Candidate, CandidateTimes, in_turns};
use super::world::World;
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{command_output, program};

const ROUNDS: usize = 3;
/// Processors that health may use.
const PROCESSORS: &str = "0,1";
/// Seconds that it may take on them.
const AIM_SECONDS: f64 = 90.0;
/// Exit code where only evidence of Case is missing.
const BLOCKED: i32 = 3;
/// Groups that rest on runs alone, and pass without Case.
const BY_ITSELF: [&str; 2] = ["matrix", "case_provider_adapter"];

/// Measures health against one run, and its seconds against the aim.
pub(super) fn measure_health(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "health")?;
    let scene = HealthScene { bench, user: world.path_of("user") };
    std::fs::create_dir(&scene.user).map_err(|error| format!("cannot make a home: {error}"))?;
    let candidates = vec![
        Candidate::new("`cto run`, `fake`, in a home of its own", "run", |round| {
            scene.run_once(&world.path_of(&format!("run-{round}")))
        }),
        Candidate::new("`cto health`, without Case, on two processors", "health", |round| {
            scene.hold_health(&world.path_of(&format!("health-{round}")))
        }),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    let mut text = bench_table(&rows, &[0]);
    text.push_str("\n| | p50 | longest | aim |\n| --- | --- | --- | --- |\n");
    text.extend(rows.iter().skip(1).map(row_of_seconds));
    Ok(text)
}

fn row_of_seconds(row: &CandidateTimes) -> String {
    let (p50, longest) = (row.p50().as_secs_f64(), row.max().as_secs_f64());
    format!("| {} | {p50:.1} s | {longest:.1} s | {AIM_SECONDS:.0} s |\n", row.name)
}

struct HealthScene<'a> {
    bench: &'a Bench,
    user: PathBuf,
}

impl HealthScene<'_> {
    /// A command on the two processors alone.
    fn command(&self, home: &Path, words: &[&str]) -> Command {
        let mut command = program("taskset", ["-c", PROCESSORS]);
        command.arg(&self.bench.cto).arg("--home").arg(home).args(words);
        command.env("HOME", &self.user).current_dir(&self.user);
        command
    }

    fn run_once(&self, home: &Path) -> ChoreResult {
        command_output(&mut self.command(home, &["run", "r1-string-slugify", "--json"])).map(drop)
    }

    /// Holds every check. A time counts only if what needs no Case passed and nothing is wrong.
    fn hold_health(&self, home: &Path) -> ChoreResult {
        let ended = self.command(home, &["health", "--json"]).output().map_err(|error| format!("taskset: {error}"))?;
        let said = || String::from_utf8_lossy(&ended.stderr).into_owned();
        if ended.status.code() != Some(BLOCKED) {
            return Err(format!("it ended with {}, and its time means nothing: {}", ended.status, said()));
        }
        let document: Value = serde_json::from_slice(&ended.stdout).map_err(|error| format!("{error}: {}", said()))?;
        match BY_ITSELF.iter().find(|group| document[**group]["passed"] != true) {
            Some(group) => Err(format!("{group} did not pass; its time means nothing: {}", document[*group]["reason"])),
            None => Ok(()),
        }
    }
}
