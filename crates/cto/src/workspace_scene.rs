//! The workspace with everything that its records are judged by: files, ledger, bundles,
//! commits, and the day.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use contract::{Purpose, Stamp, Status};
use evidence::PublicKey;
use evidence::verify::VerifiedBundle;
use views::{FindRunError, FoundRun, Views};
use workboard::{BundleFact, CommitFact, EvidenceSource, WorkspaceCheck, WorkspaceFiles, validate_workspace};

use crate::context::Context;
use crate::error::CommandError;
use crate::legacy_run::find_legacy_problem;
use crate::seek::trusted;

const ATTESTATION: &str = "attestation.dsse.json";

/// The workspace, read once.
pub(crate) struct WorkspaceScene {
    pub(crate) root: PathBuf,
    pub(crate) files: WorkspaceFiles,
    pub(crate) evidence: LedgerEvidence,
    pub(crate) now: Stamp,
}

impl WorkspaceScene {
    /// Reads the workspace and opens everything that its records refer to.
    pub(crate) fn open(context: &Context) -> Result<Self, CommandError> {
        let root = workspace_root(context)?;
        let files = read_files(&root)?;
        let (views, now) = context.look_only()?;
        let keys = trusted(context, &[])?.keys;
        let views = views.trusting(keys.clone());
        let path = context.config.tools.operator_path.clone();
        let evidence = LedgerEvidence { root: root.clone(), views, keys, now, path, known: RefCell::default() };
        Ok(Self { root, files, evidence, now })
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

/// Bundles by the ledger and the trusted keys; commits by the workspace's own repository.
pub(crate) struct LedgerEvidence {
    root: PathBuf,
    views: Views,
    keys: Vec<PublicKey>,
    now: Stamp,
    /// Folders in which git is looked for.
    path: Vec<PathBuf>,
    known: RefCell<HashMap<String, BundleFact>>,
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
        let Ok(source) = tree::Source::open(&self.root) else { return CommitFact::Unreadable };
        let (Ok(git), Ok(scratch)) = (tree::Git::find(&self.path), tempfile::tempdir()) else {
            return CommitFact::Unreadable;
        };
        match source.has_commit(&git, scratch.path(), commit) {
            Ok(true) => CommitFact::Found,
            Ok(false) => CommitFact::NotHere,
            Err(_) => CommitFact::Unreadable,
        }
    }
}

impl LedgerEvidence {
    fn look_up(&self, reference: &str) -> BundleFact {
        match self.bind(reference) {
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
    pub(crate) fn bind(&self, reference: &str) -> Result<VerifiedBundle, BundleFact> {
        let found = if reference.contains('/') { self.find_folder(reference)? } else { self.find_run(reference)? };
        found.bind(&found.keys(&self.keys)).map_err(|error| BundleFact::NotVerified(error.error.to_string()))
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
