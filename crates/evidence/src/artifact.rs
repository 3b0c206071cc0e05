//! A bundle while it is being made: every artifact is created once, by this run, in a directory this run made.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use contract::{Digest, EventKind, RunId, Stamp, canonical_bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::chain::{self, Head};
use crate::names;

/// An artifact that could not be written.
#[derive(Debug)]
pub struct WriteArtifactError {
    pub name: String,
    pub error: io::Error,
}

impl fmt::Display for WriteArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", contract::text::shown(&self.name), self.error)
    }
}

impl std::error::Error for WriteArtifactError {}

/// What is known of a finished artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub sha256: Digest,
    pub written_at: Stamp,
}

/// A file that grows by whole lines and is digested as it grows.
#[derive(Debug)]
struct Log {
    file: File,
    hasher: Sha256,
    last: Stamp,
}

impl Log {
    fn append(&mut self, line: &[u8], at: Stamp) -> io::Result<()> {
        self.file.write_all(line)?;
        self.hasher.update(line);
        self.last = at;
        Ok(())
    }
}

/// Stands in the list of redacted artifacts where the value was in a name.
const REDACTED_NAMES: &str = "names";

/// Takes a value out of bytes that are about to be written; nothing where it does not stand in them.
pub type Redact = Box<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send>;

/// What is taken out of everything that is written from some moment on.
#[derive(Default)]
struct Redaction {
    redact: Option<Redact>,
    /// The artifacts in which something was found.
    redacted: BTreeSet<String>,
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redaction({:?})", self.redacted)
    }
}

impl Redaction {
    fn apply<'a>(&mut self, name: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.redact.as_ref().and_then(|redact| redact(bytes)) {
            Some(clean) => {
                self.redacted.insert(name.to_owned());
                Cow::Owned(clean)
            }
            None => Cow::Borrowed(bytes),
        }
    }

    /// The same for a value of a log, before it is written as a line.
    fn apply_to<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: T) -> serde_json::Result<T> {
        if self.redact.is_none() {
            return Ok(value);
        }
        let bytes = serde_json::to_vec(&value)?;
        match self.apply(name, &bytes) {
            Cow::Borrowed(_) => Ok(value),
            Cow::Owned(clean) => serde_json::from_slice(&clean),
        }
    }
}

/// A bundle that is not sealed yet.
#[derive(Debug)]
pub struct Draft {
    dir: PathBuf,
    run_id: RunId,
    /// Holds the lock on the directory: while it is held, the run is alive.
    lock: File,
    files: BTreeMap<String, Written>,
    directories: Vec<String>,
    events: Log,
    trace: Log,
    head: Head,
    seen: Vec<EventKind>,
    redaction: Redaction,
}

impl Draft {
    /// Opens the two logs in a directory that [`Draft::claim`] made and locked.
    pub fn begin(dir: PathBuf, run_id: RunId, lock: File, at: Stamp) -> Result<Self, WriteArtifactError> {
        let events = new_log(&dir, names::EVENTS, at)?;
        let trace = new_log(&dir, names::TRACE, at)?;
        let (files, directories, head, seen) = (BTreeMap::new(), Vec::new(), Head::default(), Vec::new());
        let redaction = Redaction::default();
        Ok(Self { dir, run_id, lock, files, directories, events, trace, head, seen, redaction })
    }

    /// Takes over the unbroken beginning of a dead run's chain, byte for byte.
    pub fn continue_chain(&mut self, lines: &[u8], at: Stamp) -> Result<(), WriteArtifactError> {
        let read = chain::read(lines, Some(&self.run_id));
        self.events.append(&lines[..read.good_bytes], at).map_err(|error| failed(names::EVENTS, error))?;
        self.head = read.head;
        self.seen = read.events.iter().map(|event| event.kind).collect();
        Ok(())
    }

    /// Makes the run's directory and takes its lock, so that nobody takes the run for a dead one.
    pub fn claim(dir: &Path) -> io::Result<File> {
        DirBuilder::new().mode(0o700).create(dir)?;
        let lock = File::open(dir)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    pub fn head(&self) -> Head {
        self.head
    }

    /// The kinds of the events so far.
    pub fn events_seen(&self) -> &[EventKind] {
        &self.seen
    }

    pub fn files(&self) -> &BTreeMap<String, Written> {
        &self.files
    }

    pub(crate) fn directories(&self) -> &[String] {
        &self.directories
    }

    pub(crate) fn lock(&self) -> &File {
        &self.lock
    }

    /// From here on something is taken out of whatever is written: artifacts, events before they are chained, the trace.
    pub fn redact_with(&mut self, redact: Redact) {
        self.redaction.redact = Some(redact);
    }

    /// The artifacts from which something was taken out.
    pub fn redacted(&self) -> &BTreeSet<String> {
        &self.redaction.redacted
    }

    /// A document without what is taken out of everything.
    pub fn clean<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: T) -> Result<T, WriteArtifactError> {
        self.redaction.apply_to(name, value).map_err(|error| failed(name, error.into()))
    }

    /// Adds one event to the chain.
    pub fn event(&mut self, at: Stamp, kind: EventKind, data: Value) -> Result<(), WriteArtifactError> {
        let data = match data {
            Value::Object(data) => data,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        let data = self.clean(names::EVENTS, data)?;
        let line = self.head.link(&self.run_id, at, kind, data).map_err(|error| failed(names::EVENTS, error.into()))?;
        self.events.append(&line, at).map_err(|error| failed(names::EVENTS, error))?;
        self.seen.push(kind);
        Ok(())
    }

    /// Adds one line on what the harness did or checked.
    pub fn trace(&mut self, at: Stamp, step: &str, data: Value) -> Result<(), WriteArtifactError> {
        let data = self.clean(names::TRACE, data)?;
        let line = serde_json::json!({"data": data, "step": step, "time": at});
        let mut line = canonical_bytes(&line).map_err(|error| failed(names::TRACE, error.into()))?;
        line.push(b'\n');
        self.trace.append(&line, at).map_err(|error| failed(names::TRACE, error))
    }

    /// Creates an artifact; one that exists already is an error, whoever made it.
    pub fn write(&mut self, name: &str, bytes: &[u8], at: Stamp) -> Result<(), WriteArtifactError> {
        if let Cow::Owned(_) = self.redaction.apply(REDACTED_NAMES, name.as_bytes()) {
            // A name cannot be redacted without becoming another file's.
            return Err(failed("an artifact", io::ErrorKind::InvalidFilename.into()));
        }
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_directory(parent)?;
        }
        let bytes = self.redaction.apply(name, bytes);
        create(&self.dir, name).and_then(|mut file| file.write_all(&bytes)).map_err(|error| failed(name, error))?;
        self.files.insert(name.to_owned(), Written { sha256: Digest::of(&bytes), written_at: at });
        Ok(())
    }

    /// Creates a JSON artifact in its canonical bytes.
    pub fn write_json<T: Serialize>(&mut self, name: &str, value: &T, at: Stamp) -> Result<(), WriteArtifactError> {
        let bytes = canonical_bytes(value).map_err(|error| failed(name, error.into()))?;
        self.write(name, &bytes, at)
    }

    /// Takes over a file that a dead run left, without copying it.
    pub fn adopt(&mut self, from: &Path, name: &str, at: Stamp) -> Result<(), WriteArtifactError> {
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_directory(parent)?;
        }
        let sha256 =
            digest_file(from).and_then(|digest| std::fs::hard_link(from, self.dir.join(name)).map(|()| digest));
        self.files
            .insert(name.to_owned(), Written { sha256: sha256.map_err(|error| failed(name, error))?, written_at: at });
        Ok(())
    }

    /// Makes a directory of the bundle and those above it.
    fn make_directory(&mut self, name: &str) -> Result<(), WriteArtifactError> {
        if self.directories.iter().any(|known| known == name) {
            return Ok(());
        }
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_directory(parent)?;
        }
        DirBuilder::new().mode(0o700).create(self.dir.join(name)).map_err(|error| failed(name, error))?;
        self.directories.push(name.to_owned());
        Ok(())
    }

    /// Closes the two logs: after this no event can be added.
    pub(crate) fn close_logs(&mut self) {
        for (name, log) in [(names::EVENTS, &self.events), (names::TRACE, &self.trace)] {
            let sha256 = Digest::from_bytes(log.hasher.clone().finalize().into());
            self.files.insert(name.to_owned(), Written { sha256, written_at: log.last });
        }
    }
}

fn failed(name: &str, error: io::Error) -> WriteArtifactError {
    WriteArtifactError { name: name.to_owned(), error }
}

fn digest_file(path: &Path) -> io::Result<Digest> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn create(dir: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.join(name))
}

fn new_log(dir: &Path, name: &str, at: Stamp) -> Result<Log, WriteArtifactError> {
    let file = create(dir, name).map_err(|error| failed(name, error))?;
    Ok(Log { file, hasher: Sha256::new(), last: at })
}

/// Whether a run's directory is held by a living process. Takes the lock when it is not.
pub fn take_over(dir: &Path) -> io::Result<Option<File>> {
    let lock = File::open(dir)?;
    match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
