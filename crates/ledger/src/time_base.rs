//! The time that a ledger has reached: the latest of its entries, counted from the last
//! entry that says that time went back.
//!
//! A clock that was ahead once leaves an entry of a time to come, by which every later
//! approval is over before it begins. The way on is an entry of its own. From it on the
//! ledger's time is counted anew, and every request from before it is void for good: what
//! was used, has expired, was denied or was revoked stays so, and what was open needs a new
//! request.

use contract::Stamp;
use serde_json::{Value, json};

use crate::entry::Position;
use crate::kind::EntryKind;
use crate::read::{ReadLedgerError, parse_entries};
use crate::replay::{WENT_BACK, sets_time_back};
use crate::store::{Ledger, LedgerChange};
use crate::write::AppendEntryError;

impl Ledger {
    /// The latest time of the entries since time last went back; `None` before the first entry.
    pub fn latest_time(&self) -> Result<Option<Stamp>, ReadLedgerError> {
        Ok(self.store.latest_time()?)
    }

    /// Time of an entry for judgements: the latest that the ledger had reached with
    /// it. An entry that is dated back was written no earlier than the entries before it.
    pub fn entry_dated(&self, seq: u64, own: Stamp) -> Result<Stamp, ReadLedgerError> {
        let base = self.time_base_of(seq)?;
        Ok(self.store.read_later_time(base, seq, own)?.unwrap_or(own))
    }

    /// Number of the entry from which times are counted at an entry.
    fn time_base_of(&self, seq: u64) -> Result<u64, ReadLedgerError> {
        let base = self.store.time_base()?;
        if base <= seq {
            return Ok(base);
        }
        let continued = parse_entries(self.store.entries_of(&[EntryKind::LedgerContinued], None)?)?;
        let set_back = continued.iter().filter(|entry| sets_time_back(EntryKind::LedgerContinued, &entry.body));
        Ok(set_back.map(|entry| entry.seq).filter(|base| *base <= seq).max().unwrap_or(0))
    }

    /// Records that time went back to `now`. Refused where no entry is dated later: the act
    /// voids every open request.
    pub fn set_time_back(&self, now: Stamp, detail: &Value) -> Result<Position, AppendEntryError> {
        self.store.change_once(|change| {
            let latest = change.store.latest_time()?;
            let Some(latest) = latest.filter(|latest| *latest > now) else {
                return Err(AppendEntryError::TimeNotAhead { latest, now });
            };
            let body = json!({"detail": detail, WENT_BACK: {"from": latest, "to": now}});
            let position = change.push_entry(EntryKind::LedgerContinued, None, now, &body)?;
            change.put_time_base(position.seq)?;
            Ok(position)
        })
    }
}

impl LedgerChange<'_> {
    /// Time for an entry by which people's keys are judged: no earlier than the ledger's own.
    pub(crate) fn date_entry(&self, time: Stamp) -> Result<Stamp, AppendEntryError> {
        Ok(self.store.latest_time()?.map_or(time, |latest| latest.max(time)))
    }
}
