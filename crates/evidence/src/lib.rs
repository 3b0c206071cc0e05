//! The bundle: canonical bytes, chained events, digests, seal and verification.
//!
//! Writes and reads files and nothing else: no clock (times are given), no environment, no
//! process. Whatever a bundle gets goes through [`censor::Censor`] first. A bundle is made
//! in `active/` and appears under `harness-runs/` only by the rename that ends
//! [`seal::seal_draft`].

pub mod artifact;
pub mod censor;
pub mod chain;
pub mod dsse;
pub mod exam_change;
pub mod key;
#[cfg(must_not_compile = "literals")]
mod must_not_compile;
pub mod patch;
pub mod private;
pub mod render;
pub mod seal;
pub mod signer_file;
pub mod signer_key;
pub mod signers;
pub mod sshsig;
pub mod stop;
pub mod tarball;
pub mod verify;

pub use artifact::{Draft, WriteArtifactError};
pub use censor::Censor;
pub use key::{HarnessKey, PublicKey};

/// The names of the files of a bundle.
pub mod names {
    /// Verdict, reasons and the index of all other files.
    pub const REPORT: &str = "report.json";
    /// The report for a person.
    pub const REPORT_MD: &str = "report.md";
    /// The chained events.
    pub const EVENTS: &str = "events.normalized.jsonl";
    /// Difference between the baseline and the result.
    pub const PATCH: &str = "patch.diff";
    /// Output of the verification.
    pub const TEST_LOG: &str = "test.log";
    /// Output of `environment.setup`, where the contract has one.
    pub const SETUP_LOG: &str = "setup.log";
    /// Actions and checks of the harness itself.
    pub const TRACE: &str = "trace.jsonl";
    /// The resolved contract.
    pub const CONTRACT: &str = "task-contract.json";
    /// The decision with its inputs.
    pub const DECISION: &str = "eligibility-decision.json";
    /// Sandboxes, their probes and records.
    pub const SANDBOX: &str = "sandbox.json";
    /// The signed statement about all other files.
    pub const ATTESTATION: &str = "attestation.dsse.json";
    /// Baseline of a case.
    pub const BASELINE: &str = "baseline.tar";
    /// A line for each model request.
    pub const MODEL_USAGE: &str = "model-usage.jsonl";
    /// Proof that the engine's input names no repository of the operator.
    pub const STAGE_2: &str = "stage2-no-target-inspection.json";
    /// Proof of a run on a copied repository.
    pub const STAGE_3: &str = "stage3-copied-repo-proof.json";
    /// Proof of a run that changed a disposable repository.
    pub const STAGE_4: &str = "stage4-disposable-sandbox-proof.json";
    /// Proof of a run that changed an admitted target.
    pub const STAGE_5: &str = "stage5-owned-repo-proof.json";
    /// The same of a run as candidate default.
    pub const STAGE_6: &str = "stage6-owned-repo-proof.json";
    /// Folder of raw output and markers.
    pub const BACKEND: &str = "backend";

    /// The proof of a run that changed an admitted target.
    pub fn owned_proof(stage: contract::Stage) -> &'static str {
        if stage == contract::Stage::CANDIDATE_DEFAULT { STAGE_6 } else { STAGE_5 }
    }

    /// The files every bundle has, whatever became of the run.
    pub const ALWAYS: &[&str] =
        &[REPORT, REPORT_MD, EVENTS, PATCH, TEST_LOG, TRACE, CONTRACT, DECISION, SANDBOX, ATTESTATION];
}
