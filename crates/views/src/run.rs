//! One run, by whatever a person calls it.

use contract::{Digest, Report, Stamp};
use evidence::verify::VerifiedBundle;
use ledger::{BundleOrigin, RunRow};
use serde::{Serialize, Serializer};

use crate::Views;
use crate::find::{BindRunError, FindRunError, FoundRun, KnownRun};
use crate::runs::CollectedBundle;

/// A run that has ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum RunView {
    Sealed(Box<SealedRun>),
    /// Its bundle was removed by `cto gc`.
    Collected(Box<CollectedRun>),
}

/// A run whose bundle is here and verifies; it is not collected while this value lives.
#[derive(Debug)]
pub struct SealedRun {
    pub origin: BundleOrigin,
    pub found: FoundRun,
    pub bundle: VerifiedBundle,
}

impl Serialize for SealedRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SealedDocument<'a> {
            attestation_sha256: Digest,
            origin: BundleOrigin,
            report: &'a Report,
            signer: &'a str,
        }
        let Self { origin, bundle, .. } = self;
        let (attestation_sha256, report, signer) = (bundle.attestation_sha256(), bundle.report(), bundle.signer());
        SealedDocument { attestation_sha256, origin: *origin, report, signer }.serialize(serializer)
    }
}

/// A run whose bundle was removed, as the ledger still knows it.
#[derive(Debug, Serialize)]
pub struct CollectedRun {
    pub collected: CollectedBundle,
    pub run: RunRow,
    /// Digest of the bundle's attestation; the same as in the row.
    #[serde(skip)]
    pub attestation_sha256: Digest,
}

/// Reason why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewRunError {
    #[error(transparent)]
    Find(#[from] FindRunError),
    #[error(transparent)]
    Bind(#[from] BindRunError),
}

impl Views {
    /// A run that has ended, by id, unique prefix, suffix, `@` or `@-N`; its bundle is
    /// verified. `now` tells lapsed leases.
    pub fn view_run(&self, reference: &str, now: Stamp) -> Result<RunView, ViewRunError> {
        match self.seek_run(reference, now)? {
            KnownRun::Bundle(found, origin) => {
                let bundle = found.bind_bundle(&found.keys(&self.keys))?;
                Ok(RunView::Sealed(Box::new(SealedRun { origin, found: *found, bundle })))
            }
            KnownRun::Collected(run, collected) => {
                let attestation_sha256 = collected.collection.attestation_sha256;
                let collected = CollectedRun { collected: collected.into(), run: *run, attestation_sha256 };
                Ok(RunView::Collected(Box::new(collected)))
            }
        }
    }
}
