//! The queue: runs that were submitted, and the workers that take them.
//!
//! One row a run, from `queued` over `claimed` and `started` to `sealed` or `cancelled`. The row holds what decides whose turn it is; the
//! order itself stands in the entry that submitted it and is read from there, so that nobody changes an order by changing a row. Each
//! claim raises the epoch. The holder of an older one can neither start nor seal.
//! `rules.rs` has the steps as pure functions: a file makes them by these functions, a server by functions of its own that tests compare with these.

#[cfg(test)]
mod model_check;
mod order;
mod rules;

pub use order::{ClaimAsk, QueueLimits, QueueOrder, QueueState, QueuedRun};
pub use rules::{CancelledTurn, QueueRefusal, QueueTurn, pick_turn};
