//! Telling a replay what stands in the file.

use rusqlite::{Transaction, TransactionBehavior};

use super::{SqliteStore, entries, runs};
use crate::fault::StoreResult;
use crate::replay::Replay;

/// Upper bound on the faults of a damaged file that SQLite reports.
const MOST_TOLD: u32 = 20;

/// The column of `suffix` in a row of `runs`, which is no part of [`crate::RunRow`].
const SUFFIX: usize = 2;

impl SqliteStore {
    /// Passes every entry and row to the replay, in one read transaction.
    pub(crate) fn tell_replay(&self, replay: &mut Replay) -> StoreResult<()> {
        let _snapshot = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        self.tell_entries(replay)?;
        self.tell_runs(replay)?;
        if let Some(rows) = self.all_requests()? {
            replay.compare_requests(&rows);
        }
        replay.compare_time_base(self.time_base()?);
        self.tell_damage(replay)
    }

    /// Tells every entry, in order.
    pub(crate) fn tell_entries(&self, replay: &mut Replay) -> StoreResult<()> {
        let sql = format!("SELECT {} FROM entries ORDER BY seq", entries::COLUMNS);
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match entries::from_row(row) {
                Ok(stored) => replay.take_entry(stored),
                Err(error) => replay.skip_entry(row.get(0)?, &error),
            }
        }
        Ok(())
    }

    fn tell_runs(&self, replay: &mut Replay) -> StoreResult<()> {
        replay.compare_total(self.count_runs()?);
        let sql = format!("SELECT {} FROM runs ORDER BY seq", self.columns());
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            let suffix: Option<String> = row.get(SUFFIX).ok();
            match runs::from_row(row) {
                Ok(run) => replay.compare_run(&run, suffix.as_deref()),
                Err(error) => replay.problem(seq, format!("the row in runs cannot be read: {error}")),
            }
        }
        replay.miss_runs();
        Ok(())
    }

    /// Reports damage of the file. Entries and rows were read in order; SQLite itself
    /// checks the indexes.
    fn tell_damage(&self, replay: &mut Replay) -> StoreResult<()> {
        let mut statement = self.connection.prepare(&format!("PRAGMA integrity_check({MOST_TOLD})"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let said: String = row.get(0)?;
            if said != "ok" {
                replay.note_damage(&said);
            }
        }
        Ok(())
    }
}
