//! What starting `true` costs: directly, supervised, confined, confined by a stage that was started ahead (as a harness does),
//! and in bubblewrap with the same namespaces if it is installed.
//! `start [ROUNDS]`; build with `--release` for figures that mean something.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use sandbox::{Confinement, How, STAGE_ARG, Spec, Supervisor, Watch, find_program, stage_main};

const TRUE: &str = "/bin/true";
/// Enough for a stage to have started.
const AHEAD: Duration = Duration::from_millis(10);
const BWRAP: &str = "--unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
                     --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --tmpfs /home --dir /etc /bin/true";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == STAGE_ARG) {
        return stage_main();
    }
    let rounds = args.first().and_then(|text| text.parse().ok()).unwrap_or(100);
    match measure(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize) -> Result<(), String> {
    let workspace = tempfile::tempdir().map_err(|error| error.to_string())?;
    let supervisor = Supervisor::new(std::env::current_exe().map_err(|error| error.to_string())?);
    let none = spec(workspace.path());
    let mut strict = none.clone();
    strict.confinement = Some(Confinement::new(workspace.path().to_owned()));
    let supervised = |spec: &Spec| {
        let ended = supervisor.run(spec, &mut Watch::default()).map_err(|error| format!("{error}: {error:?}"))?;
        if ended.how == (How::Exited { code: 0 }) { Ok(()) } else { Err(format!("{:?}", ended.how)) }
    };
    let timed = |once: &dyn Fn() -> Result<(), String>| {
        let started = Instant::now();
        once().map(|()| started.elapsed())
    };
    report("direct", rounds, || timed(&|| command(TRUE, &[])))?;
    report("none", rounds, || timed(&|| supervised(&none)))?;
    report("strict", rounds, || timed(&|| supervised(&strict)))?;
    report("ready", rounds, || {
        let stage = supervisor.prepare().map_err(|error| error.to_string())?;
        std::thread::sleep(AHEAD);
        let started = Instant::now();
        stage.run(&strict, &mut Watch::default()).map_err(|error| error.to_string())?;
        Ok(started.elapsed())
    })?;
    match find_program("bwrap", &["/usr/bin".into(), "/usr/local/bin".into()], Path::new("/")) {
        Some(bwrap) => {
            let args: Vec<&str> = BWRAP.split_whitespace().collect();
            report("bwrap", rounds, || timed(&|| command(&bwrap.display().to_string(), &args)))
        }
        None => {
            println!("bwrap     not installed");
            Ok(())
        }
    }
}

fn spec(workspace: &Path) -> Spec {
    let marker = ("SANDBOX_EXAMPLE".to_owned(), std::process::id().to_string());
    Spec::new(vec![TRUE.to_owned()], PathBuf::from(workspace), Duration::from_secs(60), marker)
}

#[expect(clippy::disallowed_methods, reason = "what is compared with the door")]
fn command(program: &str, args: &[&str]) -> Result<(), String> {
    let status = Command::new(program).args(args).env_clear().status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}

fn report(name: &str, rounds: usize, once: impl Fn() -> Result<Duration, String>) -> Result<(), String> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds.max(1) {
        times.push(once()?);
    }
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).map_or(0.0, Duration::as_secs_f64) * 1000.0;
    println!("{name:<9} min {:6.2} ms   p50 {:6.2} ms   p90 {:6.2} ms", at(0), at(50), at(90));
    Ok(())
}
