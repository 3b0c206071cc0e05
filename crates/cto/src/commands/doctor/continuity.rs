//! The last word of an operator on the ledger, as `cto doctor --fleet` shows it.

use contract::approval::ContinuitySchema;
use contract::continuity::ContinuityRecord;
use contract::signer::SignerStanding;
use contract::text::show_controls;
use evidence::sshsig::verify_signature;
use harness::People;
use ledger::{Entry, EntryKind, Ledger};

use super::Finding;
use crate::context::Context;
use crate::error::CommandError;

/// Describes the last signed record of continuity; none where nobody has signed one.
pub(super) fn describe_last_word(context: &Context, ledger: &Ledger) -> Result<Option<Finding>, CommandError> {
    let entries = ledger.entries_of(&[EntryKind::LedgerContinued], None)?;
    let Some(entry) = entries.iter().rev().find(|entry| entry.body["detail"]["signature"].is_string()) else {
        return Ok(None);
    };
    let Some(record) = read_record(context, ledger, entry)? else {
        let text = format!("the signature of entry {} does not count here", entry.seq);
        return Ok(Some(Finding::warn("continued", text, "see who may sign: cto trust key list")));
    };
    let ContinuityRecord { accepted_seq, key_fingerprint, reason, ledger_id, .. } = record;
    let timeline = ledger_id.split_once('@').map_or_else(String::new, |(_, timeline)| format!(", timeline {timeline}"));
    let reason = show_controls(&reason);
    Ok(Some(Finding::ok(
        "continued",
        format!("accepted up to entry {accepted_seq}{timeline} by {key_fingerprint}: {reason}"),
    )))
}

/// The record of an entry, if a key that may sign it here has signed it, and the chain has what it accepts.
fn read_record(context: &Context, ledger: &Ledger, entry: &Entry) -> Result<Option<ContinuityRecord>, CommandError> {
    let detail = &entry.body["detail"];
    let (Some(document), Some(armour)) = (detail["document"].as_str(), detail["signature"].as_str()) else {
        return Ok(None);
    };
    let Ok(signature) = verify_signature(armour, document.as_bytes(), ContinuitySchema::NAMESPACE) else {
        return Ok(None);
    };
    let Ok(record) = serde_json::from_str::<ContinuityRecord>(document) else { return Ok(None) };
    let people = People::read_lists(&context.config.records)?;
    let standing = people.judge_key(signature.key(), ContinuitySchema::NAMESPACE, record.recorded_at);
    let is_signers = standing == SignerStanding::Allowed && record.key_fingerprint == signature.fingerprint();
    let name = record.ledger_id.split('@').next();
    let is_of_chain = record.accepted_seq == 0 || ledger.hash_at(record.accepted_seq)? == Some(record.accepted_hash);
    let counts = is_signers && name == Some(ledger.ledger_id()) && is_of_chain && record.accepted_seq < entry.seq;
    Ok(counts.then_some(record))
}
