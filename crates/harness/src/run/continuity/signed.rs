//! The operator's signed word on a ledger: drafted here, signed by the caller, kept in the entry.

use contract::Stamp;
use contract::approval::{ContinuitySchema, LedgerContinuity};
use contract::continuity::ContinuityRecord;
use ledger::ReadLedgerError;

use super::{LedgerVouch, check_continuity};
use crate::run::harness::Harness;

/// Record with the signature of a person whose key the caller has judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedContinuity {
    /// Canonical text of the [`ContinuityRecord`].
    pub document: String,
    pub signature: String,
}

/// True of a ledger on a server on which approvals are refused: only a signed record makes them count again.
pub fn needs_signed_continuity(harness: &Harness) -> Result<bool, ReadLedgerError> {
    // The identity of a file has no timeline.
    let is_on_server = harness.ledger().identity()?.contains('@');
    Ok(is_on_server && check_continuity(harness)? != LedgerContinuity::Known)
}

/// Accepts the chain up to its head; the owner of this key is to sign the record.
pub fn draft_continuity(
    harness: &Harness,
    vouch: LedgerVouch,
    reason: &str,
    key_fingerprint: String,
    now: Stamp,
) -> Result<ContinuityRecord, ReadLedgerError> {
    let was_unknown = match check_continuity(harness)? {
        LedgerContinuity::Known => None,
        LedgerContinuity::Unknown { why } => Some(why),
    };
    let ledger = harness.ledger();
    let head = ledger.head()?;
    Ok(ContinuityRecord {
        schema: ContinuitySchema::V1,
        ledger_id: ledger.identity()?,
        instance_id: harness.instance,
        accepted_seq: head.seq,
        accepted_hash: head.hash,
        reason: reason.to_owned(),
        was_unknown,
        time_went_back: vouch == LedgerVouch::TimeWentBack,
        key_fingerprint,
        recorded_at: now,
    })
}
