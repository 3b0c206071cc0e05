//! Detects that the client's socket has taken an answer in full.
//!
//! Clients hang up as soon as they have read the last event, so the order of closing does
//! not show the end of a request. The HTTP layer flushes the socket only when its own
//! buffer is empty: a complete flush after the last byte was handed over means that the
//! kernel has all of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::usage::Outcome;
use crate::request::ticket::Ticket;

/// Flushes of one connection, and the answers that wait for the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delivery(Arc<Mutex<Unflushed>>);

#[derive(Debug, Default)]
struct Unflushed {
    flushes: u64,
    /// Answers handed over in full. A connection that breaks first drops them, which
    /// records them as disconnected.
    waiting: Vec<(Ticket, Outcome, u16)>,
}

impl Delivery {
    fn state(&self) -> MutexGuard<'_, Unflushed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of complete flushes so far. Bytes handed over at one count are in the kernel
    /// at the next.
    pub(crate) fn flushes(&self) -> u64 {
        self.state().flushes
    }

    /// Ends a ticket at the next complete flush. Called when the last byte of its answer is
    /// handed over.
    pub(crate) fn end_when_flushed(&self, ticket: Ticket, outcome: Outcome, status: u16) {
        self.state().waiting.push((ticket, outcome, status));
    }

    /// Counts a complete flush and ends the tickets that waited for it.
    pub(crate) fn flushed(&self) {
        let mut state = self.state();
        state.flushes += 1;
        let ended = std::mem::take(&mut state.waiting);
        // The end of a ticket settles the account, which may write a file.
        drop(state);
        for (ticket, outcome, status) in ended {
            ticket.end_request(outcome, status);
        }
    }
}
