//! Facts for the gates: records, the engine's program, the model's answer, the target and its baseline; and the decision.

pub(crate) mod decide;
pub(crate) mod engine;
pub(crate) mod ladder;
pub(crate) mod model;
pub(crate) mod settings;
pub(crate) mod target;
