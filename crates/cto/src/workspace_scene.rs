//! The workspace with everything that its records are judged by: files, ledger, bundles,
//! commits, and the day.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use contract::{Digest, Purpose, Stamp, Status};
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use views::{FindRunError, FoundRun, Views};
use workboard::{
    BOARD, BundleFact, CommitFact, EvidenceSource, ValidatorFact, WORKSPACE_MARK, WorkspaceCheck, WorkspaceFiles,
    validate_workspace,
};

use crate::context::Context;
use crate::error::CommandError;
use crate::legacy_run::find_legacy_problem;
use crate::seek::trusted;

const ATTESTATION: &str = "attestation.dsse.json";
/// Results that are kept; beyond, all are forgotten.
const MOST_RESULTS: usize = 20_000;

/// Results about bundles by name and by the stamps of all their files, for as long as a console
/// lives and its keys are the same.
#[derive(Debug, Default)]
pub(crate) struct BundleFactMemo(Mutex<HashMap<(String, Digest), BundleFact>>);

impl BundleFactMemo {
    fn recall_fact(&self, key: &(String, Digest)) -> Option<BundleFact> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep_fact(&self, key: (String, Digest), fact: &BundleFact) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_RESULTS {
            known.clear();
        }
        known.insert(key, fact.clone());
    }
}

/// The workspace, read once.
pub(crate) struct WorkspaceScene {
    pub(crate) root: PathBuf,
    pub(crate) files: WorkspaceFiles,
    pub(crate) evidence: LedgerEvidence,
    pub(crate) now: Stamp,
}

impl WorkspaceScene {
    /// Reads the workspace and opens everything that its records refer to.
    pub(crate) fn open_scene(context: &Context) -> Result<Self, CommandError> {
        let root = workspace_root(context)?;
        let files = read_files(&root)?;
        let (views, now) = context.look_only()?;
        let keys = trusted(context, &[])?.keys;
        let views = views.trusting_keys(keys.clone());
        let validators = context.config.validators.iter().map(|one| (one.name.clone(), ValidatorFact::NotRun));
        let evidence = LedgerEvidence {
            root: root.clone(),
            views,
            keys,
            now,
            path: context.config.tools.operator_path.clone(),
            known: RefCell::default(),
            commits: RefCell::default(),
            validators: RefCell::new(validators.collect()),
            memo: None,
        };
        Ok(Self { root, files, evidence, now })
    }

    /// The same, with results about bundles that others of these keys share.
    pub(crate) fn sharing_memo(mut self, memo_for: impl FnOnce(&[PublicKey]) -> Arc<BundleFactMemo>) -> Self {
        self.evidence.memo = Some(memo_for(&self.evidence.keys));
        self
    }

    /// Today in UTC, as `yyyy-mm-dd`.
    pub(crate) fn today(&self) -> String {
        day_of(self.now)
    }

    /// Validates all records as of today.
    pub(crate) fn check(&self) -> WorkspaceCheck {
        validate_workspace(&self.files, &self.evidence, &self.today())
    }
}

/// A moment's day in UTC.
pub(crate) fn day_of(now: Stamp) -> String {
    now.timestamp().to_string().chars().take(10).collect()
}

/// Root of the workspace that a command works in.
pub(crate) fn workspace_root(context: &Context) -> Result<PathBuf, CommandError> {
    let missing = || CommandError::usage("there is no workspace here").hint("cto init DIR");
    context.config.workspace.clone().ok_or_else(missing)
}

fn read_files(root: &Path) -> Result<WorkspaceFiles, CommandError> {
    WorkspaceFiles::read_workspace(root).map_err(|error| CommandError::usage(error).hint("cto init DIR"))
}

/// Digest of the names, numbers, sizes and times of everything below a folder: a file that is written changes it. None where
/// something cannot be looked at.
fn stamp_folder(folder: &Path) -> Option<Digest> {
    let (mut stamps, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        let stat = std::fs::symlink_metadata(&path).ok()?;
        let times = [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()];
        stamps.push(format!("{}\n{} {} {} {times:?}\n", path.display(), stat.dev(), stat.ino(), stat.len()));
        if stat.is_dir() {
            let entries = std::fs::read_dir(&path).ok()?.map(|entry| Some(entry.ok()?.path()));
            open.extend(entries.collect::<Option<Vec<PathBuf>>>()?);
        }
    }
    stamps.sort_unstable();
    Some(Digest::of_bytes(stamps.concat().as_bytes()))
}

/// Bundles by the ledger and the trusted keys; commits by the workspace's own repository.
pub(crate) struct LedgerEvidence {
    root: PathBuf,
    views: Views,
    keys: Vec<PublicKey>,
    now: Stamp,
    /// Folders in which git is looked for.
    path: Vec<PathBuf>,
    known: RefCell<HashMap<String, BundleFact>>,
    commits: RefCell<HashMap<String, CommitFact>>,
    /// Validators of the settings, and their results once they have run.
    validators: RefCell<HashMap<String, ValidatorFact>>,
    memo: Option<Arc<BundleFactMemo>>,
}

impl EvidenceSource for LedgerEvidence {
    fn find_bundle(&self, reference: &str) -> BundleFact {
        if let Some(known) = self.known.borrow().get(reference) {
            return known.clone();
        }
        let fact = self.look_up(reference);
        self.known.borrow_mut().insert(reference.to_owned(), fact.clone());
        fact
    }

    fn find_commit(&self, commit: &str) -> CommitFact {
        if !self.commits.borrow().contains_key(commit) {
            self.prepare_commits(&[commit]);
        }
        self.commits.borrow().get(commit).copied().unwrap_or(CommitFact::Unreadable)
    }

    fn prepare_commits(&self, commits: &[&str]) {
        if commits.is_empty() {
            return;
        }
        let found = self.look_for_commits(commits).unwrap_or_else(|| vec![CommitFact::Unreadable; commits.len()]);
        self.commits.borrow_mut().extend(commits.iter().map(|commit| (*commit).to_owned()).zip(found));
    }

    fn read_earlier_records(&self) -> Vec<(String, String)> {
        self.read_before_init().unwrap_or_default()
    }

    fn find_validator(&self, name: &str) -> ValidatorFact {
        self.validators.borrow().get(name).copied().unwrap_or(ValidatorFact::Unknown)
    }
}

impl LedgerEvidence {
    /// Keeps the result of a validator that has run.
    pub(crate) fn note_validator(&self, name: &str, has_passed: bool) {
        let fact = if has_passed { ValidatorFact::Passed } else { ValidatorFact::Failed };
        self.validators.borrow_mut().insert(name.to_owned(), fact);
    }

    /// Board and documents before the first commit with the mark of `cto init`.
    fn read_before_init(&self) -> Option<Vec<(String, String)>> {
        let source = tree::SourceRepository::open_repository(&self.root).ok()?;
        let git = tree::Git::find_git(&self.path).ok()?;
        let scratch = tempfile::tempdir().ok()?;
        let is_record = |path: &[u8]| path == BOARD.as_bytes() || path.to_ascii_lowercase().ends_with(b".md");
        let files = source.read_files_before(&git, scratch.path(), WORKSPACE_MARK, is_record).ok()?;
        let text =
            |(path, bytes): tree::EarlierFile| Some((String::from_utf8(path).ok()?, String::from_utf8(bytes).ok()?));
        Some(files.into_iter().filter_map(text).collect())
    }

    /// Answers about commits by one process of git for all of them.
    fn look_for_commits(&self, commits: &[&str]) -> Option<Vec<CommitFact>> {
        let source = tree::SourceRepository::open_repository(&self.root).ok()?;
        let git = tree::Git::find_git(&self.path).ok()?;
        let scratch = tempfile::tempdir().ok()?;
        let found = source.have_commits(&git, scratch.path(), commits).ok()?;
        Some(found.into_iter().map(|found| if found { CommitFact::Found } else { CommitFact::NotHere }).collect())
    }

    fn look_up(&self, reference: &str) -> BundleFact {
        let found = match self.seek(reference) {
            Ok(found) => found,
            Err(fact) => return fact,
        };
        let key =
            self.memo.as_ref().and_then(|memo| Some((memo, (reference.to_owned(), stamp_folder(&found.bundle)?))));
        if let Some(known) = key.as_ref().and_then(|(memo, key)| memo.recall_fact(key)) {
            return known;
        }
        let fact = self.judge_found(&found);
        if let (Some((memo, key)), BundleFact::Verified { .. }) = (key, &fact) {
            memo.keep_fact(key, &fact);
        }
        fact
    }

    fn judge_found(&self, found: &FoundRun) -> BundleFact {
        match self.bind_found(found) {
            Ok(bundle) => {
                let report = bundle.report();
                BundleFact::Verified {
                    run_id: report.run_id.to_string(),
                    work_id: report.work_id.as_ref().map(ToString::to_string),
                    is_governed: report.purpose == Purpose::Governed,
                    has_passed: report.status == Status::Pass,
                    attestation_sha256: bundle.attestation_sha256().to_string(),
                }
            }
            Err(fact) => fact,
        }
    }

    /// Views of the home.
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }

    /// The verified bundle of a reference: a run, or the path of a folder.
    pub(crate) fn bind_reference(&self, reference: &str) -> Result<VerifiedBundle, BundleFact> {
        self.bind_found(&self.seek(reference)?)
    }

    fn bind_found(&self, found: &FoundRun) -> Result<VerifiedBundle, BundleFact> {
        found.bind_bundle(&found.keys(&self.keys)).map_err(|error| BundleFact::NotVerified(error.error.to_string()))
    }

    fn seek(&self, reference: &str) -> Result<FoundRun, BundleFact> {
        if reference.contains('/') { self.find_folder(reference) } else { self.find_run(reference) }
    }

    fn find_run(&self, reference: &str) -> Result<FoundRun, BundleFact> {
        self.views.find_run(reference, self.now).map_err(|error| match &error {
            FindRunError::Collected(_) => BundleFact::Collected(error.to_string()),
            _ => BundleFact::Unknown(error.to_string()),
        })
    }

    fn find_folder(&self, reference: &str) -> Result<FoundRun, BundleFact> {
        let path = self.root.join(reference);
        if !path.is_dir() {
            // The bundles of the home are named by their place too, and one that was
            // collected is still known.
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            return self.find_run(&name);
        }
        if !path.join(ATTESTATION).exists() {
            return Err(BundleFact::Legacy(find_legacy_problem(&path)));
        }
        self.views.find_at(&path).map_err(|error| BundleFact::Unknown(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_changes_the_stamps_of_its_bundle() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("proofs/report.json");
        std::fs::create_dir(folder.path().join("proofs")).unwrap();
        std::fs::write(&report, "one").unwrap();
        let before = stamp_folder(folder.path());
        assert!(before.is_some() && before == stamp_folder(folder.path()), "control: nothing was written");
        std::fs::remove_file(&report).unwrap();
        std::fs::write(&report, "two").unwrap();
        assert_ne!(stamp_folder(folder.path()), before);
        assert_eq!(stamp_folder(&folder.path().join("nothing")), None);
    }
}
