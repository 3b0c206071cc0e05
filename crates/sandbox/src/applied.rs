//! Result of a confinement: measured and recorded, in the words of `sandbox.json`.

use sandbox_facts::{ObservedConduct, Posture, SandboxIds};
use serde::{Deserialize, Serialize};

/// Confinement of one program as it was in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Walls around the program, and the proof taken from inside.
    #[serde(flatten)]
    pub posture: Posture,
    /// User and group, inside and outside.
    pub ids: SandboxIds,
    /// Observations of the recorders, complete after the end.
    pub seen: ObservedConduct,
}
