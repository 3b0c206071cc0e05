//! The destination of a result's commit: the repository, its branch, and any obstacle.

use std::path::Path;

use contract::approval::RepositoryKind;
use contract::decision::LandingFacts;
use contract::taken::Person;
use contract::{Digest, TaskContract};
use tree::{Author, BranchName, Landing, ObjectDatabase, Oid, SourceRepository, TreeError, UsedMark};

use crate::gather::off_limits::find_off_limits;
use crate::judge::copy::{Baseline, LandingRepository};
use crate::run::commit_words::{BranchPlaces, CURRENT, request_part};
use crate::run::harness::Harness;
use crate::run::identity::find_identity;

/// Folder of the disposable repository in a run's work area.
pub(crate) const DISPOSABLE: &str = "disposable";

/// Author of what is committed to a disposable repository where git does not know the operator.
const NOBODY: Author<'_> = Author { name: "cto", email: "cto@localhost" };

impl LandingRepository {
    /// Makes the disposable repository of stage 4 below `work`: the baseline on a branch,
    /// checked out, and nothing else.
    pub(crate) fn make_disposable(
        harness: &Harness,
        baseline: &Baseline,
        commit: Oid,
        work: &Path,
    ) -> Result<Self, TreeError> {
        let root = work.join(DISPOSABLE);
        make_dir(&root)?;
        tree::materialise(&baseline.store, &baseline.listing, &root)?;
        let known = find_identity(&baseline.store, tree::GitSettings::default(), &harness.git_configuration)?;
        let nobody = || Person { name: NOBODY.name.to_owned(), email: NOBODY.email.to_owned() };
        let author = known.unwrap_or_else(|_| nobody());
        let by = Author { name: &author.name, email: &author.email };
        tree::work_repository(&root, &baseline.store, commit, &baseline.listing, by)?;
        let source = SourceRepository::open_repository(&root)?;
        Self::look(harness, RepositoryKind::Disposable, source, Ok(author), &work.join("disposable-status"))
    }

    /// Opens the admitted target a second time: to be written to, where the first was only
    /// read.
    pub(crate) fn open_admitted(
        harness: &Harness,
        store: &ObjectDatabase,
        path: &Path,
        work: &Path,
    ) -> Result<Self, TreeError> {
        let source = SourceRepository::open_target(path)?;
        let author = find_identity(store, source.settings(store)?, &harness.git_configuration)?;
        let off_limits = find_off_limits(harness, &source);
        let landing = Self::look(harness, RepositoryKind::Admitted, source, author, &work.join("landing-status"))?;
        Ok(Self { off_limits, ..landing })
    }

    fn look(
        harness: &Harness,
        kind: RepositoryKind,
        source: SourceRepository,
        author: Result<Person, &'static str>,
        scratch: &Path,
    ) -> Result<Self, TreeError> {
        make_dir(scratch)?;
        let before = source.digest(None)?;
        let status = source.dirty_paths(&harness.git, scratch)?;
        let start_clean = status.dirty.is_empty() && status.unfinished.is_empty();
        Ok(Self { kind, source, before, start_clean, author, off_limits: None })
    }

    /// The place as it is now. Nobody looks for a branch whose name waits for the request.
    pub(crate) fn landing_facts(
        &self,
        contract: &TaskContract,
        digest: Option<Digest>,
    ) -> Result<LandingFacts, TreeError> {
        let identity_missing = self.author.as_ref().err().map(|key| (*key).to_owned());
        let empty = LandingFacts {
            branch: String::new(),
            in_the_way: None,
            checked_out_at: None,
            identity_missing,
            other_owner: self.source.other_owners()?.into_iter().next(),
            off_limits: self.off_limits.clone(),
        };
        if contract.branch_policy == CURRENT {
            return self.facts_of_current(empty);
        }
        let request = digest.map(request_part);
        let places = BranchPlaces { task: &contract.task_id, request: request.as_deref(), run: None };
        let branch = places.fill_policy(&contract.branch_policy);
        let is_open = ["<request>", "<run>"].iter().any(|place| branch.contains(place));
        let in_the_way = match BranchName::parse_name(&branch) {
            Ok(_) if is_open => None,
            Ok(name) => self.source.find_branch(&name)?.map(|found| describe_landing(&branch, &found)),
            Err(problem) => Some(format!("`{branch}` is not a valid branch name: {problem}")),
        };
        let in_the_way = match in_the_way {
            None => self.find_before_mark(digest)?,
            found => found,
        };
        Ok(LandingFacts { branch, in_the_way, ..empty })
    }

    /// Obstacle to making the mark of the approval. An existing mark is a use, which the
    /// approval's gate reports.
    fn find_before_mark(&self, request: Option<Digest>) -> Result<Option<String>, TreeError> {
        let mark = request.filter(|_| self.kind == RepositoryKind::Admitted);
        let Some(mark) = mark.and_then(|request| UsedMark::new(&request.to_string())) else { return Ok(None) };
        Ok(match self.source.find_mark(&mark)? {
            Some(Landing::InTheWay(other)) => Some(format!("{mark} cannot be beside {other}")),
            _ => None,
        })
    }

    fn facts_of_current(&self, empty: LandingFacts) -> Result<LandingFacts, TreeError> {
        let Some(name) = self.source.current_branch() else {
            let in_the_way = Some("HEAD names no branch that could be moved".to_owned());
            return Ok(LandingFacts { in_the_way, ..empty });
        };
        let at = self.source.checked_out_at(&name)?.map(|at| at.display().to_string());
        Ok(LandingFacts { branch: name.to_string(), checked_out_at: at, ..empty })
    }
}

/// Describes the obstacle at the place of a new branch.
pub(crate) fn describe_landing(branch: &str, found: &Landing) -> String {
    match found {
        Landing::Made => format!("branch {branch} is made"),
        Landing::There(Some(commit)) => format!("branch {branch} is there, at {commit}"),
        Landing::There(None) => format!("branch {branch} exists and is not a plain commit"),
        Landing::InTheWay(other) => format!("branch {branch} cannot be beside {other}: git keeps both under one name"),
        Landing::Locked(lock) => format!("somebody else is at work on branch {branch}: {} is there", lock.display()),
        Landing::Used(_) => "the approval was used in this repository before".to_owned(),
    }
}

fn make_dir(path: &Path) -> Result<(), TreeError> {
    std::fs::create_dir_all(path).map_err(|source| TreeError::Io {
        doing: "creating directory",
        path: path.to_owned(),
        source,
    })
}
