//! The ledger against what lies beside it: the chain by itself, the bundles as witnesses of it, and the
//! object store.
//!
//! A chain whose tail was cut still holds by itself. Every bundle carries a place in the chain from
//! before its run, so that a bundle that is here shows a cut before it; and a bundle that no entry
//! names shows a cut behind it.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::Digest;
use contract::statement::{Envelope, SignedLedger};
use evidence::names;
use ledger::{Ledger, LedgerProblem, Position, ReadLedgerError, RunRow, RunStatus, SealedFolder, UseObjectError};
use serde::Deserialize;

mod objects;

pub use objects::ObjectsAudit;

use crate::home::layout::{Home, OpenHomeError};

/// More than any attestation has.
const LARGEST: u64 = 64 << 20;
/// Bundles that are named where all of them are meant.
const NAMED: usize = 5;

/// Result of checking a ledger.
#[derive(Debug)]
pub struct LedgerAudit {
    pub ledger_id: String,
    pub entries: u64,
    pub head: Position,
    /// Bundles that were compared.
    pub bundles: usize,
    pub problems: Vec<LedgerProblem>,
    /// Comparison with the object store; none without a store, or where it was not asked for.
    pub objects: Option<ObjectsAudit>,
    /// This home as rows of runs name their owner, where others share the ledger.
    instance: Option<Digest>,
}

/// Reason why a ledger could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum AuditLedgerError {
    #[error(transparent)]
    Home(OpenHomeError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error("cannot list the bundles: {0}")]
    Bundles(#[source] io::Error),
    #[error("the ledger cannot be compared with the object store: {0}")]
    Store(#[source] UseObjectError),
}

/// Extent of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditScope {
    /// The chain, its rows and the bundles of this home.
    Local,
    /// The same, and every object of the store.
    WithObjects,
}

/// Checks the ledger of a home; none if there is none and no bundle refers to one.
pub fn audit(home: &Home, scope: AuditScope) -> Result<Option<LedgerAudit>, AuditLedgerError> {
    let Some(ledger) = home.ledger_to_read().map_err(AuditLedgerError::Home)? else { return audit_missing(home) };
    let ledger::LedgerCheck { entries, problems, head } = ledger.verify()?;
    let ledger_id = ledger.ledger_id().to_owned();
    let instance = home.shares_ledger().then(|| home.instance()).transpose().map_err(AuditLedgerError::Home)?;
    let mut audit = LedgerAudit { ledger_id, entries, head, bundles: 0, problems, objects: None, instance };
    let mut here = bundles(home)?;
    audit.bundles = here.len();
    let mut rows = Vec::new();
    ledger.runs_each(|row| rows.push((here.remove(row.run_id.as_str()), row)))?;
    for (bundle, row) in rows {
        audit.compare(home, &ledger, bundle, &row)?;
    }
    for (name, _) in here {
        audit.problem(audit.head.seq, format!("{name} lies under harness-runs/ and no entry names it"));
    }
    if scope == AuditScope::WithObjects {
        audit.compare_objects(home, &ledger)?;
    }
    Ok(Some(audit))
}

/// A ledger that is gone while bundles lie there: each of them was told to it.
fn audit_missing(home: &Home) -> Result<Option<LedgerAudit>, AuditLedgerError> {
    let here = bundles(home)?;
    if here.is_empty() {
        return Ok(None);
    }
    let (head, instance) = (Position::GENESIS, None);
    let mut audit = LedgerAudit {
        ledger_id: String::new(),
        entries: 0,
        head,
        bundles: here.len(),
        problems: Vec::new(),
        objects: None,
        instance,
    };
    let some = contract::text::listed(here.keys().cloned(), NAMED);
    audit.problem(0, format!("there is no ledger, and bundles lie under harness-runs/: {some}"));
    Ok(Some(audit))
}

/// Folders below `harness-runs/`, with their attestations if those can be read.
fn bundles(home: &Home) -> Result<BTreeMap<String, Option<Vec<u8>>>, AuditLedgerError> {
    let listed = home.bundles().list_sealed().map_err(AuditLedgerError::Bundles)?;
    let read = |SealedFolder { name, dir }| {
        let attestation = untrusted_fs::read_plain(&dir, names::ATTESTATION.as_bytes(), LARGEST);
        (name, attestation)
    };
    Ok(listed.into_iter().map(read).collect())
}

impl LedgerAudit {
    /// The bundle lies in another home that shares the ledger.
    fn is_elsewhere(&self, row: &RunRow) -> bool {
        self.instance.is_some_and(|instance| row.owner.is_some_and(|owner| owner != instance))
    }

    fn problem(&mut self, seq: u64, what: String) {
        self.problems.push(LedgerProblem { seq, what });
    }

    fn compare(
        &mut self,
        home: &Home,
        ledger: &Ledger,
        bundle: Option<Option<Vec<u8>>>,
        row: &RunRow,
    ) -> Result<(), AuditLedgerError> {
        let seq = row.sealed_seq.unwrap_or(row.seq);
        if row.status == RunStatus::Running {
            return Ok(());
        }
        let Some(attestation) = bundle else {
            if !self.is_elsewhere(row) && !is_accounted_for(home, ledger, row)? {
                self.problem(seq, format!("the bundle of {} is gone, and no entry says why", row.run_id));
            }
            return Ok(());
        };
        let Some(attestation) = attestation else {
            self.problem(seq, format!("the attestation of {} cannot be read", row.run_id));
            return Ok(());
        };
        if row.attestation_sha256 != Some(Digest::of_bytes(&attestation)) {
            self.problem(seq, format!("the attestation of {} is not the one that was sealed", row.run_id));
            return Ok(());
        }
        let Some(pinned) = pinned(&attestation).filter(|pinned| pinned.id == self.ledger_id) else { return Ok(()) };
        let found = ledger.hash_at(pinned.seq)?;
        if found != Some(pinned.head) {
            self.problem(pinned.seq, format!("{} is signed for another entry at this place", row.run_id));
        }
        Ok(())
    }
}

/// Removed on purpose, or here in another way.
fn is_accounted_for(home: &Home, ledger: &Ledger, row: &RunRow) -> Result<bool, AuditLedgerError> {
    let is_here = home.bundles().find_bundle(&row.run_id).is_some();
    Ok(is_here || ledger.run_collection(&row.run_id)?.is_some())
}

/// The place in the chain that a statement carries.
fn pinned(attestation: &[u8]) -> Option<SignedLedger> {
    #[derive(Deserialize)]
    struct Statement {
        predicate: Predicate,
    }
    #[derive(Deserialize)]
    struct Predicate {
        ledger: SignedLedger,
    }
    let envelope: Envelope = serde_json::from_slice(attestation).ok()?;
    let payload = STANDARD.decode(envelope.payload).ok()?;
    serde_json::from_slice::<Statement>(&payload).ok().map(|statement| statement.predicate.ledger)
}
