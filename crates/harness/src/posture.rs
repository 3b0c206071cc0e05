//! What the sandboxes of a run came to: `sandbox.json`, and what their recorders say against the run.

use contract::decision::Profile;
use contract::sandbox::{Attempt, AttemptVerdict, Cell, HeldLimit, Posture, SandboxDocument};
use contract::{Coverage, EventKind, Reason};
use evidence::names;
use sandbox::{Applied, Ended};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::run::{Run, Stopped};
use crate::supervise::wall;

/// Attempts that become events; `sandbox.json` has more.
const ATTEMPT_EVENTS: usize = 100;
/// Attempts that are named in a sentence.
const NAMED: usize = 5;

/// The sandboxes of a run, in the order in which they ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cells {
    postures: Vec<Posture>,
    cells: Vec<Cell>,
}

impl Cells {
    /// Keeps what one of them came to. Without a sandbox there is nothing to keep.
    pub(crate) fn add(&mut self, name: &str, ended: &Ended) -> Result<(), Stopped> {
        let Some(applied) = &ended.applied else { return Ok(()) };
        let posture = posture(applied)?;
        let known = self.postures.iter().position(|known| *known == posture);
        let index = known.unwrap_or(self.postures.len());
        if known.is_none() {
            self.postures.push(posture);
        }
        self.cells.push(Cell {
            name: name.to_owned(),
            posture: index,
            ids: same(&applied.ids)?,
            limit_hits: same(&ended.limit_hits)?,
            seen: same(&applied.seen)?,
        });
        Ok(())
    }

    pub(crate) fn extend(&mut self, more: Self) {
        for mut cell in more.cells {
            let Some(posture) = more.postures.get(cell.posture) else { continue };
            cell.posture = self.postures.iter().position(|known| known == posture).unwrap_or_else(|| {
                self.postures.push(posture.clone());
                self.postures.len() - 1
            });
            self.cells.push(cell);
        }
    }

    /// Keeps the posture of a sandbox that nothing came back from.
    pub(crate) fn add_lost(&mut self, posture: Posture) {
        if self.postures.is_empty() {
            self.postures.push(posture);
        }
    }

    /// The cell that ended last.
    pub(crate) fn last(&self) -> Option<&Cell> {
        self.cells.last()
    }

    fn is_recorder_missing(&self) -> bool {
        self.postures.iter().flat_map(|posture| &posture.recorders).any(|recorder| recorder.missing.is_some())
    }

    fn is_by_rlimit(&self) -> bool {
        let mut limits = self.postures.iter().flat_map(|posture| &posture.limits);
        limits.any(|limit| limit.kind == "memory" && limit.by == "rlimit")
    }

    fn sees_executions(&self) -> bool {
        let sees = |posture: &Posture| {
            posture.recorders.iter().any(|state| state.recorder == "executions" && state.missing.is_none())
        };
        // Of a sandbox that nothing came back from nobody knows what was tried in it.
        !self.cells.is_empty() && self.postures.iter().all(sees)
    }
}

/// Confinement of a program, as `sandbox.json` says it.
pub(crate) fn posture(applied: &Applied) -> Result<Posture, Stopped> {
    Ok(Posture {
        profile: same(&applied.profile)?,
        namespaces: same(&applied.namespaces)?,
        landlock_abi: applied.landlock_abi,
        seccomp: same(&applied.seccomp)?,
        mounts: same(&applied.mounts)?,
        limits: same(&applied.limits)?,
        recorders: same(&applied.recorders)?,
        probes: same(&applied.probes)?,
    })
}

/// The same value as a type of the document, which has the sandbox's own names.
pub(crate) fn same<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Stopped> {
    Ok(serde_json::from_value(serde_json::to_value(value)?)?)
}

/// What `sandbox.json` says of this run.
pub(crate) fn document(run: &Run<'_>) -> Result<SandboxDocument, Stopped> {
    let engine = &run.findings.engine;
    let cells = &run.findings.cells;
    let confined = applied(run) != Profile::None;
    let unlimited = ["processes", "disk_bytes_of_the_tree"].map(str::to_owned);
    Ok(SandboxDocument {
        schema_version: contract::BUNDLE_VERSION.to_owned(),
        asked: run.ask.sandbox,
        applied: applied(run),
        engine_ran: engine.started,
        kernel: run.harness.host.kernel.clone(),
        path: run.setting().path().iter().map(|dir| dir.display().to_string()).collect(),
        variables: run.setting().variables(),
        wall_seconds: engine.wall_seconds.unwrap_or(wall(run).as_secs()),
        limits: same::<Vec<HeldLimit>>(&engine.limits)?,
        not_enforced: if confined { Vec::new() } else { unlimited.to_vec() },
        postures: cells.postures.clone(),
        cells: cells.cells.clone(),
        attempts: run.findings.attempts.clone(),
        environment: run.findings.environment.clone(),
        leftover_processes: engine.leftovers.clone(),
    })
}

/// The profile everything that ran was under.
pub(crate) fn applied(run: &Run<'_>) -> Profile {
    let measured = if run.findings.cells.postures.is_empty() { Profile::None } else { Profile::Strict };
    run.findings.applied.unwrap_or(measured)
}

/// What is not proven because of how it was confined.
pub(crate) fn cover(run: &mut Run<'_>) {
    let cells = &run.findings.cells;
    let gaps = [
        (Coverage::SandboxNone, applied(run) == Profile::None),
        (Coverage::ActionsNotObserved, !cells.sees_executions()),
        (Coverage::LimitsByRlimit, cells.postures.is_empty() || cells.is_by_rlimit()),
        (Coverage::RecorderMissing, cells.is_recorder_missing()),
        (Coverage::RecorderFull, cells.cells.iter().any(|cell| cell.seen.is_full())),
    ];
    let found = gaps.into_iter().filter(|(_, gap)| *gap).map(|(coverage, _)| coverage).collect::<Vec<_>>();
    run.findings.coverage.extend(found);
}

impl Run<'_> {
    /// What the recorders noted down as it may be kept. Judged only afterwards, so that it can be judged again.
    pub(crate) fn clean_cells(&mut self) -> Result<(), Stopped> {
        let cells = std::mem::take(&mut self.findings.cells.cells);
        self.findings.cells.cells = self.clean(names::SANDBOX, cells)?;
        Ok(())
    }
}

/// Makes attempts part of the run: what counts against it becomes blockers, and each becomes an event.
pub(crate) fn hold_against(run: &mut Run<'_>, attempts: Vec<Attempt>) -> Result<(), Stopped> {
    for (verdict, reason, what) in [
        (AttemptVerdict::ForbiddenAction, Reason::ForbiddenActionAttempted, "tried what no engine may"),
        (AttemptVerdict::Violation, Reason::SandboxViolation, "tried to get out or at secrets"),
    ] {
        let of: Vec<&Attempt> = attempts.iter().filter(|attempt| attempt.judged == verdict).collect();
        if let Some(first) = of.first() {
            let text = format!("{} {what}: {}", first.cell, in_words(&of));
            run.findings.block(reason, text, names::SANDBOX);
        }
    }
    let events = attempts
        .iter()
        .filter(|attempt| attempt.judged != AttemptVerdict::Note)
        .chain(attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::Note));
    for (number, attempt) in events.take(ATTEMPT_EVENTS).enumerate() {
        let reason = match attempt.judged {
            AttemptVerdict::ForbiddenAction => Some(Reason::ForbiddenActionAttempted),
            AttemptVerdict::Violation => Some(Reason::SandboxViolation),
            AttemptVerdict::Note => None,
        };
        let mut data = json!({
            "action": attempt.action,
            "by": attempt.by,
            "cell": attempt.cell,
            "count": attempt.count,
            "judged": attempt.judged,
            "kind": attempt.kind,
            "what": attempt.what,
        });
        if let (Some(reason), Some(data)) = (reason, data.as_object_mut()) {
            data.insert("reason".to_owned(), json!(reason));
        }
        let more = attempts.len().saturating_sub(ATTEMPT_EVENTS);
        if let (true, Some(data)) = (more > 0 && number + 1 == ATTEMPT_EVENTS, data.as_object_mut()) {
            data.insert("more".to_owned(), json!(more));
        }
        run.draft.event(run.clock.now(), EventKind::SandboxRefused, data)?;
    }
    run.findings.attempts.extend(attempts);
    Ok(())
}

fn in_words(attempts: &[&Attempt]) -> String {
    contract::text::listed(attempts.iter().map(|attempt| format!("`{}`", attempt.what)), NAMED)
}

/// What the report lists.
pub(crate) fn violations(attempts: &[Attempt]) -> Vec<String> {
    let of = attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::Violation);
    of.map(|attempt| format!("{}: {}", attempt.cell, attempt.what)).collect()
}

pub(crate) fn forbidden_actions(attempts: &[Attempt]) -> Vec<String> {
    let of = attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::ForbiddenAction);
    of.map(|attempt| format!("{}: {}", attempt.cell, attempt.what)).collect()
}
