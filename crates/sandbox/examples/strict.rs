//! Runs a program in profile `strict`, to look around: `strict WORKSPACE PROGRAM ARG...`. Prints what was applied and seen.

#![expect(clippy::disallowed_methods, reason = "an example reads files of its own")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use sandbox::{Confinement, ExecutionRules, How, STAGE_ARG, Spec, Supervisor, SupervisorWatch, stage_main};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == STAGE_ARG) {
        return stage_main(ExecutionRules::NONE);
    }
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(70)
        }
    }
}

fn run(args: &[String]) -> Result<u8, String> {
    let [workspace, argv @ ..] = args else { return Err("strict WORKSPACE PROGRAM ARG...".to_owned()) };
    let workspace = PathBuf::from(workspace).canonicalize().map_err(|error| error.to_string())?;
    let marker = ("SANDBOX_EXAMPLE".to_owned(), std::process::id().to_string());
    let mut spec = Spec::new(argv.to_vec(), workspace.clone(), Duration::from_secs(600), marker);
    spec.env = vec![
        ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("HOME".to_owned(), sandbox::HOME_DEFAULT.to_owned()),
    ];
    spec.confinement = Some(Confinement::new(workspace));
    let supervisor = Supervisor::new(std::env::current_exe().map_err(|error| error.to_string())?);
    let ended = supervisor
        .run_program(&spec, &mut SupervisorWatch::default())
        .map_err(|error| format!("{error}\n{error:?}"))?;
    print!("{}", String::from_utf8_lossy(&ended.stdout.text_bytes()));
    eprint!("{}", String::from_utf8_lossy(&ended.stderr.text_bytes()));
    eprintln!("{:?} {:?}", ended.how, ended.elapsed);
    eprintln!("{}", serde_json::to_string(&ended.applied).map_err(|error| error.to_string())?);
    Ok(match ended.how {
        How::Exited { code } => u8::try_from(code).unwrap_or(1),
        _ => 1,
    })
}
