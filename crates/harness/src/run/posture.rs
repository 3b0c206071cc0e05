//! Sandboxes of a run: `sandbox.json`, and the attempts that count against the run.

use contract::decision::Profile;
use contract::event_data::SandboxRefusedData;
use contract::sandbox::{Attempt, AttemptVerdict, HeldLimit, SandboxDocument};
use contract::{EventData, Reason};
use evidence::names;
use serde_json::Map;

use crate::run::file::{RunFile, Stopped};
use crate::run::supervise::wall_limit;

/// Attempts that become events; `sandbox.json` has more.
const ATTEMPT_EVENTS: usize = 100;
/// Attempts that are named in a sentence.
const NAMED: usize = 5;

/// Limits that the engine was held to, and the processes that it left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EngineLimits<'a> {
    /// Time limit of the engine.
    pub(crate) wall_seconds: Option<u64>,
    pub(crate) limits: &'a [HeldLimit],
    /// Names of the processes that it left behind.
    pub(crate) leftovers: &'a [String],
}

/// `sandbox.json` of this run.
pub(crate) fn sandbox_document(run: &RunFile<'_>, engine: EngineLimits<'_>) -> SandboxDocument {
    let sandboxes = run.sandboxes();
    let confined = sandboxes.applied() != Profile::None;
    let unlimited = ["processes", "disk_bytes_of_the_tree"].map(str::to_owned);
    SandboxDocument {
        schema_version: contract::BUNDLE_VERSION.to_owned(),
        asked: run.ask().sandbox,
        applied: sandboxes.applied(),
        engine_ran: run.standing.engine_started(),
        kernel: run.harness().host.kernel.clone(),
        path: run.setting().path().iter().map(|dir| dir.display().to_string()).collect(),
        variables: run.setting().variables(),
        wall_seconds: engine.wall_seconds.unwrap_or(wall_limit(run).as_secs()),
        limits: engine.limits.to_vec(),
        not_enforced: if confined { Vec::new() } else { unlimited.to_vec() },
        postures: sandboxes.postures().to_vec(),
        cells: sandboxes.records().to_vec(),
        attempts: sandboxes.attempts().to_vec(),
        environment: sandboxes.environment().clone(),
        leftover_processes: engine.leftovers.to_vec(),
    }
}

/// Makes attempts part of the run: what counts against it becomes blockers, and each
/// becomes an event.
pub(crate) fn hold_against(run: &mut RunFile<'_>, attempts: Vec<Attempt>) -> Result<(), Stopped> {
    for (reason, text) in judge_attempts(&attempts) {
        run.standing.block_run(reason, text, names::SANDBOX);
    }
    let events = attempts
        .iter()
        .filter(|attempt| attempt.judged != AttemptVerdict::Note)
        .chain(attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::Note));
    for (number, attempt) in events.take(ATTEMPT_EVENTS).enumerate() {
        let more = attempts.len().saturating_sub(ATTEMPT_EVENTS);
        let data = SandboxRefusedData {
            attempt: attempt.clone(),
            reason: reason_of(attempt.judged),
            more: Some(more).filter(|more| *more > 0 && number + 1 == ATTEMPT_EVENTS),
        };
        run.draft.add_event_data(run.clock().now(), &EventData::SandboxRefused(Box::new(data)), Map::new())?;
    }
    run.sandboxes_mut().add_attempts(attempts);
    Ok(())
}

/// Blockers that attempts make: what no engine may do, and ways out of the sandbox.
fn judge_attempts(attempts: &[Attempt]) -> Vec<(Reason, String)> {
    let rows = [
        (AttemptVerdict::ForbiddenAction, "tried what no engine may"),
        (AttemptVerdict::Violation, "tried to leave the sandbox or to read secrets"),
    ];
    let judge = |(verdict, what)| {
        let of: Vec<&Attempt> = attempts.iter().filter(|attempt| attempt.judged == verdict).collect();
        let text = format!("{} {what}: {}", of.first()?.cell, in_words(&of));
        Some((reason_of(verdict)?, text))
    };
    rows.into_iter().filter_map(judge).collect()
}

/// The reason that an attempt of this verdict gives; a note gives none.
fn reason_of(verdict: AttemptVerdict) -> Option<Reason> {
    match verdict {
        AttemptVerdict::ForbiddenAction => Some(Reason::ForbiddenActionAttempted),
        AttemptVerdict::Violation => Some(Reason::SandboxViolation),
        AttemptVerdict::Note => None,
    }
}

fn in_words(attempts: &[&Attempt]) -> String {
    contract::text::listed(attempts.iter().map(|attempt| format!("`{}`", attempt.what)), NAMED)
}

/// Violations as the report lists them.
pub(crate) fn violations(attempts: &[Attempt]) -> Vec<String> {
    let of = attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::Violation);
    of.map(|attempt| format!("{}: {}", attempt.cell, attempt.what)).collect()
}

/// Forbidden actions as the report lists them.
pub(crate) fn forbidden_actions(attempts: &[Attempt]) -> Vec<String> {
    let of = attempts.iter().filter(|attempt| attempt.judged == AttemptVerdict::ForbiddenAction);
    of.map(|attempt| format!("{}: {}", attempt.cell, attempt.what)).collect()
}

#[cfg(test)]
mod tests {
    use contract::sandbox::AttemptKind;

    use super::*;
    use crate::tests::two_sided;

    fn attempt(judged: AttemptVerdict, what: &str) -> Attempt {
        let (cell, what) = ("engine".to_owned(), what.to_owned());
        Attempt { cell, kind: AttemptKind::Execution, what, by: None, count: 1, judged, action: None }
    }

    #[test]
    fn attempts_stand_against_the_run_by_what_they_count_as() {
        use AttemptVerdict::{ForbiddenAction, Note, Violation};
        let all = [attempt(Violation, "ptrace"), attempt(Note, "ls"), attempt(ForbiddenAction, "git push")];
        let forbidden = (Reason::ForbiddenActionAttempted, "engine tried what no engine may: `git push`".to_owned());
        let violation =
            (Reason::SandboxViolation, "engine tried to leave the sandbox or to read secrets: `ptrace`".to_owned());
        assert_eq!(judge_attempts(&all), [forbidden, violation]);
        assert_eq!(judge_attempts(&all[1..2]), [], "control: a note");
        two_sided(Reason::SandboxViolation, judge_attempts(&all[..2]), judge_attempts(&all[1..]));
        two_sided(Reason::ForbiddenActionAttempted, judge_attempts(&all[1..]), judge_attempts(&all[..2]));
        assert_eq!(reason_of(Note), None);
        assert_eq!(
            (violations(&all), forbidden_actions(&all)),
            (vec!["engine: ptrace".to_owned()], vec!["engine: git push".to_owned()])
        );
    }
}
