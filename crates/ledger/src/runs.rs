//! The `runs` table: one row for every run, made from its entries and nothing else, and the lists taken from it.

use std::fmt;

use rusqlite::{Connection, OptionalExtension, Row, ToSql};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Ledger;
use crate::write::{RunSealed, RunStarted};

/// How a sealed run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Fail,
    Blocked,
}

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

impl From<Verdict> for RunStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Blocked => Self::Blocked,
        }
    }
}

/// One run as the ledger knows it. What is known only of a sealed run is `None` (or empty) before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    pub run_id: String,
    pub task_id: String,
    pub engine: String,
    pub stage: u8,
    pub purpose: String,
    pub status: RunStatus,
    pub started_at: String,
    pub finished_at: Option<String>,
    pub duration_ms: Option<u64>,
    pub reasons: Vec<String>,
    pub tests_passed: Option<u64>,
    pub tests_executed: Option<u64>,
    pub attestation_sha256: Option<String>,
    /// Relative to the home folder.
    pub bundle: Option<String>,
    /// The entry that started the run.
    pub seq: u64,
    /// The entry that sealed it.
    pub sealed_seq: Option<u64>,
}

impl RunRow {
    /// What a `run.started` entry says.
    pub(crate) fn started(seq: u64, run: &RunStarted) -> RunRow {
        RunRow {
            run_id: run.run_id.clone(),
            task_id: run.task_id.clone(),
            engine: run.engine.clone(),
            stage: run.stage,
            purpose: run.purpose.clone(),
            status: RunStatus::Running,
            started_at: run.time.clone(),
            finished_at: None,
            duration_ms: None,
            reasons: Vec::new(),
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: None,
            bundle: None,
            seq,
            sealed_seq: None,
        }
    }

    /// What an `evidence.sealed` entry adds.
    pub(crate) fn sealed(self, seq: u64, run: &RunSealed) -> RunRow {
        RunRow {
            status: run.verdict.into(),
            finished_at: Some(run.finished_at.clone()),
            duration_ms: Some(run.duration_ms),
            reasons: run.reasons.clone(),
            tests_passed: run.tests_passed,
            tests_executed: run.tests_executed,
            attestation_sha256: Some(run.attestation_sha256.clone()),
            bundle: Some(run.bundle.clone()),
            sealed_seq: Some(seq),
            ..self
        }
    }

    /// The last part of the id: what people type.
    pub fn suffix(&self) -> &str {
        self.run_id.rsplit('-').next().unwrap_or_default()
    }
}

pub(crate) const COLUMNS: &str = "seq, run_id, suffix, task_id, engine, stage, purpose, status, started_at, finished_at, \
     duration_ms, reasons, tests_passed, tests_executed, attestation_sha256, bundle, sealed_seq";

pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let status: String = row.get(7)?;
    let reasons: String = row.get(11)?;
    Ok(RunRow {
        seq: row.get(0)?,
        run_id: row.get(1)?,
        task_id: row.get(3)?,
        engine: row.get(4)?,
        stage: row.get(5)?,
        purpose: row.get(6)?,
        status: RunStatus::parse(&status).ok_or_else(|| unreadable(7, "status"))?,
        started_at: row.get(8)?,
        finished_at: row.get(9)?,
        duration_ms: row.get(10)?,
        reasons: serde_json::from_str(&reasons).map_err(|_| unreadable(11, "reasons"))?,
        tests_passed: row.get(12)?,
        tests_executed: row.get(13)?,
        attestation_sha256: row.get(14)?,
        bundle: row.get(15)?,
        sealed_seq: row.get(16)?,
    })
}

fn unreadable(column: usize, name: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, name.to_owned(), rusqlite::types::Type::Text)
}

/// Writes a row, in place of the run's earlier one if there is one.
pub(crate) fn put(connection: &Connection, run: &RunRow) -> rusqlite::Result<()> {
    let reasons = Value::from(run.reasons.clone()).to_string();
    let sql = format!(
        "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
         ON CONFLICT (seq) DO UPDATE SET status = ?8, finished_at = ?10, duration_ms = ?11, reasons = ?12, tests_passed = ?13,
         tests_executed = ?14, attestation_sha256 = ?15, bundle = ?16, sealed_seq = ?17"
    );
    let values: [&dyn ToSql; 17] = [
        &run.seq,
        &run.run_id,
        &run.suffix(),
        &run.task_id,
        &run.engine,
        &run.stage,
        &run.purpose,
        &run.status.as_str(),
        &run.started_at,
        &run.finished_at,
        &run.duration_ms,
        &reasons,
        &run.tests_passed,
        &run.tests_executed,
        &run.attestation_sha256,
        &run.bundle,
        &run.sealed_seq,
    ];
    connection.prepare_cached(&sql)?.execute(values).map(|_| ())
}

pub(crate) fn get(connection: &Connection, run_id: &str) -> rusqlite::Result<Option<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE run_id = ?1");
    connection.prepare_cached(&sql)?.query_row([run_id], from_row).optional()
}

/// Which runs to list; an empty filter is all of them.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub engine: Option<String>,
    pub task_id: Option<String>,
    /// RFC 3339 UTC: runs started at this time or later.
    pub since: Option<String>,
}

impl Ledger {
    /// The runs that were started last, newest first.
    pub fn runs_recent(&self, filter: &RunFilter, limit: usize) -> Result<Vec<RunRow>, ReadLedgerError> {
        let status = filter.status.map(RunStatus::as_str);
        let since = filter.since.as_deref().map(without_zone);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut values: Vec<&dyn ToSql> = Vec::new();
        values.extend(status.as_ref().map(|value| value as &dyn ToSql));
        values.extend(filter.engine.as_ref().map(|value| value as &dyn ToSql));
        values.extend(filter.task_id.as_ref().map(|value| value as &dyn ToSql));
        values.extend(since.as_ref().map(|value| value as &dyn ToSql));
        values.push(&limit);
        self.rows(&recent(filter), &values)
    }

    /// Runs that were started and not sealed, oldest first.
    pub fn runs_open(&self) -> Result<Vec<RunRow>, ReadLedgerError> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE status = 'running' ORDER BY started_at, seq");
        self.rows(&sql, &[])
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
fn recent(filter: &RunFilter) -> String {
    let conditions = [
        (filter.status.is_some(), " AND status = ?"),
        (filter.engine.is_some(), " AND engine = ?"),
        (filter.task_id.is_some(), " AND task_id = ?"),
        (filter.since.is_some(), " AND started_at >= ?"),
    ];
    let asked: String = conditions.into_iter().filter(|(asked, _)| *asked).map(|(_, condition)| condition).collect();
    format!("SELECT {COLUMNS} FROM runs WHERE TRUE{asked} ORDER BY started_at DESC, seq DESC LIMIT ?")
}

pub(crate) fn total(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT value FROM counters WHERE name = 'runs'", [], |row| row.get(0))
}

/// Times are compared as text, and "…:07Z" sorts behind "…:07.5Z"; without the zone it sorts before both.
fn without_zone(time: &str) -> &str {
    let time = time.strip_suffix('Z').unwrap_or(time);
    match time.contains('.') {
        true => time.trim_end_matches('0').trim_end_matches('.'),
        false => time,
    }
}

/// Why the ledger could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadLedgerError {
    /// This entry's body is not JSON: the file was changed by something else.
    Entry {
        seq: u64,
    },
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for ReadLedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for ReadLedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { seq } => write!(f, "ledger entry {seq} cannot be read: its body is not JSON"),
            Self::Sqlite(error) => write!(f, "cannot read the ledger: {error}"),
        }
    }
}

impl std::error::Error for ReadLedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Entry { .. } => None,
            Self::Sqlite(error) => Some(error),
        }
    }
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
        let some = || Some(String::new());
        for (filter, index) in [
            (RunFilter::default(), "SCAN runs USING INDEX runs_by_time"),
            (
                RunFilter { status: Some(RunStatus::Fail), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_status",
            ),
            (RunFilter { engine: some(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_engine"),
            (RunFilter { task_id: some(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_task"),
            (RunFilter { since: some(), ..Default::default() }, "SEARCH runs USING INDEX runs_by_time"),
            (
                RunFilter { task_id: some(), since: some(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_task",
            ),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", recent(&filter))).unwrap();
            let mut rows = statement.raw_query();
            let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
            assert!(plan.starts_with(index), "{filter:?}: {plan}");
            assert!(rows.next().unwrap().is_none(), "{filter:?} needs a second step");
        }
    }
}
