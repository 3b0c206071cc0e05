//! The tables against their examples, their sources and their page; judgement against input that means harm.

mod bounds;
mod calls;
mod commands;
mod config;
mod git;
mod page;
mod push;
mod seen;

use contract::sandbox::{Attempt, Execution};
use contract::task::ForbiddenAction;

use super::Counts;
use super::execution::ARGUMENTS_KEPT;

/// An execution as the recorder would keep it.
fn execution(line: &str) -> Execution {
    let line = line.replace("MORE-THAN-ARE-KEPT", &"a ".repeat(ARGUMENTS_KEPT));
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).take(ARGUMENTS_KEPT).collect();
    Execution { path: argv.first().cloned().unwrap_or_default(), argv, file: None, directory: None, count: 1 }
}

/// As an operator reads it.
fn counts_in_words(counts: Option<Counts>) -> String {
    match counts {
        Some(Counts::Action(action)) => format!("`{}`", action_name(action)),
        Some(Counts::Violation) => "violation".to_owned(),
        Some(Counts::Note) => "note".to_owned(),
        None => "nothing".to_owned(),
    }
}

fn action_name(action: ForbiddenAction) -> String {
    serde_json::to_value(action).unwrap().as_str().unwrap().to_owned()
}

/// `verdict count what`, or `verdict action count what`.
fn told(attempts: &[Attempt]) -> Vec<String> {
    let tell = |attempt: &Attempt| {
        let judged = serde_json::to_value(attempt.judged).unwrap();
        let action = attempt.action.map(|action| format!(" {}", action_name(action))).unwrap_or_default();
        format!("{}{action} {} {}", judged.as_str().unwrap(), attempt.count, attempt.what)
    };
    attempts.iter().map(tell).collect()
}
