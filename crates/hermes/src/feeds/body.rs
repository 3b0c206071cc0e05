//! The body of an event stream: a short queue between a sender and a connection.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Frames that wait for a connection.
const QUEUE: usize = 64;

/// The sending side.
#[derive(Debug)]
pub(crate) struct LiveSender(Sender<Bytes>);

impl LiveSender {
    /// False if the viewer is gone, or does not take it in time.
    pub(crate) async fn send_within(&self, bytes: Bytes, span: Duration) -> bool {
        matches!(tokio::time::timeout(span, self.0.send(bytes)).await, Ok(Ok(())))
    }
}

/// The receiving side, as hyper reads it.
#[derive(Debug)]
pub(crate) struct LiveBody(Receiver<Bytes>);

impl LiveBody {
    /// Connected pair of a sender and a response body.
    pub(crate) fn new() -> (LiveSender, Self) {
        let (sender, receiver) = channel(QUEUE);
        (LiveSender(sender), Self(receiver))
    }
}

impl hyper::body::Body for LiveBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
