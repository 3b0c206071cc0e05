//! Runs that only a ledger knows: tests of lists and rungs record them without making a bundle.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use contract::{Digest, Purpose, RunId, Stage, Stamp, Status};
use ledger::{EngineIdentity, Ledger, RunIntent, RunSeal, RunSealed, RunStarted, SealedReason};
use serde_json::Value;

/// An ended run, as its two entries in the ledger describe it.
pub(crate) struct RecordedRun<'a> {
    pub(crate) name: &'a str,
    pub(crate) task: &'a str,
    pub(crate) engine: &'a str,
    pub(crate) stage: Stage,
    pub(crate) purpose: Purpose,
    pub(crate) status: Status,
    pub(crate) reasons: Vec<SealedReason>,
    pub(crate) identity: Option<EngineIdentity>,
}

impl RecordedRun<'_> {
    /// Records start and end of the run at one time.
    pub(crate) fn record_run(self, ledger: &Ledger, time: Stamp) {
        let run_id = RunId::try_from(self.name.to_owned()).unwrap();
        let intent = RunIntent {
            task_id: self.task.to_owned().try_into().unwrap(),
            engine: self.engine.to_owned(),
            stage: self.stage,
            purpose: self.purpose,
            owner: None,
            epoch: None,
            detail: Value::Null,
        };
        ledger.run_started(&RunStarted { run_id: run_id.clone(), time, lease_until: None, intent }).unwrap();
        let seal = RunSeal {
            status: self.status,
            finished_at: time,
            duration_ms: 1,
            reasons: self.reasons,
            tests_passed: None,
            tests_executed: None,
            attestation_sha256: Digest::of_bytes(self.name.as_bytes()),
            bundle: format!("harness-runs/{}", self.name),
            owner: None,
            identity: self.identity,
        };
        ledger.run_sealed(&RunSealed { run_id, time, epoch: None, seal }).unwrap();
    }
}
