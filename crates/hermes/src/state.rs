//! Everything that routes share.

use std::sync::Arc;

use crate::access::{RateLimiter, ServerNames, Sessions};
use crate::live::LiveHub;
use crate::source::{ConsoleSource, SourceError};

/// Source, sessions, names, rates and live feeds of one server.
pub(crate) struct ConsoleState {
    pub(crate) source: Arc<dyn ConsoleSource>,
    pub(crate) sessions: Sessions,
    pub(crate) names: ServerNames,
    pub(crate) rates: RateLimiter,
    pub(crate) live: LiveHub,
}

impl std::fmt::Debug for ConsoleState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleState").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ConsoleState {
    /// Asks the source on a thread that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn ConsoleSource) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let source = Arc::clone(&self.source);
        let asked = tokio::task::spawn_blocking(move || question(source.as_ref())).await;
        asked.unwrap_or_else(|_| Err(SourceError::refused("the question could not be answered")))
    }
}
