//! Following a confined program from its start until nothing of it is left.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use sandbox_facts::{LimitKind, RecorderKind, RecorderState};

use super::canary::CanaryLog;
use super::cgroup::Cgroup;
use super::channel::{InnerEnd, InnerMessage};
use super::confined_process::{ConfinedProcess, StageEvent, TICK};
use super::seccomp::CallLog;
use crate::stage::failure;
use crate::wire::{Records, StageReport};
use crate::{How, Leftovers, SpawnFailure, tree};

/// Reason why the program is no longer watched.
#[derive(Debug)]
enum Cause {
    Ended(InnerEnd),
    /// Process 1 is gone without a word: the kernel killed it, for memory.
    Silence,
    Deadline,
    Stopped,
    HarnessGone,
}

/// Follows the program until the kernel has confirmed that no process of it lives. `None`
/// if the harness is gone, so that there is no recipient of a report.
pub(super) fn follow_program(
    mut cell: ConfinedProcess,
    control: &UnixStream,
    name: &str,
    deadline: Option<Instant>,
) -> Option<(StageReport, ConfinedProcess)> {
    let mut not_started = None;
    let cause = watch(&mut cell, control, deadline, |errno, text| {
        let error = errno.map_or_else(|| std::io::Error::other(text), std::io::Error::from_raw_os_error);
        not_started = Some(failure(name, &error));
    });
    if matches!(cause, Cause::HarnessGone) || cell.announce_built(control).is_err() {
        return None;
    }
    let report = report(&mut cell, cause, not_started);
    Some((report, cell))
}

fn watch(
    cell: &mut ConfinedProcess,
    control: &UnixStream,
    deadline: Option<Instant>,
    mut on_failure: impl FnMut(Option<i32>, String),
) -> Cause {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Cause::Deadline;
        }
        match cell.next_event(control, left.map_or(TICK, |left| left.min(TICK))) {
            StageEvent::Said(said, _) => match *said {
                InnerMessage::NotStarted { errno, text } => on_failure(errno, text),
                InnerMessage::Ended(end) => return Cause::Ended(end),
                InnerMessage::Built(_)
                | InnerMessage::Confined(_)
                | InnerMessage::Probed { .. }
                | InnerMessage::Failed(_) => return Cause::Silence,
            },
            StageEvent::Silence => return Cause::Silence,
            StageEvent::Asked => return Cause::Stopped,
            StageEvent::HarnessGone => return Cause::HarnessGone,
            // A program that was to start at once has been seen off; now there is time for
            // words.
            StageEvent::Nothing if cell.announce_built(control).is_err() => return Cause::HarnessGone,
            StageEvent::Nothing => {}
        }
    }
}

fn report(cell: &mut ConfinedProcess, cause: Cause, not_started: Option<SpawnFailure>) -> StageReport {
    let killed = How::Signaled { signal: libc::SIGKILL };
    let mut limit_hits = Vec::new();
    let (mut how, leftovers) = match &cause {
        Cause::Ended(end) => {
            limit_hits.extend(&end.full);
            (end.how.clone(), if end.alone { Leftovers::default() } else { left_inside(cell) })
        }
        Cause::Silence | Cause::HarnessGone => (killed, Leftovers::default()),
        Cause::Deadline | Cause::Stopped => (killed, left_inside(cell)),
    };
    if let Some(failure) = not_started {
        how = How::SpawnFailed(failure);
    }
    if how == (How::Signaled { signal: libc::SIGXFSZ }) {
        limit_hits.push(LimitKind::FileSize);
    }
    // Always, whatever process 1 said: the harness reads what the program could have
    // touched as soon as it has the report.
    let gone = cell.kill_all();
    limit_hits.extend(cell.cgroup.as_ref().map(Cgroup::hits).unwrap_or_default());
    let timed_out = matches!(cause, Cause::Deadline);
    StageReport { gone, timed_out, leftovers, limit_hits, records: Some(records(cell)), ..StageReport::new(how) }
}

/// Processes inside besides process 1 and the program. Looked at from here: nothing inside
/// can change what this process sees.
fn left_inside(cell: &ConfinedProcess) -> Leftovers {
    cell.init.map(tree::below_init).unwrap_or_default()
}

fn records(cell: &mut ConfinedProcess) -> Records {
    let mut recorders = cell.applied.posture.recorders.clone();
    if cell.calls.as_ref().is_some_and(CallLog::is_blind) {
        note_blindness(&mut recorders);
    }
    let mut seen = cell.calls.as_mut().map(CallLog::take_observed).unwrap_or_default();
    seen.canaries = cell.canaries.as_mut().map(CanaryLog::finish_log).unwrap_or_default();
    Records { recorders, seen }
}

/// Both need the arguments of calls.
fn note_blindness(recorders: &mut [RecorderState]) {
    let need =
        |state: &&mut RecorderState| matches!(state.recorder, RecorderKind::Executions | RecorderKind::Connections);
    for state in recorders.iter_mut().filter(need) {
        state.missing.get_or_insert_with(|| "arguments of calls could not be read".to_owned());
    }
}
