//! Layers below the one that a program wrote: setup layers over a checkout of the baseline,
//! as the program saw them.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, Stat, readlinkat};
use rustix::io::Errno;

use super::marks::{forged, hides_beneath, is_whiteout};
use crate::error::{Doing, TreeError};
use crate::object::listing::{Listing, PathMode};
use crate::worktree::fsdir::{kind, lstat, open_dir, open_regular, open_root};
use crate::worktree::stat::FileStat;

/// The layers beneath a workspace's own.
#[derive(Debug, Clone, Copy)]
pub struct LowerLayers<'a> {
    /// Content of the checkout at the bottom.
    pub baseline: &'a Listing,
    /// Setup layers, the first on top: directories an overlay over the checkout wrote into,
    /// with its marks.
    pub layers: &'a [PathBuf],
}

/// One directory as the layers beneath show it.
pub(super) struct LowerDirectory {
    /// The directories of setup layers that are joined here, the first on top.
    dirs: Vec<OwnedFd>,
    /// True if the baseline shows through the setup layers here.
    baseline: bool,
}

/// Entry that the lower layers show at a name.
pub(super) enum LowerEntry<'u> {
    Nothing,
    Directory(LowerDirectory),
    /// A file, link or special file of a setup layer.
    Setup(&'u OwnedFd, Stat),
    /// A file or link of the baseline.
    Baseline,
}

impl LowerDirectory {
    /// The root of the layers beneath.
    pub(super) fn root_of(beneath: &LowerLayers<'_>) -> Result<LowerDirectory, TreeError> {
        let dirs: Vec<OwnedFd> = beneath.layers.iter().map(|layer| open_root(layer)).collect::<Result<_, _>>()?;
        dirs.iter().try_for_each(require_plain_root)?;
        Ok(LowerDirectory { dirs, baseline: true })
    }

    /// A directory that was not there.
    pub(super) fn nothing() -> LowerDirectory {
        LowerDirectory { dirs: Vec::new(), baseline: false }
    }

    /// True if a setup layer has this directory.
    pub(super) fn is_setup(&self) -> bool {
        !self.dirs.is_empty()
    }

    /// Entry at `name`, whose whole path is `path`.
    pub(super) fn look_at(&self, name: &[u8], path: &[u8], baseline: &Listing) -> Result<LowerEntry<'_>, TreeError> {
        let mut below = LowerDirectory { dirs: Vec::new(), baseline: self.baseline };
        for dir in &self.dirs {
            let stat = match lstat(dir, name) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(e) => return Err(e).doing_at("looking in a setup layer at", path),
            };
            let hidden = is_whiteout(dir, name, &stat, path)?;
            if kind(&stat) == FileType::Directory {
                let next = open_dir(dir, name).doing_at("opening directory of a setup layer", path)?;
                below.baseline &= !hides_beneath(&next, path)?;
                below.dirs.push(next);
            } else if !hidden && below.dirs.is_empty() {
                return Ok(LowerEntry::Setup(dir, stat));
            } else {
                below.baseline = false;
            }
            if !below.baseline {
                break;
            }
        }
        Ok(below.seen(path, baseline))
    }

    fn seen<'u>(self, path: &[u8], baseline: &Listing) -> LowerEntry<'u> {
        if self.is_setup() {
            return LowerEntry::Directory(self);
        }
        match baseline.0.get(path).filter(|_| self.baseline) {
            Some(entry) if entry.mode != PathMode::Gitlink => LowerEntry::Baseline,
            Some(_) => LowerEntry::Directory(self),
            None if self.baseline && baseline.has_below(path) => LowerEntry::Directory(self),
            None => LowerEntry::Nothing,
        }
    }
}

/// The kernel does not read this mark at the root of a layer, and so never writes it there.
pub(super) fn require_plain_root(root: &OwnedFd) -> Result<(), TreeError> {
    if hides_beneath(root, b"")? { Err(forged(b"", "opaque")) } else { Ok(()) }
}

impl LowerEntry<'_> {
    /// True if a setup layer has a file with the same mode and bytes here.
    pub(super) fn is_file(&self, name: &[u8], mode: PathMode, bytes: &[u8], path: &[u8]) -> Result<bool, TreeError> {
        let LowerEntry::Setup(dir, stat) = self else { return Ok(false) };
        let now = FileStat::of_stat(stat);
        let alike = kind(stat) == FileType::RegularFile && now.regular_mode() == mode && now.size == bytes.len() as u64;
        if !alike {
            return Ok(false);
        }
        match open_regular(dir, name).and_then(|(file, _)| holds(file, bytes)) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(false),
            held => held.doing_at("reading in a setup layer", path),
        }
    }

    /// True if a setup layer has a link with the same target here.
    pub(super) fn is_link(&self, name: &[u8], target: &[u8], path: &[u8]) -> Result<bool, TreeError> {
        match self {
            LowerEntry::Setup(dir, stat) if kind(stat) == FileType::Symlink => {
                let here = readlinkat(dir, name, Vec::new()).doing_at("reading link of a setup layer", path)?;
                Ok(here.as_bytes() == target)
            }
            _ => Ok(false),
        }
    }

    /// True if a setup layer has a special file of this kind here.
    pub(super) fn is_special(&self, wanted: FileType) -> bool {
        matches!(self, LowerEntry::Setup(_, stat) if kind(stat) == wanted)
    }
}

fn holds(mut file: File, bytes: &[u8]) -> std::io::Result<bool> {
    let mut left = bytes;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(left.is_empty()),
            n => match left.strip_prefix(&buffer[..n]) {
                Some(rest) => left = rest,
                None => return Ok(false),
            },
        }
    }
}
