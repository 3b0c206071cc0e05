//! The signed record by which an operator accepts a ledger whose server was restored, promoted or moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::ContinuitySchema;
use crate::digest::Digest;
use crate::time::Stamp;

/// Acceptance of a ledger's chain up to an entry. A person signs its canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Continuity of a ledger")]
pub struct ContinuityRecord {
    pub schema: ContinuitySchema,
    /// Name of the ledger and, behind `@`, the timeline of its server.
    pub ledger_id: String,
    /// The home that continues with the ledger.
    pub instance_id: Digest,
    /// Number of the last entry that is accepted; 0 of an empty chain.
    pub accepted_seq: u64,
    /// Hash of that entry.
    pub accepted_hash: Digest,
    pub reason: String,
    /// Reason why approvals were refused until then.
    pub was_unknown: Option<String>,
    /// True if entries with a later date are of a clock that was wrong.
    pub time_went_back: bool,
    /// Key of the person who signs the record.
    pub key_fingerprint: String,
    pub recorded_at: Stamp,
}
