//! The probe: an object store says little of itself, so that it is tried out before evidence rests on it.

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

/// Why a store is not used.
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
    /// What a person can do about it, as one sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unfit { .. } => "Use a store in which `If-None-Match: *` holds; docs/fleet.md names some.",
            Self::Use(error) => error.remedy(),
            Self::Random(_) => "Try again.",
        }
    }
}

/// More than the bytes of a probe, so that a store that gives back more is found out by them.
const LARGEST_PROBE: u64 = 4096;

impl StoreProbe {
    /// True if nobody with our credential can take back or change what was created.
    pub fn is_guarded(self) -> bool {
        !self.may_overwrite && !self.may_remove
    }
}

impl ObjectStore {
    /// Tries the store out, once for all clones of this value. Leaves one small object below `probe/` where the store is guarded.
    pub fn probe(&self) -> Result<StoreProbe, ProbeStoreError> {
        if let Some(probe) = self.probed.get() {
            return Ok(*probe);
        }
        let probe = self.try_out()?;
        Ok(*self.probed.get_or_init(|| probe))
    }

    /// True where the store may be the witness of approvals: it is guarded, or a folder, which is as safe as the user's own home.
    pub fn can_witness(&self, probe: StoreProbe) -> bool {
        probe.is_guarded() || matches!(self.place(), EvidencePlace::Folder(_))
    }

    fn try_out(&self) -> Result<StoreProbe, ProbeStoreError> {
        let token = new_ledger_id().map_err(ProbeStoreError::Random)?;
        let name = format!("probe/{token}");
        let [first, second] = ["first", "second"].map(|word| format!("cto-probe@v1 {word} {token}\n").into_bytes());
        if self.create_object(&name, &first)? == Creation::Exists {
            return Err(self.unfit("it says that an object exists which nobody has made"));
        }
        let again = self.create_object(&name, &second)?;
        let kept = self.read_object(&name, LARGEST_PROBE)?;
        let is = |bytes: &[u8]| kept.as_deref().map(Digest::of) == Some(Digest::of(bytes));
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
        self.try_overwrite(&name, &second)?;
        let may_overwrite = self.read_object(&name, LARGEST_PROBE)?.as_deref() != Some(first.as_slice());
        self.try_remove(&name)?;
        let may_remove = self.read_object(&name, LARGEST_PROBE)?.is_none();
        Ok(StoreProbe { may_overwrite, may_remove })
    }

    fn unfit(&self, did: &str) -> ProbeStoreError {
        ProbeStoreError::Unfit { store: self.place().to_string(), did: did.to_owned() }
    }
}
