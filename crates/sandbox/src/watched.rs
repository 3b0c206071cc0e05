//! A limit on how much directories may grow, held by looking: where neither the file system
//! nor the kernel has one to set.
//!
//! The harness counts what lies in them while the program runs, and the files without a
//! name that its processes hold. A look can be hidden from: by directories their owner may
//! not list, by files that are only mapped or on their way through a socket. So the file
//! system's own free space is looked at too. It is everybody's, and therefore believed only
//! where a look was partial, or where hardly anything is left.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use sandbox_facts::{HeldLimit, LimitBy, LimitKind};
use serde::{Deserialize, Serialize};

use crate::confinement::is_plain_absolute;
use crate::unnamed::Holders;
use crate::usage::{CountedRoot, Measure, Usage, measure_roots};
use crate::{Space, SuperviseError};

/// Interval between looks at free space, and the least time between two walks.
const STEP: Duration = Duration::from_millis(100);
/// A walk is followed by so many times its own duration without one, which keeps the cost
/// near a twentieth.
const REST: u32 = 20;
/// The same when the file system has lost what was left of the limit since the last walk.
const REST_IN_DOUBT: u32 = 2;

/// Directories that may grow so much, together, while a program runs; with them count files
/// that have no name, wherever no size of a file system limits them. What was in the
/// directories at the start does not count, and each hard-linked file counts once. Looked
/// at every 100 ms, and less often where a look takes long: more than the limit can be
/// written before that is seen. Then the program is ended, and
/// [`crate::Ended::disk_exceeded`] says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Directories of the host, none within another; empty if only unnamed files are
    /// limited. Links in them are not followed, and mounts in them not entered.
    pub roots: Vec<PathBuf>,
    /// Growth that is permitted, over all roots together.
    pub space: Space,
}

impl Watched {
    /// Refuses roots that are not plain absolute paths or lie within each other, which
    /// would be counted twice.
    pub(crate) fn check(&self) -> Result<(), SuperviseError> {
        let overlaps = |(index, root): (usize, &PathBuf)| {
            self.roots.iter().enumerate().any(|(other, path)| other != index && path.starts_with(root))
        };
        if let Some(root) = self.roots.iter().find(|root| !is_plain_absolute(root)) {
            return Err(SuperviseError::bad_spec(format!("not a plain absolute path: {}", root.display())));
        }
        if self.roots.iter().enumerate().any(overlaps) {
            return Err(SuperviseError::bad_spec("watched directories lie within each other"));
        }
        Ok(())
    }

    /// The limits as `sandbox.json` records them.
    pub(crate) fn rules(&self) -> [HeldLimit; 2] {
        let rule = |kind, value| HeldLimit { kind, by: LimitBy::Watched, value };
        [rule(LimitKind::Disk, self.space.bytes), rule(LimitKind::Inodes, self.space.inodes)]
    }
}

/// Watches from the start of a program to its end.
#[derive(Debug)]
pub(crate) enum Watcher {
    /// Waits for the first look: most programs end before it.
    Resting(Gauge, Instant),
    /// A walk is under way on its own thread.
    Looking(DiskWatchThread),
    /// A watch that failed has not shown that the limit held.
    Failed,
}

impl Watcher {
    /// Counts the current content and begins to watch; to be called before the program
    /// starts.
    pub(crate) fn begin_watch(watched: &Watched, holders: Holders) -> Result<Self, SuperviseError> {
        let failed = |source| SuperviseError::WatchDisk { roots: watched.roots.clone(), source };
        Ok(Self::Resting(Gauge::new(watched, holders).map_err(failed)?, Instant::now()))
    }

    /// True if a limit was passed. Must be asked repeatedly, at least as often as looks are
    /// due.
    pub(crate) fn limit_exceeded(&mut self) -> bool {
        if matches!(self, Self::Resting(_, since) if since.elapsed() >= STEP)
            && let Self::Resting(gauge, _) = std::mem::replace(self, Self::Failed)
        {
            *self = DiskWatchThread::start(gauge).map_or(Self::Failed, Self::Looking);
        }
        match self {
            Self::Resting(..) => false,
            Self::Looking(looker) => looker.exceeded.load(Ordering::Relaxed),
            Self::Failed => true,
        }
    }

    /// Measures a last time, when nothing writes any more, and says which limits were passed.
    pub(crate) fn finish(self) -> Vec<LimitKind> {
        match self {
            Self::Resting(gauge, _) => gauge.last(),
            Self::Looking(mut looker) => looker.join(),
            Self::Failed => vec![LimitKind::Disk],
        }
    }
}

/// The thread that looks. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct DiskWatchThread {
    exceeded: Arc<AtomicBool>,
    /// Dropped when the program has ended, which ends the looking thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<LimitKind>>>,
}

impl DiskWatchThread {
    fn start(gauge: Gauge) -> io::Result<Self> {
        let exceeded = Arc::new(AtomicBool::new(false));
        let (running, ended) = channel();
        let flag = Arc::clone(&exceeded);
        let thread = Builder::new().name("disk-watch".to_owned()).spawn(move || gauge.watch(&ended, &flag))?;
        Ok(Self { exceeded, running: Some(running), thread: Some(thread) })
    }

    fn join(&mut self) -> Vec<LimitKind> {
        self.running = None;
        self.thread.take().map_or_else(Vec::new, |thread| thread.join().unwrap_or_else(|_| vec![LimitKind::Disk]))
    }
}

impl Drop for DiskWatchThread {
    fn drop(&mut self) {
        self.join();
    }
}

/// Measurement of growth since the start.
#[derive(Debug)]
pub(crate) struct Gauge {
    roots: Vec<CountedRoot>,
    space: Space,
    holders: Holders,
    before: Usage,
    /// Free space of each root's file system at the start.
    free_before: Vec<Space>,
}

impl Gauge {
    fn new(watched: &Watched, holders: Holders) -> io::Result<Self> {
        let roots = watched.roots.iter().map(|path| CountedRoot::open_dir(path)).collect::<io::Result<Vec<_>>>()?;
        let free_before = roots.iter().map(CountedRoot::free).collect::<io::Result<_>>()?;
        let ceiling = Space { bytes: u64::MAX, inodes: u64::MAX };
        let before = measure_roots(&roots, Measure { known_shut: &[], ceiling, exact: false, give_up: &|| false });
        Ok(Self { roots, space: watched.space, holders, before, free_before })
    }

    fn watch(self, ended: &Receiver<()>, exceeded: &AtomicBool) -> Vec<LimitKind> {
        let has_ended = || ended.try_recv() == Err(TryRecvError::Disconnected);
        loop {
            let last = has_ended();
            let started = Instant::now();
            let give_up = || !last && has_ended();
            let now = self.count(false, &give_up);
            let (took, grown) = (started.elapsed(), now.growth_since(&self.before));
            let hits = self.confirmed(&now, &give_up);
            if give_up() {
                // Cut short, or overtaken: the last one tells.
                continue;
            }
            if !hits.is_empty() {
                exceeded.store(true, Ordering::Relaxed);
            }
            if last || !hits.is_empty() {
                return hits;
            }
            self.rest(ended, took, grown);
        }
    }

    /// Limits that were passed when the program had ended. Nobody is left who could hold a
    /// file without a name.
    fn last(&self) -> Vec<LimitKind> {
        let never = || false;
        let now = self.named(false, &never).with_unnamed(self.holders.segments());
        self.confirmed(&now, &never)
    }

    /// The limits that were passed, not by something that was only moved meanwhile.
    fn confirmed(&self, now: &Usage, give_up: &dyn Fn() -> bool) -> Vec<LimitKind> {
        let hits = self.hits(now);
        if hits.is_empty() { hits } else { self.hits(&self.count(true, give_up)) }
    }

    /// Waits until the next walk is due, or the end.
    fn rest(&self, ended: &Receiver<()>, took: Duration, grown: Space) {
        let started = Instant::now();
        let free = self.free();
        let left = self.space.bytes.saturating_sub(grown.bytes);
        loop {
            let in_doubt = lost(&free, &self.free()).bytes > left;
            let rest = rest_after(took, in_doubt).saturating_sub(started.elapsed());
            if rest.is_zero() || ended.recv_timeout(rest.min(STEP)) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    fn count(&self, exact: bool, give_up: &dyn Fn() -> bool) -> Usage {
        // Before the walk: what loses its name between the two is counted at the next look,
        // and never twice.
        let unnamed = self.holders.count_held(give_up);
        self.named(exact, give_up).with_unnamed(unnamed)
    }

    fn named(&self, exact: bool, give_up: &dyn Fn() -> bool) -> Usage {
        let ceiling = Space {
            bytes: self.before.bytes.saturating_add(self.space.bytes),
            inodes: self.before.inodes.saturating_add(self.space.inodes),
        };
        measure_roots(&self.roots, Measure { known_shut: &self.before.shut, ceiling, exact, give_up })
    }

    fn hits(&self, now: &Usage) -> Vec<LimitKind> {
        let free = self.free();
        let lost = lost(&self.free_before, &free);
        let in_doubt = lost.bytes > self.space.bytes || lost.inodes > self.space.inodes;
        let partial = now.partial || (in_doubt && self.holders.may_hide());
        passed(&self.space, &Seen { grown: now.growth_since(&self.before), partial, lost }, &free)
    }

    /// Free space of each root; 0 for a file system that no longer answers.
    fn free(&self) -> Vec<Space> {
        self.roots.iter().map(|root| root.free().unwrap_or(Space { bytes: 0, inodes: 0 })).collect()
    }
}

/// Findings of one look.
#[derive(Debug, Clone, Copy)]
struct Seen {
    grown: Space,
    partial: bool,
    lost: Space,
}

fn passed(limit: &Space, seen: &Seen, free: &[Space]) -> Vec<LimitKind> {
    let is_passed = |of: fn(&Space) -> u64| {
        let scarce = free.iter().any(|free| of(free) < of(limit));
        of(&seen.grown) > of(limit) || (of(&seen.lost) > of(limit) && (seen.partial || scarce))
    };
    let kinds =
        [(LimitKind::Disk, is_passed(|space| space.bytes)), (LimitKind::Inodes, is_passed(|space| space.inodes))];
    kinds.into_iter().filter_map(|(kind, passed)| passed.then_some(kind)).collect()
}

/// The most that any of the file systems has lost.
fn lost(before: &[Space], now: &[Space]) -> Space {
    let most = |of: fn(&Space) -> u64| {
        before.iter().zip(now).map(|(before, now)| of(before).saturating_sub(of(now))).max().unwrap_or(0)
    };
    Space { bytes: most(|space| space.bytes), inodes: most(|space| space.inodes) }
}

fn rest_after(walk: Duration, in_doubt: bool) -> Duration {
    walk.saturating_mul(if in_doubt { REST_IN_DOUBT } else { REST }).max(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(bytes: u64, inodes: u64) -> Space {
        Space { bytes, inodes }
    }

    #[test]
    fn growth_counts_and_lost_space_only_where_it_may_be_ours() {
        const BOTH: &[LimitKind] = &[LimitKind::Disk, LimitKind::Inodes];
        let (none, much) = (space(0, 0), space(1000, 1000));
        // Grown, a partial walk, lost, free; against a limit of 100 and 10.
        let cases: [(Space, bool, Space, Space, &[LimitKind]); 11] = [
            (none, false, none, much, &[]),
            (space(100, 10), false, none, much, &[]),
            (space(101, 10), false, none, much, &[LimitKind::Disk]),
            (space(100, 11), false, none, much, &[LimitKind::Inodes]),
            (space(101, 11), false, none, much, BOTH),
            // True for somebody else's process, as far as that can be known.
            (none, false, much, much, &[]),
            (none, false, much, space(100, 10), &[]),
            (none, false, much, space(99, 10), &[LimitKind::Disk]),
            (none, false, space(100, 10), none, &[]),
            (none, true, space(100, 10), much, &[]),
            (none, true, much, much, BOTH),
        ];
        for (grown, partial, lost, free, expected) in cases {
            let seen = Seen { grown, partial, lost };
            assert_eq!(passed(&space(100, 10), &seen, &[much, free]), expected, "{seen:?} {free:?}");
        }
    }

    #[test]
    fn the_most_that_one_file_system_lost_is_what_was_lost() {
        let before = [space(100, 100), space(50, 50)];
        assert_eq!(lost(&before, &[space(90, 200), space(20, 49)]), space(30, 1));
        assert_eq!(lost(&[], &[]), space(0, 0));
    }

    #[test]
    fn walks_keep_their_distance() {
        let ms = Duration::from_millis;
        for (walk, in_doubt, expected) in
            [(ms(0), false, ms(100)), (ms(5), false, ms(100)), (ms(50), false, ms(1000)), (ms(50), true, ms(100))]
        {
            assert_eq!(rest_after(walk, in_doubt), expected);
        }
        assert_eq!(rest_after(Duration::MAX, false), Duration::MAX);
    }

    #[test]
    fn only_directories_apart_from_each_other_are_watched() {
        let cases: [(&[&str], bool); 7] = [
            (&["/a"], true),
            (&["/a", "/b/c", "/ab"], true),
            (&[], true),
            (&["a"], false),
            (&["/a/../b"], false),
            (&["/a", "/a/b"], false),
            (&["/a", "/a"], false),
        ];
        for (roots, good) in cases {
            let watched = Watched { roots: roots.iter().map(PathBuf::from).collect(), space: space(1, 1) };
            assert_eq!(watched.check().is_ok(), good, "{roots:?}");
        }
    }
}
