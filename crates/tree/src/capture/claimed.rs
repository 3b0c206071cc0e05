//! Looks one commit up in a foreign repository, without git: only a loose object of exactly
//! that name is read, and only if its content has that digest.

use std::collections::HashSet;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::object::commit::commit_field;
use crate::oid::Oid;
use crate::worktree::fsdir::{open_dir, open_regular, open_root, read_limited, sorted_names};

/// Result of looking for a commit id that an engine claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundCommit {
    /// A commit of this tree.
    Tree(Oid),
    /// No commit of that id was made here.
    Absent,
    /// Objects were packed since, so the answer is unknown.
    Unknown,
}

/// A commit is short; a longer one is not worth unpacking.
const LARGEST: u64 = 1 << 20;
const SHORTEST_ID: usize = 7;

/// Looks for the commit `id`, whole or shortened, in the repository of the work tree `root`.
pub fn find_commit(root: &Path, id: &str) -> FoundCommit {
    // The one pack the workspace began with holds the baseline and nothing the engine made.
    open_root(root).map_or(FoundCommit::Absent, |top| search(top.as_fd(), id, |packs| packs.len() > 1))
}

/// The same in the layer that took a workspace's changes. Packs that a directory of `lower`
/// has by the same name were there before: git touches what it uses, and an overlay copies
/// that up.
pub fn find_commit_in_layer(upper: BorrowedFd<'_>, lower: &[PathBuf], id: &str) -> FoundCommit {
    let older: HashSet<Vec<u8>> = lower
        .iter()
        .filter_map(|root| objects(open_root(root).ok()?.as_fd()))
        .flat_map(|objects| packs(&objects))
        .collect();
    search(upper, id, |packs| packs.iter().any(|pack| !older.contains(pack)))
}

fn search(top: BorrowedFd<'_>, id: &str, repacked: impl FnOnce(&[Vec<u8>]) -> bool) -> FoundCommit {
    let hex = (SHORTEST_ID..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(objects) = objects(top).filter(|_| hex) else { return FoundCommit::Absent };
    let id = id.to_ascii_lowercase();
    let (folder, rest) = id.split_at(2);
    let loose = open_dir(&objects, folder.as_bytes()).ok();
    for name in names_in(loose.as_ref()).filter(|name| name.starts_with(rest.as_bytes())) {
        if let Some(tree) = loose.as_ref().and_then(|dir| loose_commit(dir, folder, &name)) {
            return FoundCommit::Tree(tree);
        }
    }
    if repacked(&packs(&objects)) { FoundCommit::Unknown } else { FoundCommit::Absent }
}

fn objects(top: BorrowedFd<'_>) -> Option<OwnedFd> {
    open_dir(top, b".git").and_then(|git| open_dir(git, b"objects")).ok()
}

fn packs(objects: &OwnedFd) -> Vec<Vec<u8>> {
    let dir = open_dir(objects, b"pack").ok();
    names_in(dir.as_ref()).filter(|name| name.ends_with(b".pack")).collect()
}

fn names_in(dir: Option<&OwnedFd>) -> impl Iterator<Item = Vec<u8>> {
    dir.and_then(|dir| sorted_names(dir).ok()).into_iter().flatten()
}

/// The text of a loose commit, if it is what its name says.
pub(crate) fn read_commit(root: &Path, oid: Oid) -> Option<Vec<u8>> {
    let name = oid.to_string();
    let (folder, rest) = name.split_at(2);
    let dir = objects(open_root(root).ok()?.as_fd()).and_then(|objects| open_dir(&objects, folder.as_bytes()).ok())?;
    loose_text(&dir, folder, rest.as_bytes())
}

fn loose_commit(dir: &OwnedFd, folder: &str, name: &[u8]) -> Option<Oid> {
    commit_field(&loose_text(dir, folder, name)?, b"tree ")
}

fn loose_text(dir: &OwnedFd, folder: &str, name: &[u8]) -> Option<Vec<u8>> {
    let (file, _) = open_regular(dir, name).ok()?;
    let packed = read_limited(file, LARGEST).ok()?;
    let mut object = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice()).take(LARGEST).read_to_end(&mut object).ok()?;
    let end = object.iter().position(|byte| *byte == 0)?;
    let (head, body) = (object.get(..end)?, object.get(end + 1..)?);
    let same_digest = Oid::of_object("commit", body).to_string().as_bytes() == [folder.as_bytes(), name].concat();
    (head.starts_with(b"commit ") && same_digest).then(|| body.to_vec())
}
