//! What a confinement came to: measured and recorded, in the words of `sandbox.json`.

use sandbox_facts::{ObservedConduct, Posture, SandboxIds};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    #[serde(flatten)]
    pub posture: Posture,
    pub ids: SandboxIds,
    pub seen: ObservedConduct,
}
