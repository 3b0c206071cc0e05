//! Evidence of a rung with very many outages: the folder of bundles is listed once, and not asked for each of them.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;

use contract::approval::OutcomeVerdict;
use ledger::{ReadLedgerError, RunRow};

use super::evidence::{BundleState, ProvenRun, RunEvidence, WorkerLack};

/// Bundles that are looked for one by one before the folder is listed.
pub(super) const LOOKED_FOR: usize = 256;

/// Wraps evidence for the time of one rung. A bundle that the list lacks is looked for by itself, so that one that came
/// since is seen; one that went since was there when the rung was asked for.
pub(super) struct ListedEvidence<'a, E> {
    evidence: &'a E,
    looks: Cell<usize>,
    listed: OnceCell<BTreeSet<String>>,
}

impl<'a, E: RunEvidence> ListedEvidence<'a, E> {
    /// Evidence of which nothing is listed yet.
    pub(super) const fn of_evidence(evidence: &'a E) -> Self {
        Self { evidence, looks: Cell::new(0), listed: OnceCell::new() }
    }

    fn is_listed(&self, row: &RunRow) -> bool {
        if self.looks.get() < LOOKED_FOR {
            self.looks.set(self.looks.get() + 1);
            return false;
        }
        self.listed.get_or_init(|| self.evidence.list_bundles()).contains(row.run_id.as_str())
    }
}

impl<E: RunEvidence> RunEvidence for ListedEvidence<'_, E> {
    fn has_bundle(&self, row: &RunRow) -> bool {
        self.is_listed(row) || self.evidence.has_bundle(row)
    }

    fn list_bundles(&self) -> BTreeSet<String> {
        self.evidence.list_bundles()
    }

    fn look_at_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        self.evidence.look_at_bundle(row)
    }

    fn look_for_bundle(&self, row: &RunRow) -> Result<BundleState, ReadLedgerError> {
        self.evidence.look_for_bundle(row)
    }

    fn signed_outcome(&self, row: &RunRow) -> Result<Option<OutcomeVerdict>, ReadLedgerError> {
        self.evidence.signed_outcome(row)
    }

    fn find_worker_lack(&self, row: &RunRow, proven: &ProvenRun) -> Result<Option<WorkerLack>, ReadLedgerError> {
        self.evidence.find_worker_lack(row, proven)
    }
}
