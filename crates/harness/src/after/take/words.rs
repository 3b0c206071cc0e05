//! Names of a taken patch: its branch and its commit message.

use contract::{Digest, Report, TaskContract};
use evidence::render::verdict_sentence;
use tree::BranchName;

use super::TakeError;
use crate::run::commit_words::{BranchPlaces, CURRENT, CommitWords, NameBranchError, PATTERN};

/// The contract's branch policy with its places filled in.
pub(super) fn default_branch(report: &Report, contract: &TaskContract) -> Result<BranchName, TakeError> {
    let policy = contract.branch_policy.as_str();
    let pattern = if policy == CURRENT { PATTERN } else { policy };
    let suffix = Some(report.run_id.suffix());
    let named = BranchPlaces { task: &report.task_id, request: suffix, run: suffix }.name_branch(pattern);
    named.map_err(|NameBranchError { name, problem }| TakeError::Policy { name, problem })
}

/// Commit message, with the verdict and its gaps.
pub(super) fn message(report: &Report, patch: Digest) -> String {
    let words = CommitWords {
        title: &report.title,
        task: &report.task_id,
        verdict: &verdict_sentence(report),
        verification: &report.verification,
        unproven: Some(&report.coverage),
        run: &report.run_id,
        contract: report.contract_digest,
        patch,
    };
    words.message()
}
