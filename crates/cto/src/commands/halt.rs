//! `cto halt` and `cto resume`: the kill switch.

use contract::text::show_controls;
use contract::{RunId, Status};
use harness::{HaltError, HaltSet, Halted, Home, Resumed};
use serde_json::json;
use views::OpenRunNames;

use crate::context::Context;
use crate::error::CommandError;
use crate::output::count_text;

/// Longest reason: it becomes part of every report of a run that it stops.
const LONGEST_REASON: usize = 2000;

/// Sets the kill switch.
pub(crate) fn set_switch(context: &Context, reason: Option<&str>) -> Result<u8, CommandError> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.len() > LONGEST_REASON) {
        return Err(CommandError::usage(format!("the reason is longer than {LONGEST_REASON} bytes")).hint("shorten it"));
    }
    let home = Home::create_to_halt(&context.config.place())?;
    let set = harness::set_halt(&home, reason)?;
    let (views, _) = context.views_of(Some(home))?;
    let OpenRunNames { here, elsewhere } = views.list_open()?;
    let named = |runs: Vec<RunId>| runs.iter().map(RunId::to_string).collect::<Vec<_>>();
    let (running, elsewhere) = (named(here), named(elsewhere));
    let (halted, before) = match set {
        HaltSet::Now(halt) => (Halted::By(halt), false),
        HaltSet::Before(halted) => (halted, true),
    };
    let output = context.output;
    if output.json {
        return output.print_json(&document(true, before, Some(&halted), &running, &elsewhere)).map(|()| 0);
    }
    if !output.terminal {
        output.print(&format!("halted {}\n", if before { "already" } else { "now" }));
        output.print(&format!("switch {halted}\n"));
        running.iter().for_each(|run| output.print(&format!("stopping {run}\n")));
        elsewhere.iter().for_each(|run| output.print(&format!("elsewhere {run}\n")));
        return Ok(0);
    }
    let first = if before { "the kill switch was set before and stays as it is" } else { "every new run is blocked" };
    let paint = output.paint;
    output.print(&format!("{}  {first}\n\n  {halted}\n", paint.like(Status::Blocked, "halted")));
    if !running.is_empty() {
        output.print(&format!(
            "  {} being stopped, with complete evidence\n",
            count_text(running.len(), "run is", "runs are")
        ));
    }
    if !elsewhere.is_empty() {
        let others = count_text(elsewhere.len(), "run of another home goes", "runs of other homes go");
        output.print(&format!("  {others} on: each home has a kill switch of its own\n"));
    }
    output.print(&format!("\n{}  {}     lift it\n", paint.dim("next"), paint.command("cto resume")));
    Ok(0)
}

/// Lifts the kill switch.
pub(crate) fn resume_runs(context: &Context) -> Result<u8, CommandError> {
    let lifted = match Home::existing(&context.config.place()) {
        Ok(home) => harness::lift_halt(&home)?,
        // A home that was never made has no switch that could be set.
        Err(harness::OpenHomeError::Missing(_)) => Resumed::WasNotSet,
        Err(error) => return Err(error.into()),
    };
    let output = context.output;
    let (was_set, halted) = match lifted {
        Resumed::Lifted(halted) => (true, Some(halted)),
        Resumed::WasNotSet => (false, None),
    };
    if output.json {
        return output.print_json(&document(false, was_set, halted.as_ref(), &[], &[])).map(|()| 0);
    }
    match halted {
        Some(halted) => output.print(&format!("resumed: runs can start again; the kill switch was {halted}\n")),
        None => output.print("resumed: nothing to lift, the kill switch was not set\n"),
    }
    Ok(0)
}

fn document(
    set: bool,
    before: bool,
    halted: Option<&Halted>,
    stopping: &[String],
    elsewhere: &[String],
) -> serde_json::Value {
    let (set_at, reason, problem) = match halted {
        Some(Halted::By(halt)) => (Some(halt.set_at), halt.reason.clone(), None),
        Some(Halted::Unreadable(problem)) => (None, None, Some(show_controls(problem))),
        None => (None, None, None),
    };
    json!({
        "elsewhere": elsewhere,
        "halted": set,
        "problem": problem,
        "reason": reason,
        "set_at": set_at,
        "stopping": stopping,
        "was_set": before,
    })
}

impl From<HaltError> for CommandError {
    fn from(error: HaltError) -> Self {
        let hint = match &error {
            HaltError::Ledger(_) | HaltError::Home(_) => "fix what cto doctor names, then run the command again",
            _ => "fix what is named, then run the command again",
        };
        Self::blocked_with(&error).hint(hint)
    }
}
