//! Data of events: one type for each kind, used by the step that makes the event and by everything that reads it back.
//!
//! Reasons that an event carries (`reason` and `reasons`) stand beside these fields. They are a field here only where the step itself
//! names the reason.

mod approval;
mod engine;
mod model;
mod result;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decision::Profile;
use crate::digest::Digest;
use crate::event::{Event, EventKind};
use crate::id::TaskId;
use crate::reason::Reason;
use crate::sandbox::Attempt;
use crate::stage::{MutationMode, Stage};
use crate::status::Purpose;
use crate::task::{Command, Limits};
use crate::{Decision, Gate};

pub use approval::{
    ApprovalDeniedData, ApprovalGrantedData, ApprovalRequestedData, BreakGlassData, DenialData, EventAuthor,
};
pub use engine::{EngineEndedBy, EngineExitedData, EngineOutputData, EngineStartedData, EngineStream};
pub use model::{ModelEndedData, ModelRequestedData};
pub use result::{
    GitDiffCheckedData, PatchAppliedData, RunCompletedData, SecretScanCompletedData, VerificationCompletedData,
};

macro_rules! event_data {
    ($($kind:ident($data:ty),)*) => {
        /// Data of an event, in the type of its kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum EventData {
            $($kind($data),)*
        }

        impl EventData {
            /// Kind of the event that has this data.
            pub fn kind(&self) -> EventKind {
                match self { $(Self::$kind(_) => EventKind::$kind,)* }
            }

            /// Reads the data of an event of this kind. Fields that the kind does not have are ignored.
            fn read(kind: EventKind, data: Value) -> serde_json::Result<Self> {
                match kind { $(EventKind::$kind => serde_json::from_value(data).map(Self::$kind),)* }
            }
        }
    };
}

event_data! {
    RunStarted(RunStartedData),
    TaskContractCreated(ContractCreatedData),
    PlanUpdated(Box<PlanUpdatedData>),
    ApprovalRequested(ApprovalRequestedData),
    ApprovalGranted(Box<ApprovalGrantedData>),
    ApprovalDenied(ApprovalDeniedData),
    PatchApplied(PatchAppliedData),
    GitDiffChecked(GitDiffCheckedData),
    VerificationCompleted(VerificationCompletedData),
    RunCompleted(RunCompletedData),
    ApprovalBreakGlass(BreakGlassData),
    BackendGateBlocked(GateBlockedData),
    EligibilityDecided(EligibilityDecidedData),
    WorkspacePrepared(WorkspacePreparedData),
    SandboxApplied(SandboxAppliedData),
    SandboxRefused(Box<SandboxRefusedData>),
    EngineStarted(EngineStartedData),
    EngineOutput(EngineOutputData),
    EngineExited(EngineExitedData),
    ModelRequested(ModelRequestedData),
    ModelAnswered(Box<ModelEndedData>),
    ModelRefused(Box<ModelEndedData>),
    SecretScanCompleted(SecretScanCompletedData),
}

impl EventData {
    /// Fields as the event has them.
    pub fn to_fields(&self) -> serde_json::Result<Map<String, Value>> {
        match serde_json::to_value(self)? {
            Value::Object(fields) => Ok(fields),
            other => Ok(Map::from_iter([("value".to_owned(), other)])),
        }
    }
}

impl Event {
    /// Data of this event in the type of its kind; none if it has another shape.
    pub fn read_data(&self) -> Option<EventData> {
        EventData::read(self.kind, Value::Object(self.data.clone())).ok()
    }
}

/// Data of `run.started`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStartedData {
    pub engine: String,
    pub harness_version: String,
    pub purpose: Purpose,
    pub stage: Stage,
    pub task_id: TaskId,
}

/// Data of `task.contract.created`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractCreatedData {
    pub contract_digest: Digest,
    pub task_id: TaskId,
}

/// Data of `plan.updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanUpdatedData {
    /// Globs of the admission, where a path must match both lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted_paths: Vec<String>,
    pub allowed_paths: Vec<String>,
    pub by: EventAuthor,
    pub commands: Vec<Command>,
    pub forbidden_paths: Vec<String>,
    pub limits: Limits,
}

/// Data of `eligibility.decided`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EligibilityDecidedData {
    pub allowed_mutation_mode: MutationMode,
    pub decision_id: Digest,
    pub eligible: bool,
    pub missing_gates: Vec<Gate>,
    pub selected_backend: String,
}

impl From<&Decision> for EligibilityDecidedData {
    fn from(decision: &Decision) -> Self {
        Self {
            allowed_mutation_mode: decision.allowed_mutation_mode,
            decision_id: decision.decision_id,
            eligible: decision.is_eligible(),
            missing_gates: decision.missing_gates.clone(),
            selected_backend: decision.selected_backend.clone(),
        }
    }
}

/// Data of `backend.gate.blocked`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateBlockedData {
    pub backend: String,
    pub case_executed: bool,
    pub engine_executed: bool,
    pub gate: Gate,
    pub mutation_mode: MutationMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Data of `workspace.prepared`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspacePreparedData {
    pub baseline_commit: Option<String>,
    pub baseline_tree: String,
    pub files: usize,
}

/// Data of `sandbox.applied`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxAppliedData {
    pub asked: Profile,
    pub probes_refused: usize,
    pub profile: Profile,
}

/// Data of `sandbox.refused`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxRefusedData {
    #[serde(flatten)]
    pub attempt: Attempt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Attempts without an event of their own, in the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: EventKind, data: &Value) -> Event {
        let event = json!({
            "seq": 0, "time": "2026-01-01T00:00:00.000000Z", "run_id": "20260101T000000Z-t-aaaa", "type": kind,
            "data": data, "prev": Digest::ZERO,
        });
        serde_json::from_value(event).unwrap()
    }

    /// Data of each shape that runs write comes back with the same keys and values.
    #[test]
    fn data_that_is_read_is_written_the_same() {
        let (digest, time) = (Digest::ZERO, "2026-01-01T00:00:00.000000Z");
        let attempt = json!({"action": null, "by": null, "cell": "engine", "count": 1, "judged": "note", "kind": "call", "what": "x"});
        let mut last = attempt.clone();
        last["more"] = json!(7);
        let ended = json!({
            "detail": null, "model_answered": "m", "model_asked": null, "outcome": "answered", "purpose": "engine",
            "refusal": null, "request": 1, "served": "exact", "status": 200,
            "tokens": {"prompt": 1, "completion": null, "cached": null, "cache_written": null, "reasoning": null},
            "total_ms": 5, "wire": "responses",
        });
        let rows = [
            (EventKind::ApprovalDenied, json!({})),
            (EventKind::ApprovalDenied, json!({"by": "ledger"})),
            (
                EventKind::ApprovalDenied,
                json!({"actor": "a", "denial_digest": digest, "denied_at": time, "request_digest": digest}),
            ),
            (
                EventKind::EngineExited,
                json!({
                    "duration_ms": 5, "exit_code": null, "leftover_processes": 0, "output_bytes": 9, "stopped_because": null,
                    "stopped_by": "time limit", "timed_out": true,
                }),
            ),
            (EventKind::EngineOutput, json!({"stream": "stdout", "text": "{"})),
            (EventKind::EngineOutput, json!({"kind": "file_change", "stream": "stderr", "text": "a.py"})),
            (EventKind::EngineStarted, json!({"engine": "fake", "wall_seconds": 60})),
            (EventKind::ModelAnswered, ended.clone()),
            (EventKind::ModelRefused, ended),
            (EventKind::SandboxRefused, attempt),
            (EventKind::SandboxRefused, last),
            (EventKind::VerificationCompleted, json!({"result": "not_run"})),
            (EventKind::VerificationCompleted, json!({"checks": 2, "result": "pass"})),
            (EventKind::WorkspacePrepared, json!({"baseline_commit": null, "baseline_tree": "t", "files": 3})),
        ];
        for (kind, data) in rows {
            let read = event(kind, &data).read_data().unwrap_or_else(|| panic!("{kind}: {data}"));
            assert_eq!((read.kind(), Value::Object(read.to_fields().unwrap())), (kind, data));
        }
    }

    #[test]
    fn data_of_another_shape_is_none() {
        let exited = json!({"engine": "fake"});
        assert_eq!(event(EventKind::EngineStarted, &exited).read_data(), None);
        let carried =
            json!({"checks": 1, "reason": "verification_failed", "reasons": ["verification_failed"], "result": "fail"});
        assert!(event(EventKind::VerificationCompleted, &carried).read_data().is_some(), "control: more fields");
    }
}
