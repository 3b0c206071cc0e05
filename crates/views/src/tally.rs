//! Sealed runs by day and engine: counted once, and afterwards only those sealed since.

use std::collections::BTreeMap;

use contract::Digest;
use ledger::{Ledger, Position, ReadLedgerError, RunRow, RunStatus};

use crate::Views;
use crate::last_run::may_be_document;

/// Verdicts of one day and engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictCount {
    pub pass: u64,
    pub fail: u64,
    pub blocked: u64,
}

/// Counts of a ledger up to one of its entries. A ledger that does not go on from there is
/// counted anew.
#[derive(Debug, Default)]
pub struct RunTally {
    ledger_id: String,
    place: Option<(u64, Digest)>,
    counts: BTreeMap<(String, String), VerdictCount>,
}

impl RunTally {
    /// Counts by day (`yyyy-mm-dd`, UTC, of the start) and engine, in order.
    pub fn counts(&self) -> impl Iterator<Item = (&str, &str, VerdictCount)> {
        self.counts.iter().map(|((day, engine), count)| (day.as_str(), engine.as_str(), *count))
    }

    fn count(&mut self, row: &RunRow) {
        let day: String = row.started_at.to_string().chars().take(10).collect();
        let of = self.counts.entry((day, row.engine.clone())).or_default();
        match row.status {
            RunStatus::Pass => of.pass += 1,
            RunStatus::Fail => of.fail += 1,
            RunStatus::Blocked => of.blocked += 1,
            RunStatus::Running => {}
        }
    }

    /// True if the ledger still has the entry up to which was counted.
    fn goes_on(&self, ledger: &Ledger) -> Result<bool, ReadLedgerError> {
        let Some((seq, hash)) = self.place else { return Ok(false) };
        Ok(self.ledger_id == ledger.ledger_id() && ledger.hash_at(seq)? == Some(hash))
    }
}

impl Views {
    /// Brings a tally up to the ledger's last entry. Documents about other bundles are no runs.
    pub fn count_sealed(&self, tally: &mut RunTally) -> Result<(), ReadLedgerError> {
        let Some(ledger) = self.ledger() else {
            *tally = RunTally::default();
            return Ok(());
        };
        let Position { seq, hash } = ledger.head()?;
        let rows = if tally.goes_on(ledger)? {
            let (after, _) = tally.place.unwrap_or((0, hash));
            if after == seq {
                return Ok(());
            }
            ledger.runs_sealed_between(after, seq)?
        } else {
            *tally = RunTally { ledger_id: ledger.ledger_id().to_owned(), ..RunTally::default() };
            let mut all = Vec::new();
            ledger.runs_each(|row| all.push(row))?;
            all
        };
        // Rows may be newer than the head that was read.
        for row in rows.iter().filter(|row| row.sealed_seq.is_some_and(|sealed| sealed <= seq)) {
            if !may_be_document(row) || self.kind_of(row)?.is_none() {
                tally.count(row);
            }
        }
        tally.place = Some((seq, hash));
        Ok(())
    }
}
