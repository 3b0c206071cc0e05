//! The tree the engine works on: a case's files or a copied repository, laid out and shown
//! to be clean.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contract::approval::{ApprovalInput, RequestFact};
use contract::decision::{Profile, SettingFacts, TargetFacts};
use contract::exam::ecosystems_of;
use contract::fake::FakeStep;
use contract::paths::PathSet;
use contract::task::SourceClassification;
use contract::text::path_text;
use contract::{Ecosystem, Stage};
use evidence::stop;
use tree::{
    Author, CommitSpec, FileAge, Listing, ListingEntry, Manifest, ObjectDatabase, Oid, PathMode, SourceBaseline,
    SourceProblem, SourceRepository, SourceStatus, TreeError,
};

use untrusted_fs::own_files;

use crate::home::ask::Ask;
use crate::home::task::{BaselineFile, Task, TreeOrigin};
use crate::judge::copy::{Baseline, CAPTURE_LIMITS, Copy, LandingRepository, SourceBefore};
use crate::run::harness::Harness;

/// Facts of phase B, and the copy that was made for them.
pub(crate) struct Target {
    pub(crate) facts: TargetFacts,
    /// Copy of the target; none if it cannot be read.
    pub(crate) copy: Option<Copy>,
}

/// Author of a case's baseline; fixed, so that the commit is the same everywhere.
const CASE_AUTHOR: (&str, &str, i64) = ("cto", "cto@localhost", 1_767_225_600);

/// More files than this are laid out once for all runs, where a sandbox can lay a workspace
/// over them.
const SMALL: usize = 5_000;
const AUTHOR: Author<'_> = Author { name: "engine", email: "engine@localhost" };

/// Place that a run's baseline comes from.
enum BaselineFrom<'a> {
    Files(&'a BTreeMap<String, BaselineFile>),
    /// An owned repository that is copied, or the admitted target.
    Repository(&'a Path),
    Nothing,
}

impl<'a> BaselineFrom<'a> {
    /// The target at stage 5 and above is the admitted one, whatever files a case has.
    fn of(task: &'a Task, stage: Stage, settings: &'a SettingFacts) -> Self {
        match (&task.origin, &settings.target_admission) {
            (_, Some(target)) if stage >= Stage::OWNED_REPOSITORY => Self::Repository(Path::new(&target.path)),
            (TreeOrigin::Case(files), _) if stage < Stage::OWNED_REPOSITORY => Self::Files(files),
            (TreeOrigin::Repository(path), _) if stage < Stage::OWNED_REPOSITORY => Self::Repository(path),
            _ => Self::Nothing,
        }
    }
}

/// Reads the target and lays its copy out under `work`, beside the harness's own object
/// store, or finds a checkout in the cache. A target that cannot be read is a fact, not an
/// error.
pub(crate) fn inspect(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    settings: &SettingFacts,
    work: &Path,
) -> Result<Target, TreeError> {
    let inspected = inspect_baseline(harness, task, ask, settings, work).and_then(|mut target| {
        target.open_landing(harness, task, ask, settings, work)?;
        Ok(target)
    });
    match inspected {
        // The one place where a fault of the repository becomes a refusal. Other errors are
        // trouble of our own.
        Err(TreeError::Source { path, problem }) => Ok(Target { facts: unreadable(task, &path, &problem), copy: None }),
        inspected => inspected,
    }
}

fn inspect_baseline(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    settings: &SettingFacts,
    work: &Path,
) -> Result<Target, TreeError> {
    let store = ObjectDatabase::create_store(&work.join("store.git"), harness.git.clone())?;
    let root = work.join("tree");
    match BaselineFrom::of(task, ask.stage, settings) {
        BaselineFrom::Files(files) => inspect_case(task, files, store, root),
        BaselineFrom::Repository(path) => {
            let read = match ask.at.as_ref().filter(|_| ask.at_problem().is_none()) {
                Some(named) => ReadSource::read_at(path, named, &store)?,
                None => ReadSource::read(harness, path, ask.stage, &store, work)?,
            };
            require_baseline(task, path, read.baseline.commit)?;
            let mut target = read.lay_out(harness, task, ask.sandbox, store, root)?;
            note_owner(&mut target.facts, settings);
            Ok(target)
        }
        BaselineFrom::Nothing => {
            let path = PathBuf::from(task.target().unwrap_or_default());
            Err(TreeError::Source { path, problem: SourceProblem::Missing })
        }
    }
}

impl Target {
    /// Opens or makes the repository that gets the result's commit, if the stage has one,
    /// and reads its state.
    fn open_landing(
        &mut self,
        harness: &Harness,
        task: &Task,
        ask: &Ask,
        settings: &SettingFacts,
        work: &Path,
    ) -> Result<(), TreeError> {
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let landing = match (&settings.target_admission, ask.stage) {
            (_, stage) if stage < Stage::DISPOSABLE_REPOSITORY => return Ok(()),
            (_, Stage::DISPOSABLE_REPOSITORY) => {
                LandingRepository::make_disposable(harness, &copy.baseline, copy.commit, work)?
            }
            (Some(target), _) => {
                let path = Path::new(&target.path);
                let landing = LandingRepository::open_admitted(harness, &copy.baseline.store, path, work)?;
                if let Some((read, _)) = &copy.source {
                    landing.source.require_same_repository(read)?;
                }
                landing
            }
            (None, _) => return Ok(()),
        };
        self.facts.landing = Some(landing.landing_facts(&task.contract, None)?);
        copy.landing = Some(landing);
        Ok(())
    }

    /// Looks for the branch of the result, once the request is known that its name may
    /// contain. A used request names the branch of the run that used it, which is no
    /// obstacle.
    pub(crate) fn settle_branch(&mut self, task: &Task, approval: Option<&ApprovalInput>) -> Result<(), TreeError> {
        let Some(ApprovalInput::Found(facts)) = approval else { return Ok(()) };
        let is_unused = |request: &&RequestFact| request.consumed_by.is_none() && request.used_mark.is_none();
        let request = facts.request.as_ref().filter(is_unused).map(|request| request.request_digest);
        if let Some(landing) = self.copy.as_ref().and_then(|copy| copy.landing.as_ref()) {
            self.facts.landing = Some(landing.landing_facts(&task.contract, request)?);
        }
        Ok(())
    }
}

fn inspect_case(
    task: &Task,
    files: &BTreeMap<String, BaselineFile>,
    store: ObjectDatabase,
    root: PathBuf,
) -> Result<Target, TreeError> {
    let mut listing = Listing::default();
    for (path, file) in files {
        let mode = if file.executable { PathMode::Executable } else { PathMode::File };
        listing.0.insert(path.clone().into_bytes(), ListingEntry { mode, oid: store.put_blob(&file.bytes)? });
    }
    let tree = store.put_listing(&listing)?;
    let (name, email, unix_time) = CASE_AUTHOR;
    let message = "Baseline\n";
    let commit = store.put_commit(&CommitSpec { tree, parents: &[], name, email, unix_time, message })?;
    require_baseline(task, &root, commit)?;
    let copy = lay_out(Baseline { store, listing, tree }, commit, root)?;
    start_dirty(task, &copy.root)?;
    let dirty_paths = differs(&copy)?;
    let copy = put_patch(task, copy)?;
    Ok(Target { facts: facts(task, commit, &copy, dirty_paths), copy: Some(copy) })
}

/// Everything that is read of a source repository before a run. Nothing of it is read again
/// before the run is over.
struct ReadSource {
    source: SourceRepository,
    before: SourceBefore,
    baseline: SourceBaseline,
    status: SourceStatus,
}

impl ReadSource {
    /// A target may be bare: it is written to through its objects and references alone.
    fn read(
        harness: &Harness,
        path: &Path,
        stage: Stage,
        store: &ObjectDatabase,
        work: &Path,
    ) -> Result<Self, TreeError> {
        let scratch = work.join("status");
        make_dir(&scratch)?;
        let is_target = stage >= Stage::OWNED_REPOSITORY;
        let source =
            if is_target { SourceRepository::open_target(path)? } else { SourceRepository::open_repository(path)? };
        let before = SourceBefore::Whole(source.digest(None)?);
        let baseline = source.baseline(store)?;
        let status = source.dirty_paths(&harness.git, &scratch)?;
        Ok(Self { source, before, baseline, status })
    }

    /// Reads a commit instead of what is checked out. The work tree may be in any state,
    /// and people may work in it.
    fn read_at(path: &Path, named: &str, store: &ObjectDatabase) -> Result<Self, TreeError> {
        let source = SourceRepository::open_repository(path)?;
        let before = SourceBefore::References { named: named.to_owned(), references: source.references()? };
        let commit = source.find_commit(store, named)?;
        let baseline = source.baseline_at(store, commit)?;
        Ok(Self { source, before, baseline, status: SourceStatus::default() })
    }

    fn lay_out(
        self,
        harness: &Harness,
        task: &Task,
        profile: Profile,
        store: ObjectDatabase,
        root: PathBuf,
    ) -> Result<Target, TreeError> {
        let Self { source, before, baseline, status } = self;
        let SourceBaseline { commit, tree, listing, absent } = baseline;
        let baseline = Baseline { store, listing, tree };
        let is_large = baseline.listing.0.len() > SMALL && task.continued.is_none();
        let mut copy = if profile == Profile::Strict && is_large {
            from_cache(baseline, commit, &harness.home.cache().join("checkouts"))?
        } else {
            lay_out(baseline, commit, root)?
        };
        copy = put_patch(task, copy)?;
        copy.source = Some((source, before));
        copy.absent = absent.iter().map(|absent| path_text(&absent.path)).collect();
        copy.absent.extend(status.sparse.iter().map(|path| path_text(path)));
        let unfinished = status.unfinished.iter().map(|name| format!(".git/{name}"));
        let dirty = status.dirty.iter().map(|path| path_text(path)).chain(unfinished).collect();
        Ok(Target { facts: facts(task, commit, &copy, dirty), copy: Some(copy) })
    }
}

/// Writes the baseline's files, gives them a repository of their own and remembers what was
/// written.
fn lay_out(baseline: Baseline, commit: Oid, root: PathBuf) -> Result<Copy, TreeError> {
    make_dir(&root)?;
    tree::materialise(&baseline.store, &baseline.listing, &root)?;
    tree::work_repository(&root, &baseline.store, commit, &baseline.listing, AUTHOR)?;
    let manifest = Manifest::record_workspace(&root, &baseline.listing)?;
    let manifest = Some(manifest);
    let (begun, source, landing) = (None, None, None);
    Ok(Copy { root, baseline, commit, manifest, _checkout: None, source, begun, landing, absent: Vec::new() })
}

/// Files that stay as they are, for a workspace to lie over.
fn from_cache(baseline: Baseline, commit: Oid, cache: &Path) -> Result<Copy, TreeError> {
    make_dir(cache)?;
    let checkout = tree::checkout(cache, &baseline.store, &baseline.listing, commit, AUTHOR)?;
    let root = checkout.root.clone();
    crate::home::lock::touch(&root.with_file_name("stamp"));
    let _checkout = Some(checkout);
    let (begun, source, landing) = (None, None, None);
    Ok(Copy { root, baseline, commit, manifest: None, _checkout, source, begun, landing, absent: Vec::new() })
}

/// A run that goes on from another has the same baseline, or its patch means something else.
fn require_baseline(task: &Task, path: &Path, found: Oid) -> Result<(), TreeError> {
    match &task.continued {
        Some(continued) if continued.baseline_commit != found.to_string() => {
            let problem = SourceProblem::AnotherBaseline { expected: continued.baseline_commit.clone(), found };
            Err(TreeError::Source { path: path.to_owned(), problem })
        }
        _ => Ok(()),
    }
}

/// Puts the patch of the continued run into the laid-out tree, uncommitted. The
/// baseline stays what the result is compared with.
fn put_patch(task: &Task, copy: Copy) -> Result<Copy, TreeError> {
    let Some(continued) = &task.continued else { return Ok(copy) };
    let Baseline { store, listing, .. } = &copy.baseline;
    let begun = store.apply_into(listing, &continued.patch)?;
    // Another time than the index has for it, so that git sees the change.
    let age_of = |_: &[u8]| FileAge::Changed;
    tree::rematerialise_aged(store, (listing, &begun), &copy.root, &|_| false, &age_of)?;
    let manifest = Some(Manifest::record_workspace(&copy.root, &begun)?);
    Ok(Copy { manifest, begun: Some(begun), ..copy })
}

fn make_dir(path: &Path) -> Result<(), TreeError> {
    fs::create_dir_all(path).map_err(|source| TreeError::Io {
        doing: "creating directory",
        path: path.to_owned(),
        source,
    })
}

/// A fixture may ask for a tree that is not clean; the gate must find it.
fn start_dirty(task: &Task, root: &Path) -> Result<(), TreeError> {
    for step in task.fake.iter().flat_map(|fake| &fake.steps) {
        if let FakeStep::StartDirty { path, text } = step {
            let path = root.join(path);
            own_files::write_file(&path, text).map_err(|source| TreeError::Io { doing: "writing", path, source })?;
        }
    }
    Ok(())
}

/// Paths of the copy that are not as the baseline has them.
fn differs(copy: &Copy) -> Result<Vec<String>, TreeError> {
    let Some(manifest) = &copy.manifest else { return Ok(Vec::new()) };
    let now = tree::capture(&copy.root, manifest, &copy.baseline.store, &CAPTURE_LIMITS)?;
    Ok(tree::changes(&copy.baseline.listing, &now.listing).iter().map(|change| path_text(&change.path)).collect())
}

fn facts(task: &Task, commit: Oid, copy: &Copy, mut dirty_paths: Vec<String>) -> TargetFacts {
    if stop::has_defect("dirt_overlooked") {
        dirty_paths.clear();
    }
    let allowed = PathSet::rooted(&task.contract.allowed_paths).ok();
    let may_change = |path: &String| allowed.as_ref().is_none_or(|allowed| allowed.is_match(path.as_bytes()));
    TargetFacts {
        repository: copy.source.is_some(),
        unreadable: None,
        unreadable_remedy: None,
        owner: task.contract.source_owner.clone(),
        owned_local: task.contract.source_classification == Some(SourceClassification::OwnedLocal),
        baseline_commit: Some(commit.to_string()),
        baseline_tree: Some(copy.baseline.tree.to_string()),
        dirty_paths,
        absent_allowed: copy.absent.iter().filter(|path| may_change(path)).cloned().collect(),
        baseline_run: None,
        ecosystems: ecosystems(task, &copy.baseline.listing),
        landing: None,
    }
}

/// Notes the owner. At stage 5 and above the admission names it.
fn note_owner(facts: &mut TargetFacts, settings: &SettingFacts) {
    if let Some(record) = settings.target_admission.as_ref().and_then(|target| target.admission.record()) {
        facts.owner = Some(record.repository_owner.clone()).filter(|owner| !owner.trim().is_empty());
        facts.owned_local = !record.ownership_evidence.trim().is_empty();
    }
}

/// Ecosystems of the baseline, by its files and by the contract's commands.
fn ecosystems(task: &Task, baseline: &Listing) -> Vec<Ecosystem> {
    let paths = baseline.0.keys().map(Vec::as_slice);
    ecosystems_of(paths, task.contract.verification_commands.iter().map(|command| command.argv.as_slice()))
}

fn unreadable(task: &Task, path: &Path, problem: &SourceProblem) -> TargetFacts {
    TargetFacts {
        repository: true,
        unreadable: Some(format!("source repository {}: {problem}", path.display())),
        unreadable_remedy: Some(problem.remedy().to_owned()),
        owner: task.contract.source_owner.clone(),
        owned_local: task.contract.source_classification == Some(SourceClassification::OwnedLocal),
        baseline_commit: None,
        baseline_tree: None,
        dirty_paths: Vec::new(),
        absent_allowed: Vec::new(),
        baseline_run: None,
        ecosystems: Ecosystem::ALL.to_vec(),
        landing: None,
    }
}
