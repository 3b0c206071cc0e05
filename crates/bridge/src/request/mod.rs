//! The path of a request, from the engine's bytes to the last byte of its answer.
//! `exchange.rs` has its steps in order.

mod answer;
pub(crate) mod core;
pub(crate) mod delivery;
pub(crate) mod exchange;
mod forward;
mod gather;
mod order;
pub(crate) mod stream;
mod tape;
pub(crate) mod ticket;
mod timing;
pub(crate) mod whole;
