//! The table of entries.

use std::collections::BTreeSet;
use std::time::Duration;

use contract::{Digest, RunId, Stamp};
use postgres::Row;
use serde_json::{Value, json};

use super::PostgresStore;
use super::column::{limit, number_column, signed_number, typed_column, typed_or_null, unreadable_column};
use crate::entry::{Entry, Hashed, Position, StoredEntry};
use crate::fault::StoreResult;
use crate::kind::EntryKind;

const FIND: &str = "SELECT seq, time, kind, run_id, body, prev, hash FROM cto.find_entries($1::TEXT::JSONB)";

impl PostgresStore {
    /// Last position of the chain; the genesis of an empty ledger.
    pub(crate) fn read_head(&self) -> StoreResult<Position> {
        let rows = self.ask("SELECT seq, hash FROM cto.read_head()", &[])?;
        let read = |row: &Row| Ok(Position { seq: number_column(row, 0, "seq")?, hash: typed_column(row, 1, "hash")? });
        rows.first().map_or(Ok(Position::GENESIS), read)
    }

    /// Timeline of the server, which changes when a standby is promoted or an archive is recovered.
    pub(crate) fn read_timeline(&self) -> StoreResult<String> {
        let timeline: String = self.ask_value("SELECT cto.read_timeline()", &[])?;
        *self.timeline.borrow_mut() = Some(timeline.clone());
        Ok(timeline)
    }

    /// True if the server writes on the timeline that was read last, or nobody has read one.
    pub(crate) fn keeps_timeline(&self) -> StoreResult<bool> {
        let now: String = self.ask_value("SELECT cto.read_timeline()", &[])?;
        Ok(self.timeline.borrow().as_ref().is_none_or(|read| *read == now))
    }

    /// The object store that the ledger names for witnesses.
    pub(crate) fn bind_evidence(&self, place: &str, anew: bool) -> StoreResult<String> {
        self.ask_value("SELECT cto.bind_evidence($1, $2)", &[&place, &anew])
    }

    /// Position of an entry.
    pub(crate) fn read_position(&self, seq: u64) -> StoreResult<Option<Position>> {
        let found = self.find_entries(&json!({"seq": signed_number(seq)?}))?;
        let position = |stored: &StoredEntry| {
            let hash = stored.entry.hash.parse().map_err(|_| unreadable_column("hash"))?;
            Ok(Position { seq: stored.entry.seq, hash })
        };
        found.first().map(position).transpose()
    }

    /// Entries of a run, oldest first.
    pub(crate) fn run_entries(&self, run_id: &RunId) -> StoreResult<Vec<StoredEntry>> {
        self.find_entries(&json!({"run_id": run_id}))
    }

    /// First entry of a run of this kind.
    pub(crate) fn first_entry(&self, run_id: &RunId, kind: EntryKind) -> StoreResult<Option<StoredEntry>> {
        Ok(self.find_entries(&json!({"run_id": run_id, "kind": kind.name(), "limit": 1}))?.pop())
    }

    /// Entries about a request, oldest first.
    pub(crate) fn request_entries(&self, request: Digest) -> StoreResult<Vec<StoredEntry>> {
        self.find_entries(&json!({"request": request}))
    }

    /// Entries about models since a time.
    pub(crate) fn model_entries(&self, since: Stamp) -> StoreResult<Vec<StoredEntry>> {
        self.find_entries(&json!({"models": true, "since": since}))
    }

    /// Entries of these kinds since a time.
    pub(crate) fn entries_of(&self, kinds: &[EntryKind], since: Option<Stamp>) -> StoreResult<Vec<StoredEntry>> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let mut asked = json!({"kinds": kinds});
        if let Some(since) = since {
            asked["since"] = json!(since);
        }
        self.find_entries(&asked)
    }

    /// Entries after a position, bounded in number.
    pub(crate) fn entries_after(&self, seq: u64, most: usize) -> StoreResult<Vec<StoredEntry>> {
        self.find_entries(&json!({"after_seq": signed_number(seq)?, "limit": limit(most)}))
    }

    /// Gives an empty ledger the id of the one that is moved here.
    pub(crate) fn adopt_ledger(&self, id: &str) -> StoreResult<()> {
        self.ask("SELECT cto.adopt_ledger($1)", &[&id])?;
        Ok(())
    }

    /// Copies entries of another ledger as they are, digests included.
    pub(crate) fn copy_entries(&self, entries: &[StoredEntry]) -> StoreResult<()> {
        let seqs: Vec<i64> = entries.iter().map(|stored| signed_number(stored.entry.seq)).collect::<Result<_, _>>()?;
        let texts = |of: fn(&StoredEntry) -> &str| entries.iter().map(of).collect::<Vec<&str>>();
        let runs: Vec<Option<&str>> = entries.iter().map(|stored| stored.entry.run_id.as_deref()).collect();
        let (times, kinds) = (texts(|stored| &stored.entry.time), texts(|stored| &stored.entry.kind));
        let (prevs, hashes) = (texts(|stored| &stored.entry.prev), texts(|stored| &stored.entry.hash));
        let bodies = texts(|stored| &stored.body);
        let sql = "SELECT cto.copy_entries($1, $2, $3, $4, $5, $6, $7)";
        self.ask(sql, &[&seqs, &times, &kinds, &runs, &bodies, &prevs, &hashes])?;
        Ok(())
    }

    /// Entries that fit a question of the schema's function.
    pub(super) fn find_entries(&self, asked: &Value) -> StoreResult<Vec<StoredEntry>> {
        self.ask(FIND, &[&asked.to_string()])?.iter().map(from_row).collect()
    }

    /// Latest time of the entries since time last went back.
    pub(crate) fn latest_time(&self) -> StoreResult<Option<Stamp>> {
        let rows = self.ask("SELECT cto.read_latest_time()", &[])?;
        Ok(rows.first().map(|row| typed_or_null(row, 0, "time")).transpose()?.flatten())
    }

    /// The latest time of the entries between two that is later than a time. The first entry
    /// of such a time says at once that there is none, which is the case of every honest one.
    pub(crate) fn read_later_time(&self, from: u64, before: u64, than: Stamp) -> StoreResult<Option<Stamp>> {
        let asked = json!({"after_seq": signed_number(from)? - 1, "since": than.after(Duration::from_micros(1))});
        let mut first = asked.clone();
        first["limit"] = json!(1);
        let is_between = |stored: &StoredEntry| stored.entry.seq < before;
        if !self.find_entries(&first)?.first().is_some_and(is_between) {
            return Ok(None);
        }
        let later = self.find_entries(&asked)?;
        let times = later.iter().take_while(|stored| is_between(stored)).map(|stored| stored.entry.time.parse());
        Ok(times.collect::<Result<Vec<Stamp>, _>>().map_err(|_| unreadable_column("time"))?.into_iter().max())
    }

    /// The entry by which time last went back; 0 if it never did.
    pub(crate) fn time_base(&self) -> StoreResult<u64> {
        let rows = self.ask("SELECT cto.read_time_base()", &[])?;
        rows.first().map_or(Ok(0), |row| number_column(row, 0, "time_base"))
    }

    /// The database has noted it with the entry.
    pub(crate) fn put_time_base(&self, seq: u64) -> StoreResult<()> {
        if self.time_base()? == seq { Ok(()) } else { Err(unreadable_column("time_base")) }
    }

    /// Runs that entries of other kinds name.
    pub(crate) fn runs_named_beside(&self, kinds: &[EntryKind]) -> StoreResult<BTreeSet<String>> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let rows = self.ask("SELECT cto.runs_named_beside($1)", &[&kinds])?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Appends an entry. The database checks the chain again.
    pub(crate) fn insert_entry(&self, entry: &Hashed<'_>, hash: Digest) -> StoreResult<()> {
        let Hashed { seq, time, kind, run_id, body, prev } = entry;
        let (seq, hash) = (signed_number(*seq)?, hash.to_string());
        let sql = "SELECT cto.insert_entry($1, $2, $3, $4, $5, $6, $7)";
        self.ask(sql, &[&seq, time, kind, run_id, body, prev, &hash])?;
        Ok(())
    }
}

fn from_row(row: &Row) -> StoreResult<StoredEntry> {
    Ok(StoredEntry {
        body: row.try_get(4)?,
        entry: Entry {
            seq: number_column(row, 0, "seq")?,
            time: row.try_get(1)?,
            kind: row.try_get(2)?,
            run_id: row.try_get(3)?,
            body: Value::Null,
            prev: row.try_get(5)?,
            hash: row.try_get(6)?,
        },
    })
}
