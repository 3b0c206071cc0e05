//! The table of entries.

use std::collections::BTreeSet;

use contract::{Digest, RunId, Stamp};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use serde_json::Value;

use super::SqliteStore;
use super::column::{limit, typed_column};
use super::requests::KINDS as KINDS_OF_REQUESTS;
use crate::entry::{Entry, Hashed, Position, StoredEntry};
use crate::fault::StoreResult;
use crate::kind::EntryKind;

/// Columns of an entry.
pub(super) const COLUMNS: &str = "seq, time, kind, run_id, body, prev, hash";

/// Number of the entry by which time last went back; 0 if it never did.
pub(super) const TIME_BASE: &str = "coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'time_base'), 0)";

/// Numbers that no index is asked for: the times that are later are few, and the entries many.
const LATER_TIME: &str =
    "SELECT time FROM entries WHERE +seq >= ?1 AND +seq < ?2 AND time > ?3 ORDER BY time DESC LIMIT 1";

/// Kinds of the entries about keys, which are few and have an index of their own.
const KINDS_OF_KEYS: [EntryKind; 4] =
    [EntryKind::TrustChanged, EntryKind::WorkerAdmitted, EntryKind::WorkerRemoved, EntryKind::LedgerContinued];

impl SqliteStore {
    /// Last position of the chain; the genesis of an empty ledger.
    pub(crate) fn read_head(&self) -> StoreResult<Position> {
        Ok(head(&self.connection)?)
    }

    /// Position of an entry.
    pub(crate) fn read_position(&self, seq: u64) -> StoreResult<Option<Position>> {
        let mut statement = self.connection.prepare_cached("SELECT seq, hash FROM entries WHERE seq = ?1")?;
        Ok(statement.query_row([seq], position_from_row).optional()?)
    }

    /// Entries of a run, oldest first.
    pub(crate) fn run_entries(&self, run_id: &RunId) -> StoreResult<Vec<StoredEntry>> {
        self.list_entries("run_id = ?1", [run_id.as_str()])
    }

    /// First entry of a run of this kind.
    pub(crate) fn first_entry(&self, run_id: &RunId, kind: EntryKind) -> StoreResult<Option<StoredEntry>> {
        let sql = format!("SELECT {COLUMNS} FROM entries WHERE run_id = ?1 AND kind = ?2 ORDER BY seq LIMIT 1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row([run_id.as_str(), kind.name()], from_row).optional()?)
    }

    /// Entries about a request, oldest first.
    pub(crate) fn request_entries(&self, request: Digest) -> StoreResult<Vec<StoredEntry>> {
        self.list_entries(&about_request(), [request.to_string()])
    }

    /// Entries about models since a time.
    pub(crate) fn model_entries(&self, since: Stamp) -> StoreResult<Vec<StoredEntry>> {
        let mut statement = self.connection.prepare_cached(&about_models())?;
        Ok(statement.query_map([since.to_string()], from_row)?.collect::<Result<_, _>>()?)
    }

    /// Entries of these kinds since a time.
    pub(crate) fn entries_of(&self, kinds: &[EntryKind], since: Option<Stamp>) -> StoreResult<Vec<StoredEntry>> {
        self.list_entries(&of_kinds(kinds), [since.map(|since| since.to_string())])
    }

    /// Entries after a position, bounded in number.
    pub(crate) fn entries_after(&self, seq: u64, most: usize) -> StoreResult<Vec<StoredEntry>> {
        let sql = format!("SELECT {COLUMNS} FROM entries WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_map(params![seq, limit(most)], from_row)?.collect::<Result<_, _>>()?)
    }

    /// Gives an empty ledger the id of the one that is moved here.
    pub(crate) fn adopt_ledger(&self, id: &str) -> StoreResult<()> {
        self.connection.execute("UPDATE meta SET value = ?1 WHERE key = 'ledger_id'", [id])?;
        Ok(())
    }

    fn list_entries(&self, condition: &str, values: impl Params) -> StoreResult<Vec<StoredEntry>> {
        let sql = format!("SELECT {COLUMNS} FROM entries WHERE {condition} ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_map(values, from_row)?.collect::<Result<_, _>>()?)
    }

    /// Latest time of the entries since time last went back.
    pub(crate) fn latest_time(&self) -> StoreResult<Option<Stamp>> {
        let sql = format!("SELECT time FROM entries WHERE seq >= {TIME_BASE} ORDER BY time DESC LIMIT 1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row([], |row| typed_column(row, 0, "time")).optional()?)
    }

    /// The latest time of the entries between two that is later than a time.
    pub(crate) fn read_later_time(&self, from: u64, before: u64, than: Stamp) -> StoreResult<Option<Stamp>> {
        let mut statement = self.connection.prepare_cached(LATER_TIME)?;
        let later = statement.query_row(params![from, before, than.to_string()], |row| typed_column(row, 0, "time"));
        Ok(later.optional()?)
    }

    /// The entry by which time last went back; 0 if it never did.
    pub(crate) fn time_base(&self) -> StoreResult<u64> {
        let mut statement = self.connection.prepare_cached(&format!("SELECT {TIME_BASE}"))?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Sets the entry from which times are compared.
    pub(crate) fn put_time_base(&self, seq: u64) -> StoreResult<()> {
        let sql = "INSERT INTO meta VALUES ('time_base', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1";
        self.connection.execute(sql, [seq.to_string()])?;
        Ok(())
    }

    /// Runs that entries of other kinds name.
    pub(crate) fn runs_named_beside(&self, kinds: &[EntryKind]) -> StoreResult<BTreeSet<String>> {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
        let kinds = kinds.join(", ");
        let sql = format!("SELECT DISTINCT run_id FROM entries WHERE run_id IS NOT NULL AND kind NOT IN ({kinds})");
        let mut statement = self.connection.prepare(&sql)?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Copies entries of another ledger as they are, digests included.
    pub(crate) fn copy_entries(&self, entries: &[StoredEntry]) -> StoreResult<()> {
        entries.iter().try_for_each(|stored| self.insert_hashed(&stored.hashed(), &stored.entry.hash))
    }

    /// Appends an entry that the caller has chained.
    pub(crate) fn insert_entry(&self, entry: &Hashed<'_>, hash: Digest) -> StoreResult<()> {
        self.insert_hashed(entry, &hash.to_string())
    }

    fn insert_hashed(&self, entry: &Hashed<'_>, hash: &str) -> StoreResult<()> {
        let sql = format!("INSERT INTO entries ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
        let Hashed { seq, time, kind, run_id, body, prev } = entry;
        let values = params![seq, time, kind, run_id, body, prev, hash];
        self.connection.prepare_cached(&sql)?.execute(values)?;
        Ok(())
    }
}

/// Condition on entries about a request, in the words of its index.
fn about_request() -> String {
    format!(
        "kind IN ({KINDS_OF_REQUESTS}) AND CASE WHEN json_valid(body) THEN json_extract(body, '$.request') END = ?1"
    )
}

/// Condition on entries of these kinds since a time. Where an index has all of them, it is in the words of that index.
fn of_kinds(kinds: &[EntryKind]) -> String {
    let listed = |kinds: &[EntryKind]| kinds.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ");
    let about_keys = kinds.iter().all(|kind| KINDS_OF_KEYS.contains(kind));
    let indexed = if about_keys { format!("kind IN ({}) AND ", listed(&KINDS_OF_KEYS)) } else { String::new() };
    format!("{indexed}kind IN ({}) AND (?1 IS NULL OR time >= ?1)", listed(kinds))
}

/// Last position of the chain; the genesis of an empty ledger.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Position> {
    let sql = "SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1";
    let last = connection.prepare_cached(sql)?.query_row([], position_from_row).optional()?;
    Ok(last.unwrap_or(Position::GENESIS))
}

fn position_from_row(row: &Row<'_>) -> rusqlite::Result<Position> {
    Ok(Position { seq: row.get(0)?, hash: typed_column(row, 1, "hash")? })
}

/// Entry of a row, in the order of the columns.
pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        body: row.get(4)?,
        entry: Entry {
            seq: row.get(0)?,
            time: row.get(1)?,
            kind: row.get(2)?,
            run_id: row.get(3)?,
            body: Value::Null,
            prev: row.get(5)?,
            hash: row.get(6)?,
        },
    })
}

/// Entries about model use since a time. Asked for in an order that no index has, the
/// planner takes the index of these kinds instead of reading every entry.
fn about_models() -> String {
    let condition = "kind IN ('model.reserved', 'model.settled') AND time >= ?1";
    format!("SELECT {COLUMNS} FROM entries WHERE {condition} ORDER BY +seq")
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    #[test]
    fn entries_about_models_are_a_range_of_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", about_models())).unwrap();
        let plan: String = statement.raw_query().next().unwrap().unwrap().get(3).unwrap();
        assert!(plan.starts_with("SEARCH entries USING INDEX entries_of_models"), "{plan}");
    }

    /// Almost every command asks which keys count.
    #[test]
    fn entries_about_keys_are_a_range_of_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let plan_of = |kinds: &[EntryKind]| -> String {
            let sql =
                format!("EXPLAIN QUERY PLAN SELECT {COLUMNS} FROM entries WHERE {} ORDER BY seq", of_kinds(kinds));
            connection.prepare(&sql).unwrap().raw_query().next().unwrap().unwrap().get(3).unwrap()
        };
        for kinds in [&KINDS_OF_KEYS[..1], &KINDS_OF_KEYS[1..3], &KINDS_OF_KEYS] {
            let plan = plan_of(kinds);
            assert!(plan.starts_with("SEARCH entries USING INDEX entries_of_keys"), "{kinds:?}: {plan}");
        }
        let other = plan_of(&[EntryKind::RunStarted, EntryKind::TrustChanged]);
        assert!(other.starts_with("SCAN entries"), "the control: {other}");
    }

    #[test]
    fn later_times_are_a_range_of_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {LATER_TIME}")).unwrap();
        let plan: String = statement.raw_query().next().unwrap().unwrap().get(3).unwrap();
        assert!(plan.starts_with("SEARCH entries USING COVERING INDEX entries_by_time"), "{plan}");
    }

    #[test]
    fn entries_about_a_request_are_a_range_of_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create_schema(&connection, "").unwrap();
        let sql = format!("EXPLAIN QUERY PLAN SELECT {COLUMNS} FROM entries WHERE {} ORDER BY seq", about_request());
        let mut statement = connection.prepare(&sql).unwrap();
        let mut rows = statement.raw_query();
        let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
        assert!(plan.starts_with("SEARCH entries USING INDEX entries_by_request"), "{plan}");
        assert!(rows.next().unwrap().is_none(), "{plan} needs a second step");
    }
}
