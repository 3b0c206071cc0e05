//! Results of verifications. A result is kept for the life of the process, by run and
//! digest of the attestation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use contract::{Digest, RunId, Stamp, Status};
use evidence::names;
use evidence::verify::{Checked, Expectation, Failure, OpenBundleError, verify_bundle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Views;
use crate::find::{FindRunError, FoundRun};
use crate::ladder::ProvenRun;

/// More than any attestation has.
pub(crate) const LARGEST_ATTESTATION: u64 = 64 << 20;
/// Results that are kept; beyond, all are forgotten.
const MOST_RESULTS: usize = 20_000;

/// The result of checking one bundle.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerifyResult {
    /// Checks that were made.
    pub checked: u64,
    pub errors: Vec<Failure>,
    /// False where the bundle's rules are of another version.
    pub judged_again: bool,
    pub ok: bool,
    pub path: String,
    /// Said only of a bundle that verifies, as is its status.
    pub run_id: Option<RunId>,
    pub signer: Option<String>,
    pub status: Option<Status>,
}

impl From<&Checked> for VerifyResult {
    fn from(checked: &Checked) -> Self {
        let report = checked.report.as_ref();
        Self {
            checked: checked.checked,
            errors: checked.failures.clone(),
            judged_again: checked.judged_again,
            ok: checked.failures.is_empty(),
            path: checked.path.display().to_string(),
            run_id: report.map(|report| report.run_id.clone()),
            signer: checked.signer.clone(),
            status: report.map(|report| report.status),
        }
    }
}

/// Results by run and attestation, shared by the views of one home and one set of keys.
#[derive(Debug, Default)]
pub struct VerifyMemo {
    results: Mutex<BTreeMap<(String, Digest), Arc<VerifyResult>>>,
    /// Facts for rungs, of bundles that verified.
    proven: Mutex<BTreeMap<(String, Digest), Arc<ProvenRun>>>,
}

impl VerifyMemo {
    fn recall(&self, id: &str, attestation: Digest) -> Option<Arc<VerifyResult>> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.get(&(id.to_owned(), attestation)).cloned()
    }

    /// Kept result of an earlier verification, by run and attestation.
    pub(crate) fn recall_proven(&self, id: &str, attestation: Digest) -> Option<Arc<ProvenRun>> {
        let proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        proven.get(&(id.to_owned(), attestation)).cloned()
    }

    /// Keeps a result. The memo is emptied when it is full.
    pub(crate) fn keep_proven(&self, id: &str, attestation: Digest, run: ProvenRun) -> Arc<ProvenRun> {
        let (run, mut proven) = (Arc::new(run), self.proven.lock().unwrap_or_else(PoisonError::into_inner));
        if proven.len() >= MOST_RESULTS {
            proven.clear();
        }
        proven.insert((id.to_owned(), attestation), Arc::clone(&run));
        run
    }

    /// Number of kept results.
    pub(crate) fn count_proven(&self) -> usize {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn keep(&self, id: &str, attestation: Digest, result: &Arc<VerifyResult>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() >= MOST_RESULTS {
            results.clear();
        }
        results.insert((id.to_owned(), attestation), Arc::clone(result));
    }
}

/// Reason why a run could not be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyRunError {
    #[error(transparent)]
    Find(#[from] FindRunError),
    #[error(transparent)]
    Open(#[from] OpenBundleError),
}

impl Views {
    /// The result for a run, remembered while its attestation is the same: files that were
    /// changed since are not seen. `now` tells lapsed leases.
    pub fn recall_verification(&self, reference: &str, now: Stamp) -> Result<Arc<VerifyResult>, VerifyRunError> {
        let found = self.find_run(reference, now)?;
        let attestation = untrusted_fs::read_plain(&found.bundle, names::ATTESTATION.as_bytes(), LARGEST_ATTESTATION);
        let known = attestation.and_then(|bytes| self.memo.recall(&found.id, Digest::of_bytes(&bytes)));
        known.map_or_else(|| self.verify_found(&found), Ok)
    }

    /// Verifies a run anew, without the memo.
    pub fn verify_again(&self, reference: &str, now: Stamp) -> Result<Arc<VerifyResult>, VerifyRunError> {
        self.verify_found(&self.find_run(reference, now)?)
    }

    fn verify_found(&self, found: &FoundRun) -> Result<Arc<VerifyResult>, VerifyRunError> {
        let expected: Vec<Expectation> = found.asked.clone().map(Expectation::Run).into_iter().collect();
        let checked = verify_bundle(&found.bundle, &found.keys(&self.keys), &expected)?;
        let result = Arc::new(VerifyResult::from(&checked));
        if let Some(attestation) = checked.attestation_sha256 {
            self.memo.keep(&found.id, attestation, &result);
        }
        Ok(result)
    }
}
