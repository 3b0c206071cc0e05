//! The formats of the traffic: JSON, wires and routes, headers, event streams, token
//! counts, refusals, and the changes that a body may need on its way. Knows no connection
//! and no rule.

pub(crate) mod headers;
pub(crate) mod json;
pub(crate) mod refusal;
pub(crate) mod shim;
pub(crate) mod sse;
pub(crate) mod translate;
pub(crate) mod usage;
pub(crate) mod wire;
