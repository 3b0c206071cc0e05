//! The run that a bundle must be, by the ledger.

use evidence::verify::AskedRun;
use ledger::RunRow;

/// The run of a ledger's row.
pub fn asked_run(row: &RunRow) -> AskedRun {
    AskedRun { run_id: row.run_id.clone(), attestation_sha256: row.attestation_sha256 }
}
