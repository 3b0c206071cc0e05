//! The table of requests for approval.

use contract::{Digest, RunId, Stage, TaskId};
use rusqlite::{Error, OptionalExtension as _, Row, params};

use super::SqliteStore;
use super::column::{limit, typed_column, typed_or_null};
use super::entries::TIME_BASE;
use super::schema::WITH_REQUESTS;
use crate::fault::StoreResult;
use crate::request_row::RequestRow;

/// The kinds of entries about requests, as the index of them has it.
pub(super) const KINDS: &str = "'approval.requested', 'approval.granted', 'approval.denied', 'approval.held', 'approval.released', \
     'approval.revoked', 'approval.used'";

const COLUMNS: &str =
    "request, seq, task_id, stage, requested_at, grants, held_seq, denied_seq, revoked_seq, used_seq, used_by";

/// The columns, and the entry by which time went back since.
fn select_rows() -> String {
    format!("SELECT {COLUMNS}, nullif(max(seq, {TIME_BASE}), seq) FROM requests")
}

impl SqliteStore {
    /// Row of a request; none in a file older than requests.
    pub(crate) fn read_request(&self, request: Digest) -> StoreResult<Option<RequestRow>> {
        if self.version < WITH_REQUESTS {
            return Ok(None);
        }
        let sql = format!("{} WHERE request = ?1", select_rows());
        Ok(self.connection.prepare_cached(&sql)?.query_row([request.to_string()], from_row).optional()?)
    }

    /// Requests, newest first, of one task or of all.
    pub(crate) fn recent_requests(&self, task_id: Option<&TaskId>, most: usize) -> StoreResult<Vec<RequestRow>> {
        if self.version < WITH_REQUESTS {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(&recent_query(task_id.is_some()))?;
        let rows = match task_id {
            Some(task_id) => statement.query_map(params![limit(most), task_id.as_str()], from_row)?.collect(),
            None => statement.query_map([limit(most)], from_row)?.collect::<Result<_, _>>(),
        };
        Ok(rows?)
    }

    /// Undecided requests, newest first.
    pub(crate) fn undecided_requests(&self, before: Option<u64>, most: usize) -> StoreResult<Vec<RequestRow>> {
        if self.version < WITH_REQUESTS {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(&undecided_query())?;
        // A database has no larger number, and no ledger so many entries.
        let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![before, limit(most)], from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Number of requests.
    pub(crate) fn count_requests(&self) -> StoreResult<u64> {
        if self.version < WITH_REQUESTS {
            return Ok(0);
        }
        Ok(self.connection.query_row("SELECT count(*) FROM requests", [], |row| row.get(0))?)
    }

    /// Every row, for the check of the whole ledger; `None` in a file that has no such table.
    pub(super) fn all_requests(&self) -> StoreResult<Option<Vec<RequestRow>>> {
        if self.version < WITH_REQUESTS {
            return Ok(None);
        }
        let mut statement = self.connection.prepare(&format!("{} ORDER BY seq", select_rows()))?;
        let rows = statement.query_map([], from_row)?;
        Ok(Some(rows.collect::<Result<_, _>>()?))
    }

    /// Writes a row. An existing row keeps everything that its first entry decided.
    pub(crate) fn put_request(&self, row: &RequestRow) -> StoreResult<()> {
        let sql = format!(
            "INSERT INTO requests ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (request) DO UPDATE SET grants = ?6, held_seq = ?7, denied_seq = ?8, revoked_seq = ?9, used_seq = ?10,
             used_by = ?11"
        );
        let values = params![
            row.request.to_string(),
            row.seq,
            row.task_id.as_str(),
            row.stage.number(),
            row.requested_at.to_string(),
            row.grants,
            row.held_seq,
            row.denied_seq,
            row.revoked_seq,
            row.used_seq,
            row.used_by.as_ref().map(RunId::as_str),
        ];
        self.connection.prepare_cached(&sql)?.execute(values)?;
        Ok(())
    }
}

/// Rows, newest first, up to the first parameter; of the task that is the second.
fn recent_query(is_of_task: bool) -> String {
    let condition = if is_of_task { "WHERE task_id = ?2" } else { "" };
    format!("{} {condition} ORDER BY seq DESC LIMIT ?1", select_rows())
}

fn undecided_query() -> String {
    format!(
        "{} WHERE used_seq IS NULL AND denied_seq IS NULL AND revoked_seq IS NULL AND seq < ?1 ORDER BY seq DESC LIMIT ?2",
        select_rows()
    )
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<RequestRow> {
    let stage: u8 = row.get(3)?;
    Ok(RequestRow {
        request: typed_column(row, 0, "request")?,
        seq: row.get(1)?,
        task_id: typed_column(row, 2, "task_id")?,
        stage: Stage::try_from(stage).map_err(|_| Error::IntegralValueOutOfRange(3, stage.into()))?,
        requested_at: typed_column(row, 4, "requested_at")?,
        grants: row.get(5)?,
        held_seq: row.get(6)?,
        denied_seq: row.get(7)?,
        revoked_seq: row.get(8)?,
        used_seq: row.get(9)?,
        used_by: typed_or_null(row, 10, "used_by")?,
        void_seq: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{EntryKind, KindRole};

    #[test]
    fn undecided_requests_are_a_range_of_their_index() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        super::super::schema::create_schema(&connection, "").unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", undecided_query())).unwrap();
        let steps: Vec<String> = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap();
        assert!(steps[0].starts_with("SEARCH requests USING INDEX requests_undecided"), "{steps:?}");
        // The entry by which time went back is one row of another table.
        assert!(steps[1..].iter().all(|step| step.contains("SCALAR SUBQUERY") || step.contains("meta")), "{steps:?}");
    }

    /// SQLite looks at the value of a limit as soon as it is bound, and plans anew. The control is a connection as it opens one.
    #[test]
    fn a_bound_limit_is_planned_once() {
        let folder = tempfile::tempdir().unwrap();
        let ours = SqliteStore::open_file(&folder.path().join("ledger.db"), &|_| {}).unwrap().connection;
        let plain = rusqlite::Connection::open_in_memory().unwrap();
        super::super::schema::create_schema(&plain, "").unwrap();
        let count_second_plans = |connection: &rusqlite::Connection| {
            let mut statement = connection.prepare(&recent_query(true)).unwrap();
            let rows = statement.query_map(params![limit(8), "task"], from_row).unwrap();
            assert_eq!(rows.count(), 0);
            statement.get_status(rusqlite::StatementStatus::RePrepare)
        };
        assert_eq!((count_second_plans(&ours), count_second_plans(&plain)), (0, 1));
    }

    #[test]
    fn the_index_of_requests_knows_every_kind_of_entry_about_them() {
        let names: Vec<String> = EntryKind::of_role(KindRole::Request).map(|kind| format!("'{kind}'")).collect();
        assert_eq!(KINDS, names.join(", "));
    }
}
