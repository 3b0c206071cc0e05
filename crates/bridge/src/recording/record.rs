//! Recordings of model traffic, redacted, and answering from one with nothing behind it.
//!
//! A recording is one JSON object a line. A request is found again by the digest of what
//! its redacted body means, so redaction must give the same result in both runs; `meaning`
//! says what of a body counts. Requests that mean the same are answered in the order they
//! were recorded in, each once: what was asked once more than recorded is a miss. A line is
//! written where its answer ends, on the bridge's own thread: a recording is asked for by
//! name, and a slow disk then slows the run.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use contract::Digest;
use serde::{Deserialize, Serialize};

use crate::protocol::wire::Wire;
use crate::recording::meaning::meaning_of;

const VERSION: &str = "2.0";
/// A recording is held in memory.
const MAX_RECORDING: u64 = 512 << 20;

/// Takes secrets out of a body.
pub type Redact = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// A body as a line holds it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Held {
    Text(String),
    Base64(String),
}

impl Held {
    fn new(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Base64(STANDARD.encode(error.as_bytes())), Self::Text)
    }

    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).ok(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    version: String,
    key: Digest,
    wire: Wire,
    status: u16,
    content_type: String,
    request: Held,
    response: Held,
}

/// Writes a recording.
pub struct Recorder {
    redact: Redact,
    sink: Mutex<Sink>,
}

struct Sink {
    out: Box<dyn Write + Send>,
    failed: bool,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Recorder that redacts every body before it is written.
    pub fn new(out: Box<dyn Write + Send>, redact: Redact) -> Self {
        Self { redact, sink: Mutex::new(Sink { out, failed: false }) }
    }

    /// True if a write failed: the recording is then incomplete.
    pub(crate) fn has_failed(&self) -> bool {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).failed
    }

    /// Writes one exchange. A failed write is remembered and stops nothing.
    pub(crate) fn keep_exchange(&self, exchange: &Exchange<'_>) {
        let request = (self.redact)(exchange.request);
        let line = Line {
            version: VERSION.to_owned(),
            key: key(exchange.wire, &request),
            wire: exchange.wire,
            status: exchange.status,
            content_type: exchange.content_type.to_owned(),
            request: Held::new(request),
            response: Held::new((self.redact)(exchange.response)),
        };
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let written = serde_json::to_vec(&line).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            sink.out.write_all(&text)?;
            sink.out.flush()
        });
        sink.failed |= written.is_err();
    }

    /// An answer that was cut or was too large to keep: the recording has a hole.
    pub(crate) fn miss(&self) {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
    }
}

/// A request, and the answer the engine got.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) wire: Wire,
    /// Body of the engine, before redaction.
    pub(crate) request: &'a [u8],
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    /// Body that the engine got, before redaction.
    pub(crate) response: &'a [u8],
}

fn key(wire: Wire, redacted: &[u8]) -> Digest {
    let meant = meaning_of(redacted);
    let mut bytes = Vec::with_capacity(meant.len() + 24);
    bytes.extend_from_slice(wire.path().as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&meant);
    Digest::of_bytes(&bytes)
}

/// An answer from a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
}

/// A recording to answer from.
pub struct ReplaySource {
    redact: Redact,
    answers: Mutex<HashMap<Digest, VecDeque<Recorded>>>,
}

impl fmt::Debug for ReplaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replay")
    }
}

/// A recording that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordingError {
    #[error("the recording cannot be read: {0}")]
    Io(#[source] io::Error),
    #[error("the recording is too large")]
    TooLarge,
    #[error("line {number} of the recording cannot be read")]
    Line { number: usize },
    #[error("line {number} of the recording is of another version")]
    Version { number: usize },
    /// The key is not that of the request beside it.
    #[error("line {number} of the recording does not fit its key")]
    Key { number: usize },
}

impl ReplaySource {
    /// Reads a recording, bounded in size. Any line that is not valid is an error.
    pub fn read_recording(from: impl Read, redact: Redact) -> Result<Self, ReadRecordingError> {
        let mut bytes = Vec::new();
        from.take(MAX_RECORDING + 1).read_to_end(&mut bytes).map_err(ReadRecordingError::Io)?;
        if bytes.len() as u64 > MAX_RECORDING {
            return Err(ReadRecordingError::TooLarge);
        }
        let mut answers: HashMap<Digest, VecDeque<Recorded>> = HashMap::new();
        for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, text)| !text.is_empty()) {
            let (key, recorded) = read_line(text, index + 1)?;
            answers.entry(key).or_default().push_back(recorded);
        }
        Ok(Self { redact, answers: Mutex::new(answers) })
    }

    /// The next answer to this request.
    pub(crate) fn find_answer(&self, wire: Wire, request: &[u8]) -> Option<Recorded> {
        let key = key(wire, &(self.redact)(request));
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&key)?.pop_front()
    }
}

fn read_line(text: &[u8], number: usize) -> Result<(Digest, Recorded), ReadRecordingError> {
    let line: Line = serde_json::from_slice(text).map_err(|_| ReadRecordingError::Line { number })?;
    if line.version != VERSION {
        return Err(ReadRecordingError::Version { number });
    }
    let request = line.request.bytes().ok_or(ReadRecordingError::Line { number })?;
    if key(line.wire, &request) != line.key {
        return Err(ReadRecordingError::Key { number });
    }
    let body = line.response.bytes().ok_or(ReadRecordingError::Line { number })?;
    if !(200..600).contains(&line.status) {
        return Err(ReadRecordingError::Line { number });
    }
    Ok((line.key, Recorded { status: line.status, content_type: line.content_type, body: Bytes::from(body) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn redact() -> Redact {
        Arc::new(|bytes| String::from_utf8_lossy(bytes).replace("hunter2", "*").into_bytes())
    }

    fn recorded(rows: &[(&[u8], &[u8])]) -> Vec<u8> {
        let shared = Shared::default();
        let recorder = Recorder::new(Box::new(shared.clone()), redact());
        for (request, response) in rows {
            let (wire, content_type) = (Wire::Messages, "application/json");
            recorder.keep_exchange(&Exchange { wire, request, status: 200, content_type, response });
        }
        assert!(!recorder.has_failed());
        shared.0.lock().unwrap().clone()
    }

    #[test]
    fn equal_requests_are_answered_in_order_and_once() {
        let bytes = recorded(&[(b"a hunter2", b"1 hunter2"), (b"a hunter2", b"2"), (b"b", b"3")]);
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
        let replay = ReplaySource::read_recording(&bytes[..], redact()).unwrap();
        let find = |request: &[u8]| replay.find_answer(Wire::Messages, request).map(|found| found.body);
        assert_eq!(find(b"a hunter2").as_deref(), Some(&b"1 *"[..]));
        assert_eq!(find(b"a hunter2").as_deref(), Some(&b"2"[..]));
        assert_eq!(find(b"a hunter2"), None);
        assert_eq!(find(b"a hunter3"), None);
        assert_eq!(replay.find_answer(Wire::Responses, b"b"), None);
        assert_eq!(find(b"b").as_deref(), Some(&b"3"[..]));
    }

    #[test]
    fn a_damaged_recording_is_refused() {
        let bytes = String::from_utf8(recorded(&[(b"ask", b"answer")])).unwrap();
        let rows = [
            (bytes.replace("\"ask\"", "\"asked\""), "does not fit its key"),
            (bytes.replace("2.0", "9.0"), "another version"),
            (bytes.replace("200", "99"), "cannot be read"),
            ("{".to_owned(), "line 1"),
        ];
        for (text, expected) in rows {
            let error = ReplaySource::read_recording(text.as_bytes(), redact()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
