//! Putting the commit of a verified result into its repository: objects, then the branch
//! and the mark of the approval.

use contract::approval::RepositoryKind;
use contract::proof::LandedCommit;
use contract::{Digest, Report};
use evidence::seal::Sealed;
use evidence::{names, stop};
use ledger::{AppendEntryError, EntryKind};
use serde_json::json;
use tree::{BranchName, CommitSpec, Forwarding, Landing, Oid, Removal, SourceRepository, TreeError, UsedMark};

use super::left::LandingNote;
use super::problem::LandChangeError;
use crate::judge::copy::LandingRepository;
use crate::run::commit_words::{BranchPlaces, CURRENT, CommitWords, PATTERN, request_part};
use crate::run::file::RunFile;
use crate::run::harness::Harness;
use crate::run::lease_deadline::LeaseDeadline;
use crate::seal::verification::{CheckedResult, LandingMaterial};

/// The verdict that a landed commit carries: only a pass lands.
const VERDICT: &str =
    "Verified: the change is inside the allowed paths, and the verification passes on baseline + patch.";

/// A landing that is about to happen.
pub(super) struct Put<'p, 'r, 'a> {
    pub(super) run: &'p mut RunFile<'r>,
    pub(super) material: &'a LandingMaterial,
    pub(super) checked: &'a CheckedResult,
    pub(super) request: Digest,
}

impl Put<'_, '_, '_> {
    /// Writes commit, branch and mark. Fails if HEAD moved since the baseline was taken.
    pub(super) fn put(self) -> Result<LandedCommit, LandChangeError> {
        let LandingMaterial { repository, store, before, after, base } = self.material;
        let source = &repository.source;
        let author = repository.author.as_ref().map_err(|key| LandChangeError::NoIdentity(key))?;
        let branch = self.branch()?;
        let now = source.head_now()?;
        if now != *base {
            return Err(LandChangeError::HeadMoved { before: *base, now });
        }
        let message = self.message();
        let spec = CommitSpec {
            tree: after.tree_id(),
            parents: &[*base],
            name: &author.name,
            email: &author.email,
            unix_time: self.run.clock().now().unix_seconds(),
            message: &message,
        };
        let commit = store.put_commit(&spec)?;
        let landed = LandedCommit {
            commit: commit.to_string(),
            parent: base.to_string(),
            tree: after.tree_id().to_string(),
            branch: branch.to_string(),
            used_mark: self.mark().map(|mark| mark.to_string()),
            moved: self.is_moving(),
        };
        let token = self.run.id().mark();
        self.confirm_lease(None)?;
        self.note(&landed, &token).map_err(LandChangeError::Note)?;
        stop::pass_place("landing.noted");
        let lease = self.confirm_lease(None)?;
        source.put_objects(store, before, after, commit, &token)?;
        stop::pass_place("landing.objects");
        self.confirm_lease(Some(lease))?;
        self.name(&branch, commit, &token)?;
        stop::pass_place("landing.branch");
        if let Err(error) = source.put_pruned_objects(store, before, after, commit, &token) {
            // A branch without its objects would be a broken one.
            let _ = take_back(source, &branch, commit, &landed, &token);
            return Err(error.into());
        }
        Ok(landed)
    }

    /// Refuses to go on with a run that another instance may have sealed: one that was stopped for longer than its lease does not land.
    /// Anything done between this and the branch is undone by the process that puts the late run aside.
    fn confirm_lease(&self, before: Option<LeaseDeadline>) -> Result<LeaseDeadline, LandChangeError> {
        match before.filter(|lease| lease.check().is_ok()) {
            Some(lease) => Ok(lease),
            None => LeaseDeadline::begin_lease(self.run).map_err(LandChangeError::Ended),
        }
    }

    /// Writes the note for a recovery. A disposable repository goes with the run and needs
    /// none.
    fn note(&self, landed: &LandedCommit, token: &str) -> std::io::Result<()> {
        if self.material.repository.kind == RepositoryKind::Disposable {
            return Ok(());
        }
        let note = LandingNote {
            repository: self.material.repository.source.root().to_owned(),
            request: self.request,
            landed: landed.clone(),
            token: token.to_owned(),
        };
        note.write_note(&self.run.journal())
    }

    /// At stage 4 a file of the home says that the approval was used.
    fn mark(&self) -> Option<UsedMark> {
        match self.material.repository.kind {
            RepositoryKind::Disposable => None,
            RepositoryKind::Admitted => UsedMark::new(&self.request.to_string()),
        }
    }

    /// True if the branch that HEAD names is to be moved, instead of a new one made.
    fn is_moving(&self) -> bool {
        let is_current = self.run.task().contract.branch_policy == CURRENT;
        is_current && self.material.repository.kind == RepositoryKind::Admitted
    }

    fn branch(&self) -> Result<BranchName, LandChangeError> {
        let policy = self.run.task().contract.branch_policy.as_str();
        if self.is_moving() {
            return self.material.repository.source.current_branch().ok_or(LandChangeError::NoBranch);
        }
        let policy = if policy == CURRENT { PATTERN } else { policy };
        let (request, task) = (request_part(self.request), &self.run.task().contract.task_id);
        let run = self.run.id().suffix();
        Ok(BranchPlaces { task, request: Some(&request), run: Some(run) }.name_branch(policy)?)
    }

    fn message(&self) -> String {
        let contract = &self.run.task().contract;
        let patch = self.run.draft.files().get(names::PATCH).map_or(Digest::of_bytes(b""), |written| written.sha256);
        let words = CommitWords {
            title: &contract.title,
            task: &contract.task_id,
            verdict: VERDICT,
            verification: self.checked.verification(),
            unproven: None,
            run: self.run.id(),
            contract: self.run.contract_digest(),
            patch,
        };
        words.message()
    }

    fn name(&self, branch: &BranchName, commit: Oid, token: &str) -> Result<(), LandChangeError> {
        let LandingMaterial { repository: LandingRepository { source, .. }, base, .. } = self.material;
        let request = self.request.to_string();
        let made = match (self.mark(), self.is_moving()) {
            (None, _) => source.make_branch(branch, commit, token)?,
            (Some(mark), false) => source.make_marked_branch(branch, &mark, commit, token)?,
            (Some(mark), true) => match source.forward_branch(branch, Some(&mark), *base, commit, token)? {
                Forwarding::Moved => Landing::Made,
                other => return Err(LandChangeError::of_forwarding(branch, &request, other)),
            },
        };
        match made {
            Landing::Made => Ok(()),
            other => Err(LandChangeError::of_landing(branch, &request, &other)),
        }
    }
}

/// Takes the branch of a landing of this very run away again; gives its name, or the reason
/// why it stays.
pub(super) fn undo(material: &LandingMaterial, landed: &LandedCommit, token: &str) -> Result<String, String> {
    let (Ok(branch), Ok(commit)) = (BranchName::parse_name(&landed.branch), landed.commit.parse::<Oid>()) else {
        return Err("its name cannot be read again".to_owned());
    };
    match take_back(&material.repository.source, &branch, commit, landed, token) {
        Ok(Removal::Removed | Removal::Gone) => Ok(branch.to_string()),
        Ok(other) => Err(describe_removal(&other)),
        Err(error) => Err(error.to_string()),
    }
}

/// Takes a landed commit off its branch: one that was made for it goes, one that was moved
/// for it goes back.
pub(crate) fn take_back(
    source: &SourceRepository,
    branch: &BranchName,
    commit: Oid,
    landed: &LandedCommit,
    token: &str,
) -> Result<Removal, TreeError> {
    if !landed.moved {
        return source.remove_branch(branch, commit, token);
    }
    let parent: Oid = match landed.parent.parse() {
        Ok(parent) => parent,
        Err(_) => return Ok(Removal::Moved(None)),
    };
    Ok(match source.forward_branch(branch, None, commit, parent, token)? {
        Forwarding::Moved => Removal::Removed,
        Forwarding::Elsewhere(Some(now)) if now == parent => Removal::Gone,
        Forwarding::Elsewhere(now) | Forwarding::Used(now) => Removal::Moved(now),
        Forwarding::CheckedOut(at) => Removal::CheckedOut(at),
        Forwarding::Locked(lock) => Removal::Locked(lock),
    })
}

/// Reason why a branch was not removed, in words.
pub(crate) fn describe_removal(removal: &Removal) -> String {
    match removal {
        Removal::Removed => "it was removed".to_owned(),
        Removal::Gone => "it is gone".to_owned(),
        Removal::Moved(Some(now)) => format!("it is at {now} by now, not at the run's commit"),
        Removal::Moved(None) => "it is not simply a commit by now".to_owned(),
        Removal::CheckedOut(at) => format!("it is checked out at {}", at.display()),
        Removal::Locked(lock) => {
            let lock = lock.display();
            format!("another program works on it: {lock} exists; if none does: rm {lock}")
        }
    }
}

/// Tells the ledger of a change that landed in an admitted target, once its run is sealed.
/// Saying it twice changes nothing.
pub(crate) fn record_landing(
    harness: &Harness,
    sealed: &Sealed,
    time: contract::Stamp,
) -> Result<(), AppendEntryError> {
    let Report { run_id, target_commit: Some(commit), result_branch: Some(branch), .. } = &sealed.report else {
        return Ok(());
    };
    let ledger = harness.ledger();
    let known = ledger.run_entries(run_id).unwrap_or_default();
    if known.iter().any(|entry| entry.is_kind(EntryKind::ChangeLanded)) {
        return Ok(());
    }
    let body = json!({
        "attestation_sha256": sealed.attestation_sha256,
        "branch": branch,
        "commit": commit,
        "result_tree": sealed.report.result_tree,
    });
    ledger.append(EntryKind::ChangeLanded, Some(run_id), time, &body).map(drop)
}
