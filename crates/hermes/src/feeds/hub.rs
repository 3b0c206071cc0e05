//! The feeds of followed runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::feed::LiveFeed;

/// Runs that are followed at a time.
const MOST_FEEDS: usize = 64;

/// Feeds of all followed runs.
#[derive(Debug, Default)]
pub(crate) struct LiveHub {
    feeds: Mutex<BTreeMap<String, Weak<LiveFeed>>>,
}

impl LiveHub {
    /// The feed of a run, and true if it was made now and needs a reader.
    pub(crate) fn join_feed(&self, run_id: &str) -> Option<(Arc<LiveFeed>, bool)> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = feeds.get(run_id).and_then(Weak::upgrade).filter(|feed| feed.is_read()) {
            return Some((feed, false));
        }
        if feeds.len() >= MOST_FEEDS {
            return None;
        }
        let feed = Arc::new(LiveFeed::default());
        feeds.insert(run_id.to_owned(), Arc::downgrade(&feed));
        Some((feed, true))
    }

    /// Number of viewers over all feeds.
    pub(crate) fn count_viewers(&self) -> usize {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.values().filter_map(Weak::upgrade).map(|feed| feed.count_viewers()).sum()
    }
}
