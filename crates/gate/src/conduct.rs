//! Judgement on the recorders' observations: an attempt at a forbidden action, a violation,
//! a note.
//!
//! Judged by tables: `commands` for executions, `calls` for refused system calls,
//! `settings` for the git configuration. All input here was written by a program that may
//! mean harm, and names can be chosen: a table finds programs that do not hide, and the
//! sandbox stops the others. `docs/what-the-recorders-see.md` shows the tables and lists
//! the blind spots; tests keep the two in step.

mod calls;
mod commands;
mod config;
mod execution;
mod git;
mod push;
mod settings;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use contract::sandbox::{
    Attempt, AttemptKind, AttemptVerdict, CanaryTouch, Connection, ENTRIES_KEPT, Execution, ObservedConduct,
    RefusedCall,
};
use contract::task::ForbiddenAction;
use contract::text::show_controls;

pub use git::{GitState, judge_git_changes};

/// Attempts of one judgement; the last of them stands for all that are beyond.
const ATTEMPTS_MAX: usize = 200;
/// Characters of a text.
const TEXT_MAX: usize = 300;
/// Folders in which services of a host listen. Other sockets belong to the programs inside.
const SERVICES: &[&str] = &["unix:/run/", "unix:/var/run/"];
/// Services that the C library asks about users and hosts, whatever the program is.
const ASKED_IN_PASSING: &[&str] = &["unix:/run/nscd/", "unix:/var/run/nscd/", "unix:/run/systemd/userdb/"];

/// Verdict of a table's entry, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counts {
    Action(ForbiddenAction),
    Violation,
    Note,
}

impl Counts {
    fn verdict(self) -> AttemptVerdict {
        match self {
            Self::Action(_) => AttemptVerdict::ForbiddenAction,
            Self::Violation => AttemptVerdict::Violation,
            Self::Note => AttemptVerdict::Note,
        }
    }
}

/// Judges the attempts seen in one sandbox: the worst first, bounded.
pub fn judge_conduct(cell: &str, seen: &ObservedConduct) -> Vec<Attempt> {
    let executions = seen.executions.iter().filter_map(|execution| execution::judge_execution(cell, execution));
    let calls = seen.refused.iter().map(|refused| refused_call(cell, refused));
    let connections = seen.connections.iter().filter_map(|connection| connection_out(cell, connection));
    let canaries = seen.canaries.iter().filter_map(|touch| canary(cell, touch));
    settle(executions.chain(calls).chain(connections).chain(canaries).chain(unlisted(cell, seen)).collect())
}

/// Judges one execution, as [`judge_conduct`] does. `None`: it counts for nothing.
pub fn judge_execution(execution: &Execution) -> Option<AttemptVerdict> {
    execution::counts(execution).map(Counts::verdict)
}

/// Names of the programs that commands of the table are of.
pub fn known_programs() -> Vec<&'static str> {
    commands::tools().flat_map(|tool| tool.names).copied().collect()
}

fn refused_call(cell: &str, refused: &RefusedCall) -> Attempt {
    let attempt = attempt(cell, AttemptKind::Call, calls::judge_call(&refused.name), &refused.name);
    Attempt { by: Some(line(&refused.comm)), count: refused.count, ..attempt }
}

/// A connection is no more than a note: nothing was reached, and an action shows in the program that tried it.
fn connection_out(cell: &str, connection: &Connection) -> Option<Attempt> {
    let address = connection.address.as_str();
    let begins = |places: &[&str]| places.iter().any(|place| address.starts_with(place));
    let inside = match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().to_canonical().is_loopback(),
        Err(_) => address.starts_with("unix:") && (!begins(SERVICES) || begins(ASKED_IN_PASSING)),
    };
    let attempt = attempt(cell, AttemptKind::Connection, Counts::Note, address);
    (!inside).then(|| Attempt { by: Some(line(&connection.comm)), count: connection.count, ..attempt })
}

fn canary(cell: &str, touch: &CanaryTouch) -> Option<Attempt> {
    let CanaryTouch { path, opened, read, changed } = touch;
    let done: Vec<&str> = [(opened, "opened"), (read, "read"), (changed, "changed")]
        .into_iter()
        .filter_map(|(count, done)| (*count > 0).then_some(done))
        .collect();
    let what = format!("{}: the decoy ~/{path}", done.join(", "));
    let count = opened.saturating_add(*read).saturating_add(*changed);
    (count > 0).then(|| Attempt { count, ..attempt(cell, AttemptKind::Canary, Counts::Violation, &what) })
}

/// Attempts for records that were counted and not listed. A build runs more programs than a list holds. That many different refused calls
/// come from a program that hides one of them behind the others.
fn unlisted(cell: &str, seen: &ObservedConduct) -> impl Iterator<Item = Attempt> {
    let executions = seen.executions.iter().fold(0_u64, |sum, execution| sum.saturating_add(execution.count));
    let connections = seen.connections.iter().fold(0_u64, |sum, connection| sum.saturating_add(connection.count));
    let more = |kind, total: u64, listed, what| {
        let count = total.saturating_sub(listed);
        (count > 0).then(|| Attempt { count, ..attempt(cell, kind, Counts::Note, what) })
    };
    let full = seen.refused.len() >= ENTRIES_KEPT;
    let beyond = "refused calls: more different ones than are listed";
    [
        more(AttemptKind::Execution, seen.executions_total, executions, "executions that were counted and not listed"),
        more(
            AttemptKind::Connection,
            seen.connections_total,
            connections,
            "connections that were counted and not listed",
        ),
        full.then(|| attempt(cell, AttemptKind::Call, Counts::Violation, beyond)),
    ]
    .into_iter()
    .flatten()
}

fn attempt(cell: &str, kind: AttemptKind, counts: Counts, what: &str) -> Attempt {
    let action = if let Counts::Action(action) = counts { Some(action) } else { None };
    let judged = counts.verdict();
    Attempt { cell: cell.to_owned(), kind, what: line(what), by: None, count: 1, judged, action }
}

/// Worst first, each once, and no more than [`ATTEMPTS_MAX`].
fn settle(mut attempts: Vec<Attempt>) -> Vec<Attempt> {
    fn order(attempt: &Attempt) -> impl Ord {
        let Attempt { judged, kind, action, what, by, .. } = attempt;
        (*judged, *kind, *action, what, by)
    }
    attempts.sort_by(|one, other| order(one).cmp(&order(other)));
    attempts.dedup_by(|again, first| {
        let same = order(again) == order(first);
        if same {
            first.count = first.count.saturating_add(again.count);
        }
        same
    });
    if attempts.len() > ATTEMPTS_MAX {
        let rest = attempts.split_off(ATTEMPTS_MAX - 1);
        attempts.extend(summed(&rest));
    }
    attempts
}

/// One attempt for many, with the verdict of the first, which is the worst.
fn summed(rest: &[Attempt]) -> Option<Attempt> {
    let worst = rest.first()?.clone();
    let count = rest.iter().fold(0_u64, |sum, attempt| sum.saturating_add(attempt.count));
    Some(Attempt { what: format!("and {} more", rest.len()), by: None, count, ..worst })
}

/// One line of at most [`TEXT_MAX`] characters that is safe to print.
fn line(text: &str) -> String {
    let start: String = text.chars().take(TEXT_MAX + 1).collect();
    let shown = show_controls(&start);
    if shown.chars().count() <= TEXT_MAX {
        return shown;
    }
    shown.chars().take(TEXT_MAX - 1).chain(['…']).collect()
}

/// True if a pattern names the word. `/` separates alternatives; `*` is any text, once in each.
fn fits(pattern: &str, word: &str) -> bool {
    pattern.split('/').any(|one| match one.split_once('*') {
        None => one == word,
        Some((start, end)) => word.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    })
}
