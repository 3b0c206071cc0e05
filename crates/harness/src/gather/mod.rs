//! Facts for the gates: records, the engine's program, the model's answer, the target and
//! its baseline; and the decision.

pub(crate) mod admission;
pub(crate) mod approval;
pub(crate) mod approval_events;
pub(crate) mod decide;
pub(crate) mod decisions_on_requests;
pub(crate) mod engine;
pub(crate) mod ladder;
pub(crate) mod landing;
pub(crate) mod model;
pub(crate) mod off_limits;
pub(crate) mod people;
pub(crate) mod plan;
pub(crate) mod plan_records;
pub(crate) mod protected;
pub(crate) mod requests;
pub(crate) mod settings;
pub(crate) mod source_target;
pub(crate) mod target;
pub(crate) mod used_marks;
