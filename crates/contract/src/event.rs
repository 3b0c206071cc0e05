//! Normalized events: one JSON object a line, each carrying the digest of the line before it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::RunId;
use crate::time::Stamp;

macro_rules! events {
    ($($variant:ident $name:literal,)*) => {
        /// The closed list of events of a run.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(title = "event")]
        pub enum EventKind {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl EventKind {
            /// Stable name of the event in `events.normalized.jsonl`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

events! {
    RunStarted "run.started",
    TaskContractCreated "task.contract.created",
    PlanUpdated "plan.updated",
    ApprovalRequested "approval.requested",
    ApprovalGranted "approval.granted",
    ApprovalDenied "approval.denied",
    PatchApplied "patch.applied",
    GitDiffChecked "git.diff.checked",
    VerificationCompleted "verification.completed",
    RunCompleted "run.completed",
    ApprovalBreakGlass "approval.break_glass",
    BackendGateBlocked "backend.gate.blocked",
    EligibilityDecided "eligibility.decided",
    WorkspacePrepared "workspace.prepared",
    SandboxApplied "sandbox.applied",
    SandboxRefused "sandbox.refused",
    EngineStarted "engine.started",
    EngineOutput "engine.output",
    EngineExited "engine.exited",
    ModelRequested "model.requested",
    ModelAnswered "model.answered",
    ModelRefused "model.refused",
    SecretScanCompleted "secret.scan.completed",
}

impl EventKind {
    /// The order in which these must stand where they occur; facts between them have none.
    pub const ORDERED: &'static [Self] = &[
        Self::RunStarted,
        Self::TaskContractCreated,
        Self::PlanUpdated,
        Self::ApprovalRequested,
        Self::ApprovalGranted,
        Self::ApprovalDenied,
        Self::PatchApplied,
        Self::GitDiffChecked,
        Self::VerificationCompleted,
        Self::RunCompleted,
    ];

    /// Position in [`Self::ORDERED`]; the two answers to a request share theirs.
    pub fn position(self) -> Option<usize> {
        let kind = if self == Self::ApprovalDenied { Self::ApprovalGranted } else { self };
        Self::ORDERED.iter().position(|ordered| *ordered == kind)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One line of `events.normalized.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the chain, from 0 and without gaps.
    pub seq: u64,
    /// Time on the run's own clock; it never goes backwards.
    pub time: Stamp,
    pub run_id: RunId,
    /// Kind of the event; each kind has its own keys in `data`.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// Details of the event, redacted before they were chained.
    pub data: serde_json::Map<String, serde_json::Value>,
    /// SHA-256 of the previous line's bytes without its newline; 64 zeros in the first.
    pub prev: Digest,
}

/// The first required event that is absent or stands before its predecessor in `seen`.
pub fn first_missing(required: &[EventKind], seen: &[EventKind]) -> Option<EventKind> {
    let mut from = 0;
    for kind in required {
        match seen[from..].iter().position(|event| event == kind) {
            Some(at) => from += at + 1,
            None => return Some(*kind),
        }
    }
    None
}

/// The first event that breaks the required order, if one does.
pub fn first_out_of_order(seen: &[EventKind]) -> Option<EventKind> {
    let mut last = 0;
    for kind in seen {
        let Some(position) = kind.position() else { continue };
        if position < last {
            return Some(*kind);
        }
        last = position;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use EventKind::{
        ApprovalDenied, ApprovalGranted, EngineStarted, GitDiffChecked, PatchApplied, RunCompleted, RunStarted,
    };

    #[test]
    fn required_events_must_stand_in_order() {
        let seen = [RunStarted, EngineStarted, PatchApplied, GitDiffChecked, RunCompleted];
        assert_eq!(first_missing(&[RunStarted, PatchApplied, RunCompleted], &seen), None);
        assert_eq!(first_missing(&[RunStarted, ApprovalGranted], &seen), Some(ApprovalGranted));
        assert_eq!(first_missing(&[GitDiffChecked, PatchApplied], &seen), Some(PatchApplied));
    }

    #[test]
    fn order_is_judged_where_events_occur() {
        assert_eq!(first_out_of_order(&[RunStarted, EngineStarted, PatchApplied, RunCompleted]), None);
        assert_eq!(first_out_of_order(&[RunStarted, RunCompleted, PatchApplied]), Some(PatchApplied));
        assert_eq!(first_out_of_order(&[ApprovalGranted, ApprovalDenied]), None);
    }
}
