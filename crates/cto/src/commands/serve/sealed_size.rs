//! Sizes of patches and prices of model use for lists of runs. The ledger has neither, so each is read once from its bundle.
//!
//! A bundle's attestation must have the digest that the ledger sealed and the signature of a trusted key, and each file the digest
//! that the attestation names.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use contract::Digest;
use contract::model::ModelReport;
use contract::statement::Statement;
use evidence::dsse::open_statement;
use evidence::{PublicKey, names};
use hermes::SealedSize;
use ledger::Bundles;
use serde::Deserialize;
use views::RunPage;

/// Largest file that is read for a list.
const LARGEST_FILE: u64 = 1 << 20;
/// Sizes that are remembered.
const MOST_SIZES: usize = 20_000;

/// Sizes by the digest of the attestation and the keys that were trusted: neither bundle can become another one.
#[derive(Debug, Default)]
pub(super) struct SizeMemo {
    known: Mutex<(Vec<PublicKey>, HashMap<Digest, SealedSize>)>,
}

/// The part of a report that has the price.
#[derive(Deserialize)]
struct PricedReport {
    model: Option<ModelReport>,
}

impl SizeMemo {
    /// Sizes of the sealed runs of a page, by their ids.
    pub(super) fn read_sizes(&self, home: &Path, keys: &[PublicKey], page: &RunPage) -> BTreeMap<String, SealedSize> {
        let bundles = Bundles::in_home(home);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != keys || known.1.len() > MOST_SIZES {
            *known = (keys.to_vec(), HashMap::new());
        }
        let mut sizes = BTreeMap::new();
        for row in page.runs.iter().map(|run| &run.row) {
            let Some(attestation) = row.attestation_sha256 else { continue };
            let remembered = known.1.get(&attestation).copied();
            // A bundle that is not here may come back, so that its absence is not remembered.
            let size = remembered.or_else(|| read_size(&bundles.bundle_dir(&row.run_id), attestation, keys));
            if let Some(size) = size {
                known.1.insert(attestation, size);
                sizes.insert(row.run_id.to_string(), size);
            }
        }
        sizes
    }
}

fn read_size(bundle: &Path, attestation: Digest, keys: &[PublicKey]) -> Option<SealedSize> {
    let read = |name: &str| untrusted_fs::read_plain(bundle, name.as_bytes(), LARGEST_FILE);
    let envelope = read(names::ATTESTATION).filter(|bytes| Digest::of_bytes(bytes) == attestation)?;
    let payload = keys.iter().find_map(|key| open_statement(&envelope, key))?;
    let statement: Statement = serde_json::from_slice(&payload).ok()?;
    let sealed = |name: &str| statement.subject.iter().find(|one| one.name == name).map(|one| one.digest.sha256);
    let whole = |name: &str| read(name).filter(|bytes| sealed(name) == Some(Digest::of_bytes(bytes)));
    let report: PricedReport = serde_json::from_slice(&whole(names::REPORT)?).ok()?;
    let stats = evidence::patch::patch_stats(&whole(names::PATCH)?);
    let sum = |part: fn(&evidence::patch::PatchStat) -> u64| stats.iter().map(part).sum();
    let cost = report.model.map(|model| model.used.cost);
    let priced = cost.filter(|cost| cost.unpriced_requests == 0 && cost.unknown_requests == 0);
    let cost_micros = priced.map(|cost| cost.micros);
    Some(SealedSize { added: sum(|stat| stat.added), removed: sum(|stat| stat.removed), cost_micros })
}
