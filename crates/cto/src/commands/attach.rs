//! `cto attach`: a run that was started elsewhere, shown as it goes on. It only looks:
//! leaving does not end the run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::{RunId, Stamp};
use harness::{AttachedFact, AttachedRun, Home, WatchRun as _};
use views::{FindRunError, LiveRun, Liveness, Views};

use super::INTERRUPTED;
use super::run::result;
use crate::context::Context;
use crate::error::CommandError;
use crate::live::RunDisplay;
use crate::seek::{suggest_run, trusted};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows a live run, or shows the end of a sealed one.
pub(crate) fn attach_run(context: &Context, run: &str) -> Result<u8, CommandError> {
    let (views, now) = context.look_only()?;
    match views.find_run(run, now) {
        Ok(found) => show_end(context, &found.id),
        Err(FindRunError::Running(run_id)) => follow(context, &views, &run_id, now),
        Err(error) => Err(suggest_run(&views, now, error)),
    }
}

fn follow(context: &Context, views: &Views, run_id: &RunId, now: Stamp) -> Result<u8, CommandError> {
    let Some(home) = context.home_as_it_is()? else { return Err(FindRunError::Unknown(run_id.to_string()).into()) };
    let live = views.list_live(now)?.into_iter().find(|live| live.row.run_id == *run_id);
    let Some(live) = live.filter(|live| live.state == Liveness::Running) else {
        return show_end(context, run_id.as_str());
    };
    if !home.active_run(run_id).is_dir() {
        return Err(CommandError::blocked_with(format!("{run_id} runs in another home that shares this ledger"))
            .hint(format!("cto attach {run_id}     where it was started")));
    }
    let display = open_display(context, &live, now);
    let left = watch(context, &home, &live, &display);
    display.close_display();
    if left? {
        let suffix = run_id.suffix();
        context.output.print_note(&format!("{suffix} goes on\nnext  cto attach {suffix}\n"));
        return Ok(INTERRUPTED);
    }
    show_end(context, run_id.as_str())
}

fn open_display(context: &Context, live: &LiveRun, now: Stamp) -> RunDisplay {
    let row = &live.row;
    let title = format!("{}  {}  stage {}", row.task_id, contract::text::show_controls(&row.engine), row.stage);
    let display = RunDisplay::titled(context.output, title, &std::sync::Arc::default());
    let micros = now.timestamp().as_microsecond().saturating_sub(row.started_at.timestamp().as_microsecond());
    if let RunDisplay::Screen(screen) = &display {
        let mut subject = screen.subject();
        subject.set_age(Duration::from_micros(u64::try_from(micros).unwrap_or_default()));
        subject.board.run_id = Some(row.run_id.clone());
    }
    display
}

/// Shows the run until it is sealed; true if the person left before.
fn watch(context: &Context, home: &Home, live: &LiveRun, display: &RunDisplay) -> Result<bool, CommandError> {
    let run_id = &live.row.run_id;
    let mut attached = AttachedRun::new(home, run_id, live.row.started_at);
    while home.active_run(run_id).is_dir() {
        if context.cancel.load(Ordering::Relaxed) {
            return Ok(true);
        }
        for fact in attached.read_new()? {
            match fact {
                AttachedFact::Step(told) => display.step(&told),
                AttachedFact::Live(fact) => display.live(&fact),
            }
        }
        let (views, now) = context.look_only()?;
        if views.list_live(now)?.iter().any(|live| live.row.run_id == *run_id && live.state == Liveness::Interrupted) {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(false)
}

/// The result of a run that is sealed. A run whose process died is sealed first, as by
/// every other command.
fn show_end(context: &Context, run: &str) -> Result<u8, CommandError> {
    let found = context.find_run(run)?;
    let bound = found.bind_bundle(&trusted(context, &[])?.keys_of(&found))?;
    let bytes = bound.read_file(evidence::names::REPORT)?;
    result(context.output, bound.report(), &bytes, bound.dir(), &context.task_word(bound.report(), bound.dir()));
    Ok(bound.report().status.exit_code())
}
