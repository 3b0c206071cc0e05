//! Everything that routes share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::access::{RateLimiter, ServerNames, SessionPolicy, Sessions};
use crate::feeds::LiveHub;
use crate::page_cache::PageCache;
use crate::source::{ConsoleSource, SourceError};

/// Requests of one address: each second, and at once.
const RATE: (f64, f64) = (500.0, 2000.0);
/// Refused acts of one session, or of one address without a session, that are written into
/// the ledger: each second, and at once.
const REFUSALS: (f64, f64) = (0.2, 50.0);

/// Source, sessions, names, rates and live feeds of one server.
pub(crate) struct ConsoleState {
    pub(crate) source: Arc<dyn ConsoleSource>,
    pub(crate) sessions: Sessions,
    pub(crate) names: ServerNames,
    pub(crate) rates: RateLimiter,
    /// Refused acts that are written into the ledger: a foreign page cannot fill it.
    pub(crate) refusals: RateLimiter,
    /// Decisions that are signed at a time.
    pub(crate) signing: Arc<Semaphore>,
    pub(crate) live: LiveHub,
    pub(crate) pages: PageCache,
}

impl std::fmt::Debug for ConsoleState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleState").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ConsoleState {
    /// Shared state of one console.
    pub(crate) fn new(source: Arc<dyn ConsoleSource>, sessions: SessionPolicy, names: ServerNames) -> Self {
        Self {
            source,
            sessions: Sessions::new(sessions),
            names,
            rates: RateLimiter::new(RATE.0, RATE.1),
            refusals: RateLimiter::new(REFUSALS.0, REFUSALS.1),
            signing: Arc::new(Semaphore::new(1)),
            live: LiveHub::default(),
            pages: PageCache::default(),
        }
    }

    /// Asks the source on a thread that may block.
    pub(crate) async fn ask_source<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn ConsoleSource) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let source = Arc::clone(&self.source);
        let asked = tokio::task::spawn_blocking(move || question(source.as_ref())).await;
        asked.unwrap_or_else(|_| Err(SourceError::refused("the question could not be answered")))
    }
}
