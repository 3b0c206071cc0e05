//! The engine's repository: exactly the objects reachable from the baseline, a branch, an
//! index, and nothing else.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rustix::fs::Stat;
use untrusted_fs::own_files::{self, OwnPath as _};

use crate::error::{Doing, TreeError};
use crate::object::cache_tree;
use crate::object::commit::{commit_field, storable_name};
use crate::object::index::{self, IndexEntry, StatWords};
use crate::object::listing::{Listing, PathMode, parse_tree};
use crate::object::loose::{Object, ObjectKind};
use crate::object::name::{leaf, parent};
use crate::object::pack::Pack;
use crate::oid::Oid;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input};
use crate::worktree::fsdir::{Cursor, lstat, open_root};

/// Author of the commits in an engine's workspace.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    pub name: &'a str,
    pub email: &'a str,
}

/// Gives the workspace at `root`, where `listing` (the tree of `commit`) was just written,
/// a repository of its own.
pub fn work_repository(
    root: &Path,
    store: &ObjectDatabase,
    commit: Oid,
    listing: &Listing,
    author: Author<'_>,
) -> Result<(), TreeError> {
    let git_dir = root.join(".git");
    fs::create_dir(&git_dir).doing("creating directory", &git_dir)?;
    for part in ["objects", "objects/pack", "refs", "refs/heads"] {
        let path = git_dir.join(part);
        fs::create_dir(&path).doing("creating directory", &path)?;
    }
    copy_history(store, commit, &git_dir)?;
    let index = index::encode_index(&checked_out(root, listing)?, &cache_tree::extension(listing)?)?;
    write(&git_dir, "index", &index)?;
    write(&git_dir, "config", config(author).as_bytes())?;
    write(&git_dir, "refs/heads/main", format!("{commit}\n").as_bytes())?;
    write(&git_dir, "HEAD", b"ref: refs/heads/main\n")
}

fn write(git_dir: &Path, name: &str, bytes: &[u8]) -> Result<(), TreeError> {
    let path = git_dir.join(name);
    own_files::write_file(&path, bytes).doing("writing", &path)
}

/// No collection in the background: it would outlive the command that started it. Through
/// an overlay or an idmapped mount the same files have other devices, inodes, owners and
/// ctimes than the index was written with, so size and mtime must do.
fn config(author: Author<'_>) -> String {
    let quoted = |text: &str| storable_name(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         \tcheckStat = minimal\n\ttrustctime = false\n\
         [user]\n\tname = \"{}\"\n\temail = \"{}\"\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n",
        quoted(author.name),
        quoted(author.email)
    )
}

/// Copies, never hard links: what the engine writes must not reach the store.
fn copy_history(store: &ObjectDatabase, commit: Oid, git_dir: &Path) -> Result<(), TreeError> {
    match pack_in_process(store, commit)? {
        Some(pack) => pack.write_pack(&git_dir.join("objects/pack")),
        None => pack_history(store, commit, git_dir),
    }
}

/// Pack of a commit without parents, if all of its objects are in memory.
fn pack_in_process(store: &ObjectDatabase, commit: Oid) -> Result<Option<Pack>, TreeError> {
    let mut pack = Pack::default();
    let mut seen = HashSet::new();
    let mut wanted = vec![commit];
    while let Some(oid) = wanted.pop() {
        if !seen.insert(oid) {
            continue;
        }
        let Some(object) = store.cached(oid) else { return Ok(None) };
        if object.0 == ObjectKind::Commit && commit_field(&object.1, b"parent ").is_some() {
            return Ok(None);
        }
        pack.add_object(oid, object.0, &object.1)?;
        wanted.extend(named_by(&object)?);
    }
    Ok(Some(pack))
}

fn named_by((kind, bytes): &Object) -> Result<Vec<Oid>, TreeError> {
    match kind {
        ObjectKind::Blob | ObjectKind::Tag => Ok(Vec::new()),
        ObjectKind::Commit => Ok(commit_field(bytes, b"tree ").into_iter().collect()),
        ObjectKind::Tree => {
            let lines = parse_tree(bytes)?.into_iter();
            Ok(lines
                .filter(|line| PathMode::from_bits(line.bits) != Some(PathMode::Gitlink))
                .map(|line| line.oid)
                .collect())
        }
    }
}

fn pack_history(store: &ObjectDatabase, commit: Oid, git_dir: &Path) -> Result<(), TreeError> {
    let shallow = store.dir.join("shallow");
    if shallow.own_exists() {
        own_files::copy_file(&shallow, git_dir.join("shallow")).doing("copying", &shallow)?;
    }
    let args = ["pack-objects", "-q", "--revs", "--delta-base-offset", "--missing=allow-any"];
    let wanted = format!("{commit}\n");
    let mut call = GitCall::new("packing a baseline", &store.dir, &args);
    call.args.push(OsString::from(git_dir.join("objects/pack/pack")));
    call.input = Input::Bytes(wanted.as_bytes());
    store.run_git(call).map(|_| ())
}

fn checked_out(root: &Path, listing: &Listing) -> Result<Vec<IndexEntry>, TreeError> {
    let mut cursor = Cursor::reading(open_root(root)?);
    let mut entries = Vec::with_capacity(listing.0.len());
    for (path, entry) in &listing.0 {
        let dir = cursor.open_at(parent(path)).doing_at("opening directory of", path)?;
        let stat = lstat(dir, leaf(path)).doing_at("looking at", path)?;
        entries.push(IndexEntry::new(path, entry, stat_words(&stat, entry.mode)));
    }
    Ok(entries)
}

/// Git keeps the low 32 bits of each.
fn stat_words(stat: &Stat, mode: PathMode) -> StatWords {
    let size = if mode == PathMode::Gitlink { 0 } else { stat.st_size as u32 };
    let (ctime, mtime) =
        ([stat.st_ctime as u32, stat.st_ctime_nsec as u32], [stat.st_mtime as u32, stat.st_mtime_nsec as u32]);
    [ctime[0], ctime[1], mtime[0], mtime[1], stat.st_dev as u32, stat.st_ino as u32, stat.st_uid, stat.st_gid, size]
}
