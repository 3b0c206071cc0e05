//! Sending an order on and taking its answer in: the provider, or a recording.

use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout, timeout_at};

use crate::protocol::headers;
use crate::protocol::refusal::{RefusalCode, RequestRefusal};
use crate::protocol::wire::Wire;
use crate::request::core::{AnswerRoute, Core, LiveRoute};
use crate::request::order::RequestOrder;
use crate::request::ticket::Ticket;
use crate::request::timing::{at_once, within_limit};
use crate::upstream::client::{self, AnswerHead, Incoming, ReadUpstreamError, RequestHead};
use crate::upstream::credential::Credential;
use crate::upstream::secret::{Secret, SecretLookout};

/// An answer whose head is there.
#[derive(Debug)]
pub(crate) struct UpstreamAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
    /// Looks for the credential in what comes back.
    pub(crate) lookout: SecretLookout,
}

/// The bytes of an answer, as they come.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    Live(Incoming),
    Recorded(Option<Bytes>),
}

impl AnswerBody {
    /// Polls for the next piece; none at the end.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ReadUpstreamError>> {
        match self {
            Self::Live(incoming) => incoming.poll_data(cx),
            Self::Recorded(bytes) => Poll::Ready(Ok(bytes.take())),
        }
    }

    /// Waits for the next piece; none at the end.
    pub(crate) async fn data(&mut self) -> Result<Option<Bytes>, ReadUpstreamError> {
        match self {
            Self::Live(incoming) => incoming.data().await,
            Self::Recorded(bytes) => Ok(bytes.take()),
        }
    }
}

impl UpstreamAnswer {
    /// Content type as the upstream sent it; empty if absent.
    pub(crate) fn content_type(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// True for an event stream.
    pub(crate) fn is_stream(&self) -> bool {
        let kind = self.content_type().split(';').next().unwrap_or("").trim();
        kind.eq_ignore_ascii_case("text/event-stream")
    }
}

/// Sends an order and gives the head of its answer.
pub(crate) async fn forward(
    core: &Core,
    ticket: &mut Ticket,
    order: &RequestOrder,
    client: &HeaderMap,
) -> Result<UpstreamAnswer, RequestRefusal> {
    match &core.route {
        AnswerRoute::Live(live) => send(core, live, ticket, order, client).await,
        AnswerRoute::Replay(replay) => {
            ticket.record.replayed = true;
            let found = replay.find_answer(order.wire, &order.recorded_as).ok_or(RefusalCode::NotRecorded)?;
            ticket.mark_requested(order.wire);
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(&found.content_type) {
                headers.insert(CONTENT_TYPE, value);
            }
            let body = AnswerBody::Recorded(Some(found.body));
            Ok(UpstreamAnswer { status: found.status, headers, body, lookout: SecretLookout::default() })
        }
    }
}

async fn send(
    core: &Core,
    live: &LiveRoute,
    ticket: &mut Ticket,
    order: &RequestOrder,
    client: &HeaderMap,
) -> Result<UpstreamAnswer, RequestRefusal> {
    let credential = fetch(core, live).await?;
    let (head, stripped) = request_head(live, order, client, credential.as_ref());
    ticket.record.stripped_headers = stripped;
    let deadlines = &core.deadlines;
    let connected = within_limit(deadlines.connect, live.pool.take()).await;
    let stream = connected
        .map_err(|_| RequestRefusal::noting(RefusalCode::UpstreamUnreachable, "no connection in time"))?
        .map_err(|error| RequestRefusal::noting(RefusalCode::UpstreamUnreachable, error.to_string()))?;
    ticket.mark_requested(order.wire);
    let sent = timeout(deadlines.first_byte, client::send_request(stream, &live.pool, head, &order.body)).await;
    let (head, incoming) = sent
        .map_err(|_| RequestRefusal::noting(RefusalCode::UpstreamTimeout, "no head in time"))?
        .map_err(|error| fault(&error))?;
    ticket.first_byte();
    acceptable(&head, credential.is_some())?;
    let needles = live.extra_headers.iter().map(|(_, value)| value.clone()).chain(credential);
    let (headers, body) = (head.headers, AnswerBody::Live(incoming));
    Ok(UpstreamAnswer { status: head.status, headers, body, lookout: SecretLookout::new(needles) })
}

async fn fetch(core: &Core, live: &LiveRoute) -> Result<Option<Secret>, RequestRefusal> {
    let now = core.clock.now();
    let unavailable = |text: String| RequestRefusal::noting(RefusalCode::CredentialUnavailable, text);
    let fetched = if live.credential.may_block() {
        let credential = std::sync::Arc::clone(&live.credential);
        let task = tokio::task::spawn_blocking(move || credential.fetch_value(now));
        timeout(core.deadlines.connect, task)
            .await
            .map_err(|_| unavailable("the credential source takes too long".to_owned()))?
            .map_err(|_| unavailable("the credential source broke".to_owned()))?
    } else {
        live.credential.fetch_value(now)
    };
    fetched.map_err(|error| unavailable(error.to_string()))
}

fn request_head(
    live: &LiveRoute,
    order: &RequestOrder,
    client: &HeaderMap,
    credential: Option<&Secret>,
) -> (RequestHead, u32) {
    let endpoint = &live.pool.connector().endpoint;
    let mut head = Vec::with_capacity(1024);
    endpoint.push_start(order.sent_on.path(), &mut head);
    headers::push_header(&mut head, "content-type", b"application/json");
    headers::push_header(&mut head, "accept-encoding", b"identity");
    headers::push_header(&mut head, "content-length", order.body.len().to_string().as_bytes());
    // Room for all of it, so that growing leaves no copy of the credential behind.
    let secrets: usize = live.extra_headers.iter().map(|(name, value)| name.len() + value.bytes().len() + 4).sum();
    let passed: usize = client.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    head.reserve(64 + secrets + passed + credential.map_or(0, |secret| secret.bytes().len()));
    let start = head.len();
    if let Some(secret) = credential {
        push_credential(&mut head, order.sent_on, &live.credential, secret);
    }
    for (name, value) in &live.extra_headers {
        headers::push_header(&mut head, name, value.bytes());
    }
    let secret = start..head.len();
    let stripped = headers::pass_up(client, &mut head);
    head.extend_from_slice(b"\r\n");
    (RequestHead { bytes: head, secret }, stripped)
}

fn push_credential(head: &mut Vec<u8>, wire: Wire, source: &Credential, secret: &Secret) {
    if wire == Wire::Messages && !source.is_oauth() {
        return headers::push_header(head, "x-api-key", secret.bytes());
    }
    for part in [b"authorization: Bearer ", secret.bytes(), b"\r\n"] {
        head.extend_from_slice(part);
    }
}

/// Refuses answers that the bridge never passes on, such as redirects and compressed
/// bodies.
fn acceptable(head: &AnswerHead, had_credential: bool) -> Result<(), RequestRefusal> {
    if (300..400).contains(&head.status) {
        return Err(RefusalCode::UpstreamRedirect.into());
    }
    let encoded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if head.headers.get_all(CONTENT_ENCODING).iter().any(encoded) {
        return Err(RefusalCode::UpstreamEncoded.into());
    }
    if had_credential && (head.status == 401 || head.status == 403) {
        // Such an answer is about our credential and may repeat it.
        return Err(RequestRefusal::noting(RefusalCode::CredentialRefused, format!("status {}", head.status)));
    }
    Ok(())
}

/// The refusal an unreadable answer becomes.
pub(crate) fn fault(error: &ReadUpstreamError) -> RequestRefusal {
    let code = match error {
        ReadUpstreamError::Cut | ReadUpstreamError::Io(_) => RefusalCode::UpstreamCut,
        ReadUpstreamError::Head(_) | ReadUpstreamError::Framing(_) => RefusalCode::UpstreamMalformed,
    };
    RequestRefusal::noting(code, error.to_string())
}

/// The next piece, within the time between pieces and the time for all.
pub(crate) async fn next_piece(
    body: &mut AnswerBody,
    idle: Duration,
    total: Instant,
) -> Result<Option<Bytes>, RequestRefusal> {
    let late = |what| move |_| RequestRefusal::noting(RefusalCode::UpstreamTimeout, what);
    let mut next = pin!(body.data());
    if let Poll::Ready(ready) = at_once(next.as_mut()).await {
        return ready.map_err(|error| fault(&error));
    }
    timeout_at(total, timeout(idle, next))
        .await
        .map_err(late("the answer took too long"))?
        .map_err(late("the answer stopped"))?
        .map_err(|error| fault(&error))
}
