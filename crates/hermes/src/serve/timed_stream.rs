//! A stream whose peer has to take what it is sent: a write that waits too long fails, and
//! the connection ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Stream with a bound on the time that a peer takes nothing.
#[derive(Debug)]
pub(super) struct TimedStream<S> {
    inner: S,
    within: Duration,
    /// Runs while a write waits; none between writes.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    /// Stream whose writes fail after waiting this long.
    pub(super) fn new(inner: S, within: Duration) -> Self {
        Self { inner, within, deadline: None }
    }

    /// The result of a write, or an error if it has waited too long.
    fn bound_wait<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.deadline = None;
            return done;
        }
        let within = self.within;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.bound_wait(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.bound_wait(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_flush(context);
        self.bound_wait(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(context);
        self.bound_wait(context, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn a_peer_that_takes_nothing_is_given_up() {
        let done = block_on(async {
            let (near, _far) = tokio::io::duplex(16);
            TimedStream::new(near, Duration::from_millis(50)).write_all(&[0; 64]).await
        });
        assert_eq!(done.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_peer_that_takes_slowly_gets_everything() {
        let taken = block_on(async {
            let (near, mut far) = tokio::io::duplex(16);
            let mut stream = TimedStream::new(near, Duration::from_millis(400));
            let taking = tokio::spawn(async move {
                let (mut taken, mut part) = (0, [0; 16]);
                while let Ok(read @ 1..) = far.read(&mut part).await {
                    taken += read;
                    tokio::time::sleep(Duration::from_millis(150)).await;
                }
                taken
            });
            stream.write_all(&[0; 64]).await.unwrap();
            drop(stream);
            taking.await.unwrap()
        });
        assert_eq!(taken, 64, "longer in all than one wait may take");
    }
}
