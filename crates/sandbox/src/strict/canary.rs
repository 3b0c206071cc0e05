//! Decoys in the private home, and the record of touches.
//!
//! Each is under a lease: an open waits until the stage has seen it. Reads and changes show
//! in the file itself at the end. (Watches of inotify would count, too. But closing them
//! waits for the kernel, up to 20 ms, and so would every run.)

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fstat, futimens, open};
use sandbox_facts::CanaryTouch;

use super::root::Root;
use crate::confinement::Canary;
use crate::kernel::lease;

/// Longest wait of a program that opens a decoy, until the stage has seen it.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Lays the decoys out.
pub(crate) fn place_decoys(root: &mut Root, home: &Path, canaries: &[Canary]) -> io::Result<()> {
    canaries.iter().try_for_each(|canary| root.write_text_file(&home.join(&canary.path), canary.content.as_bytes()))
}

/// Opens the decoys and takes their leases, in their order.
pub(crate) fn guard_decoys(home: &Path, canaries: &[Canary]) -> io::Result<Vec<OwnedFd>> {
    // Before any other time, so that it is written down when the file is read.
    let unread = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: 0 },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
    };
    let guard = |canary: &Canary| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(home.join(&canary.path), flags, Mode::empty())?;
        futimens(&file, &unread)?;
        lease::take_lease(file.as_fd())?;
        Ok(file)
    };
    canaries.iter().map(guard).collect()
}

/// The stage's side: sees what happens to the decoys.
#[derive(Debug)]
pub(crate) struct CanaryLog {
    decoys: Vec<Decoy>,
    looked: Instant,
}

#[derive(Debug)]
struct Decoy {
    path: PathBuf,
    file: OwnedFd,
    opened: bool,
    before: Stat,
}

impl CanaryLog {
    /// Watches the decoys. Fails if a decoy is missing, since it could then not be watched.
    pub(crate) fn new(files: impl Iterator<Item = OwnedFd>, canaries: &[Canary]) -> io::Result<Self> {
        let decoy = |(canary, file): (&Canary, OwnedFd)| {
            let before = fstat(&file)?;
            Ok(Decoy { path: canary.path.clone(), file, opened: false, before })
        };
        let decoys: Vec<Decoy> = canaries.iter().zip(files).map(decoy).collect::<io::Result<_>>()?;
        let all = decoys.len() == canaries.len();
        all.then(|| Self { decoys, looked: Instant::now() }).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Lets those go on who wait for a decoy, if it is time to look again.
    pub(crate) fn look_again(&mut self) {
        if self.looked.elapsed() >= LOOK {
            self.decoys.iter_mut().for_each(Decoy::look);
            self.looked = Instant::now();
        }
    }

    /// The decoys that were touched, after a last look.
    pub(crate) fn finish_log(&mut self) -> Vec<CanaryTouch> {
        self.decoys.iter_mut().for_each(Decoy::look);
        self.decoys.iter().map(Decoy::touch).filter(|touch| touch.opened + touch.read + touch.changed > 0).collect()
    }
}

impl Decoy {
    fn look(&mut self) {
        if !self.opened && lease::is_wanted(self.file.as_fd()) {
            self.opened = true;
            lease::give_back(self.file.as_fd());
        }
    }

    /// Touches of a decoy, each as 0 or 1: the kernel does not count them.
    fn touch(&self) -> CanaryTouch {
        // What can no longer be looked at was changed.
        let now = fstat(&self.file).ok();
        let is_read = now.is_none_or(|now| accessed(&now) != accessed(&self.before));
        let is_changed = now.is_none_or(|now| shape(&now) != shape(&self.before));
        let [opened, read, changed] = [self.opened, is_read, is_changed].map(u64::from);
        CanaryTouch { path: self.path.display().to_string(), opened, read, changed }
    }
}

fn accessed(stat: &Stat) -> impl PartialEq {
    (stat.st_atime, stat.st_atime_nsec)
}

/// All that changes with the content, the attributes and the names of a file.
fn shape(stat: &Stat) -> impl PartialEq {
    let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    (times, stat.st_size, stat.st_mode, stat.st_nlink, stat.st_uid, stat.st_gid)
}
