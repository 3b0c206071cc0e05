//! `cto top`: runs, what engines do now, model use and refusals, live in a terminal. It
//! only looks: leaving ends nothing.
//!
//! Drawn with the lines, columns and colours that `cto run` draws with, so that no further
//! library is needed for one screen.

mod picture;
mod raw_terminal;
mod scene;

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::context::Context;
use crate::error::CommandError;
use picture::draw_top;
use raw_terminal::RawTerminal;
use scene::{TopFacts, TopScene};

/// Between two pictures; a key is answered at once.
const REDRAW: Duration = Duration::from_millis(250);

/// Looks in a row that may fail, some ten seconds of them, while the last picture stays.
const FAILED_LOOKS: u32 = 40;

/// Draws the home until a key or a signal ends it. Needs a terminal.
pub(crate) fn top(context: &Context) -> Result<u8, CommandError> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_terminal || context.output.json {
        return Err(CommandError::usage("`cto top` draws on a terminal and reads its keys, and this is none")
            .hint("cto status --json     the same once, for a program"));
    }
    let mut scene = TopScene::open_scene(context)?;
    // The home is asked before the terminal is taken, so that an error stands where the
    // command was typed.
    let (mut facts, mut failed) = (scene.look_again(context)?, 0);
    let mut terminal = RawTerminal::enter()?;
    while !context.cancel.load(Ordering::Relaxed) {
        let (columns, rows) = terminal.size();
        terminal.draw_lines(&draw_top(&facts, columns, rows, context.output.paint))?;
        if terminal.wait_for_key(REDRAW)?.is_some_and(|key| matches!(key, b'q' | b'Q' | 0x03 | 0x04)) {
            break;
        }
        failed = take_look(&mut facts, scene.look_again(context), failed)?;
    }
    Ok(0)
}

/// Takes the facts of a look. One that fails leaves the facts as they are and says so in the
/// picture, until too many in a row have failed. Gives the number of those.
fn take_look(facts: &mut TopFacts, look: Result<TopFacts, CommandError>, failed: u32) -> Result<u32, CommandError> {
    match look {
        Ok(new) => {
            *facts = new;
            Ok(0)
        }
        Err(error) if failed < FAILED_LOOKS => {
            facts.problem = Some(error.message);
            Ok(failed + 1)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::picture::tests::facts;
    use super::*;

    #[test]
    fn a_look_that_fails_leaves_the_picture_until_too_many_have() {
        let fail = || Err(CommandError::blocked_with("the ledger is busy"));
        let mut shown = facts("x");
        let mut failed = 0;
        for number in 1..=FAILED_LOOKS {
            failed = take_look(&mut shown, fail(), failed).unwrap();
            assert_eq!((failed, shown.problem.as_deref()), (number, Some("the ledger is busy")));
            assert_eq!(shown.running.len(), 1, "the facts before stay");
        }
        assert!(take_look(&mut shown, fail(), failed).is_err(), "one that lasts ends it");
        assert_eq!(take_look(&mut shown, Ok(facts("y")), failed).unwrap(), 0);
        assert_eq!(shown.problem, None, "and a good one begins anew");
    }
}
