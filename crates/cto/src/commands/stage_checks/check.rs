//! One check of a validator or of health: what it came to, by the run that shows it.

use contract::{Reason, Report, RunId, Status};
use serde::Serialize;

use crate::error::{CommandError, ErrorKind};

/// Reasons for which a run tells of this machine and not of the program.
const OF_MACHINE: &[Reason] = &[Reason::SandboxUnavailable, Reason::ToolMissing];

/// A check under the name that others look for.
pub(in crate::commands) type NamedCheck = (String, StageCheck);

/// Result of a check.
#[derive(Debug, Clone, Serialize)]
pub(in crate::commands) struct StageCheck {
    pub(in crate::commands) passed: bool,
    /// Status of the run that shows it; of the check itself where it has no run.
    pub(in crate::commands) status: Status,
    pub(in crate::commands) reasons: Vec<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) run_id: Option<RunId>,
    /// The expectation that does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) why: Option<String>,
    /// The thing without which it could not be held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) missing: Option<String>,
}

impl StageCheck {
    /// A check by a run; `wrong` names the expectation that does not hold.
    pub(in crate::commands) fn of_report(report: &Report, wrong: Option<String>) -> Self {
        let missing = wrong.as_ref().and_then(|_| machine_lacks(report));
        Self {
            passed: wrong.is_none(),
            status: report.status,
            reasons: report.blocker_reasons.clone(),
            run_id: Some(report.run_id.clone()),
            why: wrong.filter(|_| missing.is_none()),
            missing,
        }
    }

    /// A check that no single run shows.
    pub(in crate::commands) fn fact(wrong: Option<String>) -> Self {
        let status = if wrong.is_none() { Status::Pass } else { Status::Fail };
        Self { passed: wrong.is_none(), status, reasons: Vec::new(), run_id: None, why: wrong, missing: None }
    }

    /// A check that could not be held.
    pub(in crate::commands) fn blocked_by(missing: String) -> Self {
        let (status, reasons) = (Status::Blocked, Vec::new());
        Self { passed: false, status, reasons, run_id: None, why: None, missing: Some(missing) }
    }

    /// The check itself: pass, fail, or blocked where it could not be held.
    pub(in crate::commands) fn verdict(&self) -> Status {
        match (self.passed, &self.missing) {
            (true, _) => Status::Pass,
            (false, Some(_)) => Status::Blocked,
            (false, None) => Status::Fail,
        }
    }

    /// Problem or missing requirement, if there is one.
    pub(in crate::commands) fn problem(&self) -> Option<&str> {
        self.why.as_deref().or(self.missing.as_deref())
    }
}

/// Missing feature of this machine, if that alone stopped a run.
fn machine_lacks(report: &Report) -> Option<String> {
    let is_machine = report.status == Status::Blocked
        && !report.blocker_reasons.is_empty()
        && report.blocker_reasons.iter().all(|reason| OF_MACHINE.contains(reason));
    let blocker = report.blockers.first().filter(|_| is_machine)?;
    Some(format!("{}: {}; {}", blocker.reason, blocker.text, blocker.remedy))
}

/// The worst of several verdicts: a fail, else a block, else a pass.
pub(in crate::commands) fn worst(verdicts: impl IntoIterator<Item = Status>) -> Status {
    verdicts.into_iter().fold(Status::Pass, |worst, one| match (worst, one) {
        (Status::Fail, _) | (_, Status::Fail) => Status::Fail,
        (Status::Blocked, _) | (_, Status::Blocked) => Status::Blocked,
        (Status::Pass, Status::Pass) => Status::Pass,
    })
}

/// Cause of checks that ended early.
#[derive(Debug)]
pub(in crate::commands) enum TrialStop {
    /// A signal.
    Interrupted,
    Failed(CommandError),
}

impl<E: Into<CommandError>> From<E> for TrialStop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A check in place of those that an error kept from being held.
pub(in crate::commands) fn check_of_error(error: &CommandError) -> StageCheck {
    let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
    let text = format!("{}{hint}", error.message);
    match error.kind {
        ErrorKind::Blocked => StageCheck::blocked_by(text),
        ErrorKind::Fail | ErrorKind::Usage => StageCheck::fact(Some(text)),
    }
}

/// Names how a run ended, if not with this status, the first of these reasons and none but
/// these.
pub(in crate::commands) fn ended_otherwise(report: &Report, status: Status, allowed: &[Reason]) -> Option<String> {
    let first = allowed.first().is_none_or(|first| report.blocker_reasons.contains(first));
    let others = report.blocker_reasons.iter().all(|reason| allowed.contains(reason));
    if report.status == status && first && others {
        return None;
    }
    let why = report.failure_reason.as_deref().unwrap_or_default();
    Some(format!("it ended as {}: {}: {why}", report.run_id, report.status))
}

/// The same of a run that must be refused before its engine starts.
pub(in crate::commands) fn not_refused(report: &Report, reason: Reason) -> Option<String> {
    let started = report.engine.process_started.then(|| "the engine was started".to_owned());
    ended_otherwise(report, Status::Blocked, &[reason]).or(started)
}

/// The same of a run for which more may be missing than the one thing that is tried.
pub(in crate::commands) fn not_refused_for(report: &Report, reason: Reason) -> Option<String> {
    let started = report.engine.process_started.then(|| "the engine was started".to_owned());
    match report.status == Status::Blocked && report.blocker_reasons.contains(&reason) {
        true => started,
        false => ended_otherwise(report, Status::Blocked, &[reason]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_check_is_worse_than_one_that_could_not_be_held() {
        let (good, wrong) = (StageCheck::fact(None), StageCheck::fact(Some("it is not so".to_owned())));
        let blocked = StageCheck::blocked_by("there is no ssh-keygen".to_owned());
        assert_eq!([good.verdict(), wrong.verdict(), blocked.verdict()], [Status::Pass, Status::Fail, Status::Blocked]);
        assert_eq!((wrong.problem(), blocked.problem()), (Some("it is not so"), Some("there is no ssh-keygen")));
        for (checks, expected) in [
            (vec![&good, &good], Status::Pass),
            (vec![&good, &blocked], Status::Blocked),
            (vec![&blocked, &wrong, &good], Status::Fail),
            (vec![], Status::Pass),
        ] {
            assert_eq!(worst(checks.iter().map(|check| check.verdict())), expected);
        }
    }
}
