//! The ledger against the object store: every bundle that was handed in, and the witness of every use of an approval.
//!
//! A witness that the ledger does not know shows a use that the ledger has lost. A bundle that the store lacks is counted and is no
//! problem by itself: a home without a store seals stages 1 to 3, too.

use std::collections::BTreeSet;

use contract::{RunId, Status};
use ledger::{Bundles, HandedIn, Ledger, RequestRow, RunRow, RunStatus, WitnessedUse};

use super::{AuditLedgerError, LedgerAudit};
use crate::home::layout::Home;

/// Count of what was compared with the object store.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ObjectsAudit {
    /// Bundles that are as they were handed in.
    pub bundles: usize,
    /// Sealed runs without a bundle in the store.
    pub absent: usize,
    /// Witnesses that agree with the ledger.
    pub witnesses: usize,
}

impl LedgerAudit {
    /// Compares sealed runs and uses of approvals with the object store; nothing where the home has none.
    pub(super) fn compare_objects(&mut self, home: &Home, ledger: &Ledger) -> Result<(), AuditLedgerError> {
        let Some(store) = home.bundles().store() else { return Ok(()) };
        let mut sealed = Vec::new();
        ledger.runs_each(|row| sealed.extend((row.status != RunStatus::Running).then_some(row)))?;
        let mut counts = ObjectsAudit::default();
        // Runs that passed and were handed in: such a run has left its witness, if it used an approval.
        let mut witnessed = BTreeSet::new();
        for row in &sealed {
            if self.compare_bundle(home.bundles(), row, &mut counts)? && row.status == RunStatus::from(Status::Pass) {
                witnessed.insert(row.run_id.clone());
            }
        }
        for row in ledger.requests_recent(None, usize::MAX)? {
            let said = store.find_witness(row.request).map_err(AuditLedgerError::Store)?;
            // A use is in the ledger before its witness is there, so that the row is read after the witness.
            let row = ledger.request_row(row.request)?.unwrap_or(row);
            self.compare_witness(&row, said.as_ref(), &witnessed, &mut counts);
        }
        self.objects = Some(counts);
        Ok(())
    }

    /// True of a run whose bundle the store has as it was handed in.
    fn compare_bundle(
        &mut self,
        bundles: &Bundles,
        row: &RunRow,
        counts: &mut ObjectsAudit,
    ) -> Result<bool, AuditLedgerError> {
        let Some(attestation) = row.attestation_sha256 else { return Ok(false) };
        let found = bundles.check_handed_in(&row.run_id, attestation).map_err(AuditLedgerError::Store)?;
        match &found {
            HandedIn::Whole => counts.bundles += 1,
            HandedIn::Absent => counts.absent += 1,
            HandedIn::Wrong(why) => self.problem(row.sealed_seq.unwrap_or(row.seq), why.to_string()),
        }
        Ok(matches!(found, HandedIn::Whole))
    }

    fn compare_witness(
        &mut self,
        row: &RequestRow,
        said: Option<&WitnessedUse>,
        witnessed: &BTreeSet<RunId>,
        counts: &mut ObjectsAudit,
    ) {
        match judge_use(row, said, witnessed) {
            Ok(is_witnessed) => counts.witnesses += usize::from(is_witnessed),
            Err(what) => self.problem(row.used_seq.unwrap_or(row.seq), what),
        }
    }
}

/// True of a use that both know of. A run that was killed between the two has no witness, and neither has one from before there was a
/// store: its bundle is not there either.
fn judge_use(row: &RequestRow, said: Option<&WitnessedUse>, witnessed: &BTreeSet<RunId>) -> Result<bool, String> {
    let request = row.request;
    match (&row.used_by, said) {
        (None, None) => Ok(false),
        (Some(run), Some(WitnessedUse::Other(said))) if said == run.as_str() => Ok(true),
        (Some(run), Some(WitnessedUse::Other(said))) => {
            Err(format!("the witness says that run {said} used request {request}, and the ledger says {run}"))
        }
        (None, Some(WitnessedUse::Other(said))) => {
            Err(format!("the witness says that run {said} used request {request}, and the ledger lacks the use"))
        }
        (Some(run), None) if witnessed.contains(run) => {
            Err(format!("run {run} passed with request {request}, and its witness is gone"))
        }
        (Some(_), None) => Ok(false),
        (_, Some(WitnessedUse::Ours)) => Err(format!("the witness of request {request} names no run")),
    }
}

#[cfg(test)]
mod tests {
    use contract::{Digest, Stage};

    use super::*;

    fn run(end: &str) -> RunId {
        format!("20260101T000000Z-t-{end}").try_into().unwrap()
    }

    #[test]
    fn a_use_and_its_witness_have_to_agree() {
        let row = |used_by: Option<RunId>| RequestRow {
            request: Digest::of_bytes(b"request"),
            seq: 3,
            task_id: "t".to_owned().try_into().unwrap(),
            stage: Stage::DISPOSABLE_REPOSITORY,
            requested_at: "2026-03-01T10:00:00.000000Z".parse().unwrap(),
            grants: 1,
            held_seq: None,
            denied_seq: None,
            revoked_seq: None,
            used_seq: used_by.as_ref().map(|_| 4),
            used_by,
            void_seq: None,
        };
        let said = |end: &str| Some(WitnessedUse::Other(run(end).to_string()));
        let passed = BTreeSet::from([run("aaaa")]);
        for (used_by, said, expected) in [
            (None, None, Ok(false)),
            (Some("aaaa"), said("aaaa"), Ok(true)),
            (Some("aaaa"), said("bbbb"), Err("bbbb used request")),
            (None, said("bbbb"), Err("the ledger lacks the use")),
            (Some("aaaa"), None, Err("its witness is gone")),
            (Some("bbbb"), None, Ok(false)),
            (Some("aaaa"), Some(WitnessedUse::Ours), Err("names no run")),
        ] {
            let judged = judge_use(&row(used_by.map(run)), said.as_ref(), &passed);
            match (&judged, expected) {
                (Ok(judged), Ok(expected)) => assert_eq!(*judged, expected, "{used_by:?} {said:?}"),
                (Err(told), Err(expected)) => assert!(told.contains(expected), "{told}"),
                _ => panic!("{used_by:?} {said:?}: {judged:?}"),
            }
        }
    }
}
