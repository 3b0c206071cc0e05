//! A thousand viewers of one live run that emits fifty events a second: processor time and
//! memory of the server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::aims::Aim;
use super::client::connect_from;
use super::servers::{BenchServer, start_console};
use crate::ChoreResult;
use crate::bench::Bench;
use crate::bench::world::{World, bench_case};
use crate::process::program;

const VIEWERS: u16 = 1000;
/// Time that is measured, and the run's own.
const WATCHED: Duration = Duration::from_secs(10);
const RUN_SECONDS: u32 = 45;
const EVENTS_A_SECOND: u32 = 50;

/// Follows one live run with many viewers and returns the table, and its aims.
pub(super) fn follow_many(bench: &Bench, world: &World) -> ChoreResult<(String, Vec<Aim>)> {
    let home = world.path_of("viewed");
    let case = world.path_of("viewed-case");
    write_case(&case)?;
    let mut command = program(&bench.cto, ["--home".as_ref(), home.as_os_str()]);
    command.args(["run".as_ref(), case.as_os_str()]).args(["--sandbox", "none", "--json"]);
    let run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut run = run.map_err(|error| format!("cannot start the run: {error}"))?;
    let measured = measure_viewers(bench, &home);
    let _ = run.kill();
    let _ = run.wait();
    measured
}

/// An engine that prints a line of an agent's own protocol fifty times a second.
fn write_case(folder: &Path) -> ChoreResult {
    bench_case(folder)?;
    let file = folder.join("case.yaml");
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let line = r#"{\"type\":\"item.started\",\"item\":{\"type\":\"command_execution\",\"command\":\"step\"}}"#;
    let script = format!(
        "i=0; while [ $i -lt {} ]; do echo '{line}'; sleep 0.0{}; i=$((i+1)); done",
        RUN_SECONDS * EVENTS_A_SECOND,
        1000 / EVENTS_A_SECOND
    );
    let fake = format!("fake:\n  speaks: codex\n  steps:\n    - run: {{argv: [sh, -c, \"{script}\"]}}\n");
    let text = text.replace("fake:\n  patch: good.patch\n", &fake);
    std::fs::write(&file, text).map_err(|error| error.to_string())
}

fn measure_viewers(bench: &Bench, home: &Path) -> ChoreResult<(String, Vec<Aim>)> {
    wait_for("a home", || home.join("ledger.db").exists())?;
    let console = start_console(bench, home, None)?;
    let run = wait_some("a live run", || console.newest_run().ok())?;
    wait_for("events", || {
        console
            .send_request("GET", &format!("/api/cto/runs/{run}"), &cookie(&console))
            .is_ok_and(|text| text.contains("engine.output"))
    })?;
    let mut viewers: Vec<TcpStream> = Vec::new();
    let count = bench.viewers.unwrap_or(VIEWERS);
    raise_open_files();
    for number in 0..count {
        let mut stream = connect_from(&console.host, 20_000 + number)?;
        let text =
            format!("GET /api/cto/runs/{run}/events HTTP/1.1\r\nHost: {}\r\n{}\r\n", console.host, cookie(&console));
        stream.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        viewers.push(stream);
    }
    // History first; then only what is new.
    drain(&mut viewers, Duration::from_secs(4));
    let (began, before) = (Instant::now(), processor_seconds(console.pid())?);
    let events = drain(&mut viewers, WATCHED);
    let used = processor_seconds(console.pid())? - before;
    let seconds = began.elapsed().as_secs_f64();
    let memory = memory_mib(console.pid())?;
    let (each, share) = (events as f64 / f64::from(count) / seconds, used / seconds * 100.0);
    let text = format!(
        "| viewers of one run | events a second, each | processor, of one core | memory |\n| --- | --- | --- | --- |\n| {count} | {each:.0} | {share:.1} % | {memory:.0} MiB |\n"
    );
    let aims = vec![
        Aim::at_most(format!("{count} viewers, percent of a core"), share, 10.0),
        Aim::at_most(format!("{count} viewers, most memory in MiB"), memory, 64.0),
    ];
    Ok((text, aims))
}

/// Raises the limit of open files as far as it goes: each viewer is one of ours too.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, connecting fails and says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn cookie(console: &BenchServer) -> String {
    format!("Cookie: {}\r\n", console.cookie)
}

/// Reads what comes for a while; gives the number of events.
fn drain(viewers: &mut [TcpStream], time: Duration) -> usize {
    let began = Instant::now();
    let mut events = 0;
    let mut buffer = vec![0; 256 << 10];
    while began.elapsed() < time {
        for viewer in viewers.iter_mut() {
            while let Ok(count @ 1..) = viewer.read(&mut buffer) {
                events += buffer[..count].windows(4).filter(|part| part == b"\nid:").count();
            }
        }
        // Readers leave the processor to the server between two rounds.
        std::thread::sleep(Duration::from_millis(100));
    }
    events
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) -> ChoreResult {
    wait_some(what, || is_there().then_some(()))
}

fn wait_some<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> ChoreResult<T> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if let Some(found) = ask() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(format!("{what} did not come"))
}

/// Processor time of a process, in seconds.
fn processor_seconds(pid: u32) -> ChoreResult<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| error.to_string())?;
    let after = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    // User and system time, in hundredths of a second.
    Ok((ticks(11) + ticks(12)) / 100.0)
}

fn memory_mib(pid: u32) -> ChoreResult<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
    Ok(kib / 1024.0)
}
