//! The table of runs, and the lists taken from it.

use contract::{ModelPair, Purpose, RunId, Stage, canonical_text};
use postgres::Row;
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::{
    as_written, limit, number_column, number_or_null, signed_number, typed_column, typed_or_null, unreadable_column,
};
use super::schema::{WITH_ENGINE_NAMES, WITH_LONGEST, WITH_RUN_BY_ID};
use crate::entry::{Hashed, Position};
use crate::fault::{FaultKind, StoreFault, StoreResult};
use crate::kind::EntryKind;
use crate::replay::LedgerProblem;
use crate::runs::{EngineIdentity, ListOrder, RunFilter, RunMatch, RunRow, RunStatus};
use crate::write::RunStarted;

const FIND: &str = "SELECT * FROM cto.find_runs($1::TEXT::JSONB)";
const START: &str = "SELECT (started.run).*, started.prev, started.hash FROM cto.start_run($1, $2, $3, $4) AS started";

/// Runs that are fetched at a time where all of them are shown.
const PAGE: usize = 1000;

impl PostgresStore {
    /// Rows that fit a question of the schema's function.
    pub(super) fn find_rows(&self, asked: &Value) -> StoreResult<Vec<Row>> {
        self.ask(FIND, &[&asked.to_string()])
    }

    /// Runs that fit a question of the schema's function.
    pub(super) fn find_runs(&self, asked: &Value) -> StoreResult<Vec<RunRow>> {
        self.find_rows(asked)?.iter().map(from_row).collect()
    }

    /// Runs that fit a question. A row that cannot be read is noted and passed over: it keeps nobody from the others.
    fn find_readable(&self, asked: &Value) -> StoreResult<Vec<RunRow>> {
        Ok(self.find_rows(asked)?.iter().filter_map(|row| self.read_or_note(row)).collect())
    }

    fn read_or_note(&self, row: &Row) -> Option<RunRow> {
        let note = |fault: StoreFault| {
            let seq: i64 = row.try_get(0).unwrap_or_default();
            self.unreadable.borrow_mut().insert(seq.unsigned_abs(), fault.cause.to_string());
        };
        from_row(row).map_err(note).ok()
    }

    /// Rows of runs that were passed over, by their entries.
    pub(crate) fn unreadable_rows(&self) -> Vec<LedgerProblem> {
        let tell = |(seq, why): (&u64, &String)| LedgerProblem {
            seq: *seq,
            what: format!("the row in runs cannot be read: {why}"),
        };
        self.unreadable.borrow().iter().map(tell).collect()
    }

    /// Row of a run. An older schema has no function for it.
    pub(crate) fn read_run(&self, run_id: &RunId) -> StoreResult<Option<RunRow>> {
        if self.version < WITH_RUN_BY_ID {
            return Ok(self.find_runs(&json!({"run_id": run_id}))?.pop());
        }
        let rows = self.ask("SELECT * FROM cto.read_run($1)", &[&run_id.as_str()])?;
        rows.first().map(from_row).transpose()
    }

    /// Starts a run in one statement, which holds the lock of changes on the server alone. `None` if the server refused: the steps one by
    /// one name the reason, or find that there is none any more.
    pub(crate) fn start_run(&self, run: &RunStarted, body: &Value) -> StoreResult<Option<Position>> {
        let Ok(body) = canonical_text(body) else { return Ok(None) };
        let (time, until) = (run.time.to_string(), run.lease_until.map(|until| until.to_string()));
        let rows = match self.ask(START, &[&time, &run.run_id.as_str(), &body, &until]) {
            Err(fault) if matches!(fault.kind, FaultKind::Other) => return Ok(None),
            answered => answered?,
        };
        let row = rows.first().ok_or_else(|| unreadable_column("answer"))?;
        let (made, prev): (RunRow, String) = (from_row(row)?, row.try_get(22)?);
        let position = Position { seq: made.seq, hash: typed_column(row, 23, "hash")? };
        let (seq, kind, run_id) = (made.seq, EntryKind::RunStarted.name(), Some(run.run_id.as_str()));
        let hashed = Hashed { seq, time: &time, kind, run_id, body: &body, prev: &prev };
        if hashed.hash().ok() != Some(position.hash) {
            return Err(unreadable_column("the hash of the entry"));
        }
        match made == RunRow::started(seq, &run.run_id, as_written(run.time), &run.intent) {
            true => Ok(Some(position)),
            false => Err(unreadable_column("the row of the run")),
        }
    }

    /// The first name of an engine behind this one that a run has. An older schema has no function for it.
    pub(crate) fn next_engine(&self, after: &str) -> StoreResult<Option<String>> {
        if self.version >= WITH_ENGINE_NAMES {
            let rows = self.ask("SELECT cto.next_engine($1)", &[&after])?;
            return rows.first().map_or(Ok(None), |row| Ok(row.try_get(0)?));
        }
        let mut next: Option<String> = None;
        self.each_run(|run| {
            if run.engine.as_str() > after && next.as_ref().is_none_or(|known| run.engine < *known) {
                next = Some(run.engine);
            }
        })?;
        Ok(next)
    }

    /// Runs that pass a filter, in its order.
    pub(crate) fn recent_runs(&self, filter: &RunFilter, most: usize) -> StoreResult<Vec<RunRow>> {
        if filter.order == ListOrder::Longest && self.version < WITH_LONGEST {
            return self.sort_longest(filter, most);
        }
        let (order, place, place_seq) = match filter.order {
            ListOrder::Oldest => ("oldest", "after", "after_seq"),
            ListOrder::Newest => ("newest", "before", "before_seq"),
            ListOrder::Longest => ("longest", "before", "before_seq"),
        };
        let mut asked = json!({"order": order, "limit": limit(most)});
        let mut ask = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                asked[key] = value;
            }
        };
        ask("status", filter.status.map(|status| json!(status.as_str())));
        ask("engine", filter.engine.as_ref().map(|engine| json!(engine)));
        ask("task_id", filter.task_id.as_ref().map(|task_id| json!(task_id)));
        ask("stage", filter.stage.map(|stage| json!(stage.number())));
        ask("since", filter.since.map(|since| json!(since)));
        ask("timed", (filter.order == ListOrder::Longest).then(|| json!(true)));
        ask("shorter", filter.after_longer.map(|place| json!(place.duration_ms)));
        ask("shorter_seq", filter.after_longer.map(|place| json!(place.seq)));
        ask(place, filter.after.map(|place| json!(place.started_at)));
        ask(place_seq, filter.after.map(|place| json!(place.seq)));
        self.find_readable(&asked)
    }

    /// The longest runs of a schema that has no such order: every run is read.
    fn sort_longest(&self, filter: &RunFilter, most: usize) -> StoreResult<Vec<RunRow>> {
        let mut runs = Vec::new();
        let is_behind =
            |took: u64, seq: u64| filter.after_longer.is_none_or(|place| (took, seq) < (place.duration_ms, place.seq));
        self.each_run(|run| runs.extend(run.duration_ms.filter(|took| is_behind(*took, run.seq)).map(|_| run)))?;
        runs.sort_by_key(|run| std::cmp::Reverse((run.duration_ms, run.seq)));
        runs.truncate(most);
        Ok(runs)
    }

    /// Runs that a person may mean, newest first.
    pub(crate) fn matching_runs(&self, wanted: &RunMatch<'_>, most: usize) -> StoreResult<Vec<RunRow>> {
        let end = |start: &str| format!("{start}\u{10FFFF}");
        let mut asked = match wanted {
            RunMatch::Id(id) => json!({"run_id": id}),
            RunMatch::Suffix(suffix) => json!({"suffix": suffix}),
            RunMatch::IdStart(start) => json!({"id_start": start, "id_end": end(start)}),
            RunMatch::SuffixStart(start) => json!({"suffix_start": start, "suffix_end": end(start)}),
            RunMatch::Purpose(purpose) => json!({"purpose": purpose.as_str()}),
        };
        asked["limit"] = json!(limit(most));
        self.find_readable(&asked)
    }

    /// Run that many steps before the newest. Documents of stage 6 are left out.
    pub(crate) fn run_back(&self, purpose: Option<Purpose>, steps: u32) -> StoreResult<Option<RunRow>> {
        let mut asked = json!({"no_document": true, "order": "newest", "skip": steps, "limit": 1});
        if let Some(purpose) = purpose {
            asked["purpose"] = json!(purpose.as_str());
        }
        Ok(self.find_readable(&asked)?.pop())
    }

    /// Runs sealed by entries in this range.
    pub(crate) fn sealed_between(&self, after: u64, up_to: u64) -> StoreResult<Vec<RunRow>> {
        self.find_runs(&json!({"sealed_after": signed_number(after)?, "sealed_up_to": signed_number(up_to)?}))
    }

    /// Runs that are not sealed, oldest first.
    pub(crate) fn open_runs(&self) -> StoreResult<Vec<RunRow>> {
        self.find_readable(&json!({"status": RunStatus::Running.as_str(), "order": "oldest"}))
    }

    /// A page at a time, so that `show` may ask the ledger too. No run is shown twice or
    /// left out: rows are never removed, and their places stay.
    pub(crate) fn each_run(&self, mut show: impl FnMut(RunRow)) -> StoreResult<()> {
        let mut asked = json!({"order": "oldest", "limit": PAGE});
        loop {
            let rows = self.find_rows(&asked)?;
            let Some(last) = rows.last() else { return Ok(()) };
            asked["after"] = json!(last.try_get::<_, String>(8)?);
            asked["after_seq"] = json!(last.try_get::<_, i64>(0)?);
            rows.iter().filter_map(|row| self.read_or_note(row)).for_each(&mut show);
        }
    }

    /// Number of runs.
    pub(crate) fn count_runs(&self) -> StoreResult<u64> {
        self.count_rows("runs")
    }

    /// Number of rows of a table.
    pub(super) fn count_rows(&self, table: &str) -> StoreResult<u64> {
        let rows = self.ask("SELECT cto.count_rows($1)", &[&table])?;
        rows.first().map_or(Ok(0), |row| number_column(row, 0, "count"))
    }

    /// The database has counted it with the entry.
    pub(crate) fn count_run(&self) -> StoreResult<()> {
        Ok(())
    }

    /// The database makes all rows again, from the entries.
    pub(crate) fn clear_rows(&self) -> StoreResult<()> {
        self.ask("SELECT cto.project_again()", &[])?;
        Ok(())
    }

    /// The database has made the row with the entry; this compares it.
    pub(crate) fn put_run(&self, run: &RunRow) -> StoreResult<()> {
        let made = self.read_run(&run.run_id)?;
        let (started_at, finished_at) = (as_written(run.started_at), run.finished_at.map(as_written));
        let same = made == Some(RunRow { started_at, finished_at, ..run.clone() });
        if same { Ok(()) } else { Err(unreadable_column("the row of the run")) }
    }
}

/// Run of a row, in the order of the columns.
pub(super) fn from_row(row: &Row) -> StoreResult<RunRow> {
    let (status, reasons): (String, String) = (row.try_get(7)?, row.try_get(11)?);
    let stage: i16 = row.try_get(5)?;
    let stage = u8::try_from(stage).ok().and_then(|stage| Stage::try_from(stage).ok());
    Ok(RunRow {
        seq: number_column(row, 0, "seq")?,
        run_id: typed_column(row, 1, "run_id")?,
        task_id: typed_column(row, 3, "task_id")?,
        engine: row.try_get(4)?,
        stage: stage.ok_or_else(|| unreadable_column("stage"))?,
        purpose: typed_column(row, 6, "purpose")?,
        status: RunStatus::parse_status(&status).ok_or_else(|| unreadable_column("status"))?,
        started_at: typed_column(row, 8, "started_at")?,
        finished_at: typed_or_null(row, 9, "finished_at")?,
        duration_ms: number_or_null(row, 10, "duration_ms")?,
        reasons: serde_json::from_str(&reasons).map_err(|_| unreadable_column("reasons"))?,
        tests_passed: number_or_null(row, 12, "tests_passed")?,
        tests_executed: number_or_null(row, 13, "tests_executed")?,
        attestation_sha256: typed_or_null(row, 14, "attestation_sha256")?,
        bundle: row.try_get(15)?,
        sealed_seq: number_or_null(row, 16, "sealed_seq")?,
        owner: typed_or_null(row, 17, "owner")?,
        identity: read_identity(row)?,
        collected_seq: number_or_null(row, 20, "collected_seq")?,
        outcome_seq: number_or_null(row, 21, "outcome_seq")?,
    })
}

/// Model of an identity as its column has it: empty without one.
pub(super) fn written_model(identity: &EngineIdentity) -> String {
    identity.model.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn read_identity(row: &Row) -> StoreResult<Option<EngineIdentity>> {
    let Some(source_id) = row.try_get(18)? else { return Ok(None) };
    let text: Option<String> = row.try_get(19)?;
    let model = text.filter(|text| !text.is_empty()).map(|text| text.parse::<ModelPair>()).transpose();
    Ok(Some(EngineIdentity { source_id, model: model.map_err(|_| unreadable_column("model"))? }))
}
