//! Waiting with a deadline, without a timer for futures that are ready at once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// Asks once.
pub(crate) async fn at_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// Output of `future`, if it comes within `limit`. Most futures of a request are ready at
/// once and need no timer.
pub(crate) async fn within_limit<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    match at_once(future.as_mut()).await {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => timeout(limit, future).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_late_is_given_up_and_what_is_not_is_had() {
        let (soon, late) = (Duration::from_millis(5), Duration::from_secs(20));
        for (name, after, limit, had) in [
            ("at once", Duration::ZERO, Duration::ZERO, true),
            ("in time", soon, late, true),
            ("too late", late, soon, false),
        ] {
            let waited = within_limit(limit, async move {
                if !after.is_zero() {
                    tokio::time::sleep(after).await;
                }
            });
            assert_eq!(waited.await.is_ok(), had, "{name}");
        }
    }
}
