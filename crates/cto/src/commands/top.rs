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
use scene::TopScene;

/// Between two pictures; a key is answered at once.
const REDRAW: Duration = Duration::from_millis(250);

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
    let mut facts = scene.look_again(context)?;
    let mut terminal = RawTerminal::enter()?;
    while !context.cancel.load(Ordering::Relaxed) {
        let (columns, rows) = terminal.size();
        terminal.draw_lines(&draw_top(&facts, columns, rows, context.output.paint))?;
        if terminal.wait_for_key(REDRAW)?.is_some_and(|key| matches!(key, b'q' | b'Q' | 0x03 | 0x04)) {
            break;
        }
        facts = scene.look_again(context)?;
    }
    Ok(0)
}
