//! Connections that wait for the next request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, ReadBuf};

use super::connect::{ConnectUpstreamError, Connector, Stream};

/// Servers close idle connections after five seconds or more; a request sent into a closing one would be lost, and we
/// retry nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
const MOST: usize = 64;
/// Some servers leave after a streamed answer without having said so. A connection is used again only when it has stayed open
/// for a moment after one.
const SETTLING: Duration = Duration::from_millis(50);

/// Connections to the one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    /// Not to be used before.
    from: Instant,
    stream: Stream,
}

impl Pool {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector: Arc::new(connector), waiting: Arc::default() }
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// A connection that waited and is still open, or a new one.
    pub(crate) async fn take(&self) -> Result<Stream, ConnectUpstreamError> {
        while let Some(mut waiting) = self.pop() {
            if waiting.since.elapsed() < LONGEST_WAIT && is_quiet(&mut waiting.stream) {
                return Ok(waiting.stream);
            }
        }
        self.connector.connect().await
    }

    fn pop(&self) -> Option<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let ready = waiting.iter().rposition(|waiting| waiting.from <= now)?;
        Some(waiting.swap_remove(ready))
    }

    /// Keeps a connection for the next request; `streamed` says how the last answer came.
    pub(crate) fn keep(&self, stream: Stream, streamed: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| waiting.since.elapsed() < LONGEST_WAIT);
        if waiting.len() < MOST {
            let since = Instant::now();
            let from = if streamed { since + SETTLING } else { since };
            waiting.push(Waiting { since, from, stream });
        }
    }
}

/// Open, and nothing came that nobody asked for.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [0];
    // The runtime has seen only what it was told of so far; the kernel knows whether the other side has left since.
    if matches!(recv(stream.socket(), &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT), Ok((0, _))) {
        return false;
    }
    let mut cx = Context::from_waker(Waker::noop());
    matches!(Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)), Poll::Pending)
}
