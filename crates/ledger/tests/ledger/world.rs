//! A temporary ledger in a file.

use std::path::PathBuf;

use ledger::{Ledger, LedgerPlace};

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
}

impl World {
    /// A body that is no text, as a file can hold it.
    pub(crate) const UNREADABLE_BODY: Option<&'static str> = Some("body = CAST(x'ff' AS TEXT)");
    pub(crate) const REPLACE_ENTRIES: &'static str = "INSERT OR REPLACE INTO entries SELECT * FROM entries";

    /// Random histories of the queue that are played.
    pub(crate) const HISTORIES: u64 = 12;

    pub(crate) fn new() -> World {
        World { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(crate) fn place(&self) -> LedgerPlace {
        LedgerPlace::File(self.path())
    }

    pub(crate) fn open(&self) -> Ledger {
        Ledger::open_file(&self.path()).unwrap()
    }

    pub(crate) fn open_read_only(&self) -> Ledger {
        Ledger::open_existing_read_only(&self.path()).unwrap()
    }

    /// A connection that knows nothing of our rules, as somebody who edits the file would have.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// A file has no clock: the time comes with each question.
    pub(crate) fn set_clock(&self, _now: contract::Stamp) {}

    pub(crate) fn edit(&self, sql: &str) {
        self.try_edit(sql).unwrap();
    }

    pub(crate) fn try_edit(&self, sql: &str) -> Result<(), String> {
        let raw = self.raw();
        raw.pragma_update(None, "recursive_triggers", true).unwrap();
        raw.execute_batch(sql).map_err(|error| error.to_string())
    }

    /// Takes away what keeps entries from being changed.
    pub(crate) fn disarm(&self) {
        self.edit("DROP TRIGGER entries_are_never_changed; DROP TRIGGER entries_are_never_deleted;");
    }
}

pub(crate) fn open_at(place: &LedgerPlace) -> Ledger {
    Ledger::open_place(place, &|_| {}).unwrap()
}
