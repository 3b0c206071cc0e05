//! The cost of verification beyond the commands it runs: a crate whose tests take about two
//! seconds, changed together with its tests, so that the exam, the change, both controls
//! and poison control are held.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rounds::{Candidate, in_turns};
use super::world::World;
use super::{Bench, bench_table, format_millis};
use crate::ChoreResult;
use crate::process::{command_output, program};

const ROUNDS: usize = 5;

/// Files beside the crate that every tree has.
const SIZES: [usize; 2] = [10, 5_000];

/// Checks whose results a report lists, and files that are poisoned.
const PASSES: [&str; 4] = ["exam 1", "change 1", "control 1", "control change 1"];
const POISONED: usize = 1;

/// Measures trees of several sizes and returns the tables.
pub(super) fn measure_exam(bench: &Bench) -> ChoreResult<String> {
    let tables: Vec<String> = SIZES.iter().map(|files| measure_tree(bench, *files)).collect::<ChoreResult<_>>()?;
    Ok(tables.join("\n"))
}

fn measure_tree(bench: &Bench, files: usize) -> ChoreResult<String> {
    let world = World::new(&bench.place, &format!("exam-{files}"))?;
    let (case, home) = (world.path_of("case"), world.path_of("home"));
    write_case(&case, files)?;
    let trees = write_trees(&world, files)?;
    let first = |round: usize| world.path_of(&format!("home-{round}"));
    let traced = RefCell::new(Vec::new());
    let candidates = vec![
        Candidate::new("the commands alone, once for each check", "commands", |_| {
            trees.iter().try_for_each(hold_command)
        })
        .clearing(|_| trees.iter().try_for_each(|tree| remove(&tree.folder.join("target")))),
        Candidate::new("`cto run`, baseline known", "known", |_| {
            traced.borrow_mut().push(sealed(bench, &home, &case)?);
            Ok(())
        }),
        Candidate::new("`cto run`, baseline not known", "new", |round| sealed(bench, &first(round), &case).map(drop))
            .clearing(|round| remove(&first(round))),
    ];
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    // The first round warms up here too.
    let middle_of = |time: fn(&Traced) -> Duration| {
        let mut times: Vec<Duration> = traced.borrow().iter().skip(1).map(time).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let (exam, run, cached) = (middle_of(|of| of.exam), middle_of(|of| of.run), middle_of(|of| of.baseline));
    let without = run.saturating_sub(cached);
    let ratio = |time: Duration, measure: Duration| time.as_secs_f64() / measure.as_secs_f64();
    Ok(format!(
        "A tree of {files} files and the crate:\n\n{}| the exam of the run with the baseline known | {} | | {:.2} |\n\n\
         With the baseline's exam cached, a run takes {:.3} of the time of a run without that exam.\n",
        bench_table(&rows, &[0]),
        format_millis(exam),
        ratio(exam, rows[0].p50()),
        ratio(run, without),
    ))
}

/// Times of one run by its own trace.
struct Traced {
    run: Duration,
    /// Looking up what the baseline's exam came to.
    baseline: Duration,
    /// Everything between the diff and the seal.
    exam: Duration,
}

/// A tree in which the command is held alone, and how it must end there.
struct Tree {
    folder: PathBuf,
    passes: bool,
}

fn hold_command(tree: &Tree) -> ChoreResult {
    let Some((first, rest)) = COMMAND.split_first() else { return Ok(()) };
    let ended = program(first, rest).current_dir(&tree.folder).env("CARGO_INCREMENTAL", "0").output();
    let ended = ended.map_err(|error| format!("cannot start {first}: {error}"))?;
    match ended.status.success() == tree.passes {
        true => Ok(()),
        false => Err(format!("{}: {}", tree.folder.display(), String::from_utf8_lossy(&ended.stderr))),
    }
}

/// Runs the case.
fn sealed(bench: &Bench, home: &Path, case: &Path) -> ChoreResult<Traced> {
    let began = Instant::now();
    let words = ["--home".as_ref(), home.as_os_str(), "run".as_ref(), case.as_os_str(), "--json".as_ref()];
    let report = command_output(&mut program(&bench.cto, words))?;
    let run = began.elapsed();
    let report: Value = serde_json::from_str(&report).map_err(|error| format!("no report: {error}"))?;
    let passes = report["verification"]["passes"].as_array().into_iter().flatten();
    let held: Vec<&str> = passes.filter_map(|pass| pass["name"].as_str()).collect();
    let poisoned = report["verification"]["poisoned"].as_array().map_or(0, Vec::len);
    if held != PASSES || poisoned != POISONED {
        return Err(format!("held {held:?} and {poisoned} poisoned, not {PASSES:?}; these times mean nothing"));
    }
    let bundle = home.join("harness-runs").join(report["run_id"].as_str().unwrap_or_default());
    let steps = read_trace(&bundle.join("trace.jsonl"))?;
    let at =
        |wanted: &str| steps.iter().position(|(step, _)| step == wanted).ok_or(format!("the trace has no {wanted}"));
    let baseline = at("preflight.baseline_exam")?;
    let since = |end: usize, start: usize| Duration::from_secs_f64((steps[end].1 - steps[start].1).max(0.0));
    Ok(Traced { run, baseline: since(baseline, baseline - 1), exam: since(at("verify ended")?, at("verify began")?) })
}

/// Steps of a trace, each with its second of the day.
fn read_trace(trace: &Path) -> ChoreResult<Vec<(String, f64)>> {
    let text = std::fs::read_to_string(trace).map_err(|error| format!("cannot read {}: {error}", trace.display()))?;
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{}: {error}", trace.display()))?;
        let time = line["time"].as_str().and_then(seconds_of_day).ok_or("a line of the trace has no time")?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let step = match line["step"].as_str() {
            Some("step") => format!("{} {}", word(&line["data"]["step"]), word(&line["data"]["state"])),
            _ => word(&line["step"]),
        };
        Ok((step, time))
    });
    lines.collect()
}

/// Seconds since midnight of a time such as `2026-01-02T03:04:05.678901Z`.
fn seconds_of_day(time: &str) -> Option<f64> {
    let clock = time.split_once('T')?.1.trim_end_matches('Z');
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    Some(hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

const COMMAND: &[&str] = &["cargo", "test", "--offline", "--no-fail-fast"];

const MANIFEST: &str = "[package]\nname = \"slow\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
const LOCK: &str = "version = 3\n\n[[package]]\nname = \"slow\"\nversion = \"0.1.0\"\n";
const SOURCE: &str = "pub fn double(number: u32) -> u32 {\n    number + number\n}\n";
const CHANGED: &str = "pub fn double(number: u32) -> u32 {\n    2 * number\n}\n";
const TEST: &str = "#[test]\nfn slow() {\n    std::thread::sleep(std::time::Duration::from_secs(2));\n    assert_eq!(slow::double(2), 4);\n}\n";
const NEW_TEST: &str = "#[test]\nfn zero() {\n    assert_eq!(slow::double(0), 0);\n}\n";
const FAILING: &str = "\n#[test]\nfn control() {\n    panic!();\n}\n";

/// Files of the crate, each with its text.
type Files<'a> = Vec<(&'a str, String)>;

fn crate_files(source: &str, tests: &[(&'static str, String)]) -> Files<'static> {
    let mut files = vec![
        ("Cargo.toml", MANIFEST.to_owned()),
        ("Cargo.lock", LOCK.to_owned()),
        (".gitignore", "/target\n".to_owned()),
        ("src/lib.rs", source.to_owned()),
    ];
    files.extend(tests.iter().cloned());
    files
}

/// A tree for each check, as the exam makes them.
fn write_trees(world: &World, files: usize) -> ChoreResult<Vec<Tree>> {
    let old = |more: &str| ("tests/slow.rs", format!("{TEST}{more}"));
    let new = |more: &str| ("tests/zero.rs", format!("{NEW_TEST}{more}"));
    let trees = [
        (CHANGED, vec![old("")], true),
        (CHANGED, vec![old(""), new("")], true),
        (CHANGED, vec![old(FAILING)], false),
        (CHANGED, vec![old(FAILING), new(FAILING)], false),
        ("no source at all", vec![old("")], false),
    ];
    let each = trees.into_iter().enumerate().map(|(index, (source, tests, passes))| {
        let folder = world.path_of(&format!("tree-{index}"));
        write_files(&folder, &crate_files(source, &tests), files)?;
        Ok(Tree { folder, passes })
    });
    each.collect()
}

fn write_case(case: &Path, files: usize) -> ChoreResult {
    write_files(&case.join("files"), &crate_files(SOURCE, &[("tests/slow.rs", TEST.to_owned())]), files)?;
    let write = |path: &str, text: &str| json!({"write": {"path": path, "text": text}});
    let contract = json!({
        "schema_version": "1", "task_id": "slow", "title": "an exam of two seconds", "brief": "Change the crate and add a test.",
        "risk_class": "low", "allowed_paths": ["src/lib.rs", "tests/zero.rs"], "mutation_mode": "copied-fixture",
        "verification_commands": [{"argv": COMMAND, "timeout_seconds": 120}],
        "environment": {"variables": {"CARGO_INCREMENTAL": "0"}},
        "fake": {"steps": [write("src/lib.rs", CHANGED), write("tests/zero.rs", NEW_TEST)]},
    });
    let path = case.join("case.yaml");
    std::fs::write(&path, contract.to_string()).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn write_files(folder: &Path, files: &Files<'_>, more: usize) -> ChoreResult {
    let data =
        (0..more).map(|number| (format!("data/{}/{number}.txt", number % 50), format!("{number}\n").repeat(200)));
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).chain(data);
    for (path, text) in files {
        let path = folder.join(path);
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(fail)?;
        std::fs::write(&path, text).map_err(fail)?;
    }
    Ok(())
}

fn remove(folder: &Path) -> ChoreResult {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}
