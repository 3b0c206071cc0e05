//! The newest run that something can be read of, however many newer ones there are.

use ledger::{Ledger, ReadLedgerError, RunFilter, RunPlace, RunRow, RungRuns};

/// Rows that are read from the ledger at a time.
const PAGE: usize = 32;

/// First readable row of a rung, newest first in the order of the ledger.
pub(super) fn find_newest<T>(
    ledger: &Ledger,
    runs: &RungRuns<'_>,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    walk_pages(|last| ledger.rung_runs(runs, last.map(|row| row.seq), PAGE), read_row)
}

/// First readable row that passes a filter, newest first.
pub(super) fn find_newest_of<T>(
    ledger: &Ledger,
    filter: &RunFilter,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    let place = |row: &RunRow| RunPlace { started_at: row.started_at, seq: row.seq };
    walk_pages(|last| ledger.runs_recent(&RunFilter { after: last.map(place), ..filter.clone() }, PAGE), read_row)
}

fn walk_pages<T>(
    read_page: impl Fn(Option<&RunRow>) -> Result<Vec<RunRow>, ReadLedgerError>,
    read_row: impl Fn(&RunRow) -> Option<T>,
) -> Result<Option<T>, ReadLedgerError> {
    let mut last: Option<RunRow> = None;
    loop {
        let page = read_page(last.as_ref())?;
        if let Some(found) = page.iter().find_map(&read_row) {
            return Ok(Some(found));
        }
        if page.len() < PAGE {
            return Ok(None);
        }
        last = page.into_iter().next_back();
    }
}
