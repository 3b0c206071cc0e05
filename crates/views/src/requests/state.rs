//! State of a request: the signed documents about it, and which of them still count.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::Stamp;
use contract::approval::{ApprovalSchema, PolicyTerms, Request};
use contract::signer::SignerStanding;
use evidence::signer_key::SignerKey;
use ledger::{RequestRow, UnusableRequest};
use schemars::JsonSchema;
use serde::Serialize;

use super::RequestRecord;

/// State of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// It waits for approvals.
    Open,
    Approved,
    Denied,
    Held,
    Revoked,
    Expired,
    /// A run used it up.
    Used,
}

impl RequestState {
    /// Spelling in JSON output and in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Held => "held",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::Used => "used",
        }
    }

    /// True while it can be decided on.
    pub const fn is_undecided(self) -> bool {
        matches!(self, Self::Open | Self::Held)
    }

    /// The ledger's word first, which nothing takes back; then time; then approvals.
    pub fn state_of(row: &RequestRow, counted: &ApprovalTally, now: Stamp) -> Self {
        match row.closed() {
            Some(UnusableRequest::Used { .. }) => Self::Used,
            Some(UnusableRequest::Denied) => Self::Denied,
            Some(UnusableRequest::Revoked) => Self::Revoked,
            Some(UnusableRequest::Void { .. }) => Self::Expired,
            _ if now >= counted.lapses_at => Self::Expired,
            Some(UnusableRequest::Held) => Self::Held,
            _ if counted.is_enough => Self::Approved,
            _ if counted.had_enough => Self::Expired,
            _ => Self::Open,
        }
    }
}

/// Approvals of a request that count at a time.
#[derive(Debug, Clone)]
pub struct ApprovalTally {
    /// Each key with the number of the entry that recorded its approval.
    pub keys: BTreeMap<String, u64>,
    pub is_enough: bool,
    /// True if they were enough before the first of them expired.
    pub had_enough: bool,
    /// The end of the request itself.
    pub lapses_at: Stamp,
    /// The first end of the approvals, or of the request where there are none.
    pub ends_at: Stamp,
}

/// Counts approvals by keys that may approve, are not the requester's where duties are
/// separate, and are not over at `now`. The gate weighs them again; this is what a list
/// shows.
pub fn count_approvals(
    record: &RequestRecord,
    terms: &PolicyTerms,
    standing: &dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding,
    now: Stamp,
) -> ApprovalTally {
    let longest = Duration::from_secs(terms.max_ttl);
    let lapses_at = record.recorded_at.after(longest);
    let (mut keys, mut had, mut glass) = (BTreeMap::new(), BTreeMap::new(), (false, false));
    let mut ends_at = lapses_at;
    for approval in record.request.iter().flat_map(|request| usable(record, request, terms, standing)) {
        let end = approval.document.expires_at.min(approval.recorded_at.after(longest));
        let breaks = terms.break_glass && approval.document.break_glass_reason.is_some();
        had.insert(approval.signature.fingerprint(), approval.seq);
        glass.1 |= breaks;
        if now < end {
            keys.insert(approval.signature.fingerprint(), approval.seq);
            glass.0 |= breaks;
            ends_at = ends_at.min(end);
        }
    }
    let required = usize::from(terms.approvals_required);
    ApprovalTally {
        is_enough: keys.len() >= required || glass.0,
        had_enough: had.len() >= required || glass.1,
        keys,
        lapses_at,
        ends_at,
    }
}

/// Approvals of this very plan by keys that may approve it.
fn usable<'r>(
    record: &'r RequestRecord,
    request: &'r Request,
    terms: &'r PolicyTerms,
    standing: &'r dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding,
) -> impl Iterator<Item = &'r super::SignedDocument<contract::approval::Approval>> {
    record.approvals.iter().filter(move |approval| {
        let document = &approval.document;
        let is_other = document.key_fingerprint != request.plan.requester_fingerprint;
        let breaks = terms.break_glass && document.break_glass_reason.is_some();
        let is_separate = is_other || !terms.separates_duties() || breaks;
        let is_fit = document.first_mismatch(&request.plan, request.request_digest, request.packet_digest).is_none();
        let by = standing(approval.signature.key(), ApprovalSchema::NAMESPACE, approval.recorded_at);
        let is_present = !terms.require_hardware_key || approval.signature.clone().into_fact(by).is_by_present_user();
        is_separate && is_fit && is_present && by == SignerStanding::Allowed
    })
}
