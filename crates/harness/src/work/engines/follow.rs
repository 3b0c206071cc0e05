//! An engine at work: its output and requests become events as they come, and its end
//! becomes evidence.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge::ModelEvent;
use contract::event_data::{EngineEndedBy, EngineExitedData};
use contract::{Coverage, EventData, Reason};
use evidence::{names, stop};
use sandbox::{Ended, How, Line};
use serde_json::json;

use super::idle::{self, Idle};
use super::linger::{self, Linger, Shared};
use super::output::Listener;
use super::{EngineRun, Ready, ending};
use crate::gather::decide::Preparation;
use crate::gather::engine::equip::Equipped;
use crate::gather::model::{EventLog, ModelLink};
use crate::home::replay::StepNote;
use crate::home::watch::{LiveFact, LiveUsage, Step, StepReport, StepState, WatchRun};
use crate::run::file::{RunFile, Stopped};
use crate::run::supervise::{TIMEOUT_MARKER, exit_code, limits_exceeded, wall_limit};
use crate::work::claims;

/// Supervises the engine to its end, and says why the harness ended it where its work stood.
pub(super) fn supervise_engine(
    run: &mut RunFile<'_>,
    preparation: &mut Preparation,
    cell: Ready,
    linger: Option<&Linger<'_>>,
    places: Vec<PathBuf>,
) -> Result<(Ended, Option<&'static str>), Stopped> {
    let observer = run.watch().observer;
    let mut idle = preparation.equipped().map(|equipped| {
        let after = equipped.engine.config.idle_seconds.map_or(idle::AFTER, Duration::from_secs);
        Idle::new(after, places, run.clock().elapsed())
    });
    let stirred = Cell::new(false);
    let mut listener = Listener::new(claims::output_speech(run, preparation.equipped()), observer);
    let mut used = LiveUsage::NONE;
    let (clock, cancel) = (run.clock(), run.watch().cancel);
    let (link, usage) = preparation.model_mut().parts();
    let over = link.map(ModelLink::over);
    let (stop, shared) = (AtomicBool::new(false), Shared::new());
    let journal = run.journal();
    let log = RefCell::new(EventLog { draft: &mut run.draft, clock, journal, failed: None });
    let mut on_line = |line: Line<'_>| {
        let mut log = log.borrow_mut();
        stirred.set(true);
        log.learn(link);
        listener.hear_line(&mut log, line);
    };
    let mut on_tick = || {
        let mut log = log.borrow_mut();
        let events: Vec<_> = link.iter().flat_map(|link| link.reported()).collect();
        log.learn(link);
        let stirred = stirred.take() || !events.is_empty();
        for event in events {
            shared.note_event(&event);
            count_use(&mut used, &event, observer);
            log.add_model(event, usage);
        }
        if let Some(idle) = &mut idle {
            tell_idle(idle, stirred, &mut log, observer);
        }
        let limited = over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed));
        if limited || shared.settled.get().is_some() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut watch = sandbox::SupervisorWatch {
        cancel: Some(cancel),
        stop: Some(&stop),
        on_line: Some(&mut on_line),
        on_tick: Some(&mut on_tick),
    };
    let ended = std::thread::scope(|scope| {
        if let Some(linger) = linger {
            scope.spawn(|| linger.watch_settling(&shared, observer));
        }
        let ended = cell.start(&mut watch);
        shared.over.store(true, Ordering::Relaxed);
        ended
    })?;
    let limited = over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed));
    let settled = shared.settled.into_inner().filter(|_| ended.stopped && !limited);
    log.into_inner().failed.map_or(Ok((ended, settled)), |error| Err(error.into()))
}

/// Counts a report of the bridge for observers.
fn count_use(used: &mut LiveUsage, event: &ModelEvent, observer: &dyn WatchRun) {
    match event {
        ModelEvent::Requested(_) => used.count_made(),
        ModelEvent::Ended(record) => used.count_ended(record.tokens.total().unwrap_or_default(), record.cost_micros),
    }
    observer.live(&LiveFact::ModelUsed(*used));
}

/// Reports an engine that shows no activity.
fn tell_idle(idle: &mut Idle, stirred: bool, log: &mut EventLog<'_>, observer: &dyn WatchRun) {
    let clock = log.clock;
    if stirred {
        return idle.note_activity(clock.elapsed());
    }
    let Some(seconds) = idle.look_for_silence(clock.elapsed()) else { return };
    let text = format!("nothing for {seconds} s: no output, no model request, no changed file");
    log.add_step(&StepNote { step: Step::Engine, state: StepState::Idle, detail: text.clone() });
    observer.step(&StepReport::new(Step::Engine, StepState::Idle, &text, clock.started(), clock.now()));
}

/// Judges the end, before the event that tells of it.
pub(super) fn record_end(
    run: &mut RunFile<'_>,
    engine: &mut EngineRun,
    equipped: Option<&Equipped>,
    ended: &Ended,
    log: &[u8],
) -> Result<(), Stopped> {
    let settled = engine.end.ended_by_harness.clone();
    let exit = if settled.is_some() { Some(0) } else { exit_code(ended) };
    let exceeded = limits_exceeded(ended, &run.task().contract.limits);
    let started = !matches!(ended.how, How::SpawnFailed(_));
    let end = &mut engine.end;
    end.exit = exit;
    end.timed_out = ended.timed_out;
    end.duration_ms = u64::try_from(ended.elapsed.as_millis()).ok();
    end.leftovers = ended.leftovers.names.clone();
    end.limits = ended.limits.clone();
    end.ended_itself = started && exceeded.is_none() && !ended.timed_out && !ended.cancelled && !ended.stopped;
    let name = run.ask().engine.clone();
    if let Some(why) = &settled {
        run.standing.cover(Coverage::EngineEndedByHarness);
        if !stop::has_defect("lingering_engine_unmarked") {
            run.marker(linger::MARKER, &format!("the harness ended the engine: {why}"))?;
        }
    } else if let Some((reason, text, evidence)) = judge_end(ended, exceeded.as_deref(), &name) {
        run.standing.block_run(reason, text, evidence);
        if let How::SpawnFailed(failure) = &ended.how {
            run.marker("provider-unavailable.txt", &failure.text)?;
        }
    }
    if started && !ended.cancelled {
        let code = exit.unwrap_or(-1);
        let is_explained = ending::judge_output(run, engine, equipped, ended, log)?;
        let is_own_end = engine.end.ended_itself && !is_explained;
        if let Some((reason, text)) = judge_exit(code, &name).filter(|_| is_own_end) {
            run.standing.block_run(reason, text, "backend/stderr.log");
        }
    }
    if ended.timed_out {
        record_timeout(run, ended)?;
    }
    let exited = EngineExitedData {
        duration_ms: engine.end.duration_ms,
        exit_code: exit,
        leftover_processes: ended.leftovers.killed,
        output_bytes: ended.stdout.total + ended.stderr.total,
        stopped_by: stopped_by(ended, settled.is_some()),
        stopped_because: settled,
        timed_out: ended.timed_out,
    };
    Ok(run.add_event(&EventData::EngineExited(exited))?)
}

/// The blocker of an engine that did not start or that a limit ended, with its evidence.
fn judge_end(ended: &Ended, exceeded: Option<&str>, name: &str) -> Option<(Reason, String, &'static str)> {
    if let How::SpawnFailed(failure) = &ended.how {
        let text = format!("engine `{name}` did not start: {}", failure.text);
        return Some((Reason::ProviderUnavailable, text, "backend/provider-unavailable.txt"));
    }
    let evidence = if ended.output_exceeded { "backend/stdout.log" } else { names::SANDBOX };
    exceeded.map(|what| (Reason::BudgetExceeded, format!("engine `{name}` {what}"), evidence))
}

/// The blocker of an engine that ended by itself, by its exit code alone.
fn judge_exit(code: i32, name: &str) -> Option<(Reason, String)> {
    (code != 0).then(|| (Reason::EngineFailed, format!("{name} engine failed with exit code {code}")))
}

fn record_timeout(run: &mut RunFile<'_>, ended: &Ended) -> Result<(), Stopped> {
    let (seconds, killed) = (wall_limit(run).as_secs(), ended.leftovers.killed);
    let text = format!("the engine was ended after {seconds} s; {killed} further processes were ended with it");
    if !stop::has_defect("timeout_unmarked") {
        run.marker(TIMEOUT_MARKER, &text)?;
    }
    Ok(run.add_trace("timeout", json!({"at": "engine", "wall_seconds": seconds}))?)
}

fn stopped_by(ended: &Ended, is_settled: bool) -> EngineEndedBy {
    match ended {
        _ if is_settled => EngineEndedBy::Harness,
        Ended { timed_out: true, .. } => EngineEndedBy::TimeLimit,
        Ended { cancelled: true, .. } => EngineEndedBy::Operator,
        Ended { stopped: true, .. } => EngineEndedBy::ModelLimit,
        Ended { output_exceeded: true, .. } => EngineEndedBy::OutputLimit,
        Ended { disk_exceeded: true, .. } => EngineEndedBy::DiskLimit,
        _ => EngineEndedBy::Itself,
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{LimitKind, SpawnFailure, SpawnFailureKind};
    use serde_json::json;

    use super::*;
    use crate::run::tests::{contract, ended};
    use crate::tests::two_sided;

    fn judge(ended: &Ended) -> Option<(Reason, String, &'static str)> {
        judge_end(ended, limits_exceeded(ended, &contract(json!({})).limits).as_deref(), "e")
    }

    #[test]
    fn an_engine_that_does_not_start_is_unavailable() {
        let failure =
            SpawnFailure { kind: SpawnFailureKind::NotFound, errno: Some(2), text: "no such file".to_owned() };
        let failed = judge(&Ended { how: How::SpawnFailed(failure), ..ended(0, "") });
        two_sided(Reason::ProviderUnavailable, failed.clone(), judge(&ended(1, "")));
        let (reason, text, evidence) = failed.unwrap();
        assert_eq!((reason, text.as_str()), (Reason::ProviderUnavailable, "engine `e` did not start: no such file"));
        assert_eq!(evidence, "backend/provider-unavailable.txt");
        assert_eq!(judge(&ended(1, "")), None, "control: it started");
    }

    #[test]
    fn an_engine_that_a_limit_ended_is_over_budget() {
        let killed = || Ended { how: How::Signaled { signal: 9 }, ..ended(0, "") };
        let (reason, text, evidence) = judge(&Ended { limit_hits: vec![LimitKind::Processes], ..killed() }).unwrap();
        assert_eq!((reason, evidence), (Reason::BudgetExceeded, names::SANDBOX));
        assert!(text.starts_with("engine `e` started more than "), "{text}");
        let printed = judge(&Ended { output_exceeded: true, ..ended(0, "") }).unwrap();
        assert_eq!((printed.0, printed.2), (Reason::BudgetExceeded, "backend/stdout.log"));
        assert_eq!(judge(&killed()), None, "control: no limit is known");
        let exceeded = judge(&Ended { limit_hits: vec![LimitKind::Processes], ..killed() });
        two_sided(Reason::BudgetExceeded, exceeded, judge(&killed()));
        assert_eq!(
            judge(&Ended { limit_hits: vec![LimitKind::Memory], ..ended(0, "") }),
            None,
            "control: it ended well"
        );
    }

    #[test]
    fn an_engine_fails_by_its_exit_code() {
        assert_eq!(judge_exit(2, "e"), Some((Reason::EngineFailed, "e engine failed with exit code 2".to_owned())));
        assert_eq!(judge_exit(0, "e"), None, "control");
        two_sided(Reason::EngineFailed, judge_exit(2, "e"), judge_exit(0, "e"));
    }
}
