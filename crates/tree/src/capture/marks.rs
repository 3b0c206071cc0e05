//! The marks by which an overlay hides parts of lower layers. The kernel keeps a program
//! from writing them through the overlay; marks that no mount of the harness makes the
//! kernel write are taken for forged.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Stat, fgetxattr, flistxattr};
use rustix::io::Errno;

use crate::error::{Doing, TreeError};
use crate::worktree::fsdir::{kind, lstat, open_regular};

/// Prefixes of overlay marks: user attributes with `userxattr`, otherwise trusted ones.
const PREFIXES: [&[u8]; 2] = [b"user.overlay.", b"trusted.overlay."];
/// The longest list of attribute names the kernel gives.
const LONGEST_LIST: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Opaque,
    Whiteout,
    /// Its content is that of another path beneath.
    Redirect,
    /// Its bytes are those of the file beneath.
    Metacopy,
}

impl Mark {
    fn from_word(word: &[u8]) -> Option<Mark> {
        match word {
            b"opaque" => Some(Mark::Opaque),
            b"whiteout" => Some(Mark::Whiteout),
            b"redirect" => Some(Mark::Redirect),
            b"metacopy" => Some(Mark::Metacopy),
            // `origin`, `impure` and their like are the kernel's bookkeeping and change
            // nothing that is seen.
            _ => None,
        }
    }
}

/// True if the entry in a layer marks its name as deleted.
pub(super) fn is_whiteout(dir: &OwnedFd, name: &[u8], stat: &Stat, path: &[u8]) -> Result<bool, TreeError> {
    match kind(stat) {
        FileType::CharacterDevice => Ok(stat.st_rdev == 0),
        FileType::RegularFile => match open_regular(dir, name) {
            Ok((file, _)) => Ok(has(&marks(&file, path)?, Mark::Whiteout) && stat.st_size == 0),
            // The next reader refuses it.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(false),
            Err(e) => Err(e).doing_at("opening", path),
        },
        _ => Ok(false),
    }
}

/// True if the name exists in a directory of a layer and is no whiteout.
pub(super) fn shows(dir: &OwnedFd, name: &[u8]) -> bool {
    lstat(dir, name).is_ok_and(|stat| !matches!(is_whiteout(dir, name, &stat, name), Ok(true)))
}

/// True if this directory of a layer hides everything beneath it.
pub(super) fn hides_beneath(dir: &OwnedFd, path: &[u8]) -> Result<bool, TreeError> {
    let mut hides = false;
    for (_, name) in marks(dir, path)?.iter().filter(|(mark, _)| *mark == Mark::Opaque) {
        let mut value = [0; 2];
        hides |= match fgetxattr(dir, name.as_slice(), &mut value[..]) {
            Ok(1) if value[0] == b'y' => true,
            // Only says that whiteouts within may be files.
            Ok(1) if value[0] == b'x' => false,
            Ok(_) | Err(Errno::RANGE) => return Err(forged(path, "opaque")),
            Err(e) => return Err(e).doing_at("reading the marks of", path),
        };
    }
    Ok(hides)
}

fn has(marks: &[(Mark, Vec<u8>)], wanted: Mark) -> bool {
    marks.iter().any(|(mark, _)| *mark == wanted)
}

/// The marks of an open file or directory, with the names of their attributes.
fn marks(of: impl AsFd, path: &[u8]) -> Result<Vec<(Mark, Vec<u8>)>, TreeError> {
    let mut list = Vec::with_capacity(LONGEST_LIST);
    match flistxattr(of, spare_capacity(&mut list)) {
        Ok(_) => {}
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(e) => return Err(e).doing_at("reading the marks of", path),
    }
    let word = |name: &[u8]| PREFIXES.iter().find_map(|prefix| Mark::from_word(name.strip_prefix(*prefix)?));
    let found: Vec<(Mark, Vec<u8>)> =
        list.split(|b| *b == 0).filter_map(|name| Some((word(name)?, name.to_vec()))).collect();
    if has(&found, Mark::Redirect) {
        return Err(forged(path, "redirect"));
    }
    if has(&found, Mark::Metacopy) {
        return Err(forged(path, "metacopy"));
    }
    Ok(found)
}

/// Error of a mark that no mount of the harness lets the kernel write.
pub(super) fn forged(path: &[u8], mark: &'static str) -> TreeError {
    TreeError::Mark { path: path.to_vec(), mark }
}
