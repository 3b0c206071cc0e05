//! Looking one commit up in a repository that somebody else wrote, without git: only a loose object of that very name is
//! read, and only if its content has that digest.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::fsdir::read_plain;
use crate::oid::Oid;
use crate::store::commit_field;

/// What stands under an id that somebody named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundCommit {
    /// A commit of this tree.
    Tree(Oid),
    /// No commit of that id was made here.
    Absent,
    /// Objects were packed since, so that it cannot be told.
    Unknown,
}

/// A commit is short; a longer one is not worth unpacking.
const LARGEST: u64 = 1 << 20;
const SHORTEST_ID: usize = 7;

/// Looks for the commit `id`, whole or shortened, in the repository of the work tree `root`.
pub fn find_commit(root: &Path, id: &str) -> FoundCommit {
    let hex = (SHORTEST_ID..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex {
        return FoundCommit::Absent;
    }
    let id = id.to_ascii_lowercase();
    let (folder, rest) = id.split_at(2);
    let objects = root.join(".git/objects");
    let names = names(&objects.join(folder)).into_iter().filter(|name| name.starts_with(rest));
    for name in names {
        if let Some(tree) = loose_commit(root, folder, &name) {
            return FoundCommit::Tree(tree);
        }
    }
    let packs = names_ending(&objects.join("pack"), ".pack");
    // The one pack the workspace began with holds the baseline and nothing the engine made.
    if packs > 1 { FoundCommit::Unknown } else { FoundCommit::Absent }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn names_ending(folder: &Path, ending: &str) -> usize {
    names(folder).iter().filter(|name| name.ends_with(ending)).count()
}

fn loose_commit(root: &Path, folder: &str, name: &str) -> Option<Oid> {
    let packed = read_plain(root, format!(".git/objects/{folder}/{name}").as_bytes(), LARGEST)?;
    let mut object = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice()).take(LARGEST).read_to_end(&mut object).ok()?;
    let end = object.iter().position(|byte| *byte == 0)?;
    let (head, body) = (object.get(..end)?, object.get(end + 1..)?);
    let same_digest = Oid::of("commit", body).to_string() == format!("{folder}{name}");
    (head.starts_with(b"commit ") && same_digest).then(|| commit_field(body, b"tree ")).flatten()
}
