//! A stream on its way to the engine: raw bytes passed on as they come, watched, bounded,
//! and ended in the wire's own words when something is wrong.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::protocol::refusal::{RefusalCode, RequestRefusal};
use crate::protocol::translate::Translator;
use crate::protocol::usage::Outcome;
use crate::protocol::wire::Wire;
use crate::request::answer::{AnswerWatcher, Fault};
use crate::request::answer_recorder::AnswerRecorder;
use crate::request::delivery::Delivery;
use crate::request::forward::{AnswerBody, fault};
use crate::request::ticket::Ticket;
use crate::request::whole::WholeBody;
use crate::upstream::secret::SecretLookout;

/// The body of an answer to the engine.
#[derive(Debug)]
pub(crate) enum Body {
    Whole(WholeBody),
    Stream(Box<StreamBody>),
}

impl HttpBody for Body {
    type Data = Bytes;
    /// A stream cannot fail half-way: what goes wrong becomes its last event.
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Poll::Ready(body.next_piece().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream.poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(body) if body.left() == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.left() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// A stream whose first frame was seen and is good.
#[derive(Debug)]
pub(crate) struct StreamBody {
    pub(crate) wire: Wire,
    pub(crate) source: AnswerBody,
    /// Reads along, to check the model and count the usage.
    pub(crate) watcher: AnswerWatcher,
    /// Searches the stream for values that must not leave.
    pub(crate) lookout: SecretLookout,
    /// Translates frames, if the request was translated.
    pub(crate) translator: Option<Translator>,
    pub(crate) answer_recorder: Option<AnswerRecorder>,
    /// Pieces that were taken in while the first frame was waited for; counted and watched
    /// already.
    pub(crate) held: VecDeque<Bytes>,
    /// Bytes of the answer that are still permitted.
    pub(crate) left: usize,
    pub(crate) timer: Timer,
    /// None once the end was reported.
    pub(crate) ticket: Option<Ticket>,
    /// The client's connection; a probe has none.
    pub(crate) delivery: Option<Delivery>,
    /// Flushes of the connection when the wire's last event was handed over.
    pub(crate) last_event_at: Option<u64>,
    /// Fault that ends the stream early.
    pub(crate) failed: Option<RefusalCode>,
    /// True if delivery stopped inside of a frame.
    pub(crate) inside_frame: bool,
}

/// The time between pieces and the time for all, in one timer that is armed anew only when
/// it fires.
#[derive(Debug)]
pub(crate) struct Timer {
    /// Longest pause between two pieces.
    pub(crate) idle: Duration,
    /// Deadline of the whole answer.
    pub(crate) total: Instant,
    /// Time of the last piece.
    pub(crate) last: Instant,
    pub(crate) sleep: Pin<Box<Sleep>>,
}

impl Timer {
    /// Timer for the next piece and for the whole answer.
    pub(crate) fn new(idle: Duration, total: Instant) -> Self {
        let last = Instant::now();
        Self { idle, total, last, sleep: Box::pin(tokio::time::sleep_until(total.min(last + idle))) }
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let end = self.total.min(self.last + self.idle);
            if Instant::now() >= end {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(end);
        }
    }
}

impl StreamBody {
    /// Cause of a stream that ended early.
    pub(crate) fn failure(&self) -> Option<RefusalCode> {
        self.failed
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.ticket.is_none() {
                return Poll::Ready(None);
            }
            if let Some(piece) = self.held.pop_front() {
                match self.shape(piece) {
                    Ok(piece) if piece.is_empty() => continue,
                    Ok(piece) => return Poll::Ready(Some(self.deliver(piece))),
                    Err(refusal) => return Poll::Ready(Some(self.fail(&refusal))),
                }
            }
            let taken = match self.source.poll_data(cx) {
                Poll::Pending if self.timer.poll_late(cx).is_pending() => return Poll::Pending,
                Poll::Pending => Err(RequestRefusal::noting(RefusalCode::UpstreamTimeout, "the answer stopped")),
                Poll::Ready(Ok(Some(piece))) => self.take_piece(&piece).map(|()| Some(piece)),
                Poll::Ready(Ok(None)) => Ok(None),
                Poll::Ready(Err(error)) => Err(fault(&error)),
            };
            match taken {
                Ok(Some(piece)) => self.held.push_back(piece),
                Ok(None) if !self.has_end() => return Poll::Ready(Some(self.fail(&ended_early()))),
                Ok(None) => return Poll::Ready(self.finish()),
                Err(refusal) if self.is_harmless(&refusal) => return Poll::Ready(self.finish()),
                Err(refusal) => return Poll::Ready(Some(self.fail(&refusal))),
            }
        }
    }

    /// Counts and watches a piece.
    pub(crate) fn take_piece(&mut self, piece: &Bytes) -> Result<(), RequestRefusal> {
        self.timer.last = Instant::now();
        self.left = self.left.checked_sub(piece.len()).ok_or(RefusalCode::UpstreamTooLarge)?;
        if self.timer.last >= self.timer.total {
            return Err(RequestRefusal::noting(RefusalCode::UpstreamTimeout, "the answer took too long"));
        }
        if self.lookout.sees(piece) {
            return Err(RefusalCode::SecretEchoed.into());
        }
        self.watcher.see_piece(piece).map_err(|found| refusal_of(&found))
    }

    fn shape(&mut self, piece: Bytes) -> Result<Bytes, RequestRefusal> {
        match &mut self.translator {
            None => Ok(piece),
            Some(translator) => translator
                .piece(&piece)
                .map(Bytes::from)
                .map_err(|error| RequestRefusal::noting(RefusalCode::UpstreamMalformed, error.to_string())),
        }
    }

    fn deliver(&mut self, piece: Bytes) -> Bytes {
        if let Some(ticket) = &mut self.ticket {
            ticket.deliver(&piece);
        }
        if let Some(answer_recorder) = &mut self.answer_recorder {
            answer_recorder.push_piece(&piece);
        }
        self.inside_frame = !piece.ends_with(b"\n\n");
        if self.watcher.seen.terminal && self.held.is_empty() && self.last_event_at.is_none() {
            self.last_event_at = Some(self.delivery.as_ref().map_or(0, Delivery::flushes));
        }
        piece
    }

    /// The wire's last event came, or the model's own sign of an end before the end of the
    /// body, which some servers leave it at.
    fn has_end(&self) -> bool {
        let seen = &self.watcher.seen;
        seen.terminal || seen.complete || seen.error
    }

    /// A fault of the connection after the wire's last event was passed on takes nothing
    /// away from the answer.
    fn is_harmless(&self, refusal: &RequestRefusal) -> bool {
        use RefusalCode::{UpstreamCut, UpstreamMalformed, UpstreamTimeout, UpstreamTooLarge};
        self.last_event_at.is_some()
            && matches!(refusal.code, UpstreamCut | UpstreamMalformed | UpstreamTimeout | UpstreamTooLarge)
    }

    /// The client's socket has taken the wire's last event.
    fn is_forwarded(&self) -> bool {
        match (self.last_event_at, &self.delivery) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(at), Some(delivery)) => delivery.flushes() > at,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.watcher.seen.error { Outcome::UpstreamError } else { Outcome::Answered }
    }

    fn keep_recording(&mut self) {
        if let Some(answer_recorder) = self.answer_recorder.take() {
            answer_recorder.keep_recording();
        }
    }

    /// The upstream is done.
    fn finish(&mut self) -> Option<Bytes> {
        let last = self.translator.as_mut().map(|translator| Bytes::from(translator.end_stream()));
        let last = last.filter(|bytes| !bytes.is_empty()).map(|bytes| self.deliver(bytes));
        self.keep_recording();
        let (outcome, forwarded) = (self.outcome(), self.is_forwarded());
        if let Some(mut ticket) = self.ticket.take() {
            ticket.see(&mut self.watcher.seen);
            match &self.delivery {
                Some(delivery) if !forwarded => delivery.end_when_flushed(ticket, outcome, 200),
                _ => ticket.end_request(outcome, 200),
            }
        }
        last
    }

    /// Ends the stream with an error the client understands.
    fn fail(&mut self, refusal: &RequestRefusal) -> Bytes {
        let gap = if self.inside_frame { "\n\n" } else { "" };
        let event = self.deliver(Bytes::from(format!("{gap}{}", refusal.error_event(self.wire))));
        self.held.clear();
        self.failed = Some(refusal.code);
        if let Some(mut ticket) = self.ticket.take() {
            ticket.see(&mut self.watcher.seen);
            ticket.refuse_request(refusal, Outcome::Failed);
            ticket.record.status = Some(200);
        }
        event
    }
}

/// An engine that goes away early still has used what was reported; one that goes away
/// after the last event was answered.
impl Drop for StreamBody {
    fn drop(&mut self) {
        let Some(mut ticket) = self.ticket.take() else { return };
        ticket.see(&mut self.watcher.seen);
        if self.last_event_at.is_some() {
            self.keep_recording();
        }
        if self.is_forwarded() {
            ticket.end_request(self.outcome(), 200);
        }
    }
}

fn ended_early() -> RequestRefusal {
    RequestRefusal::noting(RefusalCode::UpstreamCut, "the answer ended without its last event")
}

/// The refusal a fault of an answer becomes.
pub(crate) fn refusal_of(fault: &Fault) -> RequestRefusal {
    match fault {
        Fault::OtherModel(name) => RequestRefusal::noting(RefusalCode::OtherModelAnswered, format!("answered: {name}")),
        Fault::NotJson => RequestRefusal::noting(RefusalCode::UpstreamMalformed, "not JSON"),
        Fault::TooLong => RequestRefusal::noting(RefusalCode::UpstreamTooLarge, "a frame is too long"),
    }
}
