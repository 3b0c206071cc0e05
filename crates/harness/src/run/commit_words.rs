//! Words of a commit that the harness makes: its message, and the name of its branch.

use std::fmt::Write as _;

use contract::report::{CheckResult, PassKind, Verification};
use contract::text::show_controls;
use contract::{Coverage, Digest, RunId, TaskId};
use evidence::render::counts_text;
use tree::{BranchName, BranchNameProblem};

/// Branch policy that asks for the branch that is checked out.
pub(crate) const CURRENT: &str = "current";
/// The pattern where the contract wants the branch that is checked out: taking never moves one.
pub(crate) const PATTERN: &str = "cto/<task>/<request>";
/// Longer subjects are cut: git's own lists show no more.
const SUBJECT: usize = 100;
/// Digits of a request's digest in the name of its branch.
const REQUEST_DIGITS: usize = 12;

/// Name that a branch policy gives and that git refuses.
#[derive(Debug, thiserror::Error)]
#[error("the contract's branch policy makes `{}`, which is not a valid branch name: {problem}", show_controls(.name))]
pub(crate) struct NameBranchError {
    pub(crate) name: String,
    #[source]
    pub(crate) problem: BranchNameProblem,
}

/// Values for the places of a branch policy. A place without a value stays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BranchPlaces<'a> {
    pub(crate) task: &'a TaskId,
    /// Beginning of the request's digest, if there is a request.
    pub(crate) request: Option<&'a str>,
    /// Last part of the run's id, if it is known.
    pub(crate) run: Option<&'a str>,
}

impl BranchPlaces<'_> {
    /// The policy with its places filled in.
    pub(crate) fn fill_policy(&self, policy: &str) -> String {
        let mut name = policy.replace("<task>", self.task.as_str());
        for (place, value) in [("<request>", self.request), ("<run>", self.run)] {
            if let Some(value) = value {
                name = name.replace(place, value);
            }
        }
        name
    }

    /// Fills the contract's branch policy in. Fails if git would refuse the name.
    pub(crate) fn name_branch(&self, policy: &str) -> Result<BranchName, NameBranchError> {
        let name = self.fill_policy(policy);
        BranchName::parse_name(&name).map_err(|problem| NameBranchError { name, problem })
    }
}

/// Beginning of a request's digest, as part of a branch name.
pub(crate) fn request_part(request: Digest) -> String {
    let mut text = request.to_string();
    text.truncate(REQUEST_DIGITS);
    text
}

/// Everything that a commit's message is made from.
pub(crate) struct CommitWords<'a> {
    pub(crate) title: &'a str,
    pub(crate) task: &'a TaskId,
    /// Verdict as one sentence.
    pub(crate) verdict: &'a str,
    pub(crate) verification: &'a Verification,
    /// Codes of what is not proven, where they are known by then.
    pub(crate) unproven: Option<&'a [Coverage]>,
    pub(crate) run: &'a RunId,
    pub(crate) contract: Digest,
    pub(crate) patch: Digest,
}

impl CommitWords<'_> {
    /// Title, verdict, what was verified, what was not, and where the proof is. Writing to
    /// a String cannot fail.
    pub(crate) fn message(&self) -> String {
        let mut out = format!("{}\n\n{}\n\n", self.subject(), self.verdict);
        for kind in [PassKind::Exam, PassKind::Change, PassKind::Control, PassKind::Blind] {
            let passes = || self.verification.passes.iter().filter(|pass| pass.kind == kind);
            if passes().next().is_some() {
                let held = passes().filter(|pass| pass.result == CheckResult::Pass).count();
                let _ = writeln!(out, "- {}: {held} of {} held, on {}", kind.as_str(), passes().count(), kind.ran_on());
            }
        }
        if let Some(tests) = self.verification.exam_tests() {
            let _ = writeln!(out, "- tests: {}", counts_text(Some(tests)));
        }
        if let Some(unproven) = self.unproven {
            let codes: Vec<&str> = unproven.iter().map(|coverage| coverage.code()).collect();
            let codes = if codes.is_empty() { "nothing".to_owned() } else { codes.join(", ") };
            let _ = writeln!(out, "- not proven: {codes}");
        }
        let _ = write!(out, "\nCto-Run: {}\nCto-Contract: {}\nCto-Patch: {}\n", self.run, self.contract, self.patch);
        out
    }

    fn subject(&self) -> String {
        let title = show_controls(self.title.trim());
        let cut: String = title.chars().take(SUBJECT).collect();
        if cut.trim().is_empty() { self.task.to_string() } else { cut.trim().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_becomes_a_branch_once_all_its_places_have_values() {
        let task: TaskId = "fix-1".to_owned().try_into().unwrap();
        let open = BranchPlaces { task: &task, request: None, run: None };
        let filled = BranchPlaces { request: Some("0123456789ab"), run: Some("b9tc"), ..open };
        for (policy, before, after) in [
            (PATTERN, "cto/fix-1/<request>", Some("cto/fix-1/0123456789ab")),
            ("fix/<task>-<run>", "fix/fix-1-<run>", Some("fix/fix-1-b9tc")),
            ("plain", "plain", Some("plain")),
            ("a b", "a b", None),
            ("x/<other>", "x/<other>", Some("x/<other>")),
        ] {
            assert_eq!(open.fill_policy(policy), before);
            let name = filled.name_branch(policy);
            assert_eq!(name.as_ref().ok().map(BranchName::as_str), after, "{policy}");
        }
        assert_eq!(request_part(Digest::ZERO), "000000000000");
    }
}
