//! The way to the provider: a small, strict HTTP/1.1 client over one fixed endpoint.
//!
//! It is our own because the bridge forwards bytes as they come: an answer is read in large pieces, unwrapped in
//! place and passed on in one write, which a client that hands over frame by frame cannot do. It follows no redirect,
//! asks for no compression, retries nothing and bounds everything.

mod connect;
mod endpoint;
mod framing;
mod pool;

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf};
use zeroize::Zeroize as _;

pub(crate) use connect::{Connector, Stream, tls};
pub use connect::{PrepareTlsError, Proxy, Trust};
pub use endpoint::{Endpoint, ParseEndpointError};
pub(crate) use framing::{Framing, FramingError};
pub(crate) use pool::Pool;

const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
/// Interim answers (`100`, `103`) before the real one.
const MAX_INTERIM: usize = 8;
/// One read of an answer. Shared by all connections of the thread, so an idle stream holds no buffer.
const PIECE: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// An answer that cannot be had or read.
#[derive(Debug)]
pub(crate) enum ReadUpstreamError {
    Io(io::ErrorKind),
    /// The connection ended before the answer did.
    Cut,
    Head(&'static str),
    Framing(FramingError),
}

impl fmt::Display for ReadUpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(kind) => write!(f, "the connection broke: {kind}"),
            Self::Cut => f.write_str("the connection ended early"),
            Self::Head(what) => f.write_str(what),
            Self::Framing(error) => error.fmt(f),
        }
    }
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    keeps_open: bool,
}

/// The head of a request, with the empty line. The part of it that is secret is wiped when it goes.
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
        // Wiping goes byte by byte; wiping all of a head and its body costs more than sending them.
        if let Some(secret) = self.bytes.get_mut(self.secret.clone()) {
            secret.zeroize();
        }
    }
}

/// Sends a request and reads the head of its answer.
pub(crate) async fn send(
    mut stream: Stream,
    pool: &Pool,
    head: RequestHead,
    body: &[u8],
) -> Result<(Head, Incoming), ReadUpstreamError> {
    write(&mut stream, &head.bytes, body).await?;
    drop(head);
    let mut read = Vec::new();
    let mut interim = 0;
    loop {
        let (head, used) = read_head(&mut stream, &mut read).await?;
        if (100..200).contains(&head.status) {
            interim += 1;
            if interim > MAX_INTERIM || head.status == 101 {
                return Err(ReadUpstreamError::Head("interim answers without end"));
            }
            read.drain(..used);
            continue;
        }
        let mut framing = Framing::of(head.status, &head.headers).map_err(ReadUpstreamError::Framing)?;
        let mut early = Vec::new();
        let taken = framing.take(&read[used..], &mut early).map_err(ReadUpstreamError::Framing)?;
        let surplus = used + taken < read.len();
        let reusable = head.keeps_open && !surplus && framing != Framing::Close;
        let home = reusable.then(|| pool.clone());
        let streamed = head.headers.contains_key(hyper::header::TRANSFER_ENCODING);
        return Ok((head, Incoming { stream: Some(stream), framing, early, home, streamed }));
    }
}

/// An answer may come before all of the request is taken; whether it does shows when reading.
async fn write(stream: &mut Stream, head: &[u8], body: &[u8]) -> Result<(), ReadUpstreamError> {
    match write_both(stream, head, body).await {
        Ok(()) => stream.flush().await.map_err(|error| ReadUpstreamError::Io(error.kind())),
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
        Err(error) => Err(ReadUpstreamError::Io(error.kind())),
    }
}

/// In one write where the connection takes it all, and without copying the body.
async fn write_both(stream: &mut Stream, head: &[u8], body: &[u8]) -> io::Result<()> {
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

/// Reads until a head is whole; gives it and its length in `read`.
async fn read_head(stream: &mut Stream, read: &mut Vec<u8>) -> Result<(Head, usize), ReadUpstreamError> {
    loop {
        if let Some(found) = parse_head(read)? {
            return Ok(found);
        }
        if read.len() >= MAX_HEAD {
            return Err(ReadUpstreamError::Head("the answer's head is too large"));
        }
        let count = poll_fn(|cx| poll_piece(stream, cx, |piece| read.extend_from_slice(piece))).await;
        match count {
            Ok(0) => return Err(ReadUpstreamError::Cut),
            Ok(_) => {}
            Err(error) => return Err(ReadUpstreamError::Io(error.kind())),
        }
    }
}

fn parse_head(bytes: &[u8]) -> Result<Option<(Head, usize)>, ReadUpstreamError> {
    let mut slots = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut slots);
    let used = match response.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ReadUpstreamError::Head("the answer has too many headers")),
        Err(_) => return Err(ReadUpstreamError::Head("the answer's head is malformed")),
    };
    let bad = ReadUpstreamError::Head("the answer's head is malformed");
    let (Some(status), Some(version)) = (response.code, response.version) else { return Err(bad) };
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    for header in response.headers {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(header.value)) else { return Err(bad) };
        headers.append(name, value);
    }
    let closes = headers.get_all(hyper::header::CONNECTION).iter().any(|value| {
        value.as_bytes().to_ascii_lowercase().split(|byte| *byte == b',').any(|word| word.trim_ascii() == b"close")
    });
    Ok(Some((Head { status, headers, keeps_open: version == 1 && !closes }, used)))
}

/// One read into the shared buffer.
fn poll_piece(stream: &mut Stream, cx: &mut Context<'_>, use_piece: impl FnOnce(&[u8])) -> Poll<io::Result<usize>> {
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
    stream: Option<Stream>,
    framing: Framing,
    /// What came with the head.
    early: Vec<u8>,
    /// Where the connection goes when the body is over, if it can be used again.
    home: Option<Pool>,
    /// Its length was not known when it began.
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
            let read = ready!(poll_piece(stream, cx, |piece| framed = framing.take(piece, &mut out)));
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

    pub(crate) async fn data(&mut self) -> Result<Option<Bytes>, ReadUpstreamError> {
        poll_fn(|cx| self.poll_data(cx)).await
    }

    fn retire(&mut self) {
        if let (Some(stream), Some(home)) = (self.stream.take(), self.home.take()) {
            home.keep(stream, self.streamed);
        }
    }
}
