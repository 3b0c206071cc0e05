//! The executable that the tests re-execute as the supervising stage; `cargo test` builds it.
//!
//! `stage harness KEY VALUE PROGRAM ARG...` is a harness of its own, for the test that kills one;
//! `stage sweep KEY VALUE` sweeps, for the test in which the sweeper carries the marker too;
//! `stage confined` is a harness that reads one request as JSON and prints the result, so that a test can have it run as
//! another user; `stage availability DIRECTORY` prints what the host can do.

#![expect(clippy::disallowed_methods, reason = "an example reads files of its own")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{
    Confinement, Ended, Execution, ExecutionRules, Line, ProcessLimits, STAGE_ARG, Spec, SuperviseError, Supervisor,
    SupervisorWatch, Watched, Weight, kill_marked, probe_host, stage_main,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(STAGE_ARG) => stage_main(RULES),
        Some("harness") => harness(&args[1..]).unwrap_or(ExitCode::FAILURE),
        Some("sweep") => sweep_all(&args[1..]).unwrap_or(ExitCode::FAILURE),
        Some("confined") => confined().unwrap_or(ExitCode::FAILURE),
        Some("availability") => availability(&args[1..]).unwrap_or(ExitCode::FAILURE),
        _ => ExitCode::FAILURE,
    }
}

/// For the tests of the recorder: what has a word `push` is grave, `git` is recognised, and the rest is nothing.
const RULES: ExecutionRules = ExecutionRules { weigh, programs: || vec!["git"] };

fn weigh(execution: &Execution) -> Weight {
    let known = execution.file.as_ref().and_then(|file| file.same_as.as_deref()) == Some("git");
    let interpreter = execution.file.iter().flat_map(|file| &file.interpreter);
    let pushes = execution.argv.iter().chain(interpreter).any(|argument| argument == "push");
    match (pushes, known) {
        (true, _) => Weight::Grave,
        (false, true) => Weight::Note,
        (false, false) => Weight::Nothing,
    }
}

/// Command of a test for the harness of another user; without a confinement it is the control.
#[derive(Deserialize)]
struct Request {
    argv: Vec<String>,
    cwd: PathBuf,
    env: Vec<(String, String)>,
    wall_ms: u64,
    output_bytes: u64,
    limits: ProcessLimits,
    marker: (String, String),
    watched: Option<Watched>,
    confinement: Option<Confinement>,
    /// The stage builds what it can before it has its order.
    ahead: bool,
    /// The program is stopped as soon as it has said something.
    stop_at_output: bool,
}

fn confined() -> Option<ExitCode> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).ok()?;
    let request: Request = serde_json::from_str(&text).ok()?;
    let mut spec = Spec::new(request.argv, request.cwd, Duration::from_millis(request.wall_ms), request.marker);
    (spec.env, spec.limits, spec.output_bytes) = (request.env, request.limits, request.output_bytes);
    (spec.watched, spec.confinement) = (request.watched, request.confinement);
    let said = AtomicBool::new(false);
    let mut on_line = |_: Line<'_>| said.store(true, Ordering::Relaxed);
    let mut watch = SupervisorWatch { on_line: Some(&mut on_line), ..SupervisorWatch::default() };
    watch.stop = request.stop_at_output.then_some(&said);
    let mut upper = None;
    let outcome = match run_confined(&spec, request.ahead, &mut watch, &mut upper) {
        Ok((ended, living)) => told(&ended, living, upper.as_ref()),
        Err(SuperviseError::ConfineProgram { failure, probes }) => json!({"failure": failure, "probes": probes}),
        Err(error) => json!({"error": error.to_string()}),
    };
    println!("{outcome}");
    Some(ExitCode::SUCCESS)
}

/// Also tells how many processes of the program live when its end is reported, before the supervisor is settled.
fn run_confined(
    spec: &Spec,
    ahead: bool,
    watch: &mut SupervisorWatch<'_>,
    upper: &mut Option<OwnedFd>,
) -> Result<(Ended, usize), SuperviseError> {
    let supervisor = Supervisor::new(std::env::current_exe().unwrap_or_default());
    let stage = if ahead { supervisor.prepare_confined() } else { supervisor.prepare() }?;
    if spec.confinement.is_none() {
        return stage.run_program(spec, watch).map(|ended| (ended, living(&spec.marker)));
    }
    let mut confined = stage.confine_spec(spec.clone())?;
    *upper = confined.take_upper();
    if let Some(listener) = confined.take_listener() {
        std::thread::spawn(move || greet(&listener));
    }
    confined.start_program(watch).map(|ended| (ended, living(&spec.marker)))
}

/// Processes that have the marker in their environment.
fn living((name, value): &(String, String)) -> usize {
    let variable = format!("{name}={value}").into_bytes();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let environ = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("environ")).ok();
    entries.filter_map(environ).filter(|environ| environ.split(|byte| *byte == 0).any(|one| one == variable)).count()
}

/// The harness' side of the listener inside.
fn greet(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        let _ = stream.write_all(b"hello from the harness\n");
    }
}

fn told(ended: &Ended, living: usize, upper: Option<&OwnedFd>) -> Value {
    let text = |kept: &sandbox::KeptOutput| String::from_utf8_lossy(&kept.text_bytes()).into_owned();
    json!({
        "how": ended.how,
        "timed_out": ended.timed_out,
        "stopped": ended.stopped,
        "output_exceeded": ended.output_exceeded,
        "disk_exceeded": ended.disk_exceeded,
        "stdout": text(&ended.stdout),
        "stderr": text(&ended.stderr),
        "leftovers": ended.leftovers,
        "living": living,
        "swept": ended.swept,
        "limits": ended.limits,
        "limit_hits": ended.limit_hits,
        "cpu": ended.cpu,
        "applied": ended.applied,
        "upper": upper.map(listing),
    })
}

/// Names and contents of the plain files in the upper layer, read after the namespace is gone.
fn listing(upper: &OwnedFd) -> Vec<(String, String)> {
    use std::os::fd::AsRawFd;
    let place = format!("/proc/self/fd/{}", upper.as_raw_fd());
    let entries = std::fs::read_dir(Path::new(&place)).into_iter().flatten().flatten();
    let file = |entry: std::fs::DirEntry| {
        Some((entry.file_name().into_string().ok()?, std::fs::read_to_string(entry.path()).unwrap_or_default()))
    };
    let mut files: Vec<_> = entries.filter_map(file).collect();
    files.sort();
    files
}

fn availability(args: &[String]) -> Option<ExitCode> {
    let supervisor = Supervisor::new(std::env::current_exe().ok()?);
    let available = probe_host(&supervisor, Path::new(args.first()?));
    println!("{}", serde_json::to_string(&available).ok()?);
    Some(ExitCode::SUCCESS)
}

fn harness(args: &[String]) -> Option<ExitCode> {
    let [key, value, argv @ ..] = args else { return None };
    let marker = (key.clone(), value.clone());
    let spec = Spec::new(argv.to_vec(), PathBuf::from("/"), Duration::from_secs(60), marker);
    let supervisor = Supervisor::new(std::env::current_exe().ok()?);
    let ended = supervisor.run_program(&spec, &mut SupervisorWatch::default()).ok()?;
    println!("{:?}", ended.inherited_fds);
    Some(ExitCode::SUCCESS)
}

fn sweep_all(args: &[String]) -> Option<ExitCode> {
    let [key, value] = args else { return None };
    println!("{}", kill_marked(&(key.clone(), value.clone())));
    Some(ExitCode::SUCCESS)
}
