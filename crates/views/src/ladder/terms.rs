//! The identity that a rung is proven for, and the terms on which it is earned.

use contract::signer::SignerStanding;
use contract::{BUNDLE_VERSION, ModelPair, Purpose, Stage, Stamp};
use evidence::signer_key::SignerKey;
use ledger::{EngineIdentity, Ledger, ReadLedgerError};
use serde::Serialize;

use super::workers::WorkerKeys;

/// Source of a run whose engine was never identified.
const UNKNOWN_SOURCE: &str = "@unknown";

/// The engine, source and model that a rung is proven for.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RungIdentity<'a> {
    pub engine: &'a str,
    pub source_id: &'a str,
    pub pair: Option<&'a ModelPair>,
}

impl RungIdentity<'_> {
    /// Identity as ledger rows have it.
    pub(super) fn of_engine(&self) -> EngineIdentity {
        EngineIdentity { source_id: self.source_id.to_owned(), model: self.pair.cloned() }
    }
}

/// Terms on which rungs are earned, which the caller has read.
#[derive(Clone, Copy)]
pub struct RungTerms<'a> {
    /// Passes since the last failure.
    pub passes_required: u32,
    /// Standing of a key that signed an outcome.
    pub standing: &'a dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding,
    /// Machines whose evidence counts where there is a fleet.
    pub workers: &'a WorkerKeys,
}

impl std::fmt::Debug for RungTerms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RungTerms").field("passes_required", &self.passes_required).finish_non_exhaustive()
    }
}

/// Major version of the bundles that rungs are proven by.
pub fn bundle_schema() -> &'static str {
    BUNDLE_VERSION.split('.').next().unwrap_or(BUNDLE_VERSION)
}

/// Identities at a stage whose source is known.
pub(super) fn known_identities(
    ledger: &Ledger,
    engine: &str,
    stage: Stage,
) -> Result<Vec<EngineIdentity>, ReadLedgerError> {
    let mut found = ledger.rung_identities(engine, Purpose::Governed, stage)?;
    found.retain(is_identified);
    Ok(found)
}

/// False for the identity of an engine that was never identified.
pub(super) fn is_identified(identity: &EngineIdentity) -> bool {
    !identity.source_id.ends_with(UNKNOWN_SOURCE)
}
