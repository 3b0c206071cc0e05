//! Checks that belong together.

use std::collections::BTreeMap;

use contract::Status;
use serde::Serialize;

use super::{NamedCheck, StageCheck, worst};

/// A group of checks, with its own verdict.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) passed: bool,
    pub(super) status: Status,
    /// The first check that is wrong, else the first that could not be held, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) checks: BTreeMap<String, StageCheck>,
}

impl Group {
    /// A group without a check shows nothing, and does not pass.
    pub(super) fn of_checks(checks: Vec<NamedCheck>) -> Self {
        let status = match checks.is_empty() {
            true => Status::Blocked,
            false => worst(checks.iter().map(|(_, check)| check.verdict())),
        };
        let first = checks.iter().find(|(_, check)| check.verdict() == status && status != Status::Pass);
        let told = first.map(|(name, check)| format!("{name}: {}", check.problem().unwrap_or("it does not hold")));
        let reason = told.or_else(|| checks.is_empty().then(|| "none of its checks was held".to_owned()));
        Self { passed: status == Status::Pass, status, reason, checks: checks.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_passes_only_if_every_check_was_held_and_holds() {
        let good = || ("a".to_owned(), StageCheck::fact(None));
        let wrong = || ("b".to_owned(), StageCheck::fact(Some("not so".to_owned())));
        let blocked = || ("c".to_owned(), StageCheck::blocked_by("no Case".to_owned()));
        for (checks, status, reason) in [
            (vec![good()], Status::Pass, None),
            (vec![good(), blocked()], Status::Blocked, Some("c: no Case")),
            (vec![blocked(), wrong()], Status::Fail, Some("b: not so")),
            (vec![], Status::Blocked, Some("none of its checks was held")),
        ] {
            let group = Group::of_checks(checks);
            assert_eq!((group.status, group.reason.as_deref()), (status, reason));
            assert_eq!(group.passed, status == Status::Pass);
        }
    }
}
