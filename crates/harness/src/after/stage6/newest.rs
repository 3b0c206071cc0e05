//! The newest run that something can be read of, however many newer ones there are.

use ledger::{Ledger, ReadLedgerError, RunFilter, RunPlace, RunRow, RungRuns};

/// Rows that are read from the ledger at a time.
const PAGE: usize = 32;

/// First readable row of a rung, newest first.
pub(super) fn find_newest<T>(
    ledger: &Ledger,
    runs: &RungRuns<'_>,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    walk_pages(|after| ledger.rung_runs(runs, after, PAGE), read_row)
}

/// First readable row that passes a filter, newest first.
pub(super) fn find_newest_of<T>(
    ledger: &Ledger,
    filter: &RunFilter,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    walk_pages(|after| ledger.runs_recent(&RunFilter { after, ..filter.clone() }, PAGE), read_row)
}

fn walk_pages<T>(
    read_page: impl Fn(Option<RunPlace>) -> Result<Vec<RunRow>, ReadLedgerError>,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    let mut after = None;
    loop {
        let page = read_page(after)?;
        if let Some(found) = page.iter().find_map(&read_row) {
            return Ok(Some(found));
        }
        match page.last() {
            Some(row) if page.len() == PAGE => after = Some(RunPlace { started_at: row.started_at, seq: row.seq }),
            _ => return Ok(None),
        }
    }
}
