//! The record of one request while it is under way. However the request ends, its record is
//! handed over exactly once.

use std::sync::Arc;
use std::time::Instant;

use contract::Digest;
use sha2::{Digest as _, Sha256};

use crate::policy::limits::Reservation;
use crate::protocol::refusal::{RefusalCode, RequestRefusal};
use crate::protocol::usage::{Cost, Outcome, Purpose, Tokens, UsageRecord, noted};
use crate::protocol::wire::Wire;
use crate::recording::observe::{EventSpace, ModelEvent, Requested};
use crate::request::answer::Sightings;
use crate::request::core::Core;

/// A request under way.
#[derive(Debug)]
pub(crate) struct Ticket {
    core: Arc<Core>,
    began: Instant,
    space: EventSpace,
    reservation: Option<Reservation>,
    response: Sha256,
    pub(crate) record: UsageRecord,
}

impl Ticket {
    /// Opens the record of a request. `room` guarantees space for its events.
    pub(crate) fn open_ticket(core: &Arc<Core>, space: EventSpace, purpose: Purpose, route: &[&str]) -> Self {
        let (began, provider) = (Instant::now(), core.admission.provider.clone());
        let blank = UsageRecord::blank(core.next_seq(), core.clock.stamp_at(began), purpose);
        let record = UsageRecord { route: noted(route.join(" ")), provider, ..blank };
        Self { core: Arc::clone(core), began, space, reservation: None, response: Sha256::new(), record }
    }

    /// Time at which the request arrived.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Ties the request's share of the budget to its record.
    pub(crate) fn hold_reservation(&mut self, reservation: Reservation) {
        self.reservation = Some(reservation);
    }

    /// The request is about to be sent: from here on it costs.
    pub(crate) fn mark_requested(&mut self, wire: Wire) {
        if let Some(reservation) = &mut self.reservation {
            reservation.sent();
        }
        self.record.cost_micros = self.core.request_cost(&Tokens::default());
        if let Some(permit) = self.space.requested.take() {
            permit.send(ModelEvent::Requested(Requested {
                seq: self.record.seq,
                wire,
                purpose: self.record.purpose,
                provider: self.record.provider.clone(),
                model: self.record.model_asked.clone().unwrap_or_default(),
            }));
        }
    }

    /// True once the request was reported as sent.
    pub(crate) fn was_sent(&self) -> bool {
        self.space.requested.is_none()
    }

    /// Notes the time of the answer's first byte.
    pub(crate) fn first_byte(&mut self) {
        self.record.first_byte_ms.get_or_insert(millis(self.began));
    }

    /// Bytes on their way to the engine.
    pub(crate) fn deliver(&mut self, bytes: &[u8]) {
        self.record.response_bytes += bytes.len() as u64;
        self.response.update(bytes);
    }

    /// Takes over what was seen of the answer.
    pub(crate) fn see(&mut self, seen: &mut Sightings) {
        let record = &mut self.record;
        record.model_answered = seen.model.take().map(noted);
        record.served = seen.served;
        record.tokens = seen.tokens;
        record.finish_reason = seen.finish.take().map(noted);
        record.answer = seen.shape;
        record.cost_micros = self.core.request_cost(&seen.tokens);
        let money = match record.cost_micros {
            Cost::Micros(micros) => Some(micros),
            Cost::Unpriced | Cost::Unknown | Cost::Nothing => None,
        };
        if let Some(reservation) = &mut self.reservation {
            reservation.reported(seen.tokens.total(), money);
        }
        self.core.issue(&seen.issued);
    }

    /// Records a refusal, or a fault of the upstream.
    pub(crate) fn refuse_request(&mut self, refusal: &RequestRefusal, outcome: Outcome) {
        self.record.outcome = outcome;
        // A fault of the upstream is no refusal of ours; an answer of another model is
        // refused after the fact.
        self.record.refused = outcome == Outcome::Refused || refusal.code == RefusalCode::OtherModelAnswered;
        self.record.refusal = Some(refusal.code);
        self.record.detail = refusal.inside.clone().map(noted);
    }

    /// The end of a request. The record goes out when the ticket does.
    pub(crate) fn end_request(mut self, outcome: Outcome, status: u16) {
        self.record.outcome = outcome;
        self.record.status = Some(status);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(permit) = self.space.ended.take() else { return };
        self.record.total_ms = millis(self.began);
        if self.record.response_bytes > 0 {
            let digest: [u8; 32] = std::mem::take(&mut self.response).finalize().into();
            self.record.response_sha256 = Some(Digest::from_bytes(digest));
        }
        let blank = UsageRecord::blank(self.record.seq, self.record.time, self.record.purpose);
        permit.send(ModelEvent::Ended(Box::new(std::mem::replace(&mut self.record, blank))));
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
