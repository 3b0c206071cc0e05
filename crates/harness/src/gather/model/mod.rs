//! The model of a run: the operator's records and settings about it, the bridge between it
//! and the engine, and the evidence of its use.

mod account;
mod day;
mod facts;
mod link;
mod reach;
mod setup;
mod used;
mod values;

pub(crate) use day::{DeadShare, settle_dead};
pub(crate) use facts::{auth_bridge, model_facts};
pub(crate) use link::{ModelLink, PORT};
pub(crate) use used::{EventLog, ModelSession};
