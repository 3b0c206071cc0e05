//! Connections that wait for the next request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};

use super::connect::{ConnectUpstreamError, Connector, Stream};

/// Servers close idle connections after five seconds or more; a request sent into a closing one would be lost, and we
/// retry nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
const MOST: usize = 64;

/// Connections to the one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    waiting: Arc<Mutex<Vec<(Instant, Stream)>>>,
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
        while let Some((since, mut stream)) = self.pop() {
            if since.elapsed() < LONGEST_WAIT && is_quiet(&mut stream) {
                return Ok(stream);
            }
        }
        self.connector.connect().await
    }

    fn pop(&self) -> Option<(Instant, Stream)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(crate) fn keep(&self, stream: Stream) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(since, _)| since.elapsed() < LONGEST_WAIT);
        if waiting.len() < MOST {
            waiting.push((Instant::now(), stream));
        }
    }
}

/// Open, and nothing came that nobody asked for.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut cx = Context::from_waker(Waker::noop());
    matches!(Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)), Poll::Pending)
}
