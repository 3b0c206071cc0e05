//! Landings of dead runs: undone if the run has no bundle yet, recorded in the ledger if it
//! has.
//!
//! A note is durable before the target is touched. A dead run does not pass, so its branch
//! goes if it still names the run's commit; the mark of the used approval stays, and so
//! does a branch with later commits.

use std::io;
use std::path::PathBuf;

use contract::proof::LandedCommit;
use contract::text::show_controls;
use contract::{Digest, RunId};
use serde::{Deserialize, Serialize};
use tree::{BranchName, Oid, Removal, SourceProblem, SourceRepository, TreeError, UsedMark};

use super::put::{describe_removal, take_back};
use crate::home::layout::Home;
use crate::run::journal::Journal;

/// Everything by which a landing is found again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandingNote {
    pub(super) repository: PathBuf,
    pub(super) request: Digest,
    pub(super) landed: LandedCommit,
    pub(super) token: String,
}

/// End that a recovery gave to a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingEnd {
    /// The target contained nothing but garbage of it, which is cleared.
    NeverMade,
    /// Its branch was removed.
    Undone,
    /// Its branch stays, for this reason.
    Left(String),
    /// Its run is sealed, and the ledger now records that the change landed.
    Finished,
    /// Its rollback was cut off before it took the change back.
    NotRolledBack,
    /// Its rollback took the change back, and was cut off before the reason was recorded.
    RollbackUnsaid,
}

/// A landing that a recovery brought to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredLanding {
    pub run_id: RunId,
    pub repository: PathBuf,
    pub branch: String,
    pub commit: String,
    pub end: LandingEnd,
}

impl RecoveredLanding {
    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let (branch, place) = (show_controls(&self.branch), show_controls(&self.repository.display().to_string()));
        match &self.end {
            LandingEnd::NeverMade => format!("the change did not land: there is no branch {branch} in {place}"),
            LandingEnd::Undone => format!("the landing was undone: branch {branch} was removed from {place}"),
            LandingEnd::Left(why) => {
                format!("the landing could not be undone: branch {branch} stays in {place}: {}", show_controls(why))
            }
            LandingEnd::Finished => format!("the landing was finished: the change is on branch {branch} of {place}"),
            LandingEnd::NotRolledBack => format!("the rollback did not happen: branch {branch} stays in {place}"),
            LandingEnd::RollbackUnsaid => {
                format!("the change was taken back from branch {branch} of {place}, and no reason is recorded")
            }
        }
    }

    /// The command that goes on from there.
    pub fn next_step(&self) -> String {
        match &self.end {
            LandingEnd::NeverMade | LandingEnd::Undone => {
                "the approval is used: request again with cto request TASK".to_owned()
            }
            LandingEnd::Left(_) | LandingEnd::NotRolledBack | LandingEnd::RollbackUnsaid => {
                format!("cto rollback {} --reason ...", self.run_id.suffix())
            }
            LandingEnd::Finished => format!("cto outcome {} accept|reject --reason ...", self.run_id.suffix()),
        }
    }
}

impl LandingNote {
    /// Makes the note durable. Must happen before the target is touched.
    pub(super) fn write_note(&self, journal: &Journal) -> io::Result<()> {
        journal.note_landing(&serde_json::to_vec(self)?)
    }

    fn read(journal: &Journal) -> Option<Self> {
        serde_json::from_slice(&journal.read_landing()?).ok()
    }

    fn ended(self, run_id: &RunId, end: LandingEnd) -> RecoveredLanding {
        let LandedCommit { branch, commit, .. } = self.landed;
        RecoveredLanding { run_id: run_id.clone(), repository: self.repository, branch, commit, end }
    }

    /// Clears what is not whole, and removes the branch if it names the run's commit.
    fn undo(&self) -> LandingEnd {
        let source = match SourceRepository::open_target(&self.repository) {
            Ok(source) => source,
            // With the repository went what lay in it.
            Err(TreeError::Source { problem: SourceProblem::Missing | SourceProblem::NotARepository, .. }) => {
                return LandingEnd::NeverMade;
            }
            Err(error) => return LandingEnd::Left(error.to_string()),
        };
        let names = (
            BranchName::parse_name(&self.landed.branch),
            self.landed.commit.parse::<Oid>(),
            UsedMark::new(&self.request.to_string()),
        );
        let (Ok(branch), Ok(commit), Some(mark)) = names else {
            return LandingEnd::Left("its note cannot be read".to_owned());
        };
        let removed = source
            .clear_marked_landing(&branch, &mark, &self.token)
            .and_then(|()| take_back(&source, &branch, commit, &self.landed, &self.token));
        match removed {
            Ok(Removal::Removed) => LandingEnd::Undone,
            Ok(Removal::Gone) => LandingEnd::NeverMade,
            Ok(other) => LandingEnd::Left(describe_removal(&other)),
            Err(error) => LandingEnd::Left(error.to_string()),
        }
    }
}

/// The landing of a dead run, as its bundle tells of it.
pub(crate) struct DeadLanding {
    pub(crate) ended: RecoveredLanding,
    /// The commit, where its branch stays.
    pub(crate) stays: Option<LandedCommit>,
}

/// Brings the landing of a dead run without a bundle to its end; none where it had begun none.
pub(crate) fn settle_landing(home: &Home, run_id: &RunId) -> Option<DeadLanding> {
    let note = LandingNote::read(&Journal::of_run(home, run_id))?;
    let end = note.undo();
    let stays = matches!(end, LandingEnd::Left(_)).then(|| note.landed.clone());
    Some(DeadLanding { ended: note.ended(run_id, end), stays })
}

/// The landing of a sealed run that its note still tells of.
pub(crate) fn finished_landing(home: &Home, run_id: &RunId) -> Option<RecoveredLanding> {
    LandingNote::read(&Journal::of_run(home, run_id)).map(|note| note.ended(run_id, LandingEnd::Finished))
}
