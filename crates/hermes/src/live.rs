//! Live runs. One reader of a run's event file serves any number of viewers; a viewer that
//! does not take what it is sent is dropped, and the run notices nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

use crate::access::Viewer;
use crate::feeds::{CountedViewer, FeedEnd, LiveBody, LiveFeed, LiveSender, join_few, keep_alive};
use crate::respond::{json_document, plain_refusal};
use crate::source::{EventChunk, SourceError};
use crate::state::ConsoleState;

/// A viewer that takes longer for what it was sent is dropped.
pub const SEND_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks at a run's file: a viewer sees an event within a tenth of a second.
const LOOK: Duration = Duration::from_millis(40);
/// The same for more viewers than these: each look that finds an event costs a write for each of them.
const LOOK_FOR_MANY: Duration = Duration::from_millis(90);
const MANY_VIEWERS: usize = 100;
/// Looks without any viewer after which a reader ends.
const IDLE_LOOKS: u32 = 50;
/// Looks in a row that may fail before a reader gives up, and the time between two of them:
/// a lack of open files or a busy ledger passes.
const FAILED_LOOKS: u32 = 20;
const LOOK_AFTER_FAILURE: Duration = Duration::from_millis(250);
/// Byte behind the end of any event file.
const BEHIND_EVERY_EVENT: u64 = 1 << 40;
/// Between two signs of life on a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Query of the event stream's address.
#[derive(Debug, Deserialize)]
pub(crate) struct FollowQuery {
    /// Sequence number of the last event that a page has already.
    after: Option<u64>,
}

/// Sends a run's events: first those behind `Last-Event-ID` or `after`, then each as it is written.
pub(crate) async fn follow_events(
    State(state): State<Arc<ConsoleState>>,
    Extension(viewer): Extension<Viewer>,
    Path(reference): Path<String>,
    Query(query): Query<FollowQuery>,
    headers: HeaderMap,
) -> Response {
    // The first look tells whether there is such a run before anything is sent, and reads no
    // event: the feed has them once for all viewers.
    let asked = reference.clone();
    let first = state.ask_source(move |source| source.read_events(&asked, BEHIND_EVERY_EVENT)).await;
    let run_id = match first {
        Ok(chunk) => chunk.run_id.clone(),
        Err(error) => return json_document::<()>(&Err(error)),
    };
    let Some((view, is_new)) = state.live.join_feed(&run_id) else {
        return plain_refusal(StatusCode::SERVICE_UNAVAILABLE, "too many runs are followed");
    };
    if is_new {
        tokio::spawn(read_feed(Arc::clone(&state), run_id, Arc::clone(view.feed())));
    }
    // A browser resumes by the header; a page that begins a new stream can only say it in the address.
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<u64>().ok());
    let after = resumed.or(query.after);
    let (sender, body) = LiveBody::new();
    tokio::spawn(send_while_logged_in(Arc::clone(&state), viewer, send_feed(view, after, sender)));
    let mut response = Response::new(Body::new(body));
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The one reader of a run's file.
async fn read_feed(state: Arc<ConsoleState>, run_id: String, feed: Arc<LiveFeed>) {
    let (mut from, mut idle, mut failed) = (0, 0, 0);
    loop {
        let asked = run_id.clone();
        let look: Result<EventChunk, SourceError> =
            state.ask_source(move |source| source.read_events(&asked, from)).await;
        failed = if look.is_ok() { 0 } else { failed + 1 };
        let end = match look {
            Ok(chunk) => {
                from = chunk.next;
                let is_quiet = chunk.lines.is_empty();
                feed.add_lines(chunk.lines, chunk.is_interrupted);
                (chunk.is_over && is_quiet).then_some(FeedEnd::Sealed)
            }
            Err(_) => (failed > FAILED_LOOKS).then_some(FeedEnd::Lost),
        };
        if let Some(end) = end {
            feed.end_feed(end);
            return;
        }
        let viewers = feed.count_viewers();
        idle = if viewers == 0 { idle + 1 } else { 0 };
        if idle > IDLE_LOOKS && feed.end_unless_viewed() {
            return;
        }
        tokio::time::sleep(if failed == 0 { pause_for(viewers) } else { LOOK_AFTER_FAILURE }).await;
    }
}

/// Time between two looks for so many viewers.
fn pause_for(viewers: usize) -> Duration {
    if viewers > MANY_VIEWERS { LOOK_FOR_MANY } else { LOOK }
}

/// Sends until the sending or the viewer's session ends.
async fn send_while_logged_in(state: Arc<ConsoleState>, viewer: Viewer, sending: impl Future<Output = ()>) {
    let Some(session) = viewer.session else { return sending.await };
    tokio::select! {
        () = sending => {}
        () = state.sessions.wait_for_end(&session) => {}
    }
}

/// Sends one viewer what the feed has, until the feed or the viewer ends.
async fn send_feed(view: CountedViewer, after: Option<u64>, sender: LiveSender) {
    let mut news = view.feed().subscribe();
    let mut sent = 0;
    loop {
        let behind = view.feed().frames_behind(sent);
        sent += behind.frames.len();
        let is_new = |seq: Option<u64>| after.is_none_or(|after| seq.is_none_or(|seq| seq > after));
        let new = behind.frames.into_iter().filter(|(seq, _)| is_new(*seq)).map(|(_, frame)| frame);
        for frame in join_few(new.collect()) {
            if !sender.send_within(frame, SEND_WITHIN).await {
                return;
            }
        }
        if behind.has_more {
            continue;
        }
        if let Some(end) = behind.end {
            sender.send_within(end.frame(), SEND_WITHIN).await;
            return;
        }
        match tokio::time::timeout(KEEP_ALIVE, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if !sender.send_within(keep_alive(), SEND_WITHIN).await => return,
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_viewers_are_written_to_less_often_and_within_a_tenth_of_a_second() {
        assert_eq!((pause_for(1), pause_for(MANY_VIEWERS)), (LOOK, LOOK));
        assert_eq!(pause_for(MANY_VIEWERS + 1), LOOK_FOR_MANY);
        assert!(LOOK < LOOK_FOR_MANY && LOOK_FOR_MANY < Duration::from_millis(100));
    }
}
