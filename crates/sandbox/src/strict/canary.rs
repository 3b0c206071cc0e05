//! Decoys in the private home, and the watch on them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::root::Root;
use crate::applied::CanaryTouch;
use crate::confinement::Canary;

/// Events read in one go; a thief that floods the queue has long been seen.
const EVENTS_MAX: usize = 4096;

/// Lays the decoys out.
pub(crate) fn place(root: &mut Root, home: &Path, canaries: &[Canary]) -> io::Result<()> {
    canaries.iter().try_for_each(|canary| root.file(&home.join(&canary.path), canary.content.as_bytes()))
}

/// Watches the decoys, in their order: the first has watch 1, the second watch 2.
pub(crate) fn watch(home: &Path, canaries: &[Canary]) -> io::Result<OwnedFd> {
    let watcher = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let touches = WatchFlags::OPEN
        | WatchFlags::ACCESS
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF;
    for canary in canaries {
        inotify::add_watch(&watcher, home.join(&canary.path), touches)?;
    }
    Ok(watcher)
}

/// The stage's side: counts what happens to the decoys.
#[derive(Debug)]
pub(crate) struct CanaryLog {
    watcher: OwnedFd,
    over: bool,
    touches: Vec<CanaryTouch>,
}

impl CanaryLog {
    pub(crate) fn new(watcher: OwnedFd, canaries: &[Canary]) -> Self {
        let untouched = |canary: &Canary| CanaryTouch { path: canary.path.clone(), opened: 0, read: 0, changed: 0 };
        Self { watcher, over: false, touches: canaries.iter().map(untouched).collect() }
    }

    /// What to wait for, as long as something can come.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.over).then(|| self.watcher.as_fd())
    }

    /// Takes what is there.
    pub(crate) fn read(&mut self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.watcher, &mut buffer);
        for _ in 0..EVENTS_MAX {
            match events.next() {
                Ok(event) => note(&mut self.touches, event.wd(), event.events()),
                Err(Errno::AGAIN | Errno::INTR) => return,
                Err(_) => {
                    self.over = true;
                    return;
                }
            }
        }
    }

    /// The decoys that were touched, after a last look.
    pub(crate) fn finish(&mut self) -> Vec<CanaryTouch> {
        self.read();
        self.touches.iter().filter(|touch| touch.opened + touch.read + touch.changed > 0).cloned().collect()
    }
}

fn note(touches: &mut [CanaryTouch], watch: i32, events: ReadFlags) {
    let index = usize::try_from(watch).ok().and_then(|watch| watch.checked_sub(1));
    let Some(touch) = index.and_then(|index| touches.get_mut(index)) else { return };
    if events.contains(ReadFlags::OPEN) {
        touch.opened += 1;
    } else if events.contains(ReadFlags::ACCESS) {
        touch.read += 1;
    } else if events.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
        touch.changed += 1;
    }
}
