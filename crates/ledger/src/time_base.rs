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
use crate::read::ReadLedgerError;
use crate::replay::WENT_BACK;
use crate::store::Ledger;
use crate::write::AppendEntryError;

impl Ledger {
    /// The latest time of the entries since time last went back; `None` before the first entry.
    pub fn latest_time(&self) -> Result<Option<Stamp>, ReadLedgerError> {
        Ok(self.store.latest_time()?)
    }

    /// Records that time went back to `now`. Refused where no entry is dated later: the act
    /// voids every open request.
    pub fn set_time_back(&self, now: Stamp, detail: &Value) -> Result<Position, AppendEntryError> {
        self.store.change(|change| {
            let latest = change.store.latest_time()?;
            let Some(latest) = latest.filter(|latest| *latest > now) else {
                return Err(AppendEntryError::TimeNotAhead { latest, now });
            };
            let body = json!({"detail": detail, WENT_BACK: {"from": latest, "to": now}});
            let position = change.push(EntryKind::LedgerContinued, None, now, &body)?;
            change.put_time_base(position.seq)?;
            Ok(position)
        })
    }
}
