//! Engines that stay after their work is done. Signs of that are read from outside and raw,
//! so that git never runs in a repository that the engine writes. An engine with an event
//! log is done when the log says so: its phases go on after a commit, and an open tool may
//! take any time. For one without a log the signs are a commit on top of the baseline, a
//! tree equal to that commit except for litter, and silence towards the model. Either is a
//! hint to end the engine and proves nothing: the result is captured and judged as always.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bridge::ModelEvent;
use contract::paths::PathSet;
use testimony::notes::case_note;
use testimony::progress::{LogProgress, log_progress};
use tree::{Committed, ObjectDatabase, TreeError};

use super::ending::has_protocol;
use super::{Layered, log};
use crate::gather::engine::equip::Equipped;
use crate::home::watch::{LiveFact, WatchRun};
use crate::judge::copy::Copy;
use crate::run::file::{RunFile, Stopped};
use crate::work::result::capture_into;

/// Lies in `backend/` when the engine was ended because its work stood.
pub(super) const MARKER: &str = "provider-lifecycle-harness-completed.txt";
/// Between two looks; longer where a look takes long, and never so long that the end of the
/// engine would wait for it.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Patience with an engine whose review has ended, as a multiple of that with one that
/// reports its end, so that a slow machine does not cut it off.
const REVIEWED_PATIENCE: u32 = 6;

const BY_FINAL_EVENT: &str = "its event log says that its pipeline has ended, and it stayed";
const BY_REVIEW: &str = "its review had ended, no tool was open, and nothing more came";
const BY_COMMIT: &str = "the work stood committed and the tree clean";

/// Inputs of the watch.
pub(super) struct Linger<'a> {
    copy: &'a Copy,
    layers: Option<&'a Layered>,
    settle: Duration,
    /// Check of commits, for an engine without an event log.
    commit: Option<CommitLook>,
}

/// Needs of a look for a commit.
struct CommitLook {
    litter: PathSet,
    /// Store of its own: findings of this watch are not the result.
    store: ObjectDatabase,
    scratch: PathBuf,
}

/// State that the supervising thread and the watching one share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The engine has ended, whatever ended it.
    pub(super) over: AtomicBool,
    /// Reason why the engine is done.
    pub(super) settled: OnceLock<&'static str>,
    /// Requests to the model that are not answered, and when the last one began or ended.
    traffic: Mutex<(usize, Instant)>,
}

impl Shared {
    /// No traffic yet.
    pub(super) fn new() -> Self {
        Self { over: AtomicBool::new(false), settled: OnceLock::new(), traffic: Mutex::new((0, Instant::now())) }
    }

    /// Counts open requests and remembers the time of the last event.
    pub(super) fn note_event(&self, event: &ModelEvent) {
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.0 = match event {
            ModelEvent::Requested(_) => traffic.0.saturating_add(1),
            ModelEvent::Ended(_) => traffic.0.saturating_sub(1),
        };
        traffic.1 = Instant::now();
    }

    /// True if the model was not asked for this long.
    fn is_quiet_for(&self, time: Duration) -> bool {
        let traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.0 == 0 && traffic.1.elapsed() >= time
    }
}

/// A value, and since when it has been the same.
struct Standing<T> {
    value: T,
    since: Instant,
}

impl<T: PartialEq> Standing<T> {
    fn new(value: T) -> Self {
        Self { value, since: Instant::now() }
    }

    /// Time for which this value has been unchanged.
    fn see(&mut self, value: T) -> Duration {
        if self.value != value {
            *self = Self::new(value);
        }
        self.since.elapsed()
    }
}

impl<'a> Linger<'a> {
    /// None for an engine that ends by itself.
    pub(super) fn for_engine(
        run: &RunFile<'_>,
        equipped: Option<&Equipped>,
        copy: &'a Copy,
        layers: Option<&'a Layered>,
    ) -> Result<Option<Self>, Stopped> {
        let Some(engine) = equipped.map(|equipped| &equipped.engine).filter(|it| it.definition.lingers) else {
            return Ok(None);
        };
        let commit = if has_protocol(equipped) {
            None
        } else {
            let litter = PathSet::rooted(&engine.definition.litter)?;
            let store = ObjectDatabase::create_store(&run.work().join("linger"), run.harness().git.clone())?;
            Some(CommitLook { litter, store, scratch: run.work().join("linger-ignore") })
        };
        Ok(Some(Self { copy, layers, settle: engine.settle(), commit }))
    }

    /// Looks until the engine is over or its work has stood for the settle time.
    pub(super) fn watch_settling(&self, shared: &Shared, observer: &dyn WatchRun) {
        match &self.commit {
            Some(commit) => self.look_for_commit(commit, shared),
            None => self.look_at_log(shared, observer),
        }
    }

    fn look_at_log(&self, shared: &Shared, observer: &dyn WatchRun) {
        let mut standing = Standing::new(Vec::new());
        until_settled(shared, || {
            let logs = log::read_each(self.copy, self.layers);
            let progress = logs.iter().map(|log| log_progress(log)).min().unwrap_or(LogProgress::Working);
            show_last_act(&logs, &standing.value, observer);
            let stood = standing.see(logs);
            let (why, time) = match progress {
                LogProgress::Working => return None,
                LogProgress::Reviewed => (BY_REVIEW, self.settle * REVIEWED_PATIENCE),
                LogProgress::Ended => (BY_FINAL_EVENT, self.settle),
            };
            (stood >= time && shared.is_quiet_for(time)).then_some(why)
        });
    }

    fn look_for_commit(&self, look: &CommitLook, shared: &Shared) {
        let mut standing = Standing::new(None);
        until_settled(shared, || {
            let committed = self.committed(look);
            let stood = standing.see(committed);
            (committed.is_some() && stood >= self.settle && shared.is_quiet_for(self.settle)).then_some(BY_COMMIT)
        });
    }

    /// The commit on top of the baseline, where the tree is clean but for litter.
    fn committed(&self, look: &CommitLook) -> Option<Committed> {
        let places: Vec<PathBuf> = match self.layers {
            Some(layered) => {
                let beneath = layered.layers.iter().chain([&self.copy.root]).cloned();
                [layered.path()].into_iter().chain(beneath).collect()
            }
            None => vec![self.copy.root.clone()],
        };
        let committed = tree::committed_since(&places, self.copy.commit)?;
        // A tree that changes while it is looked at is not clean.
        (self.tree(look).ok()? == committed.tree).then_some(committed)
    }

    fn tree(&self, look: &CommitLook) -> Result<tree::Oid, TreeError> {
        let mut listing = capture_into(self.copy, self.layers, &look.store)?.listing;
        let baseline = &self.copy.baseline.listing;
        listing.0.retain(|path, _| baseline.0.contains_key(path) || !look.litter.is_match(path));
        let new: Vec<Vec<u8>> = listing.0.keys().filter(|path| !baseline.0.contains_key(*path)).cloned().collect();
        let ignored = tree::ignored(&self.copy.baseline.store, baseline, &new, &look.scratch)?;
        for (path, _) in new.iter().zip(ignored).filter(|(_, ignored)| *ignored) {
            listing.0.remove(path);
        }
        Ok(listing.tree_id())
    }
}

/// Shows the last act of a log that has grown to observers.
fn show_last_act(logs: &[Vec<u8>], before: &[Vec<u8>], observer: &dyn WatchRun) {
    if !observer.is_live() || logs == before {
        return;
    }
    let act = logs.last().and_then(|log| log.rsplit(|byte| *byte == b'\n').find_map(case_note));
    if let Some(note) = act {
        observer.live(&LiveFact::Acted { text: note.text });
    }
}

/// Looks again and again until a look says why the engine is done, or the engine is over.
fn until_settled(shared: &Shared, mut look: impl FnMut() -> Option<&'static str>) {
    while !shared.over.load(Ordering::Relaxed) {
        let began = Instant::now();
        if let Some(why) = look() {
            // Nobody else sets it.
            let _ = shared.settled.set(why);
            return;
        }
        std::thread::sleep(began.elapsed().clamp(PAUSE, LONGEST_PAUSE));
    }
}
