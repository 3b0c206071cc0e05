//! Processor time of `cto run` itself while it draws a terminal, beside the same run with `--plain` on a pipe: once while its engine does
//! nothing, and once while a check prints twenty lines a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::Bench;
use super::world::World;
use crate::ChoreResult;
use crate::process::program;

/// Seconds that pass before the measurement, and those that are measured; the runs last longer than both.
const BEFORE: Duration = Duration::from_secs(6);
const MEASURED: Duration = Duration::from_secs(20);
const LASTS: u64 = 32;
const TICKS_PER_SECOND: f64 = 100.0;

/// Measures a terminal and a pipe and returns the table.
pub(super) fn measure_live(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "live")?;
    let home = world.path_of("home").display().to_string();
    let mut table = "| of a core | on a terminal of 100 columns | `--plain` on a pipe | the terminal alone |\n| --- | --- | --- | --- |\n".to_owned();
    for (name, about, steps, check) in scenes() {
        let case = world.path_of(name);
        write_case(&case, name, &steps, &check)?;
        let words = format!("{} --home {home} run {}", bench.cto.display(), case.display());
        let drawn = share_of_core(&mut on_terminal(&words), &bench.cto)?;
        let plain = share_of_core(&mut program("sh", ["-c", &format!("exec {words} --plain")]), &bench.cto)?;
        let [drawn, plain, alone] = [drawn, plain, drawn - plain].map(|share| format!("{:.2} %", share * 100.0));
        table.push_str(&format!("| {about} | {drawn} | {plain} | {alone} |\n"));
    }
    Ok(table)
}

/// Name, description, steps of the engine and check of each run.
fn scenes() -> [(&'static str, &'static str, Value, String); 2] {
    let write = json!({"write": {"path": "a.txt", "text": "two\n"}});
    let ready = "grep -qx two a.txt || exit 1";
    let lines =
        format!("{ready}; i=0; while [ $i -lt {} ]; do i=$((i+1)); echo line $i of many; sleep 0.05; done", LASTS * 20);
    [
        ("idle", "the engine is silent", json!([write, {"sleep": {"seconds": LASTS}}]), ready.to_owned()),
        ("chatty", "a check prints 20 lines a second", json!([write]), lines),
    ]
}

/// `script` gives a program a terminal and passes on what it draws.
fn on_terminal(run: &str) -> Command {
    program("script", ["-qefc", &format!("stty cols 100 rows 40; exec {run}"), "/dev/null"])
}

fn write_case(case: &Path, name: &str, steps: &Value, check: &str) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", case.display());
    fs::create_dir_all(case.join("files")).map_err(fail)?;
    fs::write(case.join("files/a.txt"), "one\n").map_err(fail)?;
    let contract = json!({
        "schema_version": "1", "task_id": name, "title": "a run that takes its time", "brief": "Write two.",
        "risk_class": "low", "allowed_paths": ["a.txt"], "mutation_mode": "copied-fixture",
        "verification_commands": [["sh", "-c", check]], "fake": {"steps": steps},
    });
    fs::write(case.join("case.yaml"), contract.to_string()).map_err(fail)
}

/// Share of a core that the harness's own process takes; its children are not counted.
fn share_of_core(command: &mut Command, cto: &Path) -> ChoreResult<f64> {
    let failed = |error: std::io::Error| format!("cannot start the run: {error}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
    sleep(BEFORE);
    let harness = find_harness(child.id(), cto);
    let before = harness.and_then(read_ticks);
    sleep(MEASURED);
    let after = harness.and_then(read_ticks);
    child.wait().map_err(failed)?;
    match before.zip(after) {
        Some((before, after)) => Ok((after - before) / TICKS_PER_SECOND / MEASURED.as_secs_f64()),
        None => Err("the run was not there as long as it had to be".to_owned()),
    }
}

/// The process itself, or the nearest below it, that runs our program.
fn find_harness(started: u32, cto: &Path) -> Option<u32> {
    let real = fs::canonicalize(cto).ok()?;
    let is_ours = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok() == Some(real.clone());
    let mut waiting = vec![started];
    while let Some(pid) = waiting.pop() {
        if is_ours(pid) {
            return Some(pid);
        }
        let children = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
        let children = fs::read_to_string(children).unwrap_or_default();
        waiting.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    None
}

/// Clock ticks of a process and its threads, as user and in the kernel.
fn read_ticks(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(11..13)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum())
}
