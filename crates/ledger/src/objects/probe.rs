//! The probe: an object store says little of itself, so that it is tried out before evidence rests on it.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use contract::Digest;

use super::{Creation, EvidencePlace, ObjectStore, UseObjectError};
use crate::open_error::new_ledger_id;

/// Findings of a probe about a store that keeps what is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreProbe {
    /// Our credential can put other bytes in the place of an object.
    pub may_overwrite: bool,
    /// Our credential can remove an object.
    pub may_remove: bool,
}

/// Reason why a store is not used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeStoreError {
    /// The store does something else than it says.
    #[error("{store} does not keep evidence: {did}")]
    Unfit { store: String, did: String },
    #[error(transparent)]
    Use(#[from] UseObjectError),
    #[error("the probe cannot be named: {0}")]
    Random(#[source] std::io::Error),
}

impl ProbeStoreError {
    /// Remedy for the operator, as one sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unfit { .. } => "Use a store in which `If-None-Match: *` holds; docs/fleet.md names some.",
            Self::Use(error) => error.remedy(),
            Self::Random(_) => "Try again.",
        }
    }
}

/// The time that a probe holds.
const LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// More than the bytes of a probe, so that a store that gives back more is found out by them.
const LARGEST_PROBE: u64 = 4096;

impl StoreProbe {
    /// True if nobody with our credential can take back or change what was created.
    pub fn is_guarded(self) -> bool {
        !self.may_overwrite && !self.may_remove
    }
}

impl ObjectStore {
    /// Tries the store out, once a day for all clones of this value: a credential may be changed meanwhile. Leaves one small object below `probe/` where the store is guarded.
    pub fn probe(&self) -> Result<StoreProbe, ProbeStoreError> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, probe)) = probed.filter(|(at, _)| at.elapsed() < LASTS) {
            return Ok(probe);
        }
        let probe = self.try_out()?;
        *probed = Some((Instant::now(), probe));
        Ok(probe)
    }

    /// True where the store may be the witness of approvals: it is guarded, or a folder, which is as safe as the user's own home.
    pub fn can_witness(&self, probe: StoreProbe) -> bool {
        probe.is_guarded() || matches!(self.place(), EvidencePlace::Folder(_))
    }

    fn try_out(&self) -> Result<StoreProbe, ProbeStoreError> {
        let token = new_ledger_id().map_err(ProbeStoreError::Random)?;
        let name = format!("probe/{token}");
        let [first, second] = ["first", "second"].map(|word| format!("cto-probe@v1 {word} {token}\n").into_bytes());
        // A store that creates it and whose answer is lost says so when it is asked again.
        let is_ours =
            || Ok::<_, UseObjectError>(self.read_object(&name, LARGEST_PROBE)?.as_deref() == Some(&first[..]));
        if self.create_object(&name, &first)? == Creation::Exists && !is_ours()? {
            return Err(self.unfit("it says that an object exists which nobody has made"));
        }
        let again = self.create_object(&name, &second)?;
        let kept = self.read_object(&name, LARGEST_PROBE)?;
        let is = |bytes: &[u8]| kept.as_deref().map(Digest::of_bytes) == Some(Digest::of_bytes(bytes));
        match (again, &kept) {
            (Creation::Created, _) if is(&second) => {
                return Err(
                    self.unfit("it was told twice to create the same object, and overwrote the first with the second")
                );
            }
            (Creation::Created, _) => {
                return Err(self.unfit("it was told twice to create the same object, and said both times that it did"));
            }
            (Creation::Exists, None) => return Err(self.unfit("it does not give back an object that it created")),
            (Creation::Exists, Some(_)) if !is(&first) => {
                return Err(self.unfit("it gives back other bytes than it was given"));
            }
            (Creation::Exists, Some(_)) => {}
        }
        // A store that says that it did it may do it, whatever a read that is behind still gives.
        let overwritten = self.try_overwrite(&name, &second)?;
        let may_overwrite = overwritten || self.read_object(&name, LARGEST_PROBE)?.as_deref() != Some(first.as_slice());
        let removed = self.try_remove(&name)?;
        let may_remove = removed || self.read_object(&name, LARGEST_PROBE)?.is_none();
        Ok(StoreProbe { may_overwrite, may_remove })
    }

    fn unfit(&self, did: &str) -> ProbeStoreError {
        ProbeStoreError::Unfit { store: self.place().to_string(), did: did.to_owned() }
    }
}
