//! The path of one request: token, route, body, judgement, budget, provider, answer. Each
//! step can refuse; whatever happens, one record tells of it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::protocol::headers;
use crate::protocol::refusal::{RefusalCode, RequestRefusal};
use crate::protocol::translate::{Translator, translate_document};
use crate::protocol::usage::{Outcome, Purpose};
use crate::protocol::wire::{NoRoute, Route, Wire, likely_wire, models_body};
use crate::request::answer::AnswerWatcher;
use crate::request::answer_recorder::AnswerRecorder;
use crate::request::core::{Core, PERMIT};
use crate::request::delivery::Delivery;
use crate::request::forward::{self, UpstreamAnswer, next_piece};
use crate::request::gather::Gathered;
use crate::request::order::{self, RequestOrder};
use crate::request::stream::{Body, StreamBody, Timer, refusal_of};
use crate::request::ticket::Ticket;
use crate::request::timing::within_limit;
use crate::request::whole::{Unended, WholeBody};

/// Answers one request. An error closes the connection silently: too many requests were not
/// for the model, or the receiver of records is gone.
pub(crate) async fn answer_request(
    core: Arc<Core>,
    delivery: Delivery,
    request: Request<Incoming>,
) -> Result<Response<Body>, ClosedError> {
    if core.is_flooded() {
        core.count_unrecorded();
        return Err(ClosedError);
    }
    let space = core.reporter.reserve_events().await.ok_or(ClosedError)?;
    let (parts, body) = request.into_parts();
    let mut ticket = Ticket::open_ticket(&core, space, Purpose::Engine, &[parts.method.as_str(), parts.uri.path()]);
    let guess = likely_wire(parts.uri.path(), parts.headers.contains_key("anthropic-version"));
    let reply = match routed(&core, &parts.method, &parts.uri, &parts.headers) {
        Ok(Route::Model(wire)) => ask(&core, &mut ticket, wire, &parts.headers, body).await.map_err(|no| (wire, no)),
        Ok(Route::Models) => Ok(local(models_body(&core.admission.provider, core.admission.names()))),
        Ok(Route::Hello) => Ok(local(String::new())),
        Err(refusal) => Err((guess, refusal)),
    };
    Ok(respond(&core, delivery, ticket, reply))
}

/// The connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("the bridge does not answer any more")]
pub(crate) struct ClosedError;

/// Reply to the engine.
#[derive(Debug)]
pub(crate) enum Reply {
    Whole(Whole),
    /// A stream, without its ticket.
    Stream {
        headers: HeaderMap,
        body: Box<StreamBody>,
    },
}

/// An answer that is there as a whole.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    /// Permit for the bytes, given back once they are sent.
    pub(crate) held: Option<OwnedSemaphorePermit>,
    /// Outcome that the record gets when the answer is delivered.
    pub(crate) outcome: Outcome,
    /// Recording of the answer, if the operator asked for one.
    pub(crate) answer_recorder: Option<AnswerRecorder>,
}

fn local(text: String) -> Reply {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let bytes = Bytes::from(text);
    Reply::Whole(Whole { status: 200, headers, bytes, held: None, outcome: Outcome::Local, answer_recorder: None })
}

/// Checks the token first: a client without one learns nothing about the routes except that
/// a server is here.
fn routed(core: &Core, method: &Method, uri: &hyper::Uri, headers: &HeaderMap) -> Result<Route, RequestRefusal> {
    let route = Route::find_route(method, uri.path(), uri.query());
    if route == Ok(Route::Hello) && uri.authority().is_none() {
        return Ok(Route::Hello);
    }
    if !core.accepts_token(headers::presented(headers)) {
        return Err(RefusalCode::TokenRefused.into());
    }
    match route {
        // A whole address instead of a path is meant for a proxy of another kind.
        _ if uri.authority().is_some() => Err(RefusalCode::RouteUnknown.into()),
        Ok(route) => Ok(route),
        Err(NoRoute::Path) => Err(RefusalCode::RouteUnknown.into()),
        Err(NoRoute::Method) => Err(RefusalCode::MethodRefused.into()),
    }
}

async fn ask(
    core: &Arc<Core>,
    ticket: &mut Ticket,
    wire: Wire,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Reply, RequestRefusal> {
    ticket.record.wire = Some(wire);
    let received = within_limit(core.deadlines.receive, receive(core, headers, body)).await;
    let (body, _held) = received.map_err(|_| RequestRefusal::from(RefusalCode::RequestTooSlow))??;
    exchange_request(core, ticket, wire, headers, body).await
}

/// The part of the path behind the engine's connection; the probe takes it too.
pub(crate) async fn exchange_request(
    core: &Arc<Core>,
    ticket: &mut Ticket,
    wire: Wire,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Reply, RequestRefusal> {
    let order = order::judge_request(core, ticket, wire, headers, body)?;
    if core.budget.limits_money() && !core.has_price() {
        core.budget.exceed(RefusalCode::ModelUnpriced);
        return Err(RefusalCode::ModelUnpriced.into());
    }
    ticket.hold_reservation(core.budget.reserve_estimate(order.estimate).await?);
    let answer = forward::forward(core, ticket, &order, headers).await?;
    let total = Instant::from_std(ticket.began()) + core.deadlines.total;
    match (answer.status, answer.is_stream()) {
        (200..300, true) => open_stream(core, ticket, order, answer, total).await,
        (200..300, false) => whole(core, ticket, order, answer, total).await,
        _ => upstream_error(core, &order, answer, total).await,
    }
}

/// The whole body, within its size and what all bodies together may take.
async fn receive(
    core: &Core,
    headers: &HeaderMap,
    mut body: Incoming,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), RequestRefusal> {
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(RequestRefusal::saying(RefusalCode::RequestMalformed, "The body is compressed."));
    }
    let limit = core.sizes.request as u64;
    if body.size_hint().lower() > limit {
        return Err(RefusalCode::RequestTooLarge.into());
    }
    let (mut gathered, mut held) = (Gathered::default(), None);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let broken = |_| RequestRefusal::noting(RefusalCode::RequestMalformed, "the body is broken");
        let Ok(piece) = frame.map_err(broken)?.into_data() else { continue };
        if (gathered.len() + piece.len()) as u64 > limit {
            return Err(RefusalCode::RequestTooLarge.into());
        }
        hold(core, &mut held, piece.len())?;
        gathered.push_piece(piece);
    }
    Ok((gathered.all(), held))
}

/// Claims room for bytes that are about to be held.
fn hold(core: &Core, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), RequestRefusal> {
    let permits = u32::try_from(bytes.div_ceil(PERMIT)).unwrap_or(u32::MAX);
    let busy = |_| RequestRefusal::from(RefusalCode::BridgeBusy);
    let more = Arc::clone(&core.bodies).try_acquire_many_owned(permits).map_err(busy)?;
    match held {
        Some(held) => held.merge(more),
        None => *held = Some(more),
    }
    Ok(())
}

async fn read_all(
    core: &Core,
    answer: &mut UpstreamAnswer,
    limit: usize,
    total: Instant,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), RequestRefusal> {
    let (mut gathered, mut held) = (Gathered::default(), None);
    while let Some(piece) = next_piece(&mut answer.body, core.deadlines.idle, total).await? {
        if gathered.len() + piece.len() > limit {
            return Err(RefusalCode::UpstreamTooLarge.into());
        }
        hold(core, &mut held, piece.len())?;
        gathered.push_piece(piece);
    }
    let bytes = gathered.all();
    if answer.lookout.sees(&bytes) {
        return Err(RefusalCode::SecretEchoed.into());
    }
    Ok((bytes, held))
}

/// The upstream's own error, passed on.
async fn upstream_error(
    core: &Arc<Core>,
    order: &RequestOrder,
    mut answer: UpstreamAnswer,
    total: Instant,
) -> Result<Reply, RequestRefusal> {
    const LONGEST: usize = 1 << 20;
    let (bytes, held) = read_all(core, &mut answer, LONGEST.min(core.sizes.answer), total).await?;
    let mut answer_recorder =
        AnswerRecorder::start_recording(core, order.wire, &order.recorded_as, answer.status, answer.content_type());
    if let Some(answer_recorder) = &mut answer_recorder {
        answer_recorder.push_piece(&bytes);
    }
    let headers = headers::pass_down(answer.headers);
    let outcome = Outcome::UpstreamError;
    Ok(Reply::Whole(Whole { status: answer.status, headers, bytes, held, outcome, answer_recorder }))
}

async fn whole(
    core: &Arc<Core>,
    ticket: &mut Ticket,
    order: RequestOrder,
    mut answer: UpstreamAnswer,
    total: Instant,
) -> Result<Reply, RequestRefusal> {
    let (bytes, held) = read_all(core, &mut answer, core.sizes.answer, total).await?;
    let mut watcher = AnswerWatcher::new(order.sent_on, Arc::clone(&core.admission), core.sizes.frame);
    let seen = watcher.see_document(&bytes);
    ticket.see(&mut watcher.seen);
    seen.map_err(|fault| refusal_of(&fault))?;
    let bytes = match &order.plan {
        None => bytes,
        Some(plan) => translate_document(plan, &bytes)
            .map(Bytes::from)
            .map_err(|error| RequestRefusal::noting(RefusalCode::UpstreamMalformed, error.to_string()))?,
    };
    let mut answer_recorder =
        AnswerRecorder::start_recording(core, order.wire, &order.recorded_as, answer.status, answer.content_type());
    if let Some(answer_recorder) = &mut answer_recorder {
        answer_recorder.push_piece(&bytes);
    }
    let outcome = if watcher.seen.error { Outcome::UpstreamError } else { Outcome::Answered };
    let headers = headers::pass_down(answer.headers);
    Ok(Reply::Whole(Whole { status: answer.status, headers, bytes, held, outcome, answer_recorder }))
}

/// Waits for the first frame, so that an answer of another model is refused before a byte
/// of it is passed on.
async fn open_stream(
    core: &Arc<Core>,
    ticket: &mut Ticket,
    order: RequestOrder,
    answer: UpstreamAnswer,
    total: Instant,
) -> Result<Reply, RequestRefusal> {
    const MOST_HELD: usize = 64 * 1024;
    let content_type = answer.content_type().to_owned();
    let headers = headers::pass_down(answer.headers);
    let mut body = Box::new(StreamBody {
        wire: order.wire,
        source: answer.body,
        watcher: AnswerWatcher::new(order.sent_on, Arc::clone(&core.admission), core.sizes.frame),
        lookout: answer.lookout,
        translator: order.plan.map(Translator::new),
        answer_recorder: None,
        held: VecDeque::new(),
        left: core.sizes.answer,
        timer: Timer::new(core.deadlines.idle, total),
        ticket: None,
        delivery: None,
        last_event_at: None,
        failed: None,
        inside_frame: false,
    });
    let mut held = 0;
    while body.watcher.frames_seen == 0 && held < MOST_HELD {
        let Some(piece) = next_piece(&mut body.source, core.deadlines.idle, total).await? else { break };
        let taken = body.take_piece(&piece);
        if taken.is_err() {
            ticket.see(&mut body.watcher.seen);
        }
        taken?;
        held += piece.len();
        body.held.push_back(piece);
    }
    body.answer_recorder =
        AnswerRecorder::start_recording(core, order.wire, &order.recorded_as, answer.status, &content_type);
    Ok(Reply::Stream { headers, body })
}

/// Turns the result of a request into the response, and the ticket into the record.
fn respond(
    core: &Core,
    delivery: Delivery,
    mut ticket: Ticket,
    reply: Result<Reply, (Wire, RequestRefusal)>,
) -> Response<Body> {
    match reply {
        Ok(Reply::Whole(Whole { status, headers, bytes, held, outcome, answer_recorder })) => {
            if outcome == Outcome::Local {
                core.count_unsent();
            }
            ticket.deliver(&bytes);
            if let Some(answer_recorder) = answer_recorder {
                answer_recorder.keep_recording();
            }
            let body = WholeBody::new(bytes, held, Unended { ticket, outcome, status, delivery });
            response(status, headers, Body::Whole(body))
        }
        Ok(Reply::Stream { headers, mut body }) => {
            body.ticket = Some(ticket);
            body.delivery = Some(delivery);
            response(200, headers, Body::Stream(body))
        }
        Err((wire, refusal)) => {
            let outcome = if ticket.was_sent() { Outcome::Failed } else { Outcome::Refused };
            if outcome == Outcome::Refused {
                core.count_unsent();
            }
            ticket.refuse_request(&refusal, outcome);
            let bytes = Bytes::from(refusal.body(wire));
            ticket.deliver(&bytes);
            ticket.end_request(outcome, refusal.code.status());
            refused(&refusal, bytes)
        }
    }
}

fn refused(refusal: &RequestRefusal, bytes: Bytes) -> Response<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // What was refused once is refused again; what an upstream failed at may be tried
    // again, as clients do.
    let again = refusal.code.reason().is_none() && matches!(refusal.code.status(), 408 | 500..);
    let value = HeaderValue::from_static(if again { "true" } else { "false" });
    headers.insert(HeaderName::from_static("x-should-retry"), value);
    response(refusal.code.status(), headers, Body::Whole(WholeBody::of_bytes(bytes)))
}

fn response(status: u16, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers;
    response
}
