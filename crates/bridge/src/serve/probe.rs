//! The response-shape probe: does this model answer with content, given a realistic budget?

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body as _;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use crate::protocol::refusal::RefusalCode;
use crate::protocol::usage::{AnswerShape, Outcome, Purpose};
use crate::protocol::wire::Wire;
use crate::request::core::Core;
use crate::request::exchange::{self, Reply, Whole};
use crate::request::stream::{Body, StreamBody};
use crate::request::ticket::Ticket;

/// Enough for a model to think and then to speak; less gives false alarms.
const BUDGET: u64 = 1024;

/// Finding of the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// Content, or a tool call, arrived.
    Content,
    /// Only reasoning arrived: `provider_response_shape`.
    ReasoningOnly,
    /// Nothing arrived at all.
    Empty,
    /// The upstream answered with an error.
    UpstreamError(u16),
    /// The request was refused or the answer was not one to pass on.
    Refused(RefusalCode),
    /// The bridge has stopped.
    NotAsked,
}

impl ProbeResult {
    fn of(shape: AnswerShape) -> Self {
        if shape.content || shape.tool_calls {
            Self::Content
        } else if shape.reasoning {
            Self::ReasoningOnly
        } else {
            Self::Empty
        }
    }
}

/// Asks the model one question through the same path as an engine's requests.
pub(crate) async fn probe_model(core: Arc<Core>, wire: Wire) -> ProbeResult {
    let Some(space) = core.reporter.reserve_events().await else { return ProbeResult::NotAsked };
    let mut ticket = Ticket::open_ticket(&core, space, Purpose::Probe, &["probe"]);
    let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    let headers = HeaderMap::from_iter((wire == Wire::Messages).then_some(version));
    match exchange::exchange_request(&core, &mut ticket, wire, &headers, question(&core.admission.model, wire)).await {
        Ok(Reply::Stream { mut body, .. }) => {
            body.ticket = Some(ticket);
            listen(body).await
        }
        Ok(Reply::Whole(Whole { status, bytes, outcome, .. })) => {
            ticket.deliver(&bytes);
            let shape = ticket.record.answer;
            ticket.end_request(outcome, status);
            match (outcome, ProbeResult::of(shape)) {
                // An answer that ran out of its budget while it reasoned is no error.
                (Outcome::Answered, found) | (_, found @ (ProbeResult::Content | ProbeResult::ReasoningOnly)) => found,
                _ => ProbeResult::UpstreamError(status),
            }
        }
        Err(refusal) => {
            let outcome = if ticket.was_sent() { Outcome::Failed } else { Outcome::Refused };
            ticket.refuse_request(&refusal, outcome);
            ProbeResult::Refused(refusal.code)
        }
    }
}

/// Listens until content arrives or the stream ends.
async fn listen(body: Box<StreamBody>) -> ProbeResult {
    let mut body = Body::Stream(body);
    loop {
        let more = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some();
        let Body::Stream(stream) = &mut body else { return ProbeResult::Empty };
        let shape = stream.watcher.seen.shape;
        let found = ProbeResult::of(shape);
        match &mut stream.ticket {
            // Enough was heard; what the model still says is not waited for.
            Some(ticket) if found == ProbeResult::Content => {
                ticket.record.outcome = Outcome::Answered;
                ticket.record.status = Some(200);
                return found;
            }
            Some(_) if more => {}
            _ => return stream.failure().map_or(found, ProbeResult::Refused),
        }
    }
}

fn question(model: &str, wire: Wire) -> Bytes {
    let words = "Reply with the single word: ready";
    let body = match wire {
        Wire::ChatCompletions | Wire::Messages => json!({
            "model": model, "max_tokens": BUDGET, "stream": true, "messages": [{"role": "user", "content": words}],
        }),
        Wire::Responses => json!({
            "model": model, "max_output_tokens": BUDGET, "stream": true, "store": false,
            "input": [{"role": "user", "content": [{"type": "input_text", "text": words}]}],
        }),
    };
    Bytes::from(body.to_string())
}
