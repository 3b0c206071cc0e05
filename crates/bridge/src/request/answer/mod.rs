//! Observation of an answer in passing: its model, its usage, its content.
//!
//! The watcher reads along and changes nothing. [`sse`] finds frames, [`read`] knows the
//! fields of each wire.

mod read;

use std::sync::Arc;

use crate::policy::admission::{AdmittedPair, Served};
use crate::protocol::json::{JsonSpans, Strictness};
use crate::protocol::sse::Frames;
use crate::protocol::usage::{AnswerShape, Tokens};
use crate::protocol::wire::Wire;

/// Cause that ends an answer before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The answer names a model that is not admitted.
    OtherModel(String),
    /// A document or frame cannot be read.
    NotJson,
    /// A document or frame is over its limit.
    TooLong,
}

/// Observations of an answer so far.
#[derive(Debug)]
pub(crate) struct Sightings {
    /// Model name in the answer.
    pub(crate) model: Option<String>,
    /// Comparison of that name with the admission.
    pub(crate) served: Served,
    /// Usage as the upstream reports it.
    pub(crate) tokens: Tokens,
    /// Stop reason as the wire names it.
    pub(crate) finish: Option<String>,
    /// Kinds of content that were seen.
    pub(crate) shape: AnswerShape,
    /// The model said why it stopped, or a whole document came.
    pub(crate) complete: bool,
    /// The last event of the wire came: nothing that belongs to the answer follows it.
    pub(crate) terminal: bool,
    /// The upstream reported an error inside an answer of status 200.
    pub(crate) error: bool,
    /// Ids of responses and items made in this answer.
    pub(crate) issued: Vec<String>,
}

/// Reads along with one answer.
#[derive(Debug)]
pub(crate) struct AnswerWatcher {
    wire: Wire,
    admission: Arc<AdmittedPair>,
    frames: Frames,
    /// Number of frames of a stream.
    pub(crate) frames_seen: u64,
    pub(crate) seen: Sightings,
    fault: Option<Fault>,
}

impl AnswerWatcher {
    /// The most ids remembered from one answer.
    const MOST_IDS: usize = 1024;

    /// Watcher of one answer.
    pub(crate) fn new(wire: Wire, admission: Arc<AdmittedPair>, longest_frame: usize) -> Self {
        let seen = Sightings {
            model: None,
            served: Served::Unknown,
            tokens: Tokens::default(),
            finish: None,
            shape: AnswerShape::default(),
            complete: false,
            terminal: false,
            error: false,
            issued: Vec::new(),
        };
        let frames = Frames::new(longest_frame);
        Self { wire, admission, frames, frames_seen: 0, seen, fault: None }
    }

    /// A whole answer that is not a stream.
    pub(crate) fn see_document(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        JsonSpans::with_shared(|spans| {
            let root = spans.read_document(bytes, Strictness::Answer).map_err(|_| Fault::NotJson)?;
            read::watch_document(self, self.wire, root);
            Ok(())
        })?;
        self.seen.complete = true;
        self.fault.take().map_or(Ok(()), Err)
    }

    /// A piece of a stream.
    pub(crate) fn see_piece(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let mut frames = std::mem::replace(&mut self.frames, Frames::new(0));
        let fed = JsonSpans::with_shared(|spans| frames.feed(piece, |data| self.see_frame(data, spans)));
        self.frames = frames;
        fed.map_err(|_| Fault::TooLong)?;
        self.fault.take().map_or(Ok(()), Err)
    }

    fn see_frame(&mut self, data: &[u8], spans: &mut JsonSpans) {
        self.frames_seen += 1;
        if data == b"[DONE]" {
            // Some servers send it on the other wires too, where it says nothing.
            self.seen.terminal |= self.wire == Wire::ChatCompletions;
            return;
        }
        match spans.read_document(data, Strictness::Answer) {
            Ok(root) => read::frame(self, self.wire, root),
            Err(_) => self.fail(Fault::NotJson),
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// The model an answer names; every frame that names one must name an admitted one.
    fn see_model(&mut self, name: &str) {
        if self.seen.model.as_deref() == Some(name) {
            return;
        }
        let served = self.admission.served(name);
        self.seen.served = served;
        self.seen.model = Some(name.to_owned());
        if served == Served::OtherFamily {
            self.fail(Fault::OtherModel(name.to_owned()));
        }
    }

    fn see_id(&mut self, id: &str) {
        if self.seen.issued.len() < Self::MOST_IDS && id.len() <= 256 && !self.seen.issued.iter().any(|old| old == id) {
            self.seen.issued.push(id.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
