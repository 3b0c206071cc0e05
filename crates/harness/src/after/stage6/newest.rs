//! The newest run of a rung that something can be read of, however many newer ones there are.

use ledger::{Ledger, ReadLedgerError, RunPlace, RunRow, RungRuns};

/// Rows that are read from the ledger at a time.
const PAGE: usize = 32;

/// The first row, newest first, of which something can be read.
pub(super) fn find_newest<T>(
    ledger: &Ledger,
    runs: &RungRuns<'_>,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    let mut after = None;
    loop {
        let page = ledger.rung_runs(runs, after, PAGE)?;
        if let Some(found) = page.iter().find_map(&read_row) {
            return Ok(Some(found));
        }
        match page.last() {
            Some(row) if page.len() == PAGE => after = Some(RunPlace { started_at: row.started_at, seq: row.seq }),
            _ => return Ok(None),
        }
    }
}
