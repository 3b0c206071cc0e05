//! Engines that stay after their work is done. What would show that it is done is looked at from outside and raw, so that
//! nobody runs git in a repository that the engine writes: a commit on top of the baseline, a tree that is that commit's but for
//! litter, and no word to the model. It is a hint to end the engine and proves nothing: the result is taken and judged as
//! always.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bridge::ModelEvent;
use contract::paths::PathSet;
use tree::{Committed, Store, TreeError};

use super::Layered;
use crate::result::capture_into;
use crate::run::{Run, Stopped};
use crate::target::Copy;

/// Lies in `backend/` when the engine was ended because its work stood.
pub(super) const MARKER: &str = "provider-lifecycle-harness-completed.txt";
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// What is looked at.
pub(super) struct Linger<'a> {
    copy: &'a Copy,
    layers: Option<&'a Layered>,
    litter: PathSet,
    /// Of its own: what a look finds is not the result.
    store: Store,
    scratch: PathBuf,
    pub(super) settle: Duration,
}

/// What the supervising thread and the looking one share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The engine has ended, whatever ended it.
    pub(super) over: AtomicBool,
    /// The work stands.
    pub(super) proven: AtomicBool,
    /// Requests to the model that are not answered, and when the last one began or ended.
    traffic: Mutex<(usize, Instant)>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { over: AtomicBool::new(false), proven: AtomicBool::new(false), traffic: Mutex::new((0, Instant::now())) }
    }

    pub(super) fn note(&self, event: &ModelEvent) {
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.0 = match event {
            ModelEvent::Requested(_) => traffic.0.saturating_add(1),
            ModelEvent::Ended(_) => traffic.0.saturating_sub(1),
        };
        traffic.1 = Instant::now();
    }

    /// How long the model has not been spoken to; none while it is.
    fn quiet(&self) -> Option<Duration> {
        let traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        (traffic.0 == 0).then(|| traffic.1.elapsed())
    }
}

impl<'a> Linger<'a> {
    /// None for an engine that ends by itself.
    pub(super) fn of(run: &Run<'_>, copy: &'a Copy, layers: Option<&'a Layered>) -> Result<Option<Self>, Stopped> {
        let Some(engine) = run.equipped.as_ref().map(|equipped| &equipped.engine).filter(|it| it.definition.lingers)
        else {
            return Ok(None);
        };
        let litter = PathSet::rooted(&engine.definition.litter)?;
        let (store, scratch) = (run.work.join("linger"), run.work.join("linger-ignore"));
        let store = Store::create(&store, run.harness.git.clone())?;
        Ok(Some(Self { copy, layers, litter, store, scratch, settle: engine.settle() }))
    }

    /// Looks until the engine is over or its work has stood for the settle time.
    pub(super) fn look(&self, shared: &Shared) {
        let mut standing: Option<(Committed, Instant)> = None;
        while !shared.over.load(Ordering::Relaxed) {
            let now = self.committed();
            standing = match (now, standing) {
                (None, _) => None,
                (Some(now), Some((before, since))) if now == before => Some((before, since)),
                (Some(now), _) => Some((now, Instant::now())),
            };
            let stood = standing.is_some_and(|(_, since)| since.elapsed() >= self.settle);
            if stood && shared.quiet().is_some_and(|quiet| quiet >= self.settle) {
                return shared.proven.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The commit on top of the baseline, where the tree is clean but for litter.
    fn committed(&self) -> Option<Committed> {
        let places: Vec<PathBuf> = match self.layers {
            Some(layered) => {
                let beneath = layered.layers.iter().chain([&self.copy.root]).cloned();
                [layered.path()].into_iter().chain(beneath).collect()
            }
            None => vec![self.copy.root.clone()],
        };
        let committed = tree::committed_since(&places, self.copy.commit)?;
        // A tree that changes while it is looked at is not clean.
        (self.tree().ok()? == committed.tree).then_some(committed)
    }

    fn tree(&self) -> Result<tree::Oid, TreeError> {
        let mut listing = capture_into(self.copy, self.layers, &self.store)?.listing;
        let baseline = &self.copy.baseline.listing;
        listing.0.retain(|path, _| baseline.0.contains_key(path) || !self.litter.is_match(path));
        let new: Vec<Vec<u8>> = listing.0.keys().filter(|path| !baseline.0.contains_key(*path)).cloned().collect();
        let ignored = tree::ignored(&self.copy.baseline.store, baseline, &new, &self.scratch)?;
        for (path, _) in new.iter().zip(ignored).filter(|(_, ignored)| *ignored) {
            listing.0.remove(path);
        }
        Ok(listing.tree_id())
    }
}
