//! The task of a run: a case or a contract, loaded and resolved.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use contract::case::{Case, Expect, FakeSteps, load_case, load_contract};
use contract::report::ContinuedFrom;
use contract::source::{Node, Problems};
use contract::{Digest, EventKind, RunId, Stage, TaskContract};
use fixtures::{CaseFolder, CheatFile};
use untrusted_fs::own_files::{self, OwnPath as _};

/// One file of a case's baseline.
#[derive(Debug, Clone)]
pub struct BaselineFile {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// Origin of the engine's tree.
#[derive(Debug, Clone)]
pub enum TreeOrigin {
    /// The files of a case, committed with a fixed author and date.
    Case(BTreeMap<String, BaselineFile>),
    /// An owned local repository, which is copied.
    Repository(PathBuf),
    /// The target that the contract names, which only an admission opens.
    Target(PathBuf),
}

/// A task ready to be decided on.
#[derive(Debug, Clone)]
pub struct Task {
    /// Resolved contract.
    pub contract: TaskContract,
    /// Origin of the tree.
    pub origin: TreeOrigin,
    /// Script of the fake engine; only cases have one.
    pub fake: Option<FakeSteps>,
    /// Events that a run of this task must have.
    pub required_events: Vec<EventKind>,
    /// Expected end; only cases have one.
    pub expect: Option<Expect>,
    /// Keys that the contract's file leaves to their defaults, of those that have one worth
    /// knowing.
    pub unsaid: Vec<&'static str>,
    /// Run whose patch lies in the engine's workspace when it starts.
    pub continued: Option<ContinuedRun>,
}

/// A sealed run that another run continues: its baseline and its patch, and nothing else of it.
#[derive(Debug, Clone)]
pub struct ContinuedRun {
    pub run_id: RunId,
    /// Commit that both runs start from.
    pub baseline_commit: String,
    /// Patch that the workspace begins with.
    pub patch: Vec<u8>,
    /// Engine and stage of the run, for a person who names no other.
    pub engine: String,
    /// Stage of the continued run.
    pub stage: Stage,
    /// True if its source was taken from a commit; the continuing run then does the same.
    pub is_from_commit: bool,
}

impl ContinuedRun {
    /// Facts about the continued run, for plan and report.
    pub(crate) fn facts(&self) -> ContinuedFrom {
        ContinuedFrom { run_id: self.run_id.clone(), patch_sha256: Digest::of_bytes(&self.patch) }
    }
}

/// Keys of a contract whose defaults a person should be able to see.
const DEFAULTED: [&str; 8] = [
    "title",
    "mutation_mode",
    "approval_required",
    "diff_required",
    "forbidden_actions",
    "limits",
    "flaky_retries",
    "branch_policy",
];

/// Reason why a task could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadTaskError {
    /// Errors in the file, each with its position.
    #[error(transparent)]
    Invalid(Problems),
    #[error(
        "there is no case or contract file `{}`{}",
        contract::text::show_controls(.name),
        describe_suggestion(.suggestion.as_deref())
    )]
    Unknown { name: String, suggestion: Option<String> },
    #[error("cannot read {}: {}", contract::text::show_controls(&.0.display().to_string()), .1)]
    Read(PathBuf, #[source] io::Error),
    /// A contract names no repository to work on.
    #[error("{0} names no repository to work on")]
    NoRepository(PathBuf),
    /// A baseline holds something a case cannot.
    #[error("{0} cannot be part of a case: {1}")]
    Baseline(PathBuf, &'static str),
}

fn describe_suggestion(other: Option<&str>) -> String {
    other.map(|other| format!("; did you mean `{other}`?")).unwrap_or_default()
}

/// More than any case needs; keeps a mistaken path from being read into memory.
const LARGEST_CASE: u64 = 256 << 20;

impl Task {
    /// Default stage: 2 for a case, 3 with a repository.
    pub fn default_stage(&self) -> Stage {
        match self.origin {
            TreeOrigin::Case(_) => Stage::ARTIFICIAL_FIXTURE,
            TreeOrigin::Repository(_) => Stage::COPIED_REPOSITORY,
            TreeOrigin::Target(_) => Stage::OWNED_REPOSITORY,
        }
    }

    /// The repository that the task works on, where it works on one.
    pub(crate) fn repository(&self) -> Option<&Path> {
        match &self.origin {
            TreeOrigin::Repository(path) => Some(path),
            TreeOrigin::Case(_) | TreeOrigin::Target(_) => None,
        }
    }

    /// The target that the contract names, as an absolute path where the contract lies
    /// beside it.
    pub(crate) fn target(&self) -> Option<String> {
        match &self.origin {
            TreeOrigin::Target(path) => Some(path.display().to_string()),
            TreeOrigin::Case(_) | TreeOrigin::Repository(_) => self.contract.target_repository.clone(),
        }
    }

    /// True if the baseline is so small that several copies in memory do not matter.
    pub(crate) fn is_small(&self) -> bool {
        const SMALL: usize = 16 << 20;
        matches!(&self.origin, TreeOrigin::Case(files) if files.values().map(|file| file.bytes.len()).sum::<usize>() < SMALL)
    }

    /// A built-in case, or a cheat that is played on one.
    pub fn builtin(id: &str) -> Option<Result<Self, LoadTaskError>> {
        match fixtures::find_cheat(id) {
            Some(cheat) => Some(Self::from_cheat(cheat)),
            None => fixtures::find(id).map(Self::from_folder),
        }
    }

    fn from_folder(folder: &CaseFolder) -> Result<Self, LoadTaskError> {
        let text = folder.file("case.yaml").map_or(&[][..], |file| file.bytes);
        let read =
            |name: &str| folder.file(name).map(|file| file.bytes.to_vec()).ok_or_else(|| "no such file".to_owned());
        let case = load_case(&format!("{}/case.yaml", folder.id), text, &read).map_err(LoadTaskError::Invalid)?;
        let files = folder.baseline().map(|(path, file)| {
            (path.to_owned(), BaselineFile { bytes: file.bytes.to_vec(), executable: file.executable })
        });
        Ok(Self::from_case(case, TreeOrigin::Case(files.collect())))
    }

    /// The case a cheat is played on, with the id, the steps and the end of the cheat.
    fn from_cheat(file: &CheatFile) -> Result<Self, LoadTaskError> {
        let cheat = file.load().map_err(LoadTaskError::Invalid)?;
        let unknown = |name: &str| LoadTaskError::Unknown { name: name.to_owned(), suggestion: None };
        let folder = cheat.case().ok_or_else(|| unknown(&cheat.on))?;
        let mut task = Self::from_folder(folder)?;
        let (speaks, wire) = (cheat.fake.speaks, cheat.fake.wire);
        let (steps, claims) = cheat.fake.resolve_patches(|name| {
            let file = folder.file(name).ok_or_else(|| unknown(name))?;
            Ok::<_, LoadTaskError>(String::from_utf8_lossy(file.bytes).into_owned())
        })?;
        task.contract.task_id = cheat.id;
        task.fake = Some(FakeSteps { steps, claims, speaks, wire });
        task.expect = Some(cheat.expect);
        Ok(task)
    }

    /// The contract alone, of a contract file, a `case.yaml` or a case folder.
    pub fn load_contract(path: &Path) -> Result<TaskContract, LoadTaskError> {
        let file = if path.own_is_dir() { path.join("case.yaml") } else { path.to_owned() };
        let bytes = read_regular(&file).map_err(|error| LoadTaskError::Read(file.clone(), error))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let shown = file.display().to_string();
        let beside = |name: &str| read_regular(&folder.join(name)).map_err(|error| error.to_string());
        if is_case(&file, &bytes) {
            load_case(&shown, &bytes, &beside).map(|case| case.contract).map_err(LoadTaskError::Invalid)
        } else {
            load_contract(&shown, &bytes, &beside).map_err(LoadTaskError::Invalid)
        }
    }

    /// A case folder, a `case.yaml`, or a contract file; `repository` overrides where the
    /// tree comes from.
    pub fn load_task(path: &Path, repository: Option<&Path>) -> Result<Self, LoadTaskError> {
        let file = if path.own_is_dir() { path.join("case.yaml") } else { path.to_owned() };
        let bytes = read_regular(&file).map_err(|error| LoadTaskError::Read(file.clone(), error))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let shown = file.display().to_string();
        let beside = |name: &str| read_regular(&folder.join(name)).map_err(|error| error.to_string());
        let mut task = if is_case(&file, &bytes) {
            let case = load_case(&shown, &bytes, &beside).map_err(LoadTaskError::Invalid)?;
            let origin = match repository {
                Some(_) => TreeOrigin::Case(BTreeMap::new()),
                None => TreeOrigin::Case(read_baseline(&folder.join("files"))?),
            };
            Self::from_case(case, origin)
        } else {
            let contract = load_contract(&shown, &bytes, &beside).map_err(LoadTaskError::Invalid)?;
            let named = contract.source_repository.as_ref().map(|path| folder.join(path));
            let target = contract.target_repository.as_ref().map(|path| TreeOrigin::Target(folder.join(path)));
            let copied = repository.map(Path::to_owned).or(named).map(TreeOrigin::Repository);
            let origin = copied.or(target).ok_or(LoadTaskError::NoRepository(file))?;
            let unsaid = list_unsaid(&shown, &bytes);
            Self { unsaid, ..Self::from_contract(contract, origin) }
        };
        if let Some(repository) = repository {
            task.work_on(repository);
        }
        Ok(task)
    }

    /// Contract from text, which refers to no file beside it. `name` identifies it in error
    /// messages.
    pub fn from_text(name: &str, text: &str, repository: &Path) -> Result<Self, LoadTaskError> {
        let beside = |_: &str| Err("there is no folder beside this contract".to_owned());
        let contract = load_contract(name, text.as_bytes(), &beside).map_err(LoadTaskError::Invalid)?;
        let unsaid = list_unsaid(name, text.as_bytes());
        let mut task = Self { unsaid, ..Self::from_contract(contract, TreeOrigin::Repository(repository.to_owned())) };
        task.work_on(repository);
        Ok(task)
    }

    /// A contract alone, without anything that only a case has.
    pub fn from_contract(contract: TaskContract, origin: TreeOrigin) -> Self {
        Self {
            contract,
            origin,
            fake: None,
            required_events: Vec::new(),
            expect: None,
            unsaid: Vec::new(),
            continued: None,
        }
    }

    /// Takes the tree from a repository instead of the case's own files. The contract
    /// records this, and so does its digest.
    pub fn work_on(&mut self, repository: &Path) {
        self.contract.source_repository = Some(repository.display().to_string());
        self.origin = TreeOrigin::Repository(repository.to_owned());
    }

    fn from_case(case: Case, origin: TreeOrigin) -> Self {
        Self {
            contract: case.contract,
            origin,
            fake: case.fake,
            required_events: case.required_events,
            expect: Some(case.expect),
            unsaid: Vec::new(),
            continued: None,
        }
    }
}

/// Defaulted keys that a contract's text does not have.
fn list_unsaid(file: &str, bytes: &[u8]) -> Vec<&'static str> {
    let reading = std::str::from_utf8(bytes).ok().map(|text| contract::source::read(file, text));
    let Some(node) = reading.and_then(|reading| reading.node) else { return Vec::new() };
    DEFAULTED.into_iter().filter(|key| node.get_child(key).is_none()).collect()
}

/// A case is known by its name or by the keys only a case has.
fn is_case(file: &Path, bytes: &[u8]) -> bool {
    if file.file_stem().is_some_and(|stem| stem == "case") {
        return true;
    }
    let reading = std::str::from_utf8(bytes).ok().map(|text| contract::source::read(&file.display().to_string(), text));
    let has = |node: &Node| {
        ["fake", "expect", "required_events", "allowed_writes"].iter().any(|key| node.get_child(key).is_some())
    };
    reading.and_then(|reading| reading.node).is_some_and(|node| has(&node))
}

/// A pipe would be waited for and a device has no end, so only a regular file is opened.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let kind = own_files::metadata(path)?;
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if kind.len() > LARGEST_CASE {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is too large"));
    }
    own_files::read_file(path)
}

fn read_baseline(root: &Path) -> Result<BTreeMap<String, BaselineFile>, LoadTaskError> {
    let mut files = BTreeMap::new();
    let mut left = LARGEST_CASE;
    collect(root, "", &mut files, &mut left)?;
    Ok(files)
}

fn collect(
    root: &Path,
    below: &str,
    files: &mut BTreeMap<String, BaselineFile>,
    left: &mut u64,
) -> Result<(), LoadTaskError> {
    let dir = root.join(below);
    let failed = |error| LoadTaskError::Read(dir.clone(), error);
    for entry in own_files::read_dir(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(LoadTaskError::Baseline(entry.path(), "its name is not UTF-8"));
        };
        let name = format!("{below}{name}");
        if kind.is_dir() {
            collect(root, &format!("{name}/"), files, left)?;
        } else if kind.is_file() {
            let metadata = entry.metadata().map_err(failed)?;
            *left = left
                .checked_sub(metadata.len())
                .ok_or_else(|| LoadTaskError::Baseline(entry.path(), "the baseline is too large"))?;
            let bytes = own_files::read_file(entry.path()).map_err(|error| LoadTaskError::Read(entry.path(), error))?;
            files.insert(name, BaselineFile { bytes, executable: metadata.permissions().mode() & 0o111 != 0 });
        } else {
            return Err(LoadTaskError::Baseline(entry.path(), "it is not a regular file"));
        }
    }
    Ok(())
}
