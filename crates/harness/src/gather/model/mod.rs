//! The model of a run: what the operator's records and settings say of it, the bridge that stands between it and the
//! engine, and what of its use becomes evidence.

mod account;
mod day;
mod facts;
mod link;
mod reach;
mod setup;
mod used;
mod values;

pub(crate) use day::{DeadShare, settle_dead};
pub(crate) use facts::{auth_bridge, facts};
pub(crate) use link::{ModelLink, PORT};
pub(crate) use used::{EventLog, ModelSession};
