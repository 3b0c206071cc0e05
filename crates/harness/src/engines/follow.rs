//! An engine at work: what it prints and asks becomes events as it comes, and how it ended becomes evidence.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::text::shown;
use contract::{EventKind, Reason};
use evidence::censor::Lines;
use evidence::names;
use sandbox::{Ended, How, Line, Stream};
use serde_json::json;

use super::linger::{self, Linger, Shared};
use super::{Ready, ending};
use crate::model::{EventLog, ModelLink};
use crate::run::{Run, Stopped};
use crate::supervise::{TIMEOUT_MARKER, exceeded, exit_code, wall};

/// Output lines that become events, and how long each may be.
const OUTPUT_EVENTS: usize = 200;
const OUTPUT_CHARS: usize = 2000;

/// Supervises the engine to its end; whether it was ended because its work stood is said too.
pub(super) fn supervise(run: &mut Run<'_>, cell: Ready, linger: Option<&Linger<'_>>) -> Result<(Ended, bool), Stopped> {
    let mut lines = 0;
    let mut before = [Lines::default(), Lines::default()];
    let (clock, cancel) = (run.clock, run.watch.cancel);
    let over = run.link.as_ref().map(ModelLink::over);
    let (stop, shared) = (AtomicBool::new(false), Shared::new());
    let (link, usage) = (run.link.as_ref(), &mut run.findings.usage);
    let log = RefCell::new(EventLog { draft: &mut run.draft, clock, failed: None });
    let mut on_line = |line: Line<'_>| {
        lines += 1;
        if lines > OUTPUT_EVENTS {
            return;
        }
        let mut log = log.borrow_mut();
        log.learn(link);
        let (stream, number) = if line.stream == Stream::Stderr { ("stderr", 1) } else { ("stdout", 0) };
        let clean = log.draft.censor_mut().line(names::EVENTS, &mut before[number], line.bytes);
        let text: String = shown(&String::from_utf8_lossy(&clean)).chars().take(OUTPUT_CHARS).collect();
        log.add(EventKind::EngineOutput, json!({"stream": stream, "text": text}));
    };
    let mut on_tick = || {
        let mut log = log.borrow_mut();
        let events: Vec<_> = link.iter().flat_map(|link| link.reported()).collect();
        log.learn(link);
        for event in events {
            shared.note(&event);
            log.add_model(event, usage);
        }
        let limited = over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed));
        if limited || shared.proven.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut watch = sandbox::Watch {
        cancel: Some(cancel),
        stop: Some(&stop),
        on_line: Some(&mut on_line),
        on_tick: Some(&mut on_tick),
    };
    let ended = std::thread::scope(|scope| {
        if let Some(linger) = linger {
            scope.spawn(|| linger.look(&shared));
        }
        let ended = cell.start(&mut watch);
        shared.over.store(true, Ordering::Relaxed);
        ended
    })?;
    let limited = over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed));
    let proven = ended.stopped && !limited && shared.proven.load(Ordering::Relaxed);
    log.into_inner().failed.map_or(Ok((ended, proven)), |error| Err(error.into()))
}

/// What the end counts as, before the event that tells of it.
pub(super) fn record_end(run: &mut Run<'_>, ended: &Ended) -> Result<(), Stopped> {
    let proven = run.findings.engine.completed_by_proof;
    let exit = if proven { Some(0) } else { exit_code(ended) };
    let engine = &mut run.findings.engine;
    engine.exit = exit;
    engine.timed_out = ended.timed_out;
    engine.duration_ms = u64::try_from(ended.elapsed.as_millis()).ok();
    engine.leftovers = ended.leftovers.names.clone();
    engine.limits = ended.limits.clone();
    let name = run.ask.engine.clone();
    if proven {
        let text =
            "the work stood committed and the tree clean; the harness ended the engine, which did not end itself";
        run.marker(linger::MARKER, text)?;
    } else if let How::SpawnFailed(failure) = &ended.how {
        run.findings.block(
            Reason::ProviderUnavailable,
            format!("engine `{name}` did not start: {}", failure.text),
            "backend/provider-unavailable.txt",
        );
        run.marker("provider-unavailable.txt", &failure.text.clone())?;
    } else if let Some(what) = exceeded(ended, &run.task.contract.limits) {
        let evidence = if ended.output_exceeded { "backend/stdout.log" } else { names::SANDBOX };
        run.findings.block(Reason::BudgetExceeded, format!("engine `{name}` {what}"), evidence);
    } else if !ended.timed_out && !ended.cancelled && !ended.stopped {
        run.findings.engine.ended_itself = true;
        let code = exit.unwrap_or(-1);
        if !ending::judge(run, ended, code)? && code != 0 {
            let text = format!("{name} engine failed with exit code {code}");
            run.findings.block(Reason::EngineFailed, text, "backend/stderr.log");
        }
    }
    if ended.timed_out {
        record_timeout(run, ended)?;
    }
    let exited = json!({
        "duration_ms": run.findings.engine.duration_ms,
        "exit_code": exit,
        "leftover_processes": ended.leftovers.killed,
        "output_bytes": ended.stdout.total + ended.stderr.total,
        "stopped_by": stopped_by(ended, proven),
        "timed_out": ended.timed_out,
    });
    Ok(run.event(EventKind::EngineExited, exited)?)
}

fn record_timeout(run: &mut Run<'_>, ended: &Ended) -> Result<(), Stopped> {
    let (seconds, killed) = (wall(run).as_secs(), ended.leftovers.killed);
    let text = format!("the engine was ended after {seconds} s; {killed} further processes were ended with it");
    run.marker(TIMEOUT_MARKER, &text)?;
    Ok(run.trace("timeout", json!({"at": "engine", "wall_seconds": seconds}))?)
}

fn stopped_by(ended: &Ended, proven: bool) -> &'static str {
    match ended {
        _ if proven => "harness",
        Ended { timed_out: true, .. } => "time limit",
        Ended { cancelled: true, .. } => "operator",
        Ended { stopped: true, .. } => "model limit",
        Ended { output_exceeded: true, .. } => "output limit",
        Ended { disk_exceeded: true, .. } => "disk limit",
        _ => "itself",
    }
}
