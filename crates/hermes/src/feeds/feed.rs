//! The events of one run, as frames that every viewer shares.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::watch;

/// A frame with the sequence number of its event; none for one that is no event.
pub(crate) type SharedFrame = (Option<u64>, Bytes);

/// End of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedEnd {
    /// The run is sealed and every event was sent.
    Sealed,
    /// Nothing more can be read here.
    Lost,
}

impl FeedEnd {
    /// Last frame that viewers get.
    pub(crate) fn frame(self) -> Bytes {
        match self {
            Self::Sealed => Bytes::from_static(b"event: sealed\ndata: {}\n\n"),
            Self::Lost => Bytes::from_static(b"event: lost\ndata: {}\n\n"),
        }
    }
}

/// A comment, which viewers pass over.
pub(crate) fn keep_alive() -> Bytes {
    Bytes::from_static(b": still here\n\n")
}

/// Bytes of frames up to which they are sent as one: a history is shared by all its viewers and not copied for each.
const MOST_JOINED: usize = 16 << 10;

/// Frames that a viewer takes at a time: a viewer that is slow does not hold a long list.
const MOST_TAKEN: usize = 256;

/// Frames as one, where they are few and small: what a look at the file found costs each viewer one write.
pub(crate) fn join_few(frames: Vec<Bytes>) -> Vec<Bytes> {
    if frames.len() < 2 || frames.iter().map(Bytes::len).sum::<usize>() > MOST_JOINED {
        return frames;
    }
    vec![Bytes::from(frames.concat())]
}

#[derive(Debug, Default)]
struct FeedState {
    frames: Vec<SharedFrame>,
    is_interrupted: bool,
    end: Option<FeedEnd>,
    viewers: usize,
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct LiveFeed {
    state: Mutex<FeedState>,
    news: watch::Sender<()>,
}

impl Default for LiveFeed {
    fn default() -> Self {
        Self { state: Mutex::default(), news: watch::channel(()).0 }
    }
}

/// A viewer of a feed, counted for as long as it lives.
#[derive(Debug)]
pub(crate) struct CountedViewer(Arc<LiveFeed>);

impl CountedViewer {
    /// Feed that is viewed.
    pub(crate) fn feed(&self) -> &Arc<LiveFeed> {
        &self.0
    }
}

impl Drop for CountedViewer {
    fn drop(&mut self) {
        self.0.lock().viewers -= 1;
    }
}

/// Frames that a viewer does not have yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FramesBehind {
    pub(crate) frames: Vec<SharedFrame>,
    /// True if there are more of them already.
    pub(crate) has_more: bool,
    /// End of the feed, once there are no more.
    pub(crate) end: Option<FeedEnd>,
}

impl LiveFeed {
    /// Adds lines as they stand in the file, and says once that the run's process is gone.
    pub(crate) fn add_lines(&self, lines: Vec<Vec<u8>>, is_interrupted: bool) {
        let mut state = self.lock();
        let before = state.frames.len();
        state.frames.extend(lines.iter().map(|line| frame_of(line)));
        if is_interrupted && !state.is_interrupted {
            state.frames.push((None, Bytes::from_static(b"event: interrupted\ndata: {}\n\n")));
        }
        state.is_interrupted |= is_interrupted;
        let has_news = state.frames.len() > before;
        drop(state);
        if has_news {
            self.news.send_replace(());
        }
    }

    /// Ends the feed and wakes every viewer.
    pub(crate) fn end_feed(&self, end: FeedEnd) {
        self.lock().end = Some(end);
        self.news.send_replace(());
    }

    /// Ends the feed if nobody views it. A viewer that joins is counted before or comes too
    /// late, and never waits at a feed without a reader.
    pub(crate) fn end_unless_viewed(&self) -> bool {
        let mut state = self.lock();
        if state.viewers == 0 {
            state.end = Some(FeedEnd::Lost);
        }
        state.viewers == 0
    }

    /// Frames behind the first `sent`, as many as are taken at a time.
    pub(crate) fn frames_behind(&self, sent: usize) -> FramesBehind {
        let state = self.lock();
        let rest = state.frames.get(sent..).unwrap_or_default();
        let frames = rest.iter().take(MOST_TAKEN).cloned().collect();
        let has_more = rest.len() > MOST_TAKEN;
        FramesBehind { frames, has_more, end: state.end.filter(|_| !has_more) }
    }

    /// Signal that changes with every new frame.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Counts a viewer for as long as the returned value lives; none where no reader reads
    /// and not everything was read.
    pub(crate) fn join_viewer(self: &Arc<Self>) -> Option<CountedViewer> {
        let mut state = self.lock();
        if state.end == Some(FeedEnd::Lost) {
            return None;
        }
        state.viewers += 1;
        drop(state);
        Some(CountedViewer(Arc::clone(self)))
    }

    /// Number of viewers.
    pub(crate) fn count_viewers(&self) -> usize {
        self.lock().viewers
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line as an event of the stream: its sequence number as id, its bytes as data.
fn frame_of(line: &[u8]) -> SharedFrame {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let seq = serde_json::from_slice::<Numbered>(line).ok().map(|event| event.seq);
    let mut frame = seq.map_or_else(Vec::new, |seq| format!("id: {seq}\n").into_bytes());
    frame.extend_from_slice(b"data: ");
    // A carriage return would end the line for a reader of the stream; in JSON none stands
    // bare.
    frame.extend(line.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    frame.extend_from_slice(b"\n\n");
    (seq, Bytes::from(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_sent_as_it_stands() {
        let (seq, frame) = frame_of(br#"{"seq":7,"data":{"line":"a\nb"}}"#);
        assert_eq!(seq, Some(7));
        assert_eq!(&frame[..], b"id: 7\ndata: {\"seq\":7,\"data\":{\"line\":\"a\\nb\"}}\n\n");
        assert_eq!(frame_of(b"no event\r\nid: 9").0, None);
        assert_eq!(&frame_of(b"no event\r\nid: 9").1[..], b"data: no eventid: 9\n\n");
    }

    #[test]
    fn few_frames_are_one_and_a_history_is_not_copied() {
        let frame = |size: usize| Bytes::from(vec![b'x'; size]);
        assert_eq!(join_few(vec![frame(2), frame(3)]), [frame(5)]);
        assert_eq!(join_few(vec![frame(2)]), [frame(2)]);
        let large = frame(MOST_JOINED);
        let kept = join_few(vec![large.clone(), frame(1)]);
        assert_eq!((kept.len(), kept[0].as_ptr()), (2, large.as_ptr()));
    }

    #[test]
    fn every_viewer_gets_everything_once() {
        let feed = Arc::new(LiveFeed::default());
        feed.add_lines(vec![br#"{"seq":0}"#.to_vec()], false);
        feed.add_lines(vec![br#"{"seq":1}"#.to_vec()], true);
        feed.add_lines(Vec::new(), true);
        let behind = feed.frames_behind(0);
        let ids: Vec<_> = behind.frames.iter().map(|(seq, _)| *seq).collect();
        assert_eq!((ids, behind.end), (vec![Some(0), Some(1), None], None), "an interruption is said once");
        feed.end_feed(FeedEnd::Sealed);
        let end = Some(FeedEnd::Sealed);
        assert_eq!(feed.frames_behind(3), FramesBehind { frames: Vec::new(), has_more: false, end });
        let viewer = feed.join_viewer().unwrap();
        assert_eq!(feed.count_viewers(), 1);
        drop(viewer);
        assert_eq!(feed.count_viewers(), 0);
    }

    #[test]
    fn a_long_history_is_taken_in_parts_and_its_end_comes_last() {
        let feed = LiveFeed::default();
        let lines = (0..MOST_TAKEN + 3).map(|seq| format!("{{\"seq\":{seq}}}").into_bytes());
        feed.add_lines(lines.collect(), false);
        feed.end_feed(FeedEnd::Sealed);
        let first = feed.frames_behind(0);
        assert_eq!((first.frames.len(), first.has_more, first.end), (MOST_TAKEN, true, None));
        let rest = feed.frames_behind(MOST_TAKEN);
        assert_eq!((rest.frames.len(), rest.has_more, rest.end), (3, false, Some(FeedEnd::Sealed)));
    }

    #[test]
    fn a_slow_viewer_takes_little_at_a_time() {
        let feed = LiveFeed::default();
        feed.add_lines((0..5000).map(|seq| format!("{{\"seq\":{seq}}}").into_bytes()).collect(), false);
        let behind = feed.frames_behind(0);
        assert!(behind.frames.len() <= 1000 && behind.has_more, "{} frames", behind.frames.len());
    }

    #[test]
    fn a_feed_ends_idle_only_while_nobody_has_joined() {
        let feed = Arc::new(LiveFeed::default());
        let viewer = feed.join_viewer().unwrap();
        assert!(!feed.end_unless_viewed(), "a viewer joined");
        assert_eq!(feed.frames_behind(0).end, None);
        drop(viewer);
        assert!(feed.end_unless_viewed());
        assert!(feed.join_viewer().is_none(), "nobody joins a feed that nobody reads");
    }
}
