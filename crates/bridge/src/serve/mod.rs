//! The bridge as its caller has it: the thread, the listeners and their connections, and
//! the probe.

pub(crate) mod bridge;
pub(crate) mod probe;
mod stall;
