//! The yes of a person, asked for on a terminal or given beforehand.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use contract::text::{show_controls, shown_lines};

use crate::error::CommandError;
use crate::output::Output;

/// More than anybody types for yes.
const LONGEST: u64 = 100;

/// Consent of a person: asked for each time, or given beforehand.
pub(super) struct Consent {
    output: Output,
    given: bool,
}

impl Consent {
    /// Consent of a person at a terminal, or by `--yes`; an error without either.
    pub(super) fn new(output: Output, given: bool) -> Result<Self, CommandError> {
        let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
        if !given && !can_ask {
            return Err(CommandError::usage("setup asks before each step, and there is no terminal to ask on")
                .hint("agree to every step with --yes"));
        }
        Ok(Self { output, given })
    }

    /// The words in a record for how the person agreed.
    pub(super) fn manner(&self) -> &'static str {
        if self.given { "with cto setup --yes" } else { "at the terminal, with cto setup" }
    }

    /// Shows what is agreed to.
    pub(super) fn show_text(&self, text: &str) {
        self.output.print_note(&shown_lines(text));
    }

    /// Goes on only with a yes. One that was given beforehand is printed with its question, and
    /// so is a price that stands in it.
    pub(super) fn require(&self, question: &str, by_hand: &str) -> Result<(), CommandError> {
        if self.given {
            self.output.print_note(&format!("{} yes, by --yes\n", show_controls(question)));
            return Ok(());
        }
        self.ask(question, by_hand)
    }

    /// Goes on only with a yes to this very question, which nobody gives beforehand.
    pub(super) fn require_in_person(&self, question: &str, refusal: &str, by_hand: &str) -> Result<(), CommandError> {
        if self.given {
            return Err(CommandError::blocked_with(refusal).hint(by_hand));
        }
        self.ask(question, by_hand)
    }

    fn ask(&self, question: &str, by_hand: &str) -> Result<(), CommandError> {
        self.output.print_note(&format!("{} [yes/no] ", show_controls(question)));
        let mut answer = String::new();
        io::stdin().lock().take(LONGEST).read_line(&mut answer)?;
        if matches!(answer.trim(), "yes" | "y") {
            return Ok(());
        }
        Err(CommandError::blocked_with("you did not agree, so nothing more was done").hint(by_hand))
    }
}
