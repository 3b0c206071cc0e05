//! The kill switch: one record in the home that blocks every new run and stops the live
//! ones.
//!
//! The record is the switch. It exists whole or not at all, an unreadable one counts as
//! set, and it works without the ledger, which only records who set it when.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use contract::{Stamp, canonical_bytes};
use evidence::stop;
use ledger::EntryKind;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use untrusted_fs::own_files::{self, OwnOptions as _};

use crate::home::clock::{ReadClockError, RunClock};
use crate::home::layout::{Home, OpenHomeError};
use crate::home::token::random_suffix;
use crate::run::file::Stopped;
use crate::run::harness::Harness;

/// Interval at which a run checks for the kill switch.
const LOOK: Duration = Duration::from_millis(50);

/// Larger than any record of ours.
const LARGEST: u64 = 64 << 10;

/// `halt.json`: the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "halt")]
pub struct Halt {
    /// `1`.
    pub schema_version: String,
    pub set_at: Stamp,
    pub reason: Option<String>,
}

/// A switch that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halted {
    By(Halt),
    /// Something unreadable lies at the record's place; it counts as set.
    Unreadable(String),
}

impl Halted {
    /// The reason, to stand behind a sentence.
    pub(crate) fn because(&self) -> String {
        match self {
            Self::By(Halt { reason: Some(reason), .. }) => format!(": {}", contract::text::show_controls(reason)),
            Self::By(_) => String::new(),
            Self::Unreadable(problem) => format!(": its record cannot be read ({problem})"),
        }
    }
}

impl fmt::Display for Halted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(halt) => write!(f, "set since {}{}", halt.set_at, self.because()),
            Self::Unreadable(_) => write!(f, "set{}", self.because()),
        }
    }
}

impl Harness {
    /// Obeys the kill switch of another home, for a harness whose own home exists for one
    /// question only.
    #[must_use]
    pub fn heeding_halt(mut self, home: &Path) -> Self {
        self.switch = Home::halt_path_in(home);
        self
    }
}

/// State of a home's kill switch; none if it is not set.
pub fn halted(home: &Path) -> Option<Halted> {
    look_for_halt(&Home::halt_path_in(home))
}

/// None only if it is certain that there is no record.
pub(crate) fn look_for_halt(record: &Path) -> Option<Halted> {
    match own_files::symlink_metadata(record) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
        Err(error) => Some(Halted::Unreadable(error.to_string())),
        Ok(kind) if !kind.is_file() => Some(Halted::Unreadable("it is not a regular file".to_owned())),
        Ok(_) => Some(read(record).map_or_else(|error| Halted::Unreadable(error.to_string()), Halted::By)),
    }
}

fn read(record: &Path) -> io::Result<Halt> {
    let mut bytes = Vec::new();
    own_files::open_file(record)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Reason why the switch could not be changed as asked.
#[derive(Debug, thiserror::Error)]
pub enum HaltError {
    #[error(transparent)]
    Clock(ReadClockError),
    #[error("cannot change {0}: {1}")]
    Record(PathBuf, #[source] io::Error),
    #[error("the kill switch is set, and the ledger cannot be told: {0}")]
    Home(#[source] OpenHomeError),
    /// The switch is set or still set; the ledger does not say so.
    #[error("the kill switch is set, and the ledger cannot be told: {0}")]
    Ledger(#[source] ledger::AppendEntryError),
}

/// Result of setting the switch.
#[derive(Debug)]
pub enum HaltSet {
    Now(Halt),
    /// The switch was set before, and stays as it was.
    Before(Halted),
}

/// Sets the switch.
pub fn set_halt(home: &Home, reason: Option<&str>) -> Result<HaltSet, HaltError> {
    let set_at = RunClock::start_clock().map_err(HaltError::Clock)?.started();
    let halt = Halt { schema_version: "1".to_owned(), set_at, reason: reason.map(str::to_owned) };
    let path = home.halt_path();
    let placed = place(&path, &halt).map_err(|error| HaltError::Record(path.clone(), error))?;
    if !placed {
        let found = look_for_halt(&path).unwrap_or_else(|| Halted::Unreadable("it was lifted just now".to_owned()));
        return Ok(HaltSet::Before(found));
    }
    stop::pass_place("halt.placed");
    record(home, EntryKind::HaltSet, halt.set_at, &json!({"reason": halt.reason, "set_at": halt.set_at}))?;
    Ok(HaltSet::Now(halt))
}

/// Puts the record in place by one rename; false if there is one.
fn place(path: &Path, halt: &Halt) -> io::Result<bool> {
    let aside = path.with_extension(format!("new-{}-{}", std::process::id(), random_suffix()?));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&aside)?;
    stop::pass_place("halt.placing");
    let renamed = file
        .write_all(&canonical_bytes(halt)?)
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat_with(CWD, &aside, CWD, path, RenameFlags::NOREPLACE)?));
    match renamed {
        Ok(()) => sync_folder(path).map(|()| true),
        Err(error) => {
            let _ = fs::remove_file(&aside);
            if error.kind() == io::ErrorKind::AlreadyExists { Ok(false) } else { Err(error) }
        }
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| own_files::open_file(folder)?.sync_all())
}

fn record(home: &Home, kind: EntryKind, time: Stamp, body: &serde_json::Value) -> Result<(), HaltError> {
    let ledger = home.ledger().map_err(HaltError::Home)?;
    ledger.append(kind, None, time, body).map(drop).map_err(HaltError::Ledger)
}

/// Result of lifting the switch.
#[derive(Debug)]
pub enum Resumed {
    Lifted(Halted),
    WasNotSet,
}

/// Lifts the switch. The ledger gets its entry first: a switch that cannot be accounted for
/// stays set.
pub fn lift_halt(home: &Home) -> Result<Resumed, HaltError> {
    let path = home.halt_path();
    let Some(halted) = look_for_halt(&path) else { return Ok(Resumed::WasNotSet) };
    let (set_at, reason) = match &halted {
        Halted::By(halt) => (Some(halt.set_at), halt.reason.clone()),
        Halted::Unreadable(_) => (None, None),
    };
    let now = RunClock::start_clock().map_err(HaltError::Clock)?.started();
    record(home, EntryKind::HaltLifted, now, &json!({"reason": reason, "set_at": set_at}))?;
    stop::pass_place("resume.said");
    let removed = match own_files::symlink_metadata(&path) {
        Ok(kind) if kind.is_dir() => fs::remove_dir(&path),
        _ => fs::remove_file(&path),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HaltError::Record(path, error)),
        _ => {
            sync_folder(&path).map_err(|error| HaltError::Record(path, error))?;
            Ok(Resumed::Lifted(halted))
        }
    }
}

/// Lookout for a run, which is cancelled by its caller or by the kill switch; it knows by
/// which.
pub(crate) struct HaltLookout<'a> {
    record: &'a Path,
    caller: &'a AtomicBool,
    cancel: AtomicBool,
    seen: OnceLock<Halted>,
    /// Lies there when this one run is to end.
    stop: OnceLock<PathBuf>,
    lease_lost: AtomicBool,
}

impl<'a> HaltLookout<'a> {
    /// Lookout for one run; `caller` is the signal of the process.
    pub(crate) fn new(record: &'a Path, caller: &'a AtomicBool) -> Self {
        Self {
            record,
            caller,
            cancel: AtomicBool::new(false),
            seen: OnceLock::new(),
            stop: OnceLock::new(),
            lease_lost: AtomicBool::new(false),
        }
    }

    /// Does the work under the lookout; the flag that the work gets is set when it has to
    /// end.
    pub(crate) fn during<T>(&self, work: impl FnOnce(&AtomicBool) -> T) -> T {
        std::thread::scope(|scope| {
            // Dropped when the work is done, so that nobody waits for the next look.
            let (working, ended) = channel::<()>();
            scope.spawn(move || while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) && !self.look() {});
            let done = work(&self.cancel);
            drop(working);
            done
        })
    }

    /// True when the run is to end.
    fn look(&self) -> bool {
        if let Some(halted) = look_for_halt(self.record) {
            let _ = self.seen.set(halted);
        }
        let lost = self.lease_lost.load(Ordering::Relaxed);
        let asked = self.stop.get().is_some_and(|path| own_files::symlink_metadata(path).is_ok());
        let end = self.caller.load(Ordering::Relaxed) || self.seen.get().is_some() || lost || asked;
        self.cancel.store(end, Ordering::Relaxed);
        end
    }

    /// Looks also for a file that asks this run to end.
    pub(crate) fn heed_stop(&self, path: PathBuf) {
        let _ = self.stop.set(path);
    }

    /// Ends the run because it belongs to another instance by now.
    pub(crate) fn lose_lease(&self) {
        self.lease_lost.store(true, Ordering::Relaxed);
    }

    /// Cause of a cancellation: the kill switch, unless the caller cancelled.
    pub(crate) fn cause(&self, stopped: Stopped) -> Stopped {
        match (stopped, self.seen.get()) {
            (Stopped::Cancelled, Some(halted)) if !self.caller.load(Ordering::Relaxed) => {
                Stopped::Halted(halted.clone())
            }
            (stopped, _) => stopped,
        }
    }
}
