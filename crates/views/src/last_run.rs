//! The run that `@` means: the last one that a person asked for.

use std::collections::BTreeSet;

use contract::start_detail::DocumentDetail;
use contract::{CollectionKind, Purpose};
use ledger::{EntryKind, Ledger, ReadLedgerError, RunFilter, RunPlace, RunRow};
use serde::Deserialize as _;

/// Beginnings of the names that documents about other bundles have.
const DOCUMENT_NAMES: &[&str] = &["run-all-", "race-", "repeat-", "stage6-"];

/// Runs that are read at once.
const PAGE: usize = 64;

/// The run `steps` before the last one that a person asked for. Yardsticks, documents about
/// other bundles and lanes of a race are passed over: they are reached by their own ids. A
/// document is newer than its lanes, so that it names them before they are met.
pub(crate) fn find_last(ledger: &Ledger, steps: u32) -> Result<Option<RunRow>, ReadLedgerError> {
    let (mut left, mut lanes, mut after) = (steps, BTreeSet::new(), None);
    loop {
        let rows = ledger.runs_recent(&RunFilter { after, ..RunFilter::default() }, PAGE)?;
        let Some(last) = rows.last() else { return Ok(None) };
        after = Some(place_of(last));
        for row in rows {
            if may_be_document(&row)
                && let Some(cited) = lanes_of(ledger, &row)?
            {
                lanes.extend(cited);
            } else if row.purpose == Purpose::Governed && !lanes.contains(row.run_id.as_str()) {
                match left {
                    0 => return Ok(Some(row)),
                    more => left = more - 1,
                }
            }
        }
    }
}

/// True for a run with a name that documents about other bundles have.
pub(crate) fn may_be_document(row: &RunRow) -> bool {
    DOCUMENT_NAMES.iter().any(|start| row.task_id.as_str().starts_with(start))
}

/// Position of a run in the order of pages.
pub(crate) fn place_of(row: &RunRow) -> RunPlace {
    RunPlace { started_at: row.started_at, seq: row.seq }
}

/// Ids of the lanes that a document names; none where it is no document, and an empty list
/// for one whose bundles are no lanes.
fn lanes_of(ledger: &Ledger, row: &RunRow) -> Result<Option<Vec<String>>, ReadLedgerError> {
    let entries = ledger.run_entries(&row.run_id)?;
    let Some(started) = entries.iter().find(|entry| entry.is_kind(EntryKind::RunStarted)) else { return Ok(None) };
    let Ok(detail) = DocumentDetail::deserialize(&started.body["detail"]) else { return Ok(None) };
    if !matches!(detail.kind, CollectionKind::Race | CollectionKind::Repeat | CollectionKind::Matrix) {
        return Ok(Some(Vec::new()));
    }
    Ok(Some(detail.bundles.iter().map(|bundle| bundle.run_id.to_string()).collect()))
}

/// `@` and `@-N`, as a number of steps back.
pub(crate) fn steps_back(reference: &str) -> Option<u32> {
    match reference.strip_prefix('@')? {
        "" => Some(0),
        rest => {
            let digits = rest.strip_prefix('-')?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| digits.parse().ok()).flatten()
        }
    }
}
