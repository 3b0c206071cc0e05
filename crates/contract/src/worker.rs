//! The signed record that admits a machine of a fleet, or removes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::WorkerSchema;
use crate::time::Stamp;

/// Change that a record makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkerAct {
    Admitted,
    Removed,
}

/// Admission or removal of a worker's key. A person signs its canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Admission of a worker")]
pub struct WorkerRecord {
    pub schema: WorkerSchema,
    pub act: WorkerAct,
    pub ledger_id: String,
    /// Name of the machine for people.
    pub name: String,
    /// OpenSSH line of the ed25519 key that signs the machine's bundles.
    pub key: String,
    /// Fingerprint of that key.
    pub key_id: String,
    /// Role of the database that the machine connects as. The server refuses the role once it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Key of the person who signs the record.
    pub key_fingerprint: String,
    pub recorded_at: Stamp,
}
