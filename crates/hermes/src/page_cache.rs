//! Rendered parts of pages of sealed runs. They contain nothing of a session: the parts
//! around them are rendered each time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use contract::Digest;

use crate::source::RunMark;

/// Parts that are kept, and the largest one; beyond, all are forgotten or none is kept.
const MOST_PARTS: usize = 64;
const LARGEST_PART: usize = 256 << 10;

/// The part of a page that is the same for everybody.
#[derive(Debug)]
pub(crate) struct CachedPart {
    pub(crate) title: String,
    pub(crate) text: String,
    /// Digest of the text, so that the page's tag needs no hashing.
    pub(crate) digest: Digest,
}

impl CachedPart {
    /// Part with its digest, which serves as its entity tag.
    pub(crate) fn new(title: String, text: String) -> Self {
        let digest = Digest::of_bytes(text.as_bytes());
        Self { title, text, digest }
    }
}

/// Parts by the run that was asked for.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    parts: Mutex<BTreeMap<String, (RunMark, Arc<CachedPart>)>>,
}

impl PageCache {
    /// The part of a run whose mark is still the same.
    pub(crate) fn recall(&self, run: &str, mark: RunMark) -> Option<Arc<CachedPart>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.get(run).filter(|(known, _)| *known == mark).map(|(_, part)| Arc::clone(part))
    }

    /// Keeps a part. Large parts are not kept, and a full cache is emptied.
    pub(crate) fn keep_part(&self, run: &str, mark: RunMark, part: &Arc<CachedPart>) {
        if part.text.len() > LARGEST_PART {
            return;
        }
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= MOST_PARTS && !parts.contains_key(run) {
            parts.clear();
        }
        parts.insert(run.to_owned(), (mark, Arc::clone(part)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_mark_is_another_page_and_room_is_bounded() {
        let cache = PageCache::default();
        let mark = |byte: u8| RunMark(Digest::of_bytes(&[byte]));
        let part = |text: &str| Arc::new(CachedPart::new("t".to_owned(), text.to_owned()));
        cache.keep_part("run", mark(1), &part("one"));
        assert_eq!(cache.recall("run", mark(1)).map(|part| part.text.clone()).as_deref(), Some("one"));
        assert!(cache.recall("run", mark(2)).is_none() && cache.recall("other", mark(1)).is_none());
        cache.keep_part("large", mark(1), &part(&"x".repeat(LARGEST_PART + 1)));
        assert!(cache.recall("large", mark(1)).is_none());
        for number in 0..200 {
            cache.keep_part(&format!("run-{number}"), mark(1), &part("x"));
        }
        assert!(cache.parts.lock().map_or(0, |parts| parts.len()) <= MOST_PARTS);
    }
}
