//! The `runs` table: one row for every run, made from its entries and nothing else, and the lists taken from it.

use contract::{Digest, Purpose, Reason, RunId, Stage, Stamp, Status, TaskId};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::schema::WITH_LEASES;
use crate::write::{RunIntent, RunSeal};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Pass,
    Fail,
    Blocked,
}

impl RunStatus {
    pub const ALL: [RunStatus; 4] = [Self::Running, Self::Pass, Self::Fail, Self::Blocked];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Blocked => "blocked",
        }
    }

    fn parse(text: &str) -> Option<RunStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pass => Self::Pass,
            Status::Fail => Self::Fail,
            Status::Blocked => Self::Blocked,
        }
    }
}

/// One run as the ledger knows it. What is known only of a sealed run is `None` (or empty) before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    pub status: RunStatus,
    pub started_at: Stamp,
    pub finished_at: Option<Stamp>,
    pub duration_ms: Option<u64>,
    pub reasons: Vec<Reason>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: Option<Digest>,
    /// Relative to the home folder of its owner.
    pub bundle: Option<String>,
    /// The entry that started the run.
    pub seq: u64,
    /// The entry that sealed it.
    pub sealed_seq: Option<u64>,
    /// The instance whose home has it: the one that sealed it, else the one that started it; older programs named none.
    #[serde(skip)]
    pub owner: Option<Digest>,
}

impl RunRow {
    /// The row that a `run.started` entry makes.
    pub(crate) fn started(seq: u64, run_id: &RunId, time: Stamp, intent: &RunIntent) -> RunRow {
        RunRow {
            run_id: run_id.clone(),
            task_id: intent.task_id.clone(),
            engine: intent.engine.clone(),
            stage: intent.stage,
            purpose: intent.purpose,
            status: RunStatus::Running,
            started_at: time,
            finished_at: None,
            duration_ms: None,
            reasons: Vec::new(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: None,
            bundle: None,
            seq,
            sealed_seq: None,
            owner: intent.owner,
        }
    }

    /// Adds what an `evidence.sealed` entry says.
    pub(crate) fn sealed(self, seq: u64, seal: &RunSeal) -> RunRow {
        RunRow {
            status: seal.status.into(),
            finished_at: Some(seal.finished_at),
            duration_ms: Some(seal.duration_ms),
            reasons: seal.reasons.clone(),
            tests_passed: seal.tests_passed,
            tests_executed: seal.tests_executed,
            attestation_sha256: Some(seal.attestation_sha256),
            bundle: Some(seal.bundle.clone()),
            sealed_seq: Some(seq),
            owner: seal.owner.or(self.owner),
            ..self
        }
    }
}

pub(crate) const COLUMNS: &str = "seq, run_id, suffix, task_id, engine, stage, purpose, status, started_at, finished_at, \
     duration_ms, reasons, tests_passed, tests_executed, attestation_sha256, bundle, sealed_seq, owner";
/// The same of a file that has no owners and may not be brought forward.
const COLUMNS_BEFORE_OWNERS: &str = "seq, run_id, suffix, task_id, engine, stage, purpose, status, started_at, finished_at, \
     duration_ms, reasons, tests_passed, tests_executed, attestation_sha256, bundle, sealed_seq, NULL";

pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let (status, reasons): (String, String) = (row.get(7)?, row.get(11)?);
    Ok(RunRow {
        seq: row.get(0)?,
        run_id: typed(row, 1, "run_id")?,
        task_id: typed(row, 3, "task_id")?,
        engine: row.get(4)?,
        stage: Stage::try_from(row.get::<_, u8>(5)?).map_err(|_| unreadable(5, "stage"))?,
        purpose: typed(row, 6, "purpose")?,
        status: RunStatus::parse(&status).ok_or_else(|| unreadable(7, "status"))?,
        started_at: typed(row, 8, "started_at")?,
        finished_at: typed_or_null(row, 9, "finished_at")?,
        duration_ms: row.get(10)?,
        reasons: serde_json::from_str(&reasons).map_err(|_| unreadable(11, "reasons"))?,
        tests_passed: row.get(12)?,
        tests_executed: row.get(13)?,
        attestation_sha256: typed_or_null(row, 14, "attestation_sha256")?,
        bundle: row.get(15)?,
        sealed_seq: row.get(16)?,
        owner: typed_or_null(row, 17, "owner")?,
    })
}

/// Reads a text as the type it stands for.
pub(crate) fn typed<T: DeserializeOwned>(row: &Row<'_>, column: usize, name: &str) -> rusqlite::Result<T> {
    typed_or_null(row, column, name)?.ok_or_else(|| unreadable(column, name))
}

pub(crate) fn typed_or_null<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    name: &str,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    let read =
        |text: String| T::deserialize(text.into_deserializer()).map_err(|_: ValueError| unreadable(column, name));
    text.map(read).transpose()
}

fn unreadable(column: usize, name: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, name.to_owned(), rusqlite::types::Type::Text)
}

/// Writes a row, in place of the run's earlier one if there is one.
pub(crate) fn put(connection: &Connection, run: &RunRow) -> rusqlite::Result<()> {
    let codes: Vec<&str> = run.reasons.iter().map(|reason| reason.code()).collect();
    let sql = format!(
        "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
         ON CONFLICT (seq) DO UPDATE SET status = ?8, finished_at = ?10, duration_ms = ?11, reasons = ?12, tests_passed = ?13,
         tests_executed = ?14, attestation_sha256 = ?15, bundle = ?16, sealed_seq = ?17, owner = ?18"
    );
    let values: [&dyn ToSql; 18] = [
        &run.seq,
        &run.run_id.as_str(),
        &run.run_id.suffix(),
        &run.task_id.as_str(),
        &run.engine,
        &run.stage.number(),
        &run.purpose.as_str(),
        &run.status.as_str(),
        &run.started_at.to_string(),
        &run.finished_at.map(|time| time.to_string()),
        &run.duration_ms,
        &serde_json::Value::from(codes).to_string(),
        &run.tests_passed,
        &run.tests_executed,
        &run.attestation_sha256.map(|digest| digest.to_string()),
        &run.bundle,
        &run.sealed_seq,
        &run.owner.map(|owner| owner.to_string()),
    ];
    connection.prepare_cached(&sql)?.execute(values).map(|_| ())
}

/// The row of a run, in a transaction that writes.
pub(crate) fn get(connection: &Connection, run_id: &RunId) -> rusqlite::Result<Option<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE run_id = ?1");
    connection.prepare_cached(&sql)?.query_row([run_id.as_str()], from_row).optional()
}

/// The place of a run in the list of all runs, newest first. Runs that are started later do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlace {
    pub started_at: Stamp,
    /// Of the entry that started the run.
    pub seq: u64,
}

/// Filters of a list of runs; an empty one lets all of them through.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub engine: Option<String>,
    pub task_id: Option<TaskId>,
    /// Runs started at this time or later.
    pub since: Option<Stamp>,
    /// Runs that are listed after this place.
    pub after: Option<RunPlace>,
}

impl Ledger {
    /// The runs that were started last, newest first.
    pub fn runs_recent(&self, filter: &RunFilter, limit: usize) -> Result<Vec<RunRow>, ReadLedgerError> {
        let status = filter.status.map(RunStatus::as_str);
        let task_id = filter.task_id.as_ref().map(TaskId::as_str);
        let since = filter.since.map(|since| since.to_string());
        let after = filter.after.map(|place| (place.started_at.to_string(), place.seq));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut values: Vec<&dyn ToSql> = Vec::new();
        values.extend(status.as_ref().map(|value| value as &dyn ToSql));
        values.extend(filter.engine.as_ref().map(|value| value as &dyn ToSql));
        values.extend(task_id.as_ref().map(|value| value as &dyn ToSql));
        values.extend(since.as_ref().map(|value| value as &dyn ToSql));
        if let Some((started_at, seq)) = &after {
            values.extend([started_at as &dyn ToSql, seq]);
        }
        values.push(&limit);
        self.rows(&recent(self.columns(), filter), &values)
    }

    /// The columns of a row in this file.
    pub(crate) fn columns(&self) -> &'static str {
        if self.version < WITH_LEASES { COLUMNS_BEFORE_OWNERS } else { COLUMNS }
    }

    /// How many runs there are, from a counter.
    pub fn runs_total(&self) -> Result<u64, ReadLedgerError> {
        Ok(total(&self.connection)?)
    }

    pub(crate) fn rows(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<RunRow>, ReadLedgerError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The conditions in the order their values are bound.
fn recent(columns: &str, filter: &RunFilter) -> String {
    let conditions = [
        (filter.status.is_some(), " AND status = ?"),
        (filter.engine.is_some(), " AND engine = ?"),
        (filter.task_id.is_some(), " AND task_id = ?"),
        (filter.since.is_some(), " AND started_at >= ?"),
        (filter.after.is_some(), " AND (started_at, seq) < (?, ?)"),
    ];
    let asked: String = conditions.into_iter().filter(|(asked, _)| *asked).map(|(_, condition)| condition).collect();
    format!("SELECT {columns} FROM runs WHERE TRUE{asked} ORDER BY started_at DESC, seq DESC LIMIT ?")
}

pub(crate) fn total(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT value FROM counters WHERE name = 'runs'", [], |row| row.get(0))
}

/// Why the ledger could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadLedgerError {
    /// This entry's body is not JSON: the file was changed by something else.
    #[error("ledger entry {seq} cannot be read: its body is not JSON")]
    Entry { seq: u64 },
    #[error("cannot read the ledger: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    /// No list may read or sort the whole table, whatever its size.
    #[test]
    fn every_list_is_a_range_of_one_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, "").unwrap();
        let (some, task) = (|| Some(String::new()), || TaskId::try_from("t".to_owned()).ok());
        let since = || "2026-03-01T10:00:00.000000Z".parse().ok();
        let after = || since().map(|started_at| RunPlace { started_at, seq: 7 });
        for (filter, index) in [
            (RunFilter::default(), "SCAN runs USING INDEX runs_by_time"),
            (
                RunFilter { status: Some(RunStatus::Fail), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_status",
            ),
            (RunFilter { engine: some(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_engine"),
            (RunFilter { task_id: task(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_task"),
            (RunFilter { since: since(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_time"),
            (
                RunFilter { task_id: task(), since: since(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_task",
            ),
            (RunFilter { after: after(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_time"),
            (
                RunFilter { status: Some(RunStatus::Pass), after: after(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_status",
            ),
            (
                RunFilter { engine: some(), since: since(), after: after(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_engine",
            ),
        ] {
            let mut statement =
                connection.prepare(&format!("EXPLAIN QUERY PLAN {}", recent(COLUMNS, &filter))).unwrap();
            let mut rows = statement.raw_query();
            let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
            assert!(plan.starts_with(index), "{filter:?}: {plan}");
            assert!(rows.next().unwrap().is_none(), "{filter:?} needs a second step");
        }
    }
}
