//! The executable that the tests re-execute as the supervising stage; `cargo test` builds it.
//!
//! `stage harness KEY VALUE PROGRAM ARG...` is a harness of its own, for the test that kills one;
//! `stage sweep KEY VALUE` sweeps, for the test in which the sweeper carries the marker too.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use sandbox::{STAGE_ARG, Spec, Supervisor, Watch, stage_main, sweep};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(STAGE_ARG) => stage_main(),
        Some("harness") => harness(&args[1..]).unwrap_or(ExitCode::FAILURE),
        Some("sweep") => sweep_all(&args[1..]).unwrap_or(ExitCode::FAILURE),
        _ => ExitCode::FAILURE,
    }
}

fn harness(args: &[String]) -> Option<ExitCode> {
    let [key, value, argv @ ..] = args else { return None };
    let marker = (key.clone(), value.clone());
    let spec = Spec::new(argv.to_vec(), PathBuf::from("/"), Duration::from_secs(60), marker);
    let supervisor = Supervisor::new(std::env::current_exe().ok()?);
    let ended = supervisor.run(&spec, &mut Watch::default()).ok()?;
    println!("{:?}", ended.inherited_fds);
    Some(ExitCode::SUCCESS)
}

fn sweep_all(args: &[String]) -> Option<ExitCode> {
    let [key, value] = args else { return None };
    println!("{}", sweep(&(key.clone(), value.clone())));
    Some(ExitCode::SUCCESS)
}
