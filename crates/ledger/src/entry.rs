//! One entry of the chain: what its digest covers, and reading entries back.

use contract::{Digest, RunId};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Serialize;
use serde_json::Value;

use crate::Ledger;
use crate::kind::EntryKind;
use crate::runs::{ReadLedgerError, typed};

/// A place in the chain. Recorded elsewhere (in a signed statement), it pins every entry up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    pub seq: u64,
    pub hash: Digest,
}

impl Position {
    /// The place before the first entry; its hash is what that carries as the one before it.
    pub const GENESIS: Self = Self { seq: 0, hash: Digest::ZERO };
}

/// One entry as it is stored. Its texts are not read further: a newer program, or somebody with an editor, may have written them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    pub seq: u64,
    pub time: String,
    pub kind: String,
    pub run_id: Option<String>,
    pub body: Value,
    pub prev: String,
    pub hash: String,
}

impl Entry {
    pub fn is(&self, kind: EntryKind) -> bool {
        self.kind == kind.name()
    }
}

/// The members that an entry's hash is taken over.
pub(crate) struct Hashed<'a> {
    pub(crate) seq: u64,
    pub(crate) time: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) run_id: Option<&'a str>,
    /// Canonical JSON.
    pub(crate) body: &'a str,
    pub(crate) prev: &'a str,
}

impl Hashed<'_> {
    pub(crate) fn hash(&self) -> serde_json::Result<Digest> {
        Ok(Digest::of(self.canonical()?.as_bytes()))
    }

    /// The members in canonical order around a body that is canonical already: sorting it again would double the cost of
    /// checking a ledger.
    fn canonical(&self) -> serde_json::Result<String> {
        let Self { seq, body, .. } = self;
        let kind = serde_json::to_string(self.kind)?;
        let prev = serde_json::to_string(self.prev)?;
        let run_id = serde_json::to_string(&self.run_id)?;
        let time = serde_json::to_string(self.time)?;
        Ok(format!(r#"{{"body":{body},"kind":{kind},"prev":{prev},"run_id":{run_id},"seq":{seq},"time":{time}}}"#))
    }
}

/// An entry whose body has not been parsed: the stored bytes are what `verify` compares.
pub(crate) struct StoredEntry {
    pub(crate) entry: Entry,
    pub(crate) body: String,
}

pub(crate) const COLUMNS: &str = "seq, time, kind, run_id, body, prev, hash";

pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
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

impl StoredEntry {
    pub(crate) fn hashed(&self) -> Hashed<'_> {
        let Entry { seq, time, kind, run_id, prev, .. } = &self.entry;
        Hashed { seq: *seq, time, kind, run_id: run_id.as_deref(), body: &self.body, prev }
    }

    pub(crate) fn parse(mut self) -> serde_json::Result<Entry> {
        self.entry.body = serde_json::from_str(&self.body)?;
        Ok(self.entry)
    }
}

pub(crate) fn head(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement = connection.prepare_cached("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => position_from_row(row),
        None => Ok(Position::GENESIS),
    }
}

pub(crate) fn position_from_row(row: &Row<'_>) -> rusqlite::Result<Position> {
    Ok(Position { seq: row.get(0)?, hash: typed(row, 1, "hash")? })
}

impl Ledger {
    /// The last entry's place; [`Position::GENESIS`] when there is none.
    pub fn head(&self) -> Result<Position, ReadLedgerError> {
        Ok(head(&self.connection)?)
    }

    /// The hash of the entry at this place, to be held against one recorded elsewhere; that of genesis before the first.
    pub fn hash_at(&self, seq: u64) -> Result<Option<Digest>, ReadLedgerError> {
        if seq == 0 {
            return Ok(Some(Position::GENESIS.hash));
        }
        let mut statement = self.connection.prepare_cached("SELECT seq, hash FROM entries WHERE seq = ?1")?;
        Ok(statement.query_row([seq], position_from_row).optional()?.map(|position| position.hash))
    }

    /// Every entry that names this run, in order.
    pub fn run_entries(&self, run_id: &RunId) -> Result<Vec<Entry>, ReadLedgerError> {
        let sql = format!("SELECT {COLUMNS} FROM entries WHERE run_id = ?1 ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([run_id.as_str()])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let stored = from_row(row)?;
            let seq = stored.entry.seq;
            entries.push(stored.parse().map_err(|_| ReadLedgerError::Entry { seq })?);
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_hashed_is_canonical_whatever_the_strings_hold() {
        for odd in ["plain", "", "a\"b\\c/d", "\u{0}\u{1f}\u{7f}\u{8}\u{c}\n\r\t", "é \u{2028} \u{1F600} </script>"] {
            let body = json!({"z": odd, "a": [1.5, 1e21, {"y": null, "b": odd}]});
            let whole = json!({"seq": 7, "time": odd, "kind": odd, "run_id": odd, "body": body, "prev": odd});
            let body = serde_json_canonicalizer::to_string(&body).unwrap();
            let hashed = Hashed { seq: 7, time: odd, kind: odd, run_id: Some(odd), body: &body, prev: odd };
            assert_eq!(hashed.canonical().unwrap(), serde_json_canonicalizer::to_string(&whole).unwrap());
        }
    }
}
