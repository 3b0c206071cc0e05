//! The sentence that approves a request: typed at a terminal, given as a line of a pipe, or
//! said with `--sentence`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::Status;
use contract::approval::{CompareSentenceError, compare_sentence};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::json;

use crate::approvals_view::{Deciding, headline, sentence_of};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Times that a person may type the sentence.
const TRIES: usize = 3;
/// Interval between two checks for a signal while nothing is typed.
const LOOK: Duration = Duration::from_millis(100);

/// Answer of a person to the question for the sentence.
pub(super) enum HeardSentence {
    Right(String),
    /// Another sentence or nothing; the refusal has been printed.
    Wrong,
    /// A signal came first.
    Interrupted,
}

/// Hears the sentence that approves a request.
pub(super) fn hear_sentence(
    context: &Context,
    deciding: &Deciding,
    given: Option<&str>,
) -> Result<HeardSentence, CommandError> {
    let output = context.output;
    let expected = sentence_of(&deciding.opened);
    if let Some(given) = given {
        return judge_line(output, deciding, &expected, given);
    }
    if io::stdin().is_terminal() && output.terminal {
        return ask_person(context, deciding, &expected);
    }
    match read_line(&context.cancel)? {
        Some(line) => judge_line(output, deciding, &expected, &line),
        None => Ok(HeardSentence::Interrupted),
    }
}

fn judge_line(output: Output, deciding: &Deciding, expected: &str, given: &str) -> Result<HeardSentence, CommandError> {
    match compare_sentence(expected, given) {
        Ok(()) => Ok(HeardSentence::Right(expected.to_owned())),
        Err(error) => {
            refuse(output, deciding, &error)?;
            Ok(HeardSentence::Wrong)
        }
    }
}

/// Asks a person, up to three times, and names the first character that differs.
fn ask_person(context: &Context, deciding: &Deciding, expected: &str) -> Result<HeardSentence, CommandError> {
    let output = context.output;
    let (paint, request) = (output.paint, &deciding.opened.request);
    output.print(&format!("{}\n", headline(&request.plan)));
    output.print(&format!("packet {}  read it all: cto packet {}\n\n", request.packet_digest, deciding.request()));
    output.print(&format!("{}  {expected}\n", paint.dim("type exactly")));
    let refused = paint.like(Status::Blocked, "refused");
    for left in (0..TRIES).rev() {
        output.print("            > ");
        io::stdout().flush()?;
        let Some(line) = read_line(&context.cancel)? else {
            output.print(&format!("\n{refused}  interrupted; nothing was signed\n"));
            return Ok(HeardSentence::Interrupted);
        };
        if line.is_empty() {
            output.print(&format!("\n{refused}  no sentence; nothing was signed\n"));
            return Ok(HeardSentence::Wrong);
        }
        match compare_sentence(expected, &line) {
            Ok(()) => return Ok(HeardSentence::Right(expected.to_owned())),
            Err(error) => {
                let tries = if left == 1 { "1 try left".to_owned() } else { format!("{left} tries left") };
                output.print(&format!("{:>width$} {error}\n", "^", width = 14 + error.column));
                output.print(&format!(
                    "{refused}  the sentence is not the one asked for; nothing was signed   {tries}\n"
                ));
            }
        }
    }
    Ok(HeardSentence::Wrong)
}

/// One line of stdin, empty at its end; none if a signal comes first. A blocked read would
/// go on after one.
fn read_line(cancel: &AtomicBool) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let pause = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&pause)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(Some(line))
}

fn refuse(output: Output, deciding: &Deciding, error: &CompareSentenceError) -> Result<(), CommandError> {
    let name = deciding.request();
    if output.json {
        return output.print_json(&json!({
            "column": error.column, "fix": format!("cto approve {name}"), "message": error.to_string(),
            "missing": "approval_mismatch", "request": name,
            "request_digest": deciding.opened.request.request_digest, "status": "blocked",
        }));
    }
    let text = format!("blocked {name}\nmissing approval_mismatch {error} fix: cto approve {name}\n");
    output.print(&text);
    Ok(())
}
