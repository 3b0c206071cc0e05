//! The feeds of followed runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::feed::{CountedViewer, LiveFeed};

/// Runs that are followed at a time.
const MOST_FEEDS: usize = 64;

/// Feeds of all followed runs.
#[derive(Debug, Default)]
pub(crate) struct LiveHub {
    feeds: Mutex<BTreeMap<String, Weak<LiveFeed>>>,
}

impl LiveHub {
    /// A viewer of the feed of a run, and true if the feed was made now and needs a reader.
    pub(crate) fn join_feed(&self, run_id: &str) -> Option<(CountedViewer, bool)> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(viewer) = feeds.get(run_id).and_then(Weak::upgrade).and_then(|feed| feed.join_viewer()) {
            return Some((viewer, false));
        }
        if feeds.len() >= MOST_FEEDS {
            return None;
        }
        let feed = Arc::new(LiveFeed::default());
        feeds.insert(run_id.to_owned(), Arc::downgrade(&feed));
        feed.join_viewer().map(|viewer| (viewer, true))
    }

    /// Number of viewers over all feeds.
    pub(crate) fn count_viewers(&self) -> usize {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.values().filter_map(Weak::upgrade).map(|feed| feed.count_viewers()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between joining and the first frame nothing of a viewer runs; its feed must not end meanwhile.
    #[test]
    fn a_viewer_counts_from_the_moment_it_joins() {
        let hub = LiveHub::default();
        let (first, is_new) = hub.join_feed("run").unwrap();
        assert!(is_new && !first.feed().end_unless_viewed());
        let feed = Arc::clone(first.feed());
        drop(first);
        let (second, is_new) = hub.join_feed("run").unwrap();
        assert!(!is_new && !feed.end_unless_viewed(), "the same feed, with a viewer again");
        drop(second);
        assert!(feed.end_unless_viewed());
        assert!(hub.join_feed("run").unwrap().1, "an ended feed is made anew, with a reader");
    }
}
