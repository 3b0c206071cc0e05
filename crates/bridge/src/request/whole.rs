//! A complete answer on its way to the engine.

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::protocol::usage::Outcome;
use crate::request::delivery::Delivery;
use crate::request::ticket::Ticket;

/// Bytes that are handed over piece by piece, so that their memory stays claimed until the client
/// has taken them.
#[derive(Debug)]
pub(crate) struct WholeBody {
    left: Bytes,
    /// Gone when the last piece was handed over. Dropped before, its record says that the
    /// engine went away.
    unended: Option<Box<Unended>>,
    _held: Option<OwnedSemaphorePermit>,
}

/// Ticket of an answer that has not been handed over in full, and the outcome that it will
/// have.
#[derive(Debug)]
pub(crate) struct Unended {
    pub(crate) ticket: Ticket,
    pub(crate) outcome: Outcome,
    pub(crate) status: u16,
    pub(crate) delivery: Delivery,
}

impl WholeBody {
    const PIECE: usize = 64 * 1024;

    /// Body of a whole answer. An answer of the model counts once the client has all of it;
    /// other outcomes do not depend on delivery.
    pub(crate) fn new(bytes: Bytes, held: Option<OwnedSemaphorePermit>, unended: Unended) -> Self {
        let waits = unended.outcome == Outcome::Answered && !bytes.is_empty();
        let unended = if waits {
            Some(Box::new(unended))
        } else {
            unended.ticket.end_request(unended.outcome, unended.status);
            None
        };
        Self { left: bytes, unended, _held: held }
    }

    /// Bytes whose request has its record already.
    pub(crate) fn of_bytes(bytes: Bytes) -> Self {
        Self { left: bytes, unended: None, _held: None }
    }

    /// Bytes still to be sent.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Next piece to send; none at the end.
    pub(crate) fn next_piece(&mut self) -> Option<Bytes> {
        let piece = match self.left.len() {
            0 => return None,
            // Splitting makes the bytes shared, which costs.
            1..=Self::PIECE => std::mem::take(&mut self.left),
            _ => self.left.split_to(Self::PIECE),
        };
        if self.left.is_empty()
            && let Some(unended) = self.unended.take()
        {
            let Unended { ticket, outcome, status, delivery } = *unended;
            delivery.end_when_flushed(ticket, outcome, status);
        }
        Some(piece)
    }
}
