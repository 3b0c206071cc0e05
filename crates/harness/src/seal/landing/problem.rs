//! Reasons for which a verified result is not landed. The repository is then as it was.

use std::path::PathBuf;

use contract::text::show_controls;
use contract::{EventKind, Gate, Reason};
use evidence::names;
use serde_json::json;
use tree::{BranchName, Forwarding, Landing, Oid, TreeError};

use crate::gather::landing::describe_landing;
use crate::run::commit_words::NameBranchError;
use crate::run::file::{RunFile, Stopped};

/// Reason why nothing landed; the repository is then as it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum LandChangeError {
    #[error("git does not know who you are: {0} is not set")]
    NoIdentity(&'static str),
    #[error(transparent)]
    Name(#[from] NameBranchError),
    #[error("HEAD names no branch that could be moved")]
    NoBranch,
    #[error("HEAD moved from {before} to {now} while the run was going on")]
    HeadMoved { before: Oid, now: Oid },
    #[error("{0}")]
    Taken(String),
    #[error("branch {branch} is checked out at {}", .at.display())]
    CheckedOut { branch: BranchName, at: PathBuf },
    #[error("{0}")]
    Locked(String),
    #[error("the approval was used in this repository before: refs/cto/used/{0} is there")]
    Used(String),
    #[error("cannot note what is about to happen: {0}")]
    Note(#[source] std::io::Error),
    #[error("cannot write into the repository: {0}")]
    Write(#[from] TreeError),
    /// The run is not ours any more, or cannot go on: nothing is judged here.
    #[error(transparent)]
    Ended(Stopped),
}

impl LandChangeError {
    /// Description of what stood in the place of the new branch.
    pub(super) fn of_landing(branch: &BranchName, request: &str, found: &Landing) -> Self {
        let text = describe_landing(branch.as_str(), found);
        match found {
            Landing::Used(_) => Self::Used(request.to_owned()),
            Landing::Locked(_) => Self::Locked(text),
            Landing::Made | Landing::There(_) | Landing::InTheWay(_) => Self::Taken(text),
        }
    }

    /// Description of what kept a branch from being moved.
    pub(super) fn of_forwarding(branch: &BranchName, request: &str, found: Forwarding) -> Self {
        match found {
            Forwarding::Used(_) => Self::Used(request.to_owned()),
            Forwarding::CheckedOut(at) => Self::CheckedOut { branch: branch.clone(), at },
            Forwarding::Locked(lock) => Self::of_landing(branch, request, &Landing::Locked(lock)),
            Forwarding::Moved | Forwarding::Elsewhere(None) => Self::Taken(format!("branch {branch} is gone")),
            Forwarding::Elsewhere(Some(commit)) => Self::Taken(format!("branch {branch} is at {commit} by now")),
        }
    }

    fn reason(&self) -> Reason {
        match self {
            Self::HeadMoved { .. } => Reason::SourceRepositoryMutated,
            Self::Taken(_) | Self::CheckedOut { .. } | Self::NoBranch => Reason::DirtyEndingTree,
            Self::Used(_) => Reason::ApprovalConsumed,
            Self::NoIdentity(_) | Self::Name(_) | Self::Locked(_) | Self::Note(_) | Self::Write(_) | Self::Ended(_) => {
                Reason::ArtifactWriteFailure
            }
        }
    }

    /// The remedy; the general one of the reason where nothing special does.
    fn remedy(&self) -> Option<String> {
        match self {
            Self::NoIdentity(key) => Some(format!("git config --global {key} ...")),
            Self::Locked(_) => Some("wait for the other program; if there is none, remove that file".to_owned()),
            Self::Taken(_) => Some("remove or rename what is in the way, then request and approve again".to_owned()),
            Self::CheckedOut { .. } => {
                Some("set another branch_policy in the contract, or use a bare repository".to_owned())
            }
            _ => None,
        }
    }

    /// Makes it a blocker, carried by its event.
    pub(super) fn hold_against(self, run: &mut RunFile<'_>) -> Result<(), Stopped> {
        let (reason, text) =
            (self.reason(), format!("the change was not landed: {}", show_controls(&self.to_string())));
        let remedy = self.remedy();
        run.standing.block_with(reason, text, remedy.as_deref().unwrap_or(reason.remedy()), names::TRACE);
        run.add_trace("landing.failed", json!({"error": self.to_string(), "reason": reason}))?;
        if reason.event() == EventKind::BackendGateBlocked {
            run.add_event(&run.blocked_data(Gate::Approval, true, Some(reason)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_keeps_a_result_from_its_branch_has_its_reason() {
        let branch = BranchName::parse_name("cto/t/1").unwrap();
        let oid: Oid = "1".repeat(40).parse().unwrap();
        let of = |found: Landing| LandChangeError::of_landing(&branch, "d", &found);
        let moved = |found: Forwarding| LandChangeError::of_forwarding(&branch, "d", found);
        let io = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let full = TreeError::Io { doing: "writing", path: "/t".into(), source: io() };
        for (problem, reason) in [
            (of(Landing::There(Some(oid))), Reason::DirtyEndingTree),
            (of(Landing::InTheWay("cto".to_owned())), Reason::DirtyEndingTree),
            (of(Landing::Locked("/t/x.lock".into())), Reason::ArtifactWriteFailure),
            (of(Landing::Used(Some(oid))), Reason::ApprovalConsumed),
            (moved(Forwarding::Elsewhere(Some(oid))), Reason::DirtyEndingTree),
            (moved(Forwarding::CheckedOut("/t".into())), Reason::DirtyEndingTree),
            (moved(Forwarding::Locked("/t/x.lock".into())), Reason::ArtifactWriteFailure),
            (moved(Forwarding::Used(None)), Reason::ApprovalConsumed),
            (LandChangeError::HeadMoved { before: oid, now: oid }, Reason::SourceRepositoryMutated),
            (LandChangeError::NoIdentity("user.name"), Reason::ArtifactWriteFailure),
            (LandChangeError::Write(full), Reason::ArtifactWriteFailure),
            (LandChangeError::Note(io()), Reason::ArtifactWriteFailure),
            (LandChangeError::NoBranch, Reason::DirtyEndingTree),
        ] {
            assert_eq!(problem.reason(), reason, "{problem}");
        }
    }
}
