//! HEAD and the references behind it: loose and packed, read in process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::blame::BlameReading as _;
use crate::error::{TreeError, malformed};
use crate::oid::Oid;
use crate::source_problem::SourceProblem;
use crate::worktree::fsdir::read_beneath;

const LARGEST_REFERENCE: u64 = 4096;
const LARGEST_PACKED_REFS: u64 = 256 << 20;
const MOST_HOPS: usize = 5;
/// References that a linked worktree has for itself.
const PER_WORKTREE: [&[u8]; 3] = [b"refs/worktree/", b"refs/bisect/", b"refs/rewritten/"];

/// The commit HEAD names.
pub(super) fn resolve_head(git_dir: &OwnedFd, common: &OwnedFd, root: &Path) -> Result<Oid, TreeError> {
    let refuse = |problem| TreeError::Source { path: root.to_path_buf(), problem };
    let mut name = b"HEAD".to_vec();
    for _ in 0..MOST_HOPS {
        let own = name == b"HEAD" || PER_WORKTREE.iter().any(|prefix| name.starts_with(prefix));
        let holder = if own { git_dir } else { common };
        let value = match read_reference(holder, &name).map_err(|e| unsafe_or(e, &name, root))? {
            Some(value) => value,
            None => packed(common, &name, root)?.ok_or_else(|| refuse(SourceProblem::UnbornHead))?,
        };
        match value.strip_prefix(b"ref:") {
            Some(next) => name = checked_name(next.trim_ascii()).map_err(refuse)?,
            None => return parse(&value).map_err(refuse),
        }
    }
    Err(refuse(SourceProblem::UnsafeReference("too many symbolic references".into())))
}

/// The branch that HEAD names, without `refs/heads/`.
pub(super) fn checked_out(git_dir: &OwnedFd, root: &Path) -> Result<Option<String>, TreeError> {
    let head = read_reference(git_dir, b"HEAD").map_err(|e| unsafe_or(e, b"HEAD", root))?.unwrap_or_default();
    let branch = head.strip_prefix(b"ref:").and_then(|name| name.trim_ascii().strip_prefix(b"refs/heads/"));
    Ok(branch.map(|name| String::from_utf8_lossy(name).into_owned()))
}

fn read_reference(holder: &OwnedFd, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    match read_beneath(holder.as_fd(), name, LARGEST_REFERENCE) {
        // A directory where the reference would be: the reference itself may be packed.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput && name != b"HEAD" => Ok(None),
        found => Ok(found?.map(|value| value.trim_ascii_end().to_vec())),
    }
}

fn unsafe_or(error: io::Error, name: &[u8], root: &Path) -> TreeError {
    let problem = SourceProblem::UnsafeReference(format!("{}: {error}", name.escape_ascii()));
    TreeError::Source { path: root.to_path_buf(), problem }
}

fn checked_name(name: &[u8]) -> Result<Vec<u8>, SourceProblem> {
    let plain = |part: &[u8]| !part.is_empty() && !part.starts_with(b".") && !part.iter().any(u8::is_ascii_control);
    if name == b"refs/heads/.invalid" {
        return Err(SourceProblem::Reftable);
    }
    match name.starts_with(b"refs/") && name.split(|b| *b == b'/').all(plain) {
        true => Ok(name.to_vec()),
        false => Err(SourceProblem::UnsafeReference(name.escape_ascii().to_string())),
    }
}

fn parse(value: &[u8]) -> Result<Oid, SourceProblem> {
    match Oid::from_hex(value) {
        Some(oid) => Ok(oid),
        None if value.len() == 64 && value.iter().all(u8::is_ascii_hexdigit) => Err(SourceProblem::Sha256),
        None => Err(SourceProblem::UnsafeReference(value.escape_ascii().to_string())),
    }
}

fn packed(common: &OwnedFd, name: &[u8], root: &Path) -> Result<Option<Vec<u8>>, TreeError> {
    for row in packed_rows(&packed_refs(common, root)?) {
        let (value, reference) = row.map_err(|error| {
            let problem = SourceProblem::UnsafeReference(error.to_string());
            TreeError::Source { path: root.to_path_buf(), problem }
        })?;
        if reference == name {
            return Ok(Some(value.to_vec()));
        }
    }
    Ok(None)
}

/// Content of `packed-refs`, bounded in size; empty if there is none.
pub(super) fn packed_refs(common: &OwnedFd, root: &Path) -> Result<Vec<u8>, TreeError> {
    match read_beneath(common.as_fd(), b"packed-refs", LARGEST_PACKED_REFS) {
        Err(e) if e.kind() == io::ErrorKind::FileTooLarge => {
            let problem = SourceProblem::TooLarge("packed-refs is too large".to_owned());
            Err(TreeError::Source { path: root.to_path_buf(), problem })
        }
        found => Ok(found.reading(root, b"packed-refs")?.unwrap_or_default()),
    }
}

/// The value and the name in each line of packed references.
pub(crate) fn packed_rows(text: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), TreeError>> {
    let lines = text.split(|b| *b == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#' | b'^')));
    lines.map(|line| {
        let space = line.iter().position(|b| *b == b' ');
        let space = space.ok_or_else(|| malformed("packed-refs", "a line without a name"))?;
        Ok((&line[..space], &line[space + 1..]))
    })
}
