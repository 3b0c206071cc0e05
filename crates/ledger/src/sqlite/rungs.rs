//! Runs by the rung that they speak for.

use contract::{Purpose, Stage};
use rusqlite::{OptionalExtension as _, params};

use super::SqliteStore;
use super::column::limit;
use super::runs::{read_identity, written_identity};
use super::schema::WITH_IDENTITIES;
use crate::fault::StoreResult;
use crate::runs::{EngineIdentity, IdentifiedRun, RunRow, RungPart, RungRuns, TaskRuns};

const OF_RUNG: &str = "engine = ?1 AND purpose = ?2 AND stage = ?3";

/// Newest first, by the entries that started the runs: no clock moves a run.
const ORDER: &str = "ORDER BY seq DESC LIMIT ?4";

/// Failures that may count against a rung. Indexes have this text, so a new reason needs a migration.
const AGAINST: &str = "(status = 'fail' OR status = 'blocked' AND (instr(reasons, '\"timeout\"') \
     OR instr(reasons, '\"lifecycle_timeout_after_valid_patch\"') OR instr(reasons, '\"budget_exceeded\"') \
     OR instr(reasons, '\"reviewer_rejected\"')))";

const NEXT_IDENTITY: &str = "SELECT source_id, model FROM runs WHERE engine = ?1 AND purpose = ?2 AND stage = ?3 \
     AND (source_id, model) > (?4, ?5) ORDER BY source_id, model LIMIT 1";

/// Runs whose engine was identified, as the index of them has it.
const IDENTIFIED: &str = "engine = ?1 AND purpose = ?2 AND substr(source_id, -8) <> '@unknown'";

impl SqliteStore {
    /// Runs of a rung, newest first: those that were started before this entry.
    pub(crate) fn rung_runs(&self, rung: &RungRuns<'_>, before: Option<u64>, most: usize) -> StoreResult<Vec<RunRow>> {
        let has_identities = self.version >= WITH_IDENTITIES;
        if !has_identities && rung.identity.is_some() {
            return Ok(Vec::new());
        }
        let (source_id, model) = written_identity(rung.identity);
        let part = part_condition(rung.of, self.collected_seq());
        let sql = rung_query(self.columns(), has_identities, &part, before.is_some());
        let (RungRuns { engine, purpose, stage, .. }, most) = (rung, limit(most));
        let values = params![engine, purpose.as_str(), stage.number(), most, source_id, model, before];
        self.list_runs(&sql, values)
    }

    /// Runs of a task, newest first: those that were started before this entry.
    pub(crate) fn task_runs(&self, task: TaskRuns<'_>, before: Option<u64>, most: usize) -> StoreResult<Vec<RunRow>> {
        let before = before.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
        let values = params![task.task_id.as_str(), task.engine, before, limit(most)];
        self.list_runs(&task_query(self.columns()), values)
    }

    /// Passes at a stage, newest first.
    pub(crate) fn stage_passes(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        most: usize,
    ) -> StoreResult<Vec<RunRow>> {
        let sql = passes_query(self.columns(), self.collected_seq());
        self.list_runs(&sql, params![engine, purpose.as_str(), stage.number(), limit(most)])
    }

    /// First identity of an engine at a stage that comes after this one.
    pub(crate) fn next_identity(
        &self,
        engine: &str,
        purpose: Purpose,
        stage: Stage,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<EngineIdentity>> {
        if self.version < WITH_IDENTITIES {
            return Ok(None);
        }
        let (source_id, model) = written_identity(after);
        let (source_id, model) = (source_id.unwrap_or_default(), model.unwrap_or_default());
        let mut statement = self.connection.prepare_cached(NEXT_IDENTITY)?;
        let values = params![engine, purpose.as_str(), stage.number(), source_id, model];
        let next = statement.query_row(values, |row| read_identity(row, 0)).optional()?;
        Ok(next.flatten())
    }

    /// Newest identified run with the first model after that of this identity.
    pub(crate) fn next_model(
        &self,
        engine: &str,
        purpose: Purpose,
        after: Option<&EngineIdentity>,
    ) -> StoreResult<Option<IdentifiedRun>> {
        if self.version < WITH_IDENTITIES {
            return Ok(None);
        }
        let (_, model) = written_identity(after);
        let mut statement = self.connection.prepare_cached(&next_model_query(model.is_some()))?;
        let values = params![engine, purpose.as_str(), model.unwrap_or_default()];
        let next: Option<String> = statement.query_row(values, |row| row.get(0)).optional()?;
        let Some(model) = next else { return Ok(None) };
        let mut statement = self.connection.prepare_cached(&newest_of_model_query())?;
        let newest = statement.query_row(params![engine, purpose.as_str(), model], |row| {
            let seq = row.get(2)?;
            Ok(read_identity(row, 0)?.map(|identity| IdentifiedRun { identity, seq }))
        });
        Ok(newest.optional()?.flatten())
    }

    /// Passes that wait for an operator's outcome, newest first.
    pub(crate) fn unanswered_runs(&self, most: usize) -> StoreResult<Vec<RunRow>> {
        let sql = unanswered_query(self.columns(), self.outcome_seq(), self.collected_seq());
        self.list_runs(&sql, [limit(most)])
    }
}

fn part_condition(part: RungPart, collected_seq: &str) -> String {
    match part {
        RungPart::All => "TRUE".to_owned(),
        RungPart::Weighty => format!("({collected_seq} IS NULL OR {AGAINST})"),
        RungPart::Deciding => format!("({AGAINST} OR status = 'pass' AND {collected_seq} IS NULL)"),
        RungPart::Passes => format!("status = 'pass' AND {collected_seq} IS NULL"),
    }
}

/// Every value is named in each form, so that the numbers of the others stay.
fn rung_query(columns: &str, has_identities: bool, part: &str, from_place: bool) -> String {
    let identity = match has_identities {
        true => "source_id IS ?5 AND model IS ?6",
        false => "?5 IS NULL AND ?6 IS NULL",
    };
    let place = match from_place {
        true => "seq < ?7",
        false => "?7 IS NULL",
    };
    format!("SELECT {columns} FROM runs WHERE {OF_RUNG} AND {identity} AND {part} AND {place} {ORDER}")
}

fn task_query(columns: &str) -> String {
    format!(
        "SELECT {columns} FROM runs WHERE task_id = ?1 AND (?2 IS NULL OR engine = ?2) AND seq < ?3 ORDER BY seq DESC LIMIT ?4"
    )
}

fn passes_query(columns: &str, collected_seq: &str) -> String {
    let part = part_condition(RungPart::Passes, collected_seq);
    format!("SELECT {columns} FROM runs WHERE {OF_RUNG} AND {part} {ORDER}")
}

/// No model is the empty text, which comes first.
fn next_model_query(from_model: bool) -> String {
    let place = if from_model { "model > ?3" } else { "model >= ?3" };
    format!("SELECT model FROM runs WHERE {IDENTIFIED} AND {place} ORDER BY model LIMIT 1")
}

fn newest_of_model_query() -> String {
    let order = "ORDER BY seq DESC LIMIT 1";
    format!("SELECT source_id, model, seq FROM runs WHERE {IDENTIFIED} AND model = ?3 {order}")
}

fn unanswered_query(columns: &str, outcome_seq: &str, collected_seq: &str) -> String {
    format!(
        "SELECT {columns} FROM runs WHERE status = 'pass' AND purpose = 'governed' AND stage >= 5 AND {outcome_seq} IS NULL \
         AND {collected_seq} IS NULL ORDER BY started_at DESC, seq DESC LIMIT ?1"
    )
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::schema;
    use super::*;

    /// A rung is looked up at the same cost whatever the number of runs.
    #[test]
    fn every_look_up_is_a_range_of_one_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let rung = |part, place| rung_query("*", true, &part_condition(part, "collected_seq"), place);
        for (sql, index) in [
            (rung(RungPart::All, false), "runs_by_rung"),
            (rung(RungPart::All, true), "runs_by_rung"),
            (rung(RungPart::Weighty, false), "runs_to_weigh"),
            (rung(RungPart::Weighty, true), "runs_to_weigh"),
            (rung(RungPart::Deciding, false), "runs_that_decide"),
            (rung(RungPart::Deciding, true), "runs_that_decide"),
            (rung(RungPart::Passes, false), "passes_by_rung"),
            (rung(RungPart::Passes, true), "passes_by_rung"),
            (task_query("*"), "runs_of_task"),
            (passes_query("*", "collected_seq"), "passes_by_stage"),
            (NEXT_IDENTITY.to_owned(), "runs_by_rung"),
            (next_model_query(false), "runs_by_model"),
            (next_model_query(true), "runs_by_model"),
            (newest_of_model_query(), "runs_by_model"),
            (unanswered_query("*", "outcome_seq", "collected_seq"), "runs_unanswered"),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut rows = statement.raw_query();
            let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
            assert!(plan.contains(&format!("INDEX {index}")), "{sql}: {plan}");
            assert!(plan.starts_with("SEARCH"), "{sql}: {plan}");
            assert!(rows.next().unwrap().is_none(), "{sql} needs a second step");
        }
    }
}
