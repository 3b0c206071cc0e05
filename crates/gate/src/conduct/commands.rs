//! The table of commands that mean a forbidden action, and of those that are noted, with
//! positive and negative examples for each entry.
//!
//! Words of a pattern fit the first arguments that are no options, `/` separates
//! alternatives, `*` fits anything. `..` permits others before; a word that begins with `-`
//! is an option, at any place. The empty pattern is a program without a command, and `…`
//! one whose command may have been cut off in the record. The first entry that fits counts.

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
pub(super) struct ToolRow {
    /// File names under which the tool is known.
    pub(super) names: &'static [&'static str],
    /// Options that take the argument after them as their value.
    pub(super) valued: &'static [&'static str],
    /// Rows of the tool; the first that fits counts.
    pub(super) commands: &'static [CommandRow],
    /// Judgement on every other command of the tool; `None` if they do not count.
    pub(super) otherwise: Option<Counts>,
}

/// Row of the table: command patterns of a tool with one judgement.
#[derive(Debug)]
pub(super) struct CommandRow {
    pub(super) counts: Counts,
    pub(super) patterns: &'static [&'static str],
    /// Command lines that the row must take.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, which a test holds the entry to"))]
    pub(super) takes: &'static [&'static str],
    /// Similar command lines that the row must not take.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, which a test holds the entry to"))]
    pub(super) passes_over: &'static [&'static str],
}

/// All tools of all tables, in the order in which they are searched.
pub(super) fn tools() -> impl Iterator<Item = &'static ToolRow> {
    [versions::TOOLS, forges::TOOLS, registries::TOOLS, platforms::TOOLS].into_iter().flatten()
}
