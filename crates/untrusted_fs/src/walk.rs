//! A walk over everything below a directory: no recursion, a handful of descriptors,
//! whatever its depth.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::vec::IntoIter;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::Bounds;
use crate::descent::Descent;
use crate::open::{kind, lstat, open_dir, some_names};

/// A name that was met.
#[derive(Debug, Clone, Copy)]
pub struct WalkEntry<'a> {
    /// The directory it lies in.
    pub dir: BorrowedFd<'a>,
    pub name: &'a [u8],
    /// From the root of the walk.
    pub path: &'a [u8],
    pub stat: &'a Stat,
}

/// Step of a walk, in the order of names; a directory comes before its entries.
#[derive(Debug)]
pub enum Met<'a> {
    Entry(WalkEntry<'a>),
    /// Everything in a directory was met. Its path is empty for the root.
    Left {
        dir: BorrowedFd<'a>,
        path: &'a [u8],
    },
    /// The directory cannot be examined or entered.
    Shut {
        path: &'a [u8],
        why: Errno,
    },
    /// A directory that lies too deep to be entered.
    TooDeep {
        path: &'a [u8],
    },
}

/// Answer of the visitor to a step. `Enter` has a meaning for directories only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Enter,
    Pass,
    Stop,
}

/// Reason why a walk did not see everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Entries,
    Time,
    /// A directory was moved meanwhile.
    Moved,
    /// The visitor wanted no more.
    Stopped,
}

impl Cut {
    /// Short text for messages.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Entries => "too many names",
            Self::Time => "out of time",
            Self::Moved => "a directory was moved meanwhile",
            Self::Stopped => "stopped",
        }
    }
}

/// Walks below an open directory; returns the reason if it ended early. Directories that
/// cannot be entered are reported and skipped.
pub fn walk<E>(
    root: OwnedFd,
    bounds: &Bounds,
    mut visit: impl FnMut(Met<'_>) -> Result<Next, E>,
) -> Result<Option<Cut>, E> {
    let mut walk = Walk { descent: Descent::new(), path: Vec::new(), left: bounds.entries };
    if let Err(why) = walk.enter(root, 0) {
        visit(Met::Shut { path: b"", why })?;
        return Ok(None);
    }
    loop {
        match walk.step(bounds, &mut visit)? {
            Step::On => {}
            Step::Over => return Ok(None),
            Step::Cut(cut) => return Ok(Some(cut)),
        }
    }
}

enum Step {
    On,
    Over,
    Cut(Cut),
}

/// Names that are still to be met in a directory, and how long its path is.
struct Pending {
    names: IntoIter<Vec<u8>>,
    length: usize,
}

struct Walk {
    descent: Descent<Pending>,
    path: Vec<u8>,
    /// Names that may still be met.
    left: u64,
}

impl Walk {
    fn enter(&mut self, dir: OwnedFd, length: usize) -> Result<(), Errno> {
        // One more than may be met, so that it is found out that there are more.
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).saturating_add(1);
        let names = some_names(&dir, most)?.into_iter();
        self.descent.push_dir(dir, Pending { names, length })
    }

    fn step<E>(&mut self, bounds: &Bounds, visit: &mut impl FnMut(Met<'_>) -> Result<Next, E>) -> Result<Step, E> {
        let depth = self.descent.depth();
        let Some((dir, pending)) = self.descent.current_dir() else { return Ok(Step::Over) };
        self.path.truncate(pending.length);
        let Some(name) = pending.names.next() else {
            if visit(Met::Left { dir, path: &self.path })? == Next::Stop {
                return Ok(Step::Cut(Cut::Stopped));
            }
            return Ok(self.descent.pop().map_or(Step::Cut(Cut::Moved), |_| Step::On));
        };
        if bounds.is_over() {
            return Ok(Step::Cut(Cut::Time));
        }
        let Some(left) = self.left.checked_sub(1) else { return Ok(Step::Cut(Cut::Entries)) };
        self.left = left;
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(&name);
        let stat = match lstat(dir, &name) {
            Ok(stat) => stat,
            // Gone meanwhile.
            Err(Errno::NOENT) => return Ok(Step::On),
            Err(why) => return Ok(on(visit(Met::Shut { path: &self.path, why })?)),
        };
        let is_dir = kind(&stat) == FileType::Directory;
        match visit(Met::Entry(WalkEntry { dir, name: &name, path: &self.path, stat: &stat }))? {
            Next::Stop => Ok(Step::Cut(Cut::Stopped)),
            Next::Enter if is_dir && depth > bounds.depth => Ok(on(visit(Met::TooDeep { path: &self.path })?)),
            Next::Enter if is_dir => {
                let length = self.path.len();
                match open_dir(dir, &name).and_then(|dir| self.enter(dir, length)) {
                    Ok(()) => Ok(Step::On),
                    Err(why) => Ok(on(visit(Met::Shut { path: &self.path, why })?)),
                }
            }
            Next::Enter | Next::Pass => Ok(Step::On),
        }
    }
}

fn on(next: Next) -> Step {
    if next == Next::Stop { Step::Cut(Cut::Stopped) } else { Step::On }
}
