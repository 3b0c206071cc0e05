//! Connections that wait for the next request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, ReadBuf};

use super::connect::{ConnectUpstreamError, Connector, UpstreamStream};

/// Servers close idle connections after five seconds or more; a request sent into a closing
/// one would be lost, and we retry nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
const MOST: usize = 64;
/// Some servers leave after a streamed answer without having said so. A connection is used
/// again only when it has stayed open for a moment after one.
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
    /// Earliest time at which it may be used.
    from: Instant,
    stream: UpstreamStream,
}

impl Pool {
    /// Empty pool; connections are made when they are needed.
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector: Arc::new(connector), waiting: Arc::default() }
    }

    /// The recipe for new connections.
    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// A connection that waited and is still open, or a new one.
    pub(crate) async fn take(&self) -> Result<UpstreamStream, ConnectUpstreamError> {
        let now = Instant::now();
        while let Some(mut stream) = self.pop(now) {
            if is_quiet(&mut stream) {
                return Ok(stream);
            }
        }
        self.connector.connect().await
    }

    /// The connection that was used last of those that may be used now.
    fn pop(&self, now: Instant) -> Option<UpstreamStream> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| now.duration_since(waiting.since) < LONGEST_WAIT);
        let ready = waiting.iter().rposition(|waiting| waiting.from <= now)?;
        Some(waiting.swap_remove(ready).stream)
    }

    /// Keeps a connection for the next request; `streamed` says how the last answer came.
    pub(crate) fn keep_stream(&self, stream: UpstreamStream, streamed: bool) {
        self.keep_since(Instant::now(), stream, streamed);
    }

    fn keep_since(&self, since: Instant, stream: UpstreamStream, streamed: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| since.duration_since(waiting.since) < LONGEST_WAIT);
        if waiting.len() < MOST {
            let from = if streamed { since + SETTLING } else { since };
            waiting.push(Waiting { since, from, stream });
        }
    }
}

/// True if the connection is open and has no unsolicited bytes.
fn is_quiet(stream: &mut UpstreamStream) -> bool {
    let mut byte = [0];
    // The runtime has seen only what the kernel has reported so far; the kernel knows whether the
    // other side has left or said something since.
    if !matches!(recv(stream.socket(), &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT), Err(Errno::AGAIN)) {
        return false;
    }
    // What TLS has read already and nobody has taken.
    let mut cx = Context::from_waker(Waker::noop());
    matches!(Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)), Poll::Pending)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::thread::sleep;

    use super::*;
    use crate::upstream::endpoint::Endpoint;

    /// A pool, a connection of it, and the other side of that connection.
    async fn connected() -> (Pool, UpstreamStream, TcpStream, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::parse_endpoint(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
        let pool = Pool::new(Connector { endpoint, proxy: None, tls: None });
        let stream = pool.take().await.unwrap();
        let (other, _) = listener.accept().unwrap();
        (pool, stream, other, listener)
    }

    /// The kernel knows what the other side did, and the runtime has not yet been notified: nothing here
    /// yields.
    #[tokio::test]
    async fn a_connection_that_the_other_side_left_or_spoke_on_is_not_quiet() {
        let (_, mut open, _other, _listener) = connected().await;
        sleep(Duration::from_millis(20));
        assert!(is_quiet(&mut open), "the control: an open one is");
        let (_, mut left, other, _listener) = connected().await;
        drop(other);
        sleep(Duration::from_millis(20));
        assert!(!is_quiet(&mut left));
        let (_, mut spoken, mut other, _listener) = connected().await;
        other.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        sleep(Duration::from_millis(20));
        assert!(!is_quiet(&mut spoken), "an answer that nobody asked for would answer the next request");
    }

    #[tokio::test]
    async fn a_connection_settles_after_a_stream_and_does_not_wait_for_ever() {
        let since = Instant::now();
        let almost = Duration::from_millis(1);
        let rows = [
            ("after a stream, too early", true, SETTLING - almost, false),
            ("after a stream, settled", true, SETTLING, true),
            ("after a whole answer", false, Duration::ZERO, true),
            ("just in time", false, LONGEST_WAIT - almost, true),
            ("too late", false, LONGEST_WAIT, false),
        ];
        for (name, streamed, after, used) in rows {
            let (pool, stream, _other, _listener) = connected().await;
            pool.keep_since(since, stream, streamed);
            assert_eq!(pool.pop(since + after).is_some(), used, "{name}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_waited_is_used_again_only_when_it_is_quiet() {
        for (leaves, again) in [(false, true), (true, false)] {
            let (pool, stream, other, listener) = connected().await;
            listener.set_nonblocking(true).unwrap();
            pool.keep_stream(stream, false);
            let kept = (!leaves).then_some(other);
            sleep(Duration::from_millis(20));
            let taken = pool.take().await.unwrap();
            sleep(Duration::from_millis(20));
            assert_eq!(listener.accept().is_err(), again, "leaves: {leaves}");
            drop((taken, kept));
        }
    }
}
