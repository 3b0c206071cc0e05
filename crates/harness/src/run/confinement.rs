//! The engine's part of a run: supervising stages that are ready, the decoys' content, the posture of the engine's sandbox, and the
//! record of every sandbox. The rest of a run's file knows nothing of engines.

use std::collections::VecDeque;

use contract::decision::Profile;
use contract::sandbox::Posture;
use sandbox::{SandboxStage, SuperviseError};

use crate::run::harness::Harness;
use crate::run::sandboxes::Sandboxes;
use crate::run::supervise;

/// Confinement of what a run starts.
pub(crate) struct RunConfinement {
    /// Stages that are ready before they are needed; only an ungated request never gets any.
    stages: VecDeque<SandboxStage>,
    /// Content of the decoys in this run's sandboxes.
    canary: String,
    /// The engine's sandbox as it was probed before the engine started.
    posture: Option<Posture>,
    sandboxes: Sandboxes,
}

impl RunConfinement {
    /// Confinement of a run that has started nothing. A run that is sealed by another process has no decoys any more.
    pub(crate) fn with_canary(canary: String) -> Self {
        Self { stages: VecDeque::new(), canary, posture: None, sandboxes: Sandboxes::default() }
    }

    /// Content of the decoys.
    pub(crate) fn canary(&self) -> &str {
        &self.canary
    }

    /// Starts the stages of engine and verification ahead of their use.
    pub(crate) fn prepare_stages(&mut self, harness: &Harness, profile: Profile) -> Result<(), SuperviseError> {
        for _ in 0..2 {
            self.stages.push_back(supervise::prepare_stage(&harness.supervisor, profile)?);
        }
        Ok(())
    }

    /// A stage that is ready; none where all are used.
    pub(crate) fn take_ready_stage(&mut self) -> Option<SandboxStage> {
        self.stages.pop_front()
    }

    /// A stage that is ready, else a new one.
    pub(crate) fn take_stage(&mut self, harness: &Harness, profile: Profile) -> Result<SandboxStage, SuperviseError> {
        let prepare = || supervise::prepare_stage(&harness.supervisor, profile);
        self.take_ready_stage().map_or_else(prepare, Ok)
    }

    /// Posture of the engine's sandbox; none before it was probed, or without one.
    pub(crate) fn posture(&self) -> Option<&Posture> {
        self.posture.as_ref()
    }

    /// Notes the posture of the engine's sandbox.
    pub(crate) fn note_posture(&mut self, posture: Option<Posture>) {
        self.posture = posture;
    }

    /// Record of the sandboxes.
    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        &self.sandboxes
    }

    /// Record of the sandboxes, to add to.
    pub(crate) fn sandboxes_mut(&mut self) -> &mut Sandboxes {
        &mut self.sandboxes
    }

    /// Takes over the record that a dead run has noted.
    pub(crate) fn restore_sandboxes(&mut self, sandboxes: Sandboxes) {
        self.sandboxes = sandboxes;
    }

    /// Keeps the posture of the engine's sandbox where nothing came back from it.
    pub(crate) fn keep_lost_posture(&mut self) {
        if let Some(posture) = self.posture.clone() {
            self.sandboxes.add_lost(posture);
        }
    }
}
