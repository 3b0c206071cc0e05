//! The path of a request, from the engine's bytes to the last byte of its answer.
//! `exchange.rs` has its steps in order.

mod answer;
mod answer_recorder;
pub(crate) mod core;
pub(crate) mod delivery;
pub(crate) mod exchange;
mod forward;
mod gather;
mod order;
pub(crate) mod stream;
pub(crate) mod ticket;
mod timing;
pub(crate) mod whole;
