//! The table of requests for approval.

use contract::{Digest, Stage, TaskId};
use postgres::Row;
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::{as_written, limit, number_column, number_or_null, typed_column, typed_or_null, unreadable_column};
use crate::fault::StoreResult;
use crate::request_row::RequestRow;

const FIND: &str = "SELECT * FROM cto.find_requests($1::TEXT::JSONB)";

impl PostgresStore {
    /// Row of a request.
    pub(crate) fn read_request(&self, request: Digest) -> StoreResult<Option<RequestRow>> {
        Ok(self.find_requests(&json!({"request": request}))?.pop())
    }

    /// Requests, newest first, of one task or of all.
    pub(crate) fn recent_requests(&self, task_id: Option<&TaskId>, most: usize) -> StoreResult<Vec<RequestRow>> {
        let mut asked = json!({"limit": limit(most)});
        if let Some(task_id) = task_id {
            asked["task_id"] = json!(task_id);
        }
        self.find_requests(&asked)
    }

    /// Undecided requests, newest first.
    pub(crate) fn undecided_requests(&self, before: Option<u64>, most: usize) -> StoreResult<Vec<RequestRow>> {
        let mut asked = json!({"undecided": true, "limit": limit(most)});
        // A database has no larger number, and no ledger so many entries.
        if let Some(before) = before.and_then(|before| i64::try_from(before).ok()) {
            asked["before_seq"] = json!(before);
        }
        self.find_requests(&asked)
    }

    /// Number of requests.
    pub(crate) fn count_requests(&self) -> StoreResult<u64> {
        self.count_rows("requests")
    }

    /// Every row, for the check of the whole ledger.
    pub(super) fn all_requests(&self) -> StoreResult<Vec<RequestRow>> {
        self.find_requests(&json!({"order": "oldest"}))
    }

    fn find_requests(&self, asked: &Value) -> StoreResult<Vec<RequestRow>> {
        self.ask(FIND, &[&asked.to_string()])?.iter().map(from_row).collect()
    }

    /// The database has made the row with the entry; this compares it.
    pub(crate) fn put_request(&self, row: &RequestRow) -> StoreResult<()> {
        let requested_at = as_written(row.requested_at);
        let same = self.read_request(row.request)? == Some(RequestRow { requested_at, ..row.clone() });
        if same { Ok(()) } else { Err(unreadable_column("the row of the request")) }
    }
}

fn from_row(row: &Row) -> StoreResult<RequestRow> {
    let stage: i16 = row.try_get(3)?;
    let stage = u8::try_from(stage).ok().and_then(|stage| Stage::try_from(stage).ok());
    Ok(RequestRow {
        request: typed_column(row, 0, "request")?,
        seq: number_column(row, 1, "seq")?,
        task_id: typed_column(row, 2, "task_id")?,
        stage: stage.ok_or_else(|| unreadable_column("stage"))?,
        requested_at: typed_column(row, 4, "requested_at")?,
        grants: number_column(row, 5, "grants")?,
        held_seq: number_or_null(row, 6, "held_seq")?,
        denied_seq: number_or_null(row, 7, "denied_seq")?,
        revoked_seq: number_or_null(row, 8, "revoked_seq")?,
        used_seq: number_or_null(row, 9, "used_seq")?,
        used_by: typed_or_null(row, 10, "used_by")?,
        void_seq: number_or_null(row, 11, "void_seq")?,
    })
}
