//! The model of a run: what the operator's records and settings say of it, the bridge that stands between it and the
//! engine, and what of its use becomes evidence.

mod account;
mod day;
mod facts;
mod link;
mod reach;
mod records;
mod setup;
mod signed;
mod used;
mod values;

pub(crate) use day::{DeadShare, settle_dead};
pub(crate) use facts::{auth_bridge, facts};
pub(crate) use link::{ModelLink, PORT};
pub(crate) use records::read as read_record;
pub use records::{RecordRow, check_record, list_records};
pub(crate) use signed::Signers;
pub(crate) use used::{EventLog, ModelSession};
