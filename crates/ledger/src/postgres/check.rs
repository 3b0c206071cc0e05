//! Telling a replay what stands in the database.

use postgres::Row;
use serde_json::json;

use super::{PostgresStore, runs};
use crate::fault::{FaultKind, StoreFault, StoreResult};
use crate::replay::Replay;

/// Rows that are fetched at a time.
const PAGE: u32 = 2000;

/// The column of `suffix` in a row of `runs`, which is no part of [`crate::RunRow`].
const SUFFIX: usize = 2;

impl PostgresStore {
    /// All of it as of one moment.
    pub(crate) fn tell_replay(&self, replay: &mut Replay) -> StoreResult<()> {
        self.with_link(|link| link.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"))?;
        self.changing.set(true);
        let told = self.tell_all(replay);
        self.changing.set(false);
        let ended = self.link.borrow_mut().run("ROLLBACK");
        told?;
        ended
    }

    fn tell_all(&self, replay: &mut Replay) -> StoreResult<()> {
        if self.ask_value("SELECT cto.is_worker()", &[])? {
            let cause =
                "a worker's role does not read the contracts of other runs; check the chain as an operator".into();
            return Err(StoreFault { kind: FaultKind::ReadOnly, cause });
        }
        self.tell_entries(replay)?;
        self.tell_runs(replay)?;
        replay.compare_requests(&self.all_requests()?);
        replay.compare_time_base(self.time_base()?);
        Ok(())
    }

    /// Tells every entry, in order.
    pub(crate) fn tell_entries(&self, replay: &mut Replay) -> StoreResult<()> {
        let mut last = 0;
        loop {
            let page = self.find_entries(&json!({"after_seq": last, "limit": PAGE}))?;
            let Some(end) = page.last() else { return Ok(()) };
            last = end.entry.seq;
            page.into_iter().for_each(|stored| replay.take_entry(stored));
        }
    }

    fn tell_runs(&self, replay: &mut Replay) -> StoreResult<()> {
        replay.compare_total(self.count_runs()?);
        let mut last = 0_i64;
        loop {
            let page = self.find_rows(&json!({"seq_after": last, "order": "seq", "limit": PAGE}))?;
            let Some(end) = page.last() else { break };
            last = end.try_get(0)?;
            page.iter().try_for_each(|row| tell_run(replay, row))?;
        }
        replay.miss_runs();
        Ok(())
    }
}

fn tell_run(replay: &mut Replay, row: &Row) -> StoreResult<()> {
    let seq: i64 = row.try_get(0)?;
    let suffix: Option<String> = row.try_get(SUFFIX)?;
    match runs::from_row(row) {
        Ok(run) => replay.compare_run(&run, suffix.as_deref()),
        Err(fault) => {
            replay.problem(seq.unsigned_abs(), format!("the row in runs cannot be read: {}", fault.cause));
        }
    }
    Ok(())
}
