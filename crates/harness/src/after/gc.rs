//! Retention: old bundles that nothing rests on are removed, and with them old caches and
//! what dead processes left.
//!
//! Bundles go by intent and effect: the ledger says which one goes and why, then one rename
//! takes it from its place, then it is removed. Whatever an interruption leaves is finished
//! by the next collection. Nothing is removed that cannot be shown to be whole and known to
//! the ledger: evidence of tampering stays.

mod caches;
mod judge;
mod leftovers;
mod remove;

use std::convert::Infallible;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::Stamp;
use contract::text::show_controls;
use rustix::fs::{CWD, FileType, Stat};
use untrusted_fs::own_files::{self, OwnOptions as _};
use untrusted_fs::{Bounds, Met, Next, kind, lstat, open_root, walk};

use crate::home::clock::{ReadClockError, RunClock};
use crate::home::layout::{Home, OpenHomeError};

/// Between two tries at the lock of a collection.
const PAUSE: Duration = Duration::from_millis(50);

/// Time for counting the bytes of one thing; a larger one is counted in part.
const SIZING: Duration = Duration::from_secs(60);

/// Bundles that stay in any case.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Younger than this; and the same in words, as the operator said it.
    pub older_than: Duration,
    pub older_than_text: String,
    /// Number of the latest runs of each task that stay.
    pub keep: usize,
    /// Passes that a rung asks for.
    pub passes_required: u32,
}

impl Retention {
    /// Reason for which a bundle goes, for the ledger and for people.
    pub fn reason(&self) -> String {
        let Self { older_than_text, keep, .. } = self;
        format!(
            "older than {}, not among the latest {keep} of its task, nothing rests on it",
            show_controls(older_than_text)
        )
    }
}

macro_rules! kept {
    ($($variant:ident $code:literal $sentence:literal,)*) => {
        /// Reason why a bundle stays.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kept {
            $(#[doc = $sentence] $variant,)*
        }

        impl Kept {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in JSON output.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Explanation for people.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

kept! {
    Unverified "unverified" "it is not whole: evidence of tampering stays",
    Unrecorded "unrecorded" "the ledger does not know it",
    Unsealed "unsealed" "the ledger does not have it as sealed",
    Stated "stated" "a signed statement or a ledger entry names it",
    LatestPass "latest_pass" "it is the latest pass of its task, engine and stage",
    Rung "rung" "a rung of the ladder rests on it",
    Named "named" "a matrix, a comparison or a repetition that stays names it",
    Young "young" "it is too young",
    Recent "recent" "it is among the latest of its task",
    InUse "in_use" "somebody reads it just now",
    NotReached "not_reached" "the collection was interrupted before it",
}

impl Kept {
    /// Listed by name even if the caller wants only numbers.
    pub const fn is_odd(self) -> bool {
        matches!(self, Self::Unverified | Self::Unrecorded)
    }
}

/// Decision about one bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFate {
    pub run_id: String,
    pub bytes: u64,
    /// Reason to keep it; none if it goes.
    pub kept: Option<Kept>,
    /// Damage of a bundle that is not whole.
    pub detail: Option<String>,
}

/// Things that are not bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweptKind {
    Baselines,
    Mounts,
    Layers,
    Checkouts,
    WorkAreas,
    Imports,
    Trash,
}

impl SweptKind {
    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baselines => "cached baselines",
            Self::Mounts => "cached mounts",
            Self::Layers => "cached layers",
            Self::Checkouts => "cached checkouts",
            Self::WorkAreas => "work areas",
            Self::Imports => "unfinished imports",
            Self::Trash => "trash",
        }
    }
}

/// Decision about things of one sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptFate {
    pub kind: SweptKind,
    pub removed: u64,
    pub bytes: u64,
    pub kept: u64,
    /// Entries that should go and could not be removed.
    pub failed: Vec<String>,
}

impl SweptFate {
    fn new(kind: SweptKind) -> Self {
        Self { kind, removed: 0, bytes: 0, kept: 0, failed: Vec::new() }
    }

    /// Counts one thing that goes, and lets it go where that is wanted.
    fn remove(&mut self, path: &Path, act: Act, remove: impl FnOnce() -> io::Result<()>) {
        let bytes = size_of(path);
        match if act == Act::Remove { remove() } else { Ok(()) } {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.failed.push(format!("{}: {error}", path.display()));
            }
            _ => {
                self.removed += 1;
                self.bytes += bytes;
            }
        }
    }
}

/// Choice between explaining and removing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Explain,
    Remove,
}

/// Result of a collection.
#[derive(Debug)]
pub struct Swept {
    /// In the order of their names.
    pub runs: Vec<RunFate>,
    pub other: Vec<SweptFate>,
    pub interrupted: bool,
}

/// Reason why a collection could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Clock(ReadClockError),
    #[error(transparent)]
    Home(OpenHomeError),
    #[error(transparent)]
    ReadLedger(#[from] ledger::ReadLedgerError),
    #[error(transparent)]
    Ledger(ledger::AppendEntryError),
    #[error("cannot list the bundles: {0}")]
    ListBundles(#[source] io::Error),
    #[error("cannot clear {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error("interrupted by a signal")]
    Interrupted,
}

/// Current time, and the age that counts as old.
#[derive(Debug, Clone, Copy)]
struct Clock {
    now: Stamp,
    older_than: Duration,
}

impl Clock {
    /// True for times long enough ago. A time in the future or an unknown one counts as
    /// young.
    fn is_old(&self, unix_seconds: i64) -> bool {
        let age = self.now.unix_seconds().saturating_sub(unix_seconds);
        u64::try_from(age).is_ok_and(|age| age >= self.older_than.as_secs())
    }

    fn is_old_file(&self, path: &Path) -> bool {
        own_files::symlink_metadata(path).is_ok_and(|stat| self.is_old(stat.mtime()))
    }
}

/// Collects. One at a time: another one waits for it.
pub fn gc(home: &Home, retention: &Retention, act: Act, cancel: &AtomicBool) -> Result<Swept, CollectError> {
    let _alone = match act {
        Act::Remove => Some(alone(&home.root().join("gc.lock"), cancel)?),
        Act::Explain => None,
    };
    let now = RunClock::start_clock().map_err(CollectError::Clock)?.started();
    let clock = Clock { now, older_than: retention.older_than };
    let trash = leftovers::trash(home, act);
    let runs = remove::collect_runs(home, retention, clock, act, cancel)?;
    let mut other = caches::sweep_caches(home, clock, act);
    other.extend(leftovers::sweep_leftovers(home, clock, act));
    other.push(trash);
    Ok(Swept { runs, other, interrupted: cancel.load(Ordering::Relaxed) })
}

/// All bytes below a path, links not followed; what cannot be seen counts nothing.
fn size_of(path: &Path) -> u64 {
    let Ok(root) = open_root(path) else {
        return lstat(CWD, path.as_os_str().as_bytes()).map_or(0, |stat| length(&stat));
    };
    let mut bytes = 0_u64;
    let walked = walk::<Infallible>(root, &Bounds::within(SIZING), |met| {
        if let Met::Entry(entry) = met {
            bytes = bytes.saturating_add(length(entry.stat));
        }
        Ok(Next::Enter)
    });
    let _ = walked;
    bytes
}

fn length(stat: &Stat) -> u64 {
    if kind(stat) == FileType::Directory { 0 } else { u64::try_from(stat.st_size).unwrap_or_default() }
}

/// The names in a folder, sorted; none where it is missing.
fn names_in(folder: &Path) -> Result<Vec<String>, CollectError> {
    let failed = |error| CollectError::Io(folder.to_owned(), error);
    let listed = match own_files::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let names = listed.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, _>>().map_err(failed)?;
    names.sort();
    Ok(names)
}

/// Waits until no other collection is at work.
fn alone(path: &Path, cancel: &AtomicBool) -> Result<File, CollectError> {
    let failed = |error: io::Error| CollectError::Io(path.to_owned(), error);
    let file = File::options().create(true).truncate(false).write(true).own_open(path).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if cancel.load(Ordering::Relaxed) => return Err(CollectError::Interrupted),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}
