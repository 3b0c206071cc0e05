//! Records of the traffic: events for the caller, and recordings from which a bridge can
//! answer again.

mod meaning;
pub(crate) mod observe;
pub(crate) mod record;
