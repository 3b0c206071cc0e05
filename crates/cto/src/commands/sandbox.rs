//! `cto sandbox -- CMD`: any command in the sandbox that engines get, over a folder that
//! stays as it is.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use contract::sandbox::{Attempt, AttemptVerdict};
use contract::text::show_controls;
use harness::{Look, LookError, Looked, Task, look_around};
use sandbox::{Line, OutputStream};
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;

/// Upper bound on the standard input that is read.
const LARGEST_INPUT: u64 = 64 << 20;
/// The exit code where the command itself gives none.
const NO_CODE: u8 = 1;

/// Runs a command in a sandbox over a folder, which stays as it is.
pub(crate) fn sandbox(
    context: &Context,
    argv: &[String],
    folder: &Path,
    contract: Option<&Path>,
    seconds: u64,
) -> Result<u8, CommandError> {
    let folder = std::path::absolute(folder)?;
    if !folder.is_dir() {
        return Err(CommandError::usage(format!(
            "{} is not a directory",
            show_controls(&folder.display().to_string())
        )));
    }
    let contract = contract.map(Task::load_contract).transpose()?;
    let look = Look {
        argv: argv.to_vec(),
        folder,
        shown: Vec::new(),
        contract,
        stdin: input()?,
        wall: Duration::from_secs(seconds),
    };
    let harness = context.harness()?;
    let json = context.output.json;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut on_line = |line: Line<'_>| {
        let kept = if line.stream == OutputStream::Stderr { &mut err } else { &mut out };
        if json {
            kept.extend_from_slice(line.bytes);
            kept.push(b'\n');
        } else {
            pass_on(&line);
        }
    };
    let looked = look_around(&harness, &look, &context.cancel, &mut on_line).map_err(refused)?;
    if json {
        context.output.print_json(&json!({
            "applied": looked.applied,
            "attempts": looked.attempts,
            "cell": looked.cell,
            "exit": looked.exit,
            "limit_hits": looked.limit_hits,
            "stderr": String::from_utf8_lossy(&err),
            "stdout": String::from_utf8_lossy(&out),
            "timed_out": looked.timed_out,
        }))?;
    } else if !context.output.quiet {
        context.output.print_note(&summary(&looked));
    }
    Ok(looked.exit.and_then(|code| u8::try_from(code).ok()).unwrap_or(NO_CODE))
}

/// Piped input; a terminal is not handed on.
fn input() -> Result<Option<Vec<u8>>, CommandError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    stdin.lock().take(LARGEST_INPUT).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Prints a line to the stream it came from, with control characters neutralised.
fn pass_on(line: &Line<'_>) {
    let text = show_controls(&String::from_utf8_lossy(line.bytes));
    // A reader that went away is not an error of ours.
    let _ = match line.stream {
        OutputStream::Stdout => writeln!(io::stdout(), "{text}"),
        OutputStream::Stderr => writeln!(io::stderr(), "{text}"),
    };
}

fn summary(looked: &Looked) -> String {
    let mut text =
        format!("sandbox strict, {} things tried from inside before, all refused", looked.applied.posture.probes.len());
    if looked.timed_out {
        text.push_str("; ended for time");
    }
    if !looked.limit_hits.is_empty() {
        let _ = write!(text, "; limits that were hit: {:?}", looked.limit_hits);
    }
    text.push('\n');
    for attempt in &looked.attempts {
        let _ = writeln!(text, "  {} {}{}", word(attempt), attempt.what, times(attempt.count));
    }
    text
}

fn word(attempt: &Attempt) -> &'static str {
    match attempt.judged {
        AttemptVerdict::ForbiddenAction => "forbidden action",
        AttemptVerdict::Violation => "violation",
        AttemptVerdict::Note => "note",
    }
}

fn times(count: u64) -> String {
    if count > 1 { format!(" ({count} times)") } else { String::new() }
}

fn refused(error: LookError) -> CommandError {
    match &error {
        LookError::Unavailable(shortfall) => {
            CommandError::blocked_with(error.to_string()).hint(shortfall.remedy.clone())
        }
        LookError::NotFound(_) => CommandError::usage(error.to_string()).hint("cto doctor --paths"),
        LookError::Failed(_) => CommandError::fail(error.to_string()).hint("cto doctor"),
    }
}
