//! Taking an answer down for the recording while it goes by.

use std::sync::Arc;

use bytes::Bytes;

use crate::protocol::wire::Wire;
use crate::recording::record::Exchange;
use crate::request::core::Core;

/// An answer of more than this is not recorded.
const LONGEST: usize = 16 << 20;

/// An answer being taken down. Dropped before its end, it leaves a hole that the recording
/// tells of.
#[derive(Debug)]
pub(crate) struct AnswerRecorder {
    core: Arc<Core>,
    wire: Wire,
    request: Bytes,
    status: u16,
    content_type: String,
    response: Vec<u8>,
    whole: bool,
    kept: bool,
}

impl AnswerRecorder {
    /// Starts a recording of the answer; none if no recording was asked for, or the request
    /// is no part of one.
    pub(crate) fn start_recording(
        core: &Arc<Core>,
        wire: Wire,
        request: &Bytes,
        status: u16,
        content_type: &str,
    ) -> Option<Self> {
        core.recorder.as_ref().filter(|_| !request.is_empty())?;
        Some(Self {
            core: Arc::clone(core),
            wire,
            request: request.clone(),
            status,
            content_type: content_type.to_owned(),
            response: Vec::new(),
            whole: true,
            kept: false,
        })
    }

    /// Appends a piece, until the answer is too long to be recorded.
    pub(crate) fn push_piece(&mut self, piece: &[u8]) {
        self.whole &= self.response.len() + piece.len() <= LONGEST;
        if self.whole {
            self.response.extend_from_slice(piece);
        }
    }

    /// Records the answer, unless part of it is missing.
    pub(crate) fn keep_recording(mut self) {
        if let (true, Some(recorder)) = (self.whole, &self.core.recorder) {
            recorder.keep_exchange(&Exchange {
                wire: self.wire,
                request: &self.request,
                status: self.status,
                content_type: &self.content_type,
                response: &self.response,
            });
            self.kept = true;
        }
    }
}

impl Drop for AnswerRecorder {
    fn drop(&mut self) {
        if let (false, Some(recorder)) = (self.kept, &self.core.recorder) {
            recorder.miss();
        }
    }
}
