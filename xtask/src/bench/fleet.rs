//! A fleet on PostgreSQL: claims and starts beside pgbench and a bare `SKIP LOCKED` loop, the share of the server that heartbeats and idle
//! workers take, lists on a ledger of a million entries, and the time from a submission to a start.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::rounds::{Candidate, in_turns};
use super::world::{World, bench_case};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};

const ROUNDS: usize = 20;
/// Runs of the two ledgers; each has two entries.
const FEW: u32 = 5_000;
const MANY: u32 = 500_000;
const SECONDS: &str = "10";
/// Submissions whose start is waited for.
const SUBMISSIONS: usize = 20;
const START_LIMIT: Duration = Duration::from_secs(60);

/// Measures and returns the tables.
pub(super) fn measure_fleet(bench: &Bench) -> ChoreResult<String> {
    let example = build_example(bench)?;
    let seconds = if bench.is_trial { "2" } else { SECONDS };
    let mut text = rates_table(&command_output(&mut program(&example, ["rates", seconds]))?)?;
    let world = World::new(&bench.place, "fleet")?;
    let many = bench.runs.unwrap_or(if bench.is_trial { 20_000 } else { MANY });
    let files = [("few", FEW.min(many)), ("many", many)].map(|(name, runs)| fill_file(bench, &world, name, runs));
    let [few, many] = files;
    let served = ServedLedgers::start(&example, &[few?, many?])?;
    let homes = [("few", 0), ("many", 1)].map(|(name, at)| FleetHome::make(bench, &world, name, &served.urls[at]));
    let [few, many] = homes;
    let (few, many) = (few?, many?);
    text.push_str(&lists_table(bench, &few, &many)?);
    text.push_str(&start_times(&few)?);
    Ok(text)
}

fn build_example(bench: &Bench) -> ChoreResult<PathBuf> {
    let mut command =
        cargo(&["build", "--quiet", "--package", "ledger", "--features", "fleet", "--example", "fleet_bench"]);
    run_command(command.args((!bench.is_trial).then_some("--release")))?;
    let profile = if bench.is_trial { "debug" } else { "release" };
    Ok(target().join(profile).join("examples/fleet_bench"))
}

fn rates_table(printed: &str) -> ChoreResult<String> {
    let mut table = "| on one server, with `fsync` | |\n| --- | --- |\n".to_owned();
    for line in printed.lines() {
        let row: Value = serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
        let value = row["value"].as_f64().unwrap_or_default();
        let (name, shown) = match (row["name"].as_str().unwrap_or_default(), row["kind"].as_str().unwrap_or_default()) {
            ("pgbench", _) => ("pgbench, simple update, 8 clients", format!("{value:.0} a second")),
            ("bare", _) => ("a bare `SKIP LOCKED` loop: take and begin, 8 clients", format!("{value:.0} a second")),
            ("ours", _) => ("claim and start, 8 slots", format!("{value:.0} a second")),
            (_, "ratio") => ("claim and start / the bare loop", format!("{value:.2}")),
            ("heartbeats", _) => {
                ("1,000 runs with a heartbeat in 10 s: share of two cores", format!("{:.1} %", value * 100.0))
            }
            _ => ("1,000 idle slots: share of two cores", format!("{:.1} %", value * 100.0)),
        };
        table.push_str(&format!("| {name} | {shown} |\n"));
    }
    Ok(table)
}

/// A ledger in a file, made in memory where there is such a place.
fn fill_file(bench: &Bench, world: &World, name: &str, runs: u32) -> ChoreResult<PathBuf> {
    let memory = Path::new("/dev/shm");
    let made = World::new(if memory.is_dir() { memory } else { Path::new("/tmp") }, &format!("fleet-{name}"))?;
    let (temporary, kept) = (made.path_of("ledger.db"), world.path_of(&format!("{name}.db")));
    let fill = bench.example("ledger", "fill")?;
    let runs = runs.to_string();
    command_output(&mut program(fill, [temporary.as_os_str(), runs.as_ref(), "mixed".as_ref()]))?;
    for ending in ["", "-wal"] {
        let [from, to] = [&temporary, &kept].map(|path| format!("{}{ending}", path.display()));
        if Path::new(&from).exists() {
            std::fs::copy(&from, &to).map_err(|error| format!("cannot copy {from} to {to}: {error}"))?;
        }
    }
    Ok(kept)
}

/// A server with ledgers, which ends with this value.
struct ServedLedgers {
    child: Child,
    urls: Vec<String>,
}

impl ServedLedgers {
    fn start(example: &Path, files: &[PathBuf]) -> ChoreResult<Self> {
        let failed = |error: std::io::Error| format!("cannot start the server: {error}");
        let mut command = Command::new(example);
        command.arg("serve").args(files).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut urls = Vec::new();
        for line in BufReader::new(child.stdout.take().ok_or("the server prints nothing")?).lines() {
            match line.map_err(failed)? {
                ready if ready == "ready" => break,
                url => urls.push(url),
            }
        }
        match urls.len() == files.len() {
            true => Ok(Self { child, urls }),
            false => Err("the ledgers could not be loaded".to_owned()),
        }
    }
}

impl Drop for ServedLedgers {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A home on one of the ledgers.
struct FleetHome {
    cto: PathBuf,
    folder: PathBuf,
}

impl FleetHome {
    fn make(bench: &Bench, world: &World, name: &str, url: &str) -> ChoreResult<Self> {
        let home = Self { cto: bench.cto.clone(), folder: world.path_of(&format!("{name}-home")) };
        let fail = |error: std::io::Error| format!("cannot make {}: {error}", home.folder.display());
        let settings = home.folder.join("user/.config/cto");
        std::fs::create_dir_all(&settings).map_err(fail)?;
        std::fs::write(settings.join("config.yaml"), format!("store:\n  url: {url}\n")).map_err(fail)?;
        bench_case(&home.folder.join("bench"))?;
        command_output(home.command().args(["run", "./bench", "--sandbox", "none", "--json"]))?;
        Ok(home)
    }

    fn command(&self) -> Command {
        let mut command = program::<&str>(&self.cto, []);
        command.current_dir(&self.folder).env("HOME", self.folder.join("user")).env_remove("XDG_CONFIG_HOME");
        command.env("CTO_HOME", self.folder.join("home"));
        command
    }

    fn check_told(&self, words: &[&str], expected: &str) -> ChoreResult {
        match command_output(self.command().args(words))?.contains(expected) {
            true => Ok(()),
            false => Err(format!("{expected:?} is not in what it printed; its time means nothing")),
        }
    }
}

fn lists_table(bench: &Bench, few: &FleetHome, many: &FleetHome) -> ChoreResult<String> {
    let rows: [(&[&str], &str, [&str; 2]); 3] = [
        (&["runs"], "made-up-", ["`cto runs`, 10,000 entries", "`cto runs`, a million entries"]),
        (
            &["ladder", "--engine", "fake"],
            "2 stale",
            ["`cto ladder --engine fake`, 10,000", "`cto ladder --engine fake`, a million"],
        ),
        (&["status"], "ladder codex made/up", ["`cto status`, 10,000", "`cto status`, a million"]),
    ];
    let mut candidates = Vec::new();
    for (words, expected, names) in rows {
        for (name, home) in names.into_iter().zip([few, many]) {
            candidates.push(Candidate::new(name, name, move |_| home.check_told(words, expected)));
        }
    }
    let measured = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(format!("\n{}", bench_table(&measured, &[0, 2, 4])))
}

/// The time from the entry of a submission to the start of its run, by a worker with a free slot.
fn start_times(home: &FleetHome) -> ChoreResult<String> {
    let failed = |error: std::io::Error| format!("cannot start the worker: {error}");
    let mut worker = home.command();
    worker.arg("worker").stdout(Stdio::null()).stderr(Stdio::null());
    let mut worker = worker.spawn().map_err(failed)?;
    let measured = measure_starts(home);
    let _ = Command::new("kill").args(["-TERM", &worker.id().to_string()]).status();
    worker.wait().map_err(failed)?;
    let mut times = measured?;
    times.sort_by(f64::total_cmp);
    let (median, last) = (times[times.len() / 2], times.last().copied().unwrap_or_default());
    Ok(format!(
        "\n| with a free slot | p50 | max |\n| --- | --- | --- |\n| from `cto submit` to the start of the run | {median:.0} ms | {last:.0} ms |\n"
    ))
}

fn measure_starts(home: &FleetHome) -> ChoreResult<Vec<f64>> {
    (0..=SUBMISSIONS)
        .map(|_| {
            let told = command_output(home.command().args(["submit", "./bench", "--sandbox", "none", "--json"]))?;
            let run: Value = serde_json::from_str(&told).map_err(|error| format!("{told}: {error}"))?;
            wait_for_start(home, run["run_id"].as_str().unwrap_or_default())
        })
        .skip(1)
        .collect()
}

fn wait_for_start(home: &FleetHome, run: &str) -> ChoreResult<f64> {
    let begun = Instant::now();
    while begun.elapsed() < START_LIMIT {
        let listed = command_output(home.command().args(["queue", "--all", "--json", "--limit", "100"]))?;
        let rows = listed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let row = rows.into_iter().find(|row| row["run_id"] == run && row["state"] == "sealed");
        if let Some(row) = row {
            let at = |name: &str| row[name].as_str().and_then(read_seconds).ok_or("the queue names no time");
            return Ok((at("started_at")? - at("submitted_at")?) * 1000.0);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(format!("run {run} did not end"))
}

/// Seconds of the day of a time as the ledger writes it.
fn read_seconds(text: &str) -> Option<f64> {
    let time = text.split_once('T')?.1.trim_end_matches('Z');
    let mut parts = time.split(':').map(|part| part.parse::<f64>().ok());
    Some(parts.next()?? * 3600.0 + parts.next()?? * 60.0 + parts.next()??)
}
