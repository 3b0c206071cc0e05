//! The way to the provider: a small, strict HTTP/1.1 client over one fixed endpoint.
//!
//! It is our own because the bridge forwards bytes as they come: an answer is read in large
//! pieces, unwrapped in place and passed on in one write, which a client that hands over
//! frame by frame cannot do. It follows no redirect, asks for no compression, retries
//! nothing and bounds everything.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use httparse::Header;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf};
use zeroize::Zeroize as _;

use super::connect::UpstreamStream;
use super::framing::{Framing, FramingError};
use super::pool::Pool;
use crate::protocol::headers::goes_down;

const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
/// Interim answers (`100`, `103`) before the real one.
const MAX_INTERIM: usize = 8;
/// One read of an answer. Shared by all connections of the thread, so an idle stream holds
/// no buffer.
const PIECE: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// An answer that cannot be had or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadUpstreamError {
    #[error("the connection broke: {0}")]
    Io(io::ErrorKind),
    /// The connection ended before the answer did.
    #[error("the connection ended early")]
    Cut,
    #[error("{0}")]
    Head(&'static str),
    #[error(transparent)]
    Framing(FramingError),
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    /// Headers that go to the engine, and those about the body's encoding.
    pub(crate) headers: HeaderMap,
    keeps_open: bool,
    /// True if the body's length was not known when it began.
    streamed: bool,
    framing: Framing,
}

/// A head, and what of the body came with it.
struct Begun {
    head: AnswerHead,
    early: Vec<u8>,
    /// Something follows the body.
    surplus: bool,
}

/// The head of a request, with the empty line. The part of it that is secret is wiped when
/// it goes.
pub(crate) struct RequestHead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) secret: Range<usize>,
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestHead")
    }
}

impl Drop for RequestHead {
    fn drop(&mut self) {
        // Wiping goes byte by byte; wiping all of a head and its body costs more than
        // sending them.
        if let Some(secret) = self.bytes.get_mut(self.secret.clone()) {
            secret.zeroize();
        }
    }
}

/// Sends a request and reads the head of its answer.
pub(crate) async fn send_request(
    mut stream: UpstreamStream,
    pool: &Pool,
    head: RequestHead,
    body: &[u8],
) -> Result<(AnswerHead, Incoming), ReadUpstreamError> {
    write(&mut stream, &head.bytes, body).await?;
    drop(head);
    let Begun { head, early, surplus } = read_head(&mut stream).await?;
    let framing = head.framing;
    let reusable = head.keeps_open && !surplus && framing != Framing::Close;
    let home = reusable.then(|| pool.clone());
    let streamed = head.streamed;
    Ok((head, Incoming { stream: Some(stream), framing, early, home, streamed }))
}

/// An answer may come before all of the request is taken; whether it does shows when reading.
async fn write(stream: &mut UpstreamStream, head: &[u8], body: &[u8]) -> Result<(), ReadUpstreamError> {
    match write_both(stream, head, body).await {
        Ok(()) => stream.flush().await.map_err(|error| ReadUpstreamError::Io(error.kind())),
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
        Err(error) => Err(ReadUpstreamError::Io(error.kind())),
    }
}

/// In one write where the connection takes it all, and without copying the body.
async fn write_both(stream: &mut UpstreamStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut parts = [IoSlice::new(head), IoSlice::new(body)];
    let mut left = &mut parts[..];
    while left.iter().any(|part| !part.is_empty()) {
        match stream.write_vectored(left).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => IoSlice::advance_slices(&mut left, count),
        }
    }
    Ok(())
}

/// Reads until a head is whole. Nearly always it comes in one piece, which is read where it
/// lies.
async fn read_head(stream: &mut UpstreamStream) -> Result<Begun, ReadUpstreamError> {
    let mut read = Vec::new();
    loop {
        let mut begun = Ok(None);
        let count = poll_fn(|cx| {
            poll_piece(stream, cx, |piece| {
                if read.is_empty() {
                    begun = begin(piece);
                }
                if matches!(begun, Ok(None)) {
                    read.extend_from_slice(piece);
                }
            })
        });
        match count.await {
            Ok(0) => return Err(ReadUpstreamError::Cut),
            Ok(count) if count < read.len() => begun = begin(&read),
            Ok(_) => {}
            Err(error) => return Err(ReadUpstreamError::Io(error.kind())),
        }
        if let Some(begun) = begun? {
            return Ok(begun);
        }
        if read.len() >= MAX_HEAD {
            return Err(ReadUpstreamError::Head("the answer's head is too large"));
        }
    }
}

/// The head of an answer in what was read so far, behind interim ones, if it is whole.
fn begin(bytes: &[u8]) -> Result<Option<Begun>, ReadUpstreamError> {
    let mut rest = bytes;
    for _ in 0..=MAX_INTERIM {
        let Some((mut head, used)) = parse_head(rest)? else { return Ok(None) };
        rest = &rest[used..];
        if head.status == 101 {
            break;
        }
        if head.status >= 200 {
            let mut early = Vec::new();
            let taken = head.framing.take_body(rest, &mut early).map_err(ReadUpstreamError::Framing)?;
            return Ok(Some(Begun { head, early, surplus: taken < rest.len() }));
        }
    }
    Err(ReadUpstreamError::Head("interim answers without end"))
}

fn parse_head(bytes: &[u8]) -> Result<Option<(AnswerHead, usize)>, ReadUpstreamError> {
    // Filling a hundred slots costs more than reading the few headers there are.
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let used = match parser.parse_response_with_uninit_headers(&mut response, bytes, &mut slots) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReadUpstreamError::Head("the answer has too many headers")),
        Err(_) => return Err(MALFORMED),
    };
    let (Some(status), Some(version)) = (response.code, response.version) else { return Err(MALFORMED) };
    let said = &*response.headers;
    let framing = if status < 200 { Ok(Framing::Done) } else { Framing::of_answer(status, said) };
    let named = |wanted: &'static str| said.iter().filter(move |header| header.name.eq_ignore_ascii_case(wanted));
    let closes = |header: &Header<'_>| {
        header.value.split(|byte| *byte == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
    };
    let head = AnswerHead {
        status,
        headers: kept(said)?,
        keeps_open: version == 1 && !named("connection").any(closes),
        streamed: named("transfer-encoding").next().is_some(),
        framing: framing.map_err(ReadUpstreamError::Framing)?,
    };
    Ok(Some((head, used)))
}

const MALFORMED: ReadUpstreamError = ReadUpstreamError::Head("the answer's head is malformed");

/// The headers of an answer that anybody asks for later.
fn kept(said: &[Header<'_>]) -> Result<HeaderMap, ReadUpstreamError> {
    let mut headers = HeaderMap::new();
    for header in said {
        if goes_down(header.name) || header.name.eq_ignore_ascii_case("content-encoding") {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| MALFORMED)?;
            headers.append(name, value(header.value)?);
        }
    }
    Ok(headers)
}

fn value(bytes: &[u8]) -> Result<HeaderValue, ReadUpstreamError> {
    match bytes {
        // What nearly every answer says is not copied.
        b"application/json" => Ok(HeaderValue::from_static("application/json")),
        b"text/event-stream" => Ok(HeaderValue::from_static("text/event-stream")),
        _ => HeaderValue::from_bytes(bytes).map_err(|_| MALFORMED),
    }
}

/// One read into the shared buffer.
fn poll_piece(
    stream: &mut UpstreamStream,
    cx: &mut Context<'_>,
    use_piece: impl FnOnce(&[u8]),
) -> Poll<io::Result<usize>> {
    SCRATCH.with_borrow_mut(|scratch| {
        let mut buffer = ReadBuf::new(scratch);
        ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
        use_piece(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
}

/// The body of an answer, as it comes.
#[derive(Debug)]
pub(crate) struct Incoming {
    stream: Option<UpstreamStream>,
    framing: Framing,
    /// Bytes that arrived together with the head.
    early: Vec<u8>,
    /// Pool to which the connection returns after the body, if it can be used again.
    home: Option<Pool>,
    /// True if the body's length was not known when it began.
    streamed: bool,
}

impl Incoming {
    /// The next piece; nothing at the end of the body.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ReadUpstreamError>> {
        if !self.early.is_empty() {
            return Poll::Ready(Ok(Some(Bytes::from(std::mem::take(&mut self.early)))));
        }
        loop {
            if self.framing.is_done() {
                self.retire();
                return Poll::Ready(Ok(None));
            }
            let Some(stream) = &mut self.stream else { return Poll::Ready(Err(ReadUpstreamError::Cut)) };
            let (mut out, mut framed) = (Vec::new(), Ok(0));
            let framing = &mut self.framing;
            let read = ready!(poll_piece(stream, cx, |piece| framed = framing.take_body(piece, &mut out)));
            let count = read.map_err(|error| ReadUpstreamError::Io(error.kind()))?;
            let used = framed.map_err(ReadUpstreamError::Framing)?;
            if count == 0 {
                self.stream = None;
                let ended = self.framing.may_end();
                self.framing = Framing::Done;
                return Poll::Ready(if ended { Ok(None) } else { Err(ReadUpstreamError::Cut) });
            }
            if used < count {
                // Something follows the body: the connection is not one to use again.
                self.home = None;
            }
            if !out.is_empty() {
                return Poll::Ready(Ok(Some(Bytes::from(out))));
            }
        }
    }

    /// Next piece of the body; none at its end.
    pub(crate) async fn data(&mut self) -> Result<Option<Bytes>, ReadUpstreamError> {
        poll_fn(|cx| self.poll_data(cx)).await
    }

    fn retire(&mut self) {
        if let (Some(stream), Some(home)) = (self.stream.take(), self.home.take()) {
            home.keep_stream(stream, self.streamed);
        }
    }
}
