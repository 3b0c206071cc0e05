//! Taking a verified patch: one commit on a new branch of the operator's own repository, as
//! the operator's own act.
//!
//! The commit's tree is built anew from baseline and patch and must be the tree that was
//! verified. Nothing else of the repository is touched and no program of it runs. That it
//! was taken is a signed statement and a ledger entry.

mod error;
mod left;
mod scene;
mod words;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use contract::statement::{STATEMENT_TYPE, SignedHarness};
use contract::taken::{PREDICATE_TYPE, Person, Taken, TakenStatement};
use contract::{BUNDLE_VERSION, Coverage, Report, Stage, Status, TaskContract};
use evidence::verify::VerifiedBundle;
use evidence::{names, stop};
use ledger::{Entry, EntryKind};
use tree::{BranchName, CommitSpec, Landing, Oid};

use crate::home::cause::ErrorCause;
use crate::home::clock::RunClock;
use crate::home::scratch::Work;
use crate::home::token::random_suffix;
use crate::run::harness::Harness;
use crate::run::stated;
pub use error::TakeError;
use left::entry_body;
pub(crate) use left::{Begun, TAKE, is_rolled_back, recover_begun};
use scene::TakeScene;
use untrusted_fs::own_files;

/// Bundle to take, and the options of the act.
#[derive(Debug)]
pub struct TakeAsk<'a> {
    pub bundle: &'a VerifiedBundle,
    /// Repository; default: the one that the contract names.
    pub repository: Option<&'a Path>,
    /// Default: the contract's branch policy.
    pub branch: Option<BranchName>,
    /// Default: git's configuration.
    pub author: Option<Person>,
    /// The operator's own configuration files of git, the strongest first.
    pub git_configuration: &'a [PathBuf],
}

/// A patch that is on its branch.
#[derive(Debug)]
pub struct TookPatch {
    pub taken: Taken,
    /// Signed statement; none if it was made before.
    pub statement: Option<PathBuf>,
    /// The branch was there before, with this very change.
    pub was_there: bool,
    pub files: usize,
}

/// Puts the patch of a run on a new branch, or finds it there already.
pub fn take_run(harness: &Harness, mut ask: TakeAsk<'_>) -> Result<TookPatch, TakeError> {
    stop::pass_place("take.verified");
    let report = ask.bundle.report();
    let contract: TaskContract = read(ask.bundle, names::CONTRACT)?;
    require_worth(report)?;
    let branch = match ask.branch.take() {
        Some(branch) => branch,
        None => words::default_branch(report, &contract)?,
    };
    let work = Work::make_area(&harness.home, left::TAKE).map_err(TakeError::Work)?;
    let scene = TakeScene::build_scene(harness, &ask, report, &contract, work.path())?;
    let author = scene.author(&ask)?;
    let begun = Begun {
        run_id: report.run_id.clone(),
        repository: scene.source.root().to_owned(),
        branch: branch.to_string(),
        rolled_back: None,
    };
    begun.write_note(work.path()).map_err(TakeError::Work)?;
    stop::pass_place("take.begun");
    let lock = Lock::take(harness, report)?;
    stop::pass_place("take.locked");
    let taking = Taking { harness, report, scene: &scene, bundle: ask.bundle.dir(), branch, token: work.token() };
    let took = taking.take(author);
    lock.release();
    took
}

/// Requires a complete, verified pass on a repository.
fn require_worth(report: &Report) -> Result<(), TakeError> {
    if report.status != Status::Pass {
        return Err(TakeError::NotPass(report.status, report.blocker_reasons.clone()));
    }
    if report.stage < Stage::COPIED_REPOSITORY {
        return Err(TakeError::Stage(report.stage));
    }
    if report.coverage.contains(&Coverage::PatchRedacted) {
        return Err(TakeError::Redacted);
    }
    if report.changed_files.is_empty() {
        return Err(TakeError::NothingChanged);
    }
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(bundle: &VerifiedBundle, name: &str) -> Result<T, TakeError> {
    let bytes = bundle.read_file(name).map_err(ErrorCause::from);
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).map_err(ErrorCause::from));
    read.map_err(|why| TakeError::Read(bundle.dir().join(name), why))
}

/// Lock that makes two takes of the same run in this home sequential, so that it is
/// recorded once.
struct Lock {
    folder: PathBuf,
    _held: File,
}

impl Lock {
    fn take(harness: &Harness, report: &Report) -> Result<Self, TakeError> {
        let folder = stated::folder(harness, &report.run_id).map_err(|error| TakeError::Record(error.into()))?;
        let held = own_files::open_file(&folder).and_then(|held| held.lock().map(|()| held));
        let held = held.map_err(|error| TakeError::Lock(folder.clone(), error))?;
        Ok(Self { folder, _held: held })
    }

    /// A folder in which nothing was said speaks for no run.
    fn release(self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

struct Taking<'a> {
    harness: &'a Harness,
    report: &'a Report,
    scene: &'a TakeScene,
    bundle: &'a Path,
    branch: BranchName,
    /// Bears what is not whole yet in the repository.
    token: String,
}

impl Taking<'_> {
    fn take(&self, author: Person) -> Result<TookPatch, TakeError> {
        let clock = RunClock::start_clock().map_err(TakeError::Clock)?;
        let message = words::message(self.report, self.scene.patch_sha256);
        if let Some(found) = self.scene.source.find_branch(&self.branch).map_err(TakeError::Git)? {
            return self.there_already(found, &message, author, clock);
        }
        let TakeScene { store, source, before, after, base, .. } = self.scene;
        let spec = CommitSpec {
            tree: after.tree_id(),
            parents: &[*base],
            name: &author.name,
            email: &author.email,
            unix_time: clock.now().unix_seconds(),
            message: &message,
        };
        let commit = store.put_commit(&spec).map_err(TakeError::Git)?;
        stop::pass_place("take.built");
        source.put_objects(store, before, after, commit, &self.token).map_err(TakeError::Write)?;
        stop::pass_place("take.objects");
        match source.make_branch(&self.branch, commit, &self.token).map_err(TakeError::Write)? {
            Landing::Made => {}
            found => return self.there_already(found, &message, author, clock),
        }
        stop::pass_place("take.branch");
        let (taken, statement) = self.record(commit, author, clock)?;
        stop::pass_place("take.recorded");
        Ok(TookPatch { taken, statement: Some(statement), was_there: false, files: self.report.changed_files.len() })
    }

    /// Treats the same change on that branch as done, and records it if it was not.
    fn there_already(
        &self,
        found: Landing,
        message: &str,
        author: Person,
        clock: RunClock,
    ) -> Result<TookPatch, TakeError> {
        let commit = match found {
            Landing::InTheWay(other) => return Err(TakeError::InTheWay { branch: self.branch.clone(), other }),
            Landing::Locked(lock) => return Err(TakeError::Locked { branch: self.branch.clone(), lock }),
            // No approval is asked for here, so that none can be used.
            Landing::Made | Landing::There(None) | Landing::Used(_) => None,
            Landing::There(Some(commit)) => Some(commit),
        };
        let same = commit.and_then(|commit| Some((commit, self.scene.same_change(commit, message)?)));
        let Some((commit, by)) = same else {
            return Err(TakeError::BranchExists { branch: self.branch.clone(), commit });
        };
        let files = self.report.changed_files.len();
        if self.is_recorded(commit)? {
            let taken = self.taken(commit, by.unwrap_or(author), clock);
            return Ok(TookPatch { taken, statement: None, was_there: true, files });
        }
        let (taken, statement) = self.record(commit, by.unwrap_or(author), clock)?;
        Ok(TookPatch { taken, statement: Some(statement), was_there: true, files })
    }

    fn is_recorded(&self, commit: Oid) -> Result<bool, TakeError> {
        let entries = self.harness.ledger().run_entries(&self.report.run_id);
        let entries = entries.map_err(|error| TakeError::Record(error.into()))?;
        let (commit, branch) = (commit.to_string(), self.branch.as_str());
        let same = |entry: &Entry| entry.body["commit"] == commit && entry.body["branch"] == branch;
        Ok(entries.iter().any(|entry| entry.is_kind(EntryKind::PatchTaken) && same(entry)))
    }

    fn taken(&self, commit: Oid, author: Person, clock: RunClock) -> Taken {
        let Self { harness, report, scene, .. } = self;
        Taken {
            schema_version: BUNDLE_VERSION.to_owned(),
            run_id: report.run_id.clone(),
            task_id: report.task_id.clone(),
            contract_digest: report.contract_digest,
            patch_sha256: scene.patch_sha256,
            baseline_commit: scene.base.to_string(),
            result_tree: scene.after.tree_id().to_string(),
            repository: scene.source.root().display().to_string(),
            branch: self.branch.to_string(),
            commit: commit.to_string(),
            author,
            harness: SignedHarness::of_host(&harness.host),
            key: harness.key.public().key_id(),
            taken_at: clock.now(),
        }
    }

    /// Writes the signed statement beside the bundles and tells the ledger.
    fn record(&self, commit: Oid, author: Person, clock: RunClock) -> Result<(Taken, PathBuf), TakeError> {
        let failed = |problem: ErrorCause| TakeError::NotRecorded { branch: self.branch.clone(), problem };
        let taken = self.taken(commit, author, clock);
        let end = random_suffix().map_err(|error| failed(error.into()))?;
        let name = format!("taken-{}-{end}", taken.taken_at.compact());
        let make = |subject| TakenStatement {
            kind: STATEMENT_TYPE.to_owned(),
            subject,
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: taken.clone(),
        };
        let stated = stated::state(self.harness, self.bundle, &taken.run_id, &name, make);
        let stated = stated.map_err(|error| failed(error.into()))?;
        stop::pass_place("take.stated");
        let body = entry_body(&taken, &stated);
        let kind = EntryKind::PatchTaken;
        let appended = self.harness.ledger().append(kind, Some(&taken.run_id), taken.taken_at, &body);
        appended.map_err(|error| failed(error.into()))?;
        Ok((taken, stated.path))
    }
}
