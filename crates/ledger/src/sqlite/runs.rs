//! The table of runs, and the lists taken from it.

use contract::{ModelPair, Purpose, RunId, Stage, TaskId};
use rusqlite::{OptionalExtension as _, Params, Row, ToSql, params, params_from_iter};

use super::SqliteStore;
use super::column::{limit, typed_column, typed_or_null, unreadable_column};
use super::schema::{WITH_ANSWERS, WITH_IDENTITIES, WITH_LEASES};
use crate::fault::StoreResult;
use crate::runs::{EngineIdentity, ListOrder, RunFilter, RunMatch, RunRow, RunStatus};

/// The columns that every version has.
macro_rules! first_columns {
    () => {
        "seq, run_id, suffix, task_id, engine, stage, purpose, status, started_at, finished_at, duration_ms, reasons, \
         tests_passed, tests_executed, attestation_sha256, bundle, sealed_seq"
    };
}

/// The entry of a run's collection, in a file whose rows do not have it.
macro_rules! found_collection {
    () => {
        "(SELECT min(entries.seq) FROM entries WHERE entries.run_id = runs.run_id AND kind = 'evidence.collected')"
    };
}

/// The entry of a run's last signed outcome, in a file whose rows do not have it.
macro_rules! found_outcome {
    () => {
        "(SELECT max(entries.seq) FROM entries WHERE entries.run_id = runs.run_id AND kind = 'operator.outcome.recorded' \
         AND json_valid(body) AND json_type(body, '$.signature') = 'text')"
    };
}

const COLUMNS: &str = concat!(first_columns!(), ", owner, source_id, model, collected_seq, outcome_seq");
const NEXT_ENGINE: &str = "SELECT engine FROM runs WHERE engine > ?1 ORDER BY engine LIMIT 1";
// The same of files that are only read and so are not brought forward.
const COLUMNS_BEFORE_ANSWERS: &str =
    concat!(first_columns!(), ", owner, source_id, model, ", found_collection!(), ", ", found_outcome!());
const COLUMNS_BEFORE_IDENTITIES: &str =
    concat!(first_columns!(), ", owner, NULL, NULL, ", found_collection!(), ", ", found_outcome!());
const COLUMNS_BEFORE_OWNERS: &str =
    concat!(first_columns!(), ", NULL, NULL, NULL, ", found_collection!(), ", ", found_outcome!());

impl SqliteStore {
    /// The columns of a row in this file.
    pub(super) fn columns(&self) -> &'static str {
        match self.version {
            version if version < WITH_LEASES => COLUMNS_BEFORE_OWNERS,
            version if version < WITH_IDENTITIES => COLUMNS_BEFORE_IDENTITIES,
            version if version < WITH_ANSWERS => COLUMNS_BEFORE_ANSWERS,
            _ => COLUMNS,
        }
    }

    /// The number of the entry that collected a run, as an expression.
    pub(super) fn collected_seq(&self) -> &'static str {
        if self.version < WITH_ANSWERS { found_collection!() } else { "collected_seq" }
    }

    /// The number of the entry with a run's last signed outcome, as an expression.
    pub(super) fn outcome_seq(&self) -> &'static str {
        if self.version < WITH_ANSWERS { found_outcome!() } else { "outcome_seq" }
    }

    /// Runs of a query over the columns of runs.
    pub(super) fn list_runs(&self, sql: &str, values: impl Params) -> StoreResult<Vec<RunRow>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_map(values, from_row)?.collect::<Result<_, _>>()?)
    }

    /// Row of a run.
    pub(crate) fn read_run(&self, run_id: &RunId) -> StoreResult<Option<RunRow>> {
        let sql = format!("SELECT {} FROM runs WHERE run_id = ?1", self.columns());
        Ok(self.connection.prepare_cached(&sql)?.query_row([run_id.as_str()], from_row).optional()?)
    }

    /// The first name of an engine behind this one that a run has.
    pub(crate) fn next_engine(&self, after: &str) -> StoreResult<Option<String>> {
        Ok(self.connection.prepare_cached(NEXT_ENGINE)?.query_row([after], |row| row.get(0)).optional()?)
    }

    /// Runs that pass a filter, in its order.
    pub(crate) fn recent_runs(&self, filter: &RunFilter, most: usize) -> StoreResult<Vec<RunRow>> {
        let status = filter.status.map(RunStatus::as_str);
        let task_id = filter.task_id.as_ref().map(TaskId::as_str);
        let stage = filter.stage.map(Stage::number);
        let since = filter.since.map(|since| since.to_string());
        let after = filter.after.map(|place| (place.started_at.to_string(), place.seq));
        let after_longer = filter.after_longer.map(|place| (place.duration_ms, place.seq));
        let most = limit(most);
        let mut values: Vec<&dyn ToSql> = Vec::new();
        values.extend(status.as_ref().map(|value| value as &dyn ToSql));
        values.extend(filter.engine.as_ref().map(|value| value as &dyn ToSql));
        values.extend(task_id.as_ref().map(|value| value as &dyn ToSql));
        values.extend(stage.as_ref().map(|value| value as &dyn ToSql));
        values.extend(since.as_ref().map(|value| value as &dyn ToSql));
        if let Some((started_at, seq)) = &after {
            values.extend([started_at as &dyn ToSql, seq]);
        }
        if let Some((duration_ms, seq)) = &after_longer {
            values.extend([duration_ms as &dyn ToSql, seq]);
        }
        values.push(&most);
        self.list_runs(&recent(self.columns(), filter), values.as_slice())
    }

    /// Runs that a person may mean, newest first.
    pub(crate) fn matching_runs(&self, wanted: &RunMatch<'_>, most: usize) -> StoreResult<Vec<RunRow>> {
        let whole = |text: &str| vec![text.to_owned()];
        let range = |start: &str| vec![start.to_owned(), format!("{start}\u{10FFFF}")];
        let (condition, values) = match wanted {
            RunMatch::Id(id) => ("run_id = ?1", whole(id)),
            RunMatch::Suffix(suffix) => ("suffix = ?1", whole(suffix)),
            RunMatch::IdStart(start) => ("run_id >= ?1 AND run_id < ?2", range(start)),
            RunMatch::SuffixStart(start) => ("suffix >= ?1 AND suffix < ?2", range(start)),
            RunMatch::Purpose(purpose) => ("purpose = ?1", whole(purpose.as_str())),
        };
        // No order asked for: sorting would read every match, and there may be as many as
        // there are runs.
        let sql = format!("SELECT {} FROM runs WHERE {condition} LIMIT {most}", self.columns());
        self.list_runs(&sql, params_from_iter(values))
    }

    /// Run that many steps before the newest. Documents of stage 6 are left out.
    pub(crate) fn run_back(&self, purpose: Option<Purpose>, steps: u32) -> StoreResult<Option<RunRow>> {
        let of = if purpose.is_some() { "purpose = ?2" } else { "?2 IS NULL" };
        // Documents of stage 6 are governed, and no run.
        let of = format!(
            "{of} AND NOT (stage = 6 AND task_id IN ('stage6-candidate-default', 'stage6-real-governed-refresh'))"
        );
        let order = "ORDER BY started_at DESC, seq DESC LIMIT 1 OFFSET ?1";
        let sql = format!("SELECT {} FROM runs WHERE {of} {order}", self.columns());
        Ok(self.list_runs(&sql, params![steps, purpose.map(Purpose::as_str)])?.pop())
    }

    /// Runs sealed by entries in this range.
    pub(crate) fn sealed_between(&self, after: u64, up_to: u64) -> StoreResult<Vec<RunRow>> {
        // Entries are found by their place; rows have no index of the entry that sealed them.
        let sealed = "SELECT run_id FROM entries WHERE seq > ?1 AND seq <= ?2 AND kind = 'evidence.sealed'";
        let sql = format!("SELECT {} FROM runs WHERE run_id IN ({sealed}) AND sealed_seq > ?1", self.columns());
        self.list_runs(&sql, params![after, up_to])
    }

    /// Runs that are not sealed, oldest first.
    pub(crate) fn open_runs(&self) -> StoreResult<Vec<RunRow>> {
        let sql = format!("SELECT {} FROM runs WHERE status = 'running' ORDER BY started_at, seq", self.columns());
        self.list_runs(&sql, [])
    }

    /// Passes every run to a callback, oldest first, without holding them in memory.
    pub(crate) fn each_run(&self, mut show: impl FnMut(RunRow)) -> StoreResult<()> {
        let sql = format!("SELECT {} FROM runs ORDER BY started_at, seq", self.columns());
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            show(from_row(row)?);
        }
        Ok(())
    }

    /// Number of runs, from a counter: counting the rows would take time that grows with
    /// them.
    pub(crate) fn count_runs(&self) -> StoreResult<u64> {
        let sql = "SELECT value FROM counters WHERE name = 'runs'";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    /// Adds one to the counter of runs.
    pub(crate) fn count_run(&self) -> StoreResult<()> {
        self.connection.execute("UPDATE counters SET value = value + 1 WHERE name = 'runs'", [])?;
        Ok(())
    }

    /// Removes all rows, before they are made again from the entries.
    pub(crate) fn clear_rows(&self) -> StoreResult<()> {
        self.connection.execute_batch(
            "DELETE FROM runs; DELETE FROM requests; INSERT OR REPLACE INTO counters VALUES ('runs', 0);",
        )?;
        Ok(())
    }

    /// Writes a row. An existing row keeps everything that its first entry decided.
    pub(crate) fn put_run(&self, run: &RunRow) -> StoreResult<()> {
        let codes: Vec<&str> = run.reasons.iter().map(|reason| reason.code()).collect();
        let sql = format!(
            "INSERT INTO runs ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
             ON CONFLICT (seq) DO UPDATE SET status = ?8, finished_at = ?10, duration_ms = ?11, reasons = ?12, tests_passed = ?13,
             tests_executed = ?14, attestation_sha256 = ?15, bundle = ?16, sealed_seq = ?17, owner = ?18, source_id = ?19, model = ?20,
             collected_seq = ?21, outcome_seq = ?22"
        );
        let (source_id, model) = written_identity(run.identity.as_ref());
        let values: [&dyn ToSql; 22] = [
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
            &source_id,
            &model,
            &run.collected_seq,
            &run.outcome_seq,
        ];
        self.connection.prepare_cached(&sql)?.execute(values)?;
        Ok(())
    }
}

/// The conditions in the order their values are bound.
fn recent(columns: &str, filter: &RunFilter) -> String {
    let conditions = [
        (filter.status.is_some(), " AND status = ?"),
        (filter.engine.is_some(), " AND engine = ?"),
        (filter.task_id.is_some(), " AND task_id = ?"),
        (filter.stage.is_some(), " AND stage = ?"),
        (filter.since.is_some(), " AND started_at >= ?"),
        (filter.after.is_some() && filter.order != ListOrder::Oldest, " AND (started_at, seq) < (?, ?)"),
        (filter.after.is_some() && filter.order == ListOrder::Oldest, " AND (started_at, seq) > (?, ?)"),
        (filter.order == ListOrder::Longest && filter.after_longer.is_none(), " AND duration_ms IS NOT NULL"),
        (filter.after_longer.is_some(), " AND (duration_ms, seq) < (?, ?)"),
    ];
    let order = match filter.order {
        ListOrder::Newest => "started_at DESC, seq DESC",
        ListOrder::Oldest => "started_at, seq",
        ListOrder::Longest => "duration_ms DESC, seq DESC",
    };
    let asked: String = conditions.into_iter().filter(|(asked, _)| *asked).map(|(_, condition)| condition).collect();
    format!("SELECT {columns} FROM runs WHERE TRUE{asked} ORDER BY {order} LIMIT ?")
}

/// Run of a row, in the order of the columns.
pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let (status, reasons): (String, String) = (row.get(7)?, row.get(11)?);
    Ok(RunRow {
        seq: row.get(0)?,
        run_id: typed_column(row, 1, "run_id")?,
        task_id: typed_column(row, 3, "task_id")?,
        engine: row.get(4)?,
        stage: Stage::try_from(row.get::<_, u8>(5)?).map_err(|_| unreadable_column(5, "stage"))?,
        purpose: typed_column(row, 6, "purpose")?,
        status: RunStatus::parse_status(&status).ok_or_else(|| unreadable_column(7, "status"))?,
        started_at: typed_column(row, 8, "started_at")?,
        finished_at: typed_or_null(row, 9, "finished_at")?,
        duration_ms: row.get(10)?,
        reasons: serde_json::from_str(&reasons).map_err(|_| unreadable_column(11, "reasons"))?,
        tests_passed: row.get(12)?,
        tests_executed: row.get(13)?,
        attestation_sha256: typed_or_null(row, 14, "attestation_sha256")?,
        bundle: row.get(15)?,
        sealed_seq: row.get(16)?,
        owner: typed_or_null(row, 17, "owner")?,
        identity: read_identity(row, 18)?,
        collected_seq: row.get(20)?,
        outcome_seq: row.get(21)?,
    })
}

/// Columns of an identity: none if it is not known, and an empty model without one.
pub(super) fn written_identity(identity: Option<&EngineIdentity>) -> (Option<&str>, Option<String>) {
    let Some(EngineIdentity { source_id, model }) = identity else { return (None, None) };
    (Some(source_id), Some(model.as_ref().map(ToString::to_string).unwrap_or_default()))
}

/// The identity in this column and the next.
pub(super) fn read_identity(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<EngineIdentity>> {
    let Some(source_id) = row.get(column)? else { return Ok(None) };
    let text: Option<String> = row.get(column + 1)?;
    let text = text.filter(|text| !text.is_empty());
    let model = text.map(|text| text.parse::<ModelPair>()).transpose();
    let model = model.map_err(|_| unreadable_column(column + 1, "model"))?;
    Ok(Some(EngineIdentity { source_id, model }))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::schema;
    use super::*;
    use crate::runs::{LongPlace, RunPlace};

    /// No list may read or sort the whole table, whatever its size.
    #[test]
    fn every_list_is_a_range_of_one_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let (some, task) = (|| Some(String::new()), || TaskId::try_from("t".to_owned()).ok());
        let since = || "2026-03-01T10:00:00.000000Z".parse().ok();
        let after = || since().map(|started_at| RunPlace { started_at, seq: 7 });
        let longer = Some(LongPlace { duration_ms: 7, seq: 7 });
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
            (RunFilter { order: ListOrder::Oldest, ..Default::default() }, "SCAN runs USING INDEX runs_by_time"),
            (
                RunFilter { order: ListOrder::Oldest, after: after(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_time",
            ),
            (
                RunFilter { engine: some(), order: ListOrder::Oldest, after: after(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_engine",
            ),
            (
                RunFilter { stage: Some(Stage::OWNED_REPOSITORY), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_stage",
            ),
            (
                RunFilter { stage: Some(Stage::OWNED_REPOSITORY), after: after(), ..Default::default() },
                "SEARCH runs USING INDEX runs_by_stage",
            ),
            (RunFilter { order: ListOrder::Longest, ..Default::default() }, "SEARCH runs USING INDEX runs_by_duration"),
            (
                RunFilter { order: ListOrder::Longest, after_longer: longer, ..Default::default() },
                "SEARCH runs USING INDEX runs_by_duration",
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
