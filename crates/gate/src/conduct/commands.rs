//! The table of commands that stand for a forbidden action, and of those that are noted, with examples of what each
//! entry takes and what it passes over.
//!
//! Words of a pattern stand for the first arguments that are no options, `/` is between alternatives, `*` is anything.
//! `..` lets others come before; a word that begins with `-` is an option that is given, wherever. The empty pattern is
//! a program without a command, and `…` one whose command may stand beyond what was recorded. The first entry that fits
//! counts.

mod forges;
mod platforms;
mod registries;
mod versions;

use contract::task::ForbiddenAction;

use super::Counts;

const PUSH: Counts = Counts::Action(ForbiddenAction::Push);
const MERGE: Counts = Counts::Action(ForbiddenAction::Merge);
const DEPLOY: Counts = Counts::Action(ForbiddenAction::Deploy);
const CLOSE: Counts = Counts::Action(ForbiddenAction::Close);
const PR_OPEN: Counts = Counts::Action(ForbiddenAction::PrOpen);
const ISSUE_CLOSE: Counts = Counts::Action(ForbiddenAction::IssueClose);
const PUBLISH: Counts = Counts::Action(ForbiddenAction::PublicPublication);
const CREDENTIALS: Counts = Counts::Action(ForbiddenAction::CredentialChange);

/// A program, or several that are used in the same way.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) names: &'static [&'static str],
    /// Options that take the argument after them as their value.
    pub(super) valued: &'static [&'static str],
    pub(super) commands: &'static [Command],
    /// What every other command counts as; `None`: nothing.
    pub(super) otherwise: Option<Counts>,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) counts: Counts,
    pub(super) patterns: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, which a test holds the entry to"))]
    pub(super) takes: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, which a test holds the entry to"))]
    pub(super) passes_over: &'static [&'static str],
}

pub(super) fn tools() -> impl Iterator<Item = &'static Tool> {
    [versions::TOOLS, forges::TOOLS, registries::TOOLS, platforms::TOOLS].into_iter().flatten()
}
