//! Limits how long a client may take nothing, and counts the bytes that it has taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

use crate::request::delivery::Delivery;

/// A connection whose writes fail when the other side has taken nothing for some time.
#[derive(Debug)]
pub(crate) struct Unstalled<T> {
    inner: T,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    delivery: Delivery,
}

impl<T> Unstalled<T> {
    /// Wraps a connection with a limit on how long a client may take nothing.
    pub(crate) fn new(inner: T, limit: Duration, delivery: Delivery) -> Self {
        Self { inner, limit, waiting: None, delivery }
    }

    fn watch<R>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        match waiting.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl<T: Read + Unpin> Read for Unstalled<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: Write + Unpin> Write for Unstalled<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        let polled = self.watch(cx, polled);
        if let Poll::Ready(Ok(())) = polled {
            self.delivery.flushed();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::request::stream::Body;
    use crate::request::whole::WholeBody;

    /// The HTTP layer holds what a connection does not take, and calls nothing flushed before it is.
    #[tokio::test]
    async fn a_flush_counts_only_when_the_other_side_had_room_for_all() {
        const ANSWER: usize = 4096;
        let (mut client, server) = tokio::io::duplex(512);
        let delivery = Delivery::default();
        let io = Unstalled::new(TokioIo::new(server), Duration::from_secs(60), delivery.clone());
        let (asked, mut answered) = tokio::sync::mpsc::channel(1);
        let seen = delivery.clone();
        let service = service_fn(move |_: Request<hyper::body::Incoming>| {
            let sent = asked.try_send(seen.flushes());
            async move {
                assert!(sent.is_ok());
                Ok::<_, Infallible>(Response::new(Body::Whole(WholeBody::of_bytes(Bytes::from(vec![b'a'; ANSWER])))))
            }
        });
        let serving = tokio::spawn(http1::Builder::new().serve_connection(io, service));
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut left = ANSWER;
        let mut taken = vec![0; 512];
        client.read_exact(&mut taken).await.unwrap();
        let before = answered.recv().await.unwrap();
        left -= 512 - (taken.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4);
        while left > 0 {
            if left > 512 {
                assert_eq!(delivery.flushes(), before, "{left} bytes are not taken yet");
            }
            let count = left.min(512);
            client.read_exact(&mut taken[..count]).await.unwrap();
            left -= count;
        }
        assert!(delivery.flushes() > before);
        drop(client);
        let _ = serving.await;
    }
}
