//! Findings of the engine's run: how its process ended, what it was given, and what it says of itself.

use std::path::PathBuf;

use contract::claim::Claim;
use contract::{Coverage, Digest, Event, EventKind};
use sandbox::HeldLimit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::given::Given;
use crate::posture::EngineLimits;

/// End of the engine's process.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EngineEnd {
    pub(super) exit: Option<i32>,
    pub(super) timed_out: bool,
    /// Nobody ended it.
    pub(super) ended_itself: bool,
    /// Reason for which the harness ended it, where it was done and stayed.
    pub(super) ended_by_harness: Option<String>,
    /// Remarks of its own log that decide nothing.
    pub(super) notes: Vec<String>,
    pub(super) duration_ms: Option<u64>,
    pub(super) argv_sha256: Option<Digest>,
    pub(super) leftovers: Vec<String>,
    pub(super) limits: Vec<HeldLimit>,
    /// Time it was given, where its own start says so; else it follows from contract and request.
    pub(super) wall_seconds: Option<u64>,
}

/// Run of an engine, from its order to its end. Only this folder fills it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EngineRun {
    #[serde(rename = "engine")]
    pub(super) end: EngineEnd,
    /// Claims of the engine about itself, until they are judged.
    #[serde(skip)]
    pub(super) claims: Vec<Claim>,
    /// Everything the engine was given, searched for paths of repositories.
    #[serde(skip)]
    pub(super) given: Option<Given>,
    /// Directories of the host that the engine could write to.
    #[serde(skip)]
    pub(super) writable: Vec<PathBuf>,
}

impl EngineRun {
    pub(crate) fn exit(&self) -> Option<i32> {
        self.end.exit
    }

    pub(crate) fn has_timed_out(&self) -> bool {
        self.end.timed_out
    }

    /// True for an engine that ended in time and without an error code.
    pub(crate) fn has_ended_well(&self) -> bool {
        self.end.exit == Some(0) && !self.end.timed_out
    }

    pub(crate) fn ended_by_harness(&self) -> Option<&String> {
        self.end.ended_by_harness.as_ref()
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.end.notes
    }

    pub(crate) fn duration_ms(&self) -> Option<u64> {
        self.end.duration_ms
    }

    pub(crate) fn argv_sha256(&self) -> Option<Digest> {
        self.end.argv_sha256
    }

    pub(crate) fn limits(&self) -> EngineLimits<'_> {
        EngineLimits { wall_seconds: self.end.wall_seconds, limits: &self.end.limits, leftovers: &self.end.leftovers }
    }

    pub(crate) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    pub(crate) fn given(&self) -> Option<&Given> {
        self.given.as_ref()
    }

    pub(crate) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Takes over what an event of a dead run says of it, which no note may contradict; the coverage that follows.
    pub(crate) fn restore_event(&mut self, event: &Event) -> Option<Coverage> {
        let data = |key: &str| event.data.get(key);
        match event.kind {
            EventKind::EngineStarted => self.end.wall_seconds = data("wall_seconds").and_then(Value::as_u64),
            EventKind::EngineExited => {
                self.end.exit = data("exit_code").and_then(read::<i32>);
                self.end.duration_ms = data("duration_ms").and_then(Value::as_u64);
                self.end.ended_by_harness = data("stopped_because").and_then(read::<String>);
                return self.end.ended_by_harness.as_ref().map(|_| Coverage::EngineEndedByHarness);
            }
            _ => {}
        }
        None
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}
