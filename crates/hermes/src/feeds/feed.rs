//! The events of one run, as frames that every viewer shares.

use std::sync::atomic::{AtomicUsize, Ordering};
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
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct LiveFeed {
    state: Mutex<FeedState>,
    news: watch::Sender<()>,
    viewers: AtomicUsize,
}

impl Default for LiveFeed {
    fn default() -> Self {
        Self { state: Mutex::default(), news: watch::channel(()).0, viewers: AtomicUsize::new(0) }
    }
}

/// Counts a viewer for as long as it lives.
#[derive(Debug)]
pub(crate) struct CountedViewer(Arc<LiveFeed>);

impl Drop for CountedViewer {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
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

    /// True while a reader reads for it, or everything was read.
    pub(crate) fn is_read(&self) -> bool {
        self.lock().end != Some(FeedEnd::Lost)
    }

    /// Frames behind the first `sent`, and the end if there is no more.
    pub(crate) fn frames_behind(&self, sent: usize) -> (Vec<SharedFrame>, Option<FeedEnd>) {
        let state = self.lock();
        (state.frames.get(sent..).unwrap_or_default().to_vec(), state.end)
    }

    /// Signal that changes with every new frame.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Counts a viewer for as long as the returned value lives.
    pub(crate) fn count_in(self: &Arc<Self>) -> CountedViewer {
        self.viewers.fetch_add(1, Ordering::Relaxed);
        CountedViewer(Arc::clone(self))
    }

    /// Number of viewers.
    pub(crate) fn count_viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
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
        let (frames, end) = feed.frames_behind(0);
        let ids: Vec<_> = frames.iter().map(|(seq, _)| *seq).collect();
        assert_eq!((ids, end), (vec![Some(0), Some(1), None], None), "an interruption is said once");
        feed.end_feed(FeedEnd::Sealed);
        assert_eq!(feed.frames_behind(3), (Vec::new(), Some(FeedEnd::Sealed)));
        let viewer = feed.count_in();
        assert_eq!(feed.count_viewers(), 1);
        drop(viewer);
        assert_eq!(feed.count_viewers(), 0);
    }
}
