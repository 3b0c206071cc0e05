//! A bundle while it is being made: every artifact is created once, by this run, in a
//! directory this run made.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use contract::{Digest, EventData, EventKind, RunId, Stamp, canonical_bytes};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::censor::Censor;
use crate::chain::{self, ChainHead};
use crate::names;

/// An artifact that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", contract::text::show_controls(.name))]
pub struct WriteArtifactError {
    /// Name relative to the bundle.
    pub name: String,
    #[source]
    pub error: io::Error,
}

/// Digest and time of a finished artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub sha256: Digest,
    /// Time on the run's own clock.
    pub written_at: Stamp,
}

/// A file that grows by whole lines and is digested as it grows.
#[derive(Debug)]
struct Log {
    file: File,
    hasher: Sha256,
    len: u64,
    last: Stamp,
}

impl Log {
    fn append(&mut self, line: &[u8], at: Stamp) -> io::Result<()> {
        self.file.write_all(line)?;
        self.hasher.update(line);
        self.len += line.len() as u64;
        self.last = at;
        Ok(())
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
    head: ChainHead,
    seen: Vec<EventKind>,
    censor: Censor,
}

impl Draft {
    /// Opens the two logs in a directory that [`Draft::claim_folder`] made and locked. Nothing is
    /// written that the censor has not seen.
    pub fn begin_draft(
        dir: PathBuf,
        run_id: RunId,
        lock: File,
        at: Stamp,
        censor: Censor,
    ) -> Result<Self, WriteArtifactError> {
        let events = new_log(&dir, names::EVENTS, at)?;
        let trace = new_log(&dir, names::TRACE, at)?;
        let (files, directories, head, seen) = (BTreeMap::new(), Vec::new(), ChainHead::default(), Vec::new());
        Ok(Self { dir, run_id, lock, files, directories, events, trace, head, seen, censor })
    }

    /// Takes over the unbroken beginning of a dead run's chain, byte for byte.
    pub fn continue_chain(&mut self, lines: &[u8], at: Stamp) -> Result<(), WriteArtifactError> {
        let read = chain::read_chain(lines, Some(&self.run_id));
        self.events.append(&lines[..read.good_bytes], at).map_err(|error| failed(names::EVENTS, error))?;
        self.head = read.head;
        self.seen = read.events.iter().map(|event| event.kind).collect();
        Ok(())
    }

    /// Makes the run's directory and takes its lock, which marks the run as alive.
    pub fn claim_folder(dir: &Path) -> io::Result<File> {
        DirBuilder::new().mode(0o700).create(dir)?;
        let lock = File::open(dir)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        Ok(lock)
    }

    /// Folder of the draft, below `active/` until it is sealed.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Id of the run that owns the draft.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Count and digest of the event chain so far.
    pub fn head(&self) -> ChainHead {
        self.head
    }

    /// The kinds of the events so far.
    pub fn events_seen(&self) -> &[EventKind] {
        &self.seen
    }

    /// Finished artifacts by their names relative to the bundle.
    pub fn files(&self) -> &BTreeMap<String, Written> {
        &self.files
    }

    /// The censor, for questions about findings so far.
    pub fn censor(&self) -> &Censor {
        &self.censor
    }

    /// The censor, to register values that must be redacted from now on.
    pub fn censor_mut(&mut self) -> &mut Censor {
        &mut self.censor
    }

    /// Folders that sealing has to make durable.
    pub(crate) fn directories(&self) -> &[String] {
        &self.directories
    }

    /// Lock that marks the draft as owned by a live process.
    pub(crate) fn lock(&self) -> &File {
        &self.lock
    }

    /// Adds one event with its data and with the reasons that it carries. A reason that its data names comes first.
    pub fn add_event_data(
        &mut self,
        at: Stamp,
        data: &EventData,
        carried: Map<String, Value>,
    ) -> Result<(), WriteArtifactError> {
        let own = data.to_fields().map_err(|error| failed(names::EVENTS, error.into()))?;
        let mut fields = carried;
        fields.extend(own);
        self.add_event(at, data.kind(), Value::Object(fields))
    }

    /// Adds one event to the chain.
    pub fn add_event(&mut self, at: Stamp, kind: EventKind, data: Value) -> Result<(), WriteArtifactError> {
        let mut data = match data {
            Value::Object(data) => data,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        self.censor.line_data(names::EVENTS, self.events.len, &mut data);
        let line =
            self.head.next_line(&self.run_id, at, kind, data).map_err(|error| failed(names::EVENTS, error.into()))?;
        self.events.append(&line, at).map_err(|error| failed(names::EVENTS, error))?;
        self.seen.push(kind);
        Ok(())
    }

    /// Adds one line on what the harness did or checked.
    pub fn add_trace(&mut self, at: Stamp, step: &str, data: Value) -> Result<(), WriteArtifactError> {
        let mut line = Map::from_iter([("data".to_owned(), data)]);
        self.censor.line_data(names::TRACE, self.trace.len, &mut line);
        line.extend([("step".to_owned(), step.into()), ("time".to_owned(), at.to_string().into())]);
        let mut line = canonical_bytes(&line).map_err(|error| failed(names::TRACE, error.into()))?;
        line.push(b'\n');
        self.trace.append(&line, at).map_err(|error| failed(names::TRACE, error))
    }

    /// Creates an artifact. One that exists already is an error, even if this process made
    /// it.
    pub fn write_artifact(&mut self, name: &str, bytes: &[u8], at: Stamp) -> Result<(), WriteArtifactError> {
        let clean = self.censor.bytes(name, bytes);
        self.write_clean(name, &clean, at)
    }

    /// The same for what the censor has seen already.
    pub fn write_clean(&mut self, name: &str, bytes: &[u8], at: Stamp) -> Result<(), WriteArtifactError> {
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_directory(parent)?;
        }
        create(&self.dir, name).and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(name, error))?;
        self.files.insert(name.to_owned(), Written { sha256: Digest::of_bytes(bytes), written_at: at });
        Ok(())
    }

    /// Creates a JSON artifact in its canonical bytes.
    pub fn write_json<T: Serialize>(&mut self, name: &str, value: &T, at: Stamp) -> Result<(), WriteArtifactError> {
        self.write_document(name, value, at).map(drop)
    }

    /// The same, with the bytes as they were written.
    pub fn write_document<T: Serialize>(
        &mut self,
        name: &str,
        value: &T,
        at: Stamp,
    ) -> Result<Vec<u8>, WriteArtifactError> {
        let bytes = canonical_bytes(value).map_err(|error| failed(name, error.into()))?;
        let clean = self.censor.json(name, &bytes).map_err(|error| failed(name, error.into()))?;
        let bytes = clean.into_owned();
        self.write_clean(name, &bytes, at)?;
        Ok(bytes)
    }

    /// Takes over a file that a dead run left, without copying it unless something in it
    /// has to go.
    pub fn adopt(&mut self, bytes: &[u8], from: &Path, name: &str, at: Stamp) -> Result<(), WriteArtifactError> {
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.make_directory(parent)?;
        }
        let clean = self.censor.bytes(name, bytes);
        if let Cow::Owned(clean) = &clean {
            return self.write_clean(name, clean, at);
        }
        fs::hard_link(from, self.dir.join(name)).map_err(|error| failed(name, error))?;
        self.files.insert(name.to_owned(), Written { sha256: Digest::of_bytes(bytes), written_at: at });
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

fn create(dir: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.join(name))
}

fn new_log(dir: &Path, name: &str, at: Stamp) -> Result<Log, WriteArtifactError> {
    let file = create(dir, name).map_err(|error| failed(name, error))?;
    Ok(Log { file, hasher: Sha256::new(), len: 0, last: at })
}

/// True while a live process holds a run's directory. The lock is released at once, so that
/// looking does not disturb others.
pub fn is_held(dir: &Path) -> io::Result<bool> {
    let lock = File::open(dir)?;
    match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Takes the lock of a run's directory; `None` while a living process holds it.
pub fn take_over(dir: &Path) -> io::Result<Option<File>> {
    let lock = File::open(dir)?;
    match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
