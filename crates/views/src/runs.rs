//! Runs, newest first, a page at a time.

use contract::start_detail::DocumentDetail;
use contract::{CollectionKind, Reason, Stage, Stamp, TaskId};
use ledger::{Collection, EntryKind, ReadLedgerError, RunCollected, RunRow, RunStatus, TaskRuns};
use schemars::JsonSchema;
use serde::{Deserialize as _, Serialize};

use crate::Views;
use crate::cursor::{ParseCursorError, parse_cursor, write_cursor};
use crate::last_run::may_be_document;
use crate::outcome::RunAnswer;
use crate::run_walk::RunWalk;

/// Runs that are read at a time while a document is looked for.
const DOCUMENTS_LOOKED_AT: usize = 20;

/// Orders that indexes of the ledger serve. An order by cost would read every run: no row has a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOrder {
    #[default]
    Newest,
    Oldest,
    /// Running, pass, fail, blocked; each newest first.
    Status,
    /// By the engine's name; each newest first.
    Engine,
    /// The lowest stage first; each newest first.
    Stage,
    /// Running, newest first; then the longest first.
    Took,
}

impl RunOrder {
    /// Every value, in order.
    pub const ALL: [RunOrder; 6] = [Self::Newest, Self::Oldest, Self::Status, Self::Engine, Self::Stage, Self::Took];

    /// Spelling in questions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
            Self::Status => "status",
            Self::Engine => "engine",
            Self::Stage => "stage",
            Self::Took => "took",
        }
    }
}

/// A question for runs. The default asks for the newest of all.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    pub status: Option<RunStatus>,
    pub engine: Option<String>,
    pub task_id: Option<TaskId>,
    /// Runs started at this time or later.
    pub since: Option<Stamp>,
    /// Runs against which this reason stands.
    pub reason: Option<Reason>,
    pub stage: Option<Stage>,
    /// Name of a model, with its provider or without.
    pub model: Option<String>,
    /// Beginning of the digest of a bundle's attestation.
    pub digest: Option<String>,
    pub order: RunOrder,
    /// The `next` of the page before; `None` for the first page.
    pub cursor: Option<String>,
    /// Runs on a page.
    pub limit: usize,
}

impl RunQuery {
    /// True if rows have to be looked through: these facts are no index of the ledger.
    pub(crate) fn is_looked_through(&self) -> bool {
        let is_filtered = self.status.is_some() || self.engine.is_some() || self.task_id.is_some();
        let is_ranked = is_filtered || self.since.is_some() || self.stage.is_some();
        self.reason.is_some()
            || self.model.is_some()
            || self.digest.is_some()
            || self.order == RunOrder::Took && is_ranked
    }

    /// True if a row has the facts that are looked for.
    fn is_wanted(&self, row: &RunRow) -> bool {
        let pair = || row.identity.as_ref().and_then(|identity| identity.model.as_ref()).map(ToString::to_string);
        let is_model = |wanted: &String| {
            let is_it = |pair: String| pair == *wanted || pair.split_once('/').is_some_and(|(_, name)| name == wanted);
            pair().is_some_and(is_it)
        };
        self.reason.is_none_or(|reason| row.reasons.iter().any(|found| found.known() == Some(reason)))
            && self.stage.is_none_or(|stage| row.stage == stage)
            && self.status.is_none_or(|status| row.status == status)
            && self.engine.as_ref().is_none_or(|engine| row.engine == *engine)
            && self.task_id.as_ref().is_none_or(|task_id| row.task_id == *task_id)
            && self.since.is_none_or(|since| row.started_at >= since)
            && self.model.as_ref().is_none_or(is_model)
            && self.digest.as_ref().is_none_or(|digest| has_digest(row, digest))
    }
}

/// True if the digest of the run's attestation begins so.
fn has_digest(row: &RunRow, start: &str) -> bool {
    row.attestation_sha256.is_some_and(|digest| digest.to_string().starts_with(start))
}

/// One page of runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunPage {
    pub runs: Vec<RunSummary>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
    /// Runs in the ledger, whatever was asked for.
    pub total: u64,
}

/// One run in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunSummary {
    #[serde(flatten)]
    pub row: RunRow,
    /// Kind of a document about other bundles; absent for a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CollectionKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected: Option<CollectedBundle>,
    /// The ledger calls it running and its process is gone: it is not sealed yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The operator's answer; absent where none is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RunAnswer>,
    /// It used up a request that was approved past the policy, in an emergency.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub break_glass: bool,
}

/// The removal of a bundle on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectedBundle {
    pub reason: String,
    pub time: Stamp,
}

impl From<RunCollected> for CollectedBundle {
    fn from(collected: RunCollected) -> Self {
        let RunCollected { time, collection: Collection { reason, .. }, .. } = collected;
        Self { reason, time }
    }
}

/// Reason why runs could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListRunsError {
    #[error(transparent)]
    Cursor(#[from] ParseCursorError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

impl Views {
    /// One page of runs. `now` tells lapsed leases.
    pub fn list_runs(&self, query: &RunQuery, now: Stamp) -> Result<RunPage, ListRunsError> {
        if let Some(cursor) = &query.cursor {
            parse_cursor(cursor)?;
        }
        let Some(ledger) = self.ledger() else { return Ok(RunPage { runs: Vec::new(), next: None, total: 0 }) };
        let mut walk = RunWalk::new(ledger, query)?;
        let (mut runs, mut end) = (Vec::new(), None);
        while let Some(row) = walk.next_row()? {
            if runs.len() == query.limit {
                return Ok(RunPage { runs, next: end.as_ref().map(write_cursor), total: ledger.runs_total()? });
            }
            end = walk.last_place();
            if query.is_wanted(&row) {
                runs.push(self.summarize(row, now)?);
            }
        }
        let next = end.filter(|_| walk.is_cut()).as_ref().map(write_cursor);
        Ok(RunPage { runs, next, total: ledger.runs_total()? })
    }

    /// Names of all engines that have a run.
    pub fn list_run_engines(&self) -> Result<Vec<String>, ReadLedgerError> {
        self.ledger().map_or_else(|| Ok(Vec::new()), ledger::Ledger::engine_names)
    }

    /// The newest sealed document of a kind among the runs of a task, however many others of its name are newer. Newest is last in
    /// the ledger, whatever the clocks said. The kind is the ledger's word, so that a damaged document is found and not passed over.
    pub fn find_document(
        &self,
        task: TaskRuns<'_>,
        kind: CollectionKind,
        now: Stamp,
    ) -> Result<Option<RunSummary>, ReadLedgerError> {
        let Some(ledger) = self.ledger() else { return Ok(None) };
        let mut before = None;
        loop {
            let rows = ledger.task_runs(task, before, DOCUMENTS_LOOKED_AT)?;
            before = rows.last().map(|row| row.seq);
            let is_last = rows.len() < DOCUMENTS_LOOKED_AT;
            for row in rows.into_iter().filter(|row| row.status != RunStatus::Running) {
                if self.kind_of(&row)? == Some(kind) {
                    return self.summarize(row, now).map(Some);
                }
            }
            if is_last {
                return Ok(None);
            }
        }
    }

    /// Runs in the ledger.
    pub fn count_runs(&self) -> Result<u64, ReadLedgerError> {
        self.ledger().map_or(Ok(0), ledger::Ledger::runs_total)
    }

    fn summarize(&self, row: RunRow, now: Stamp) -> Result<RunSummary, ReadLedgerError> {
        let interrupted = row.status == RunStatus::Running && self.is_interrupted(&row.run_id, now)?;
        let collected = self.collection_of(&row)?.map(CollectedBundle::from);
        let is_answered = row.stage >= Stage::OWNED_REPOSITORY && row.status == RunStatus::Pass;
        let answer = is_answered.then(|| self.view_answer(&row.run_id)).transpose()?;
        let kind = self.kind_of(&row)?;
        let break_glass = self.has_broken_glass(&row)?;
        Ok(RunSummary { row, kind, collected, interrupted, answer, break_glass })
    }

    /// Kind of a document, as its intent has it. Only names of documents are looked up.
    pub(crate) fn kind_of(&self, row: &RunRow) -> Result<Option<CollectionKind>, ReadLedgerError> {
        let Some(ledger) = self.ledger().filter(|_| may_be_document(row)) else { return Ok(None) };
        let entries = ledger.run_entries(&row.run_id)?;
        let started = entries.iter().find(|entry| entry.is_kind(EntryKind::RunStarted));
        let detail = started.and_then(|entry| DocumentDetail::deserialize(&entry.body["detail"]).ok());
        Ok(detail.map(|detail| detail.kind))
    }

    /// Removal of a run's bundle. A bundle that exists, or was imported again, does not
    /// count as removed, whatever the ledger says.
    pub(crate) fn collection_of(&self, row: &RunRow) -> Result<Option<RunCollected>, ReadLedgerError> {
        // The row says whether there is such an entry: a list asks for one only where there is.
        let Some(ledger) = self.ledger().filter(|_| row.collected_seq.is_some()) else { return Ok(None) };
        let collected = ledger.run_collection(&row.run_id)?;
        Ok(collected.filter(|_| self.home.bundles.find_bundle(&row.run_id).is_none()))
    }
}
