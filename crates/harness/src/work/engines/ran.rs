//! Findings of the engine's run: the end of its process, its inputs, and its own claims.

use std::path::PathBuf;

use contract::claim::Claim;
use contract::{Coverage, Digest, Event, EventData};
use sandbox::HeldLimit;
use serde::{Deserialize, Serialize};

use super::given::SearchedPlaces;
use crate::run::notes::{NotedStep, StepFindings};
use crate::run::posture::EngineLimits;

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
    /// Time limit, if its own start recorded one; otherwise it follows from contract and
    /// request.
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
    pub(super) given: Option<SearchedPlaces>,
    /// Directories of the host that the engine could write to.
    #[serde(skip)]
    pub(super) writable: Vec<PathBuf>,
}

impl StepFindings for EngineRun {
    const STEP: NotedStep = NotedStep::Engine;
}

impl EngineRun {
    /// Exit code; none if it ended otherwise or never ran.
    pub(crate) fn exit(&self) -> Option<i32> {
        self.end.exit
    }

    /// True if the time limit ended it.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.end.timed_out
    }

    /// True for an engine that ended in time and without an error code.
    pub(crate) fn has_ended_well(&self) -> bool {
        self.end.exit == Some(0) && !self.end.timed_out
    }

    /// Reason for which the harness ended it, if it did.
    pub(crate) fn ended_by_harness(&self) -> Option<&String> {
        self.end.ended_by_harness.as_ref()
    }

    /// Remarks of its own log that decide nothing.
    pub(crate) fn notes(&self) -> &[String] {
        &self.end.notes
    }

    /// Duration of the process in milliseconds.
    pub(crate) fn duration_ms(&self) -> Option<u64> {
        self.end.duration_ms
    }

    /// Digest of its command line.
    pub(crate) fn argv_sha256(&self) -> Option<Digest> {
        self.end.argv_sha256
    }

    /// Limits that were in force, and the processes it left behind.
    pub(crate) fn limits(&self) -> EngineLimits<'_> {
        EngineLimits { wall_seconds: self.end.wall_seconds, limits: &self.end.limits, leftovers: &self.end.leftovers }
    }

    /// Claims that it made.
    pub(crate) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Inputs that it was given; none if it never started.
    pub(crate) fn given(&self) -> Option<&SearchedPlaces> {
        self.given.as_ref()
    }

    /// Paths that it could write.
    pub(crate) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Takes over facts from an event of a dead run, which no note may contradict; the
    /// coverage that follows.
    pub(crate) fn restore_event(&mut self, event: &Event) -> Option<Coverage> {
        match event.read_data() {
            Some(EventData::EngineStarted(started)) => self.end.wall_seconds = Some(started.wall_seconds),
            Some(EventData::EngineExited(exited)) => {
                self.end.exit = exited.exit_code;
                self.end.duration_ms = exited.duration_ms;
                self.end.ended_by_harness = exited.stopped_because;
                return self.end.ended_by_harness.as_ref().map(|_| Coverage::EngineEndedByHarness);
            }
            _ => {}
        }
        None
    }
}
