//! Taking a landed change back: its branch is deleted while it still names the run's
//! commit; else a revert is printed, and made only where that is asked for. The mark of the
//! used approval is never removed.

use std::path::PathBuf;

use contract::approval::RollbackAct;
use contract::proof::OwnedRepositoryProof;
use contract::text::{shell_word, show_controls};
use contract::{Report, RunId};
use evidence::verify::VerifiedBundle;
use evidence::{names, stop};
use tree::{
    BranchName, CommitSpec, Forwarding, Landing, Listing, ObjectDatabase, Oid, Removal, SourceRepository, TreeError,
};

use crate::after::take::{Begun, is_rolled_back};
use crate::home::clock::RunClock;
use crate::home::scratch::Work;
use crate::run::harness::Harness;
use crate::run::identity::find_identity;
use crate::seal::landing::describe_removal;

/// Begins the name of a folder under `work/`.
pub(crate) const ROLLBACK: &str = "rollback";

/// Failure to take a change back.
#[derive(Debug, thiserror::Error)]
pub enum RollBackError {
    #[error("the run landed no change in a target repository")]
    NothingLanded,
    #[error("cannot read the proof of the run: {0}")]
    Proof(String),
    #[error("the target repository cannot be used: {0}")]
    Target(#[source] TreeError),
    #[error("branch {branch} does not go: {why}")]
    Stays { branch: String, why: String, revert: String },
    /// To delete the branch would leave the change where it is.
    #[error("branch {branch} is not all that has the change: another branch or a tag reaches its commit {commit}")]
    Kept { branch: String, commit: String, revert: String },
    #[error("the change cannot be reverted on branch {branch}: {why}")]
    NotReverted { branch: String, why: String, revert: String },
    #[error("branch {0} is gone already")]
    Gone(String),
    #[error("git does not know who you are: {0} is not set")]
    NoIdentity(&'static str),
    #[error("cannot work: {0}")]
    Work(#[source] std::io::Error),
    #[error(transparent)]
    Ledger(ledger::ReadLedgerError),
    #[error(transparent)]
    Clock(crate::home::clock::ReadClockError),
}

impl RollBackError {
    /// Command that helps, about a run.
    pub fn error_remedy(&self, run: &str) -> String {
        match self {
            Self::NothingLanded => "choose a run of stage 5 that passed: cto runs --status pass".to_owned(),
            Self::Proof(_) => format!("cto verify {run}"),
            Self::Target(_) => "bring the repository back to the path of its admission".to_owned(),
            Self::Stays { revert, .. } => format!("{revert}     or: cto rollback {run} --revert --reason ..."),
            Self::Kept { revert, .. } => format!("{revert}     with the branch checked out that has the change"),
            Self::NotReverted { revert, .. } => revert.clone(),
            Self::Gone(_) => "nothing to do".to_owned(),
            Self::NoIdentity(key) => format!("git config --global {key} ..."),
            Self::Work(_) | Self::Ledger(_) | Self::Clock(_) => "cto doctor".to_owned(),
        }
    }
}

/// A change that was taken back.
#[derive(Debug)]
pub struct RolledBack {
    pub act: RollbackAct,
    /// Work folder that records the act until its reason is recorded, for the case of a
    /// kill.
    _work: Work,
}

/// The repository, branch and commit of a landed change, and the commands that take it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedChange {
    pub repository: PathBuf,
    pub branch: String,
    pub commit: String,
    run_id: RunId,
    moved: bool,
    parent: String,
}

impl LandedChange {
    /// Reads it from the proof in the bundle.
    pub fn read_proof(bundle: &VerifiedBundle) -> Result<Self, RollBackError> {
        let report: &Report = bundle.report();
        if report.target_commit.is_none() {
            return Err(RollBackError::NothingLanded);
        }
        let failed = |error: &dyn std::fmt::Display| RollBackError::Proof(error.to_string());
        let bytes = bundle.read_file(names::owned_proof(report.stage)).map_err(|error| failed(&error))?;
        let proof: OwnedRepositoryProof = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
        let landed = proof.landed.ok_or(RollBackError::NothingLanded)?;
        Ok(Self {
            repository: proof.target_repository_path.into(),
            run_id: report.run_id.clone(),
            branch: landed.branch,
            commit: landed.commit,
            moved: landed.moved,
            parent: landed.parent,
        })
    }

    /// The git command that takes the branch away again.
    pub fn delete_command(&self) -> String {
        format!("git -C {} branch -D {}", self.place(), shell_word(&self.branch))
    }

    /// The git commands that revert the change on the branch that has it.
    pub fn revert_command(&self) -> String {
        format!("git -C {} revert --no-edit {}", self.place(), self.commit)
    }

    fn place(&self) -> String {
        shell_word(&self.repository.display().to_string())
    }
}

/// Takes the change of a run back.
pub fn roll_back(harness: &Harness, landed: &LandedChange, may_revert: bool) -> Result<RolledBack, RollBackError> {
    let source = SourceRepository::open_target(&landed.repository).map_err(RollBackError::Target)?;
    let unreadable = |what: &str| RollBackError::Proof(format!("it has no readable {what}"));
    let branch = BranchName::parse_name(&landed.branch).map_err(|_| unreadable("branch"))?;
    let commit: Oid = landed.commit.parse().map_err(|_| unreadable("commit"))?;
    let work = Work::make_area(&harness.home, ROLLBACK).map_err(RollBackError::Work)?;
    let begun = Begun {
        run_id: landed.run_id.clone(),
        repository: landed.repository.clone(),
        branch: landed.branch.clone(),
        rolled_back: Some(landed.commit.clone()),
    };
    begun.write_note(work.path()).map_err(RollBackError::Work)?;
    stop::pass_place("rollback.begun");
    let is_said = is_rolled_back(harness, &landed.run_id).map_err(RollBackError::Ledger)?;
    let done = |act, work| {
        stop::pass_place("rollback.done");
        RolledBack { act, _work: work }
    };
    let undoing = Undoing { harness, source: &source, landed, branch: &branch, commit, work: &work };
    let act = match undoing.remove(may_revert, is_said)? {
        Some(act) => act,
        None => undoing.revert(is_said)?,
    };
    Ok(done(act, work))
}

fn kept(landed: &LandedChange) -> RollBackError {
    let (branch, commit) = (landed.branch.clone(), landed.commit.clone());
    RollBackError::Kept { branch, commit, revert: landed.revert_command() }
}

fn stays(landed: &LandedChange, why: &str) -> RollBackError {
    RollBackError::Stays { branch: landed.branch.clone(), why: why.to_owned(), revert: landed.revert_command() }
}

/// A change that is being taken back.
struct Undoing<'a> {
    harness: &'a Harness,
    source: &'a SourceRepository,
    landed: &'a LandedChange,
    branch: &'a BranchName,
    commit: Oid,
    work: &'a Work,
}

impl Undoing<'_> {
    /// Deletes the branch where the change goes with it; none where a revert is asked for and
    /// alone does it.
    fn remove(&self, may_revert: bool, is_said: bool) -> Result<Option<RollbackAct>, RollBackError> {
        let Self { source, landed, branch, commit, work, .. } = self;
        if landed.moved {
            return if may_revert { Ok(None) } else { Err(stays(landed, "it was there before the run")) };
        }
        if self.is_kept()? {
            let found = source.find_branch(branch).map_err(RollBackError::Target)?;
            let is_there = matches!(found, Some(Landing::There(_)));
            return if may_revert && is_there { Ok(None) } else { Err(kept(landed)) };
        }
        match source.remove_branch(branch, *commit, &work.token()).map_err(RollBackError::Target)? {
            Removal::Removed => Ok(Some(RollbackAct::BranchDeleted)),
            // A removal that was cut off before anybody said why.
            Removal::Gone if !is_said => Ok(Some(RollbackAct::BranchDeleted)),
            Removal::Gone => Err(RollBackError::Gone(landed.branch.clone())),
            _ if may_revert => Ok(None),
            other => Err(stays(landed, &describe_removal(&other))),
        }
    }

    /// True if another branch or a tag has the change: without its own branch it would be
    /// there all the same, and a statement that it is gone would be wrong.
    fn is_kept(&self) -> Result<bool, RollBackError> {
        let place = self.work.path().join("reach.git");
        let store = ObjectDatabase::create_store(&place, self.harness.git.clone()).map_err(RollBackError::Target)?;
        self.source.is_kept_beside(&store, self.branch, self.commit).map_err(RollBackError::Target)
    }

    /// Makes one commit on top of the branch in which the files that the run changed are as
    /// before it. If a file was changed since, nothing is made.
    fn revert(&self, is_said: bool) -> Result<RollbackAct, RollBackError> {
        let store = ObjectDatabase::create_store(&self.work.path().join("store.git"), self.harness.git.clone());
        let store = store.map_err(RollBackError::Target)?;
        let tip = match self.source.find_branch(self.branch).map_err(RollBackError::Target)? {
            Some(Landing::There(Some(tip))) => tip,
            _ => return Err(self.refuse("it does not simply name a commit")),
        };
        let base: Oid = self.landed.parent.parse().map_err(|_| self.refuse("the run's parent cannot be read"))?;
        self.source.fetch_commit_into(&store, tip).map_err(RollBackError::Target)?;
        let list = |commit: Oid| store.list_tree(commit).map_err(RollBackError::Target);
        let (before, after, now) = (list(base)?, list(self.commit)?, list(tip)?);
        if !is_said && is_undone(&before, &after, &now) {
            return Ok(RollbackAct::Reverted { commit: tip.to_string() });
        }
        let reverted = match undo_changes(&before, &after, &now) {
            Ok(reverted) => reverted,
            Err(path) => return Err(self.refuse(&format!("`{}` changed since", show_controls(&path)))),
        };
        let settings = self.source.settings(&store).map_err(RollBackError::Target)?;
        let author = find_identity(&store, settings, &self.harness.git_configuration).map_err(RollBackError::Target)?;
        let author = author.map_err(RollBackError::NoIdentity)?;
        let message = format!("Revert the change of {}\n\nThis reverts commit {}.\n", self.landed.branch, self.commit);
        let clock = RunClock::start_clock().map_err(RollBackError::Clock)?;
        let tree = store.put_listing(&reverted).map_err(RollBackError::Target)?;
        let spec = CommitSpec {
            tree,
            parents: &[tip],
            name: &author.name,
            email: &author.email,
            unix_time: clock.now().unix_seconds(),
            message: &message,
        };
        let made = store.put_commit(&spec).map_err(RollBackError::Target)?;
        let token = self.work.token();
        self.source.put_objects(&store, &now, &reverted, made, &token).map_err(RollBackError::Target)?;
        match self.source.forward_branch(self.branch, None, tip, made, &token).map_err(RollBackError::Target)? {
            Forwarding::Moved => Ok(RollbackAct::Reverted { commit: made.to_string() }),
            Forwarding::CheckedOut(at) => Err(self.refuse(&format!("it is checked out at {}", at.display()))),
            Forwarding::Locked(lock) => Err(self.refuse(&format!("{} is there", lock.display()))),
            Forwarding::Elsewhere(_) | Forwarding::Used(_) => Err(self.refuse("somebody moved it meanwhile")),
        }
    }

    fn refuse(&self, why: &str) -> RollBackError {
        let (branch, revert) = (self.landed.branch.clone(), self.landed.revert_command());
        RollBackError::NotReverted { branch, why: why.to_owned(), revert }
    }
}

/// True if every file that changed from `base` to `commit` is as in `base` at the tip.
fn is_undone(base: &Listing, commit: &Listing, tip: &Listing) -> bool {
    tree::changes(base, commit).iter().all(|change| tip.0.get(&change.path) == base.0.get(&change.path))
}

/// The tip with every file that changed from `base` to `commit` as it was in `base`; or the
/// first that is not as in `commit`.
fn undo_changes(base: &Listing, commit: &Listing, tip: &Listing) -> Result<Listing, String> {
    let mut reverted = tip.clone();
    for change in tree::changes(base, commit) {
        if tip.0.get(&change.path) != commit.0.get(&change.path) {
            return Err(contract::text::path_text(&change.path));
        }
        match base.0.get(&change.path) {
            Some(entry) => reverted.0.insert(change.path, *entry),
            None => reverted.0.remove(&change.path),
        };
    }
    Ok(reverted)
}

#[cfg(test)]
mod tests {
    use tree::{ListingEntry, PathMode};

    use super::*;

    fn listing(rows: &[(&str, &str)]) -> Listing {
        let entry = |digit: &str| ListingEntry { mode: PathMode::File, oid: digit.repeat(40).parse().unwrap() };
        Listing(rows.iter().map(|(path, digit)| (path.as_bytes().to_vec(), entry(digit))).collect())
    }

    #[test]
    fn a_revert_undoes_the_runs_change_and_nothing_else() {
        let base = listing(&[("a", "1"), ("gone", "2"), ("x", "3")]);
        let commit = listing(&[("a", "4"), ("new", "5"), ("x", "3")]);
        let tip = listing(&[("a", "4"), ("new", "5"), ("x", "6"), ("theirs", "7")]);
        let reverted = listing(&[("a", "1"), ("gone", "2"), ("x", "6"), ("theirs", "7")]);
        assert!(!is_undone(&base, &commit, &tip) && is_undone(&base, &commit, &reverted));
        assert_eq!(undo_changes(&base, &commit, &tip), Ok(reverted));
        let changed_since = listing(&[("a", "8"), ("new", "5"), ("x", "3")]);
        assert_eq!(undo_changes(&base, &commit, &changed_since), Err("a".to_owned()));
    }
}
