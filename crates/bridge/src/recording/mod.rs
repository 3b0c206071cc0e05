//! Keeping what happened: events for the caller, and recordings of the traffic from which a bridge can answer again.

mod meaning;
pub(crate) mod observe;
pub(crate) mod record;
