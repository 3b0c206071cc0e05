//! Search for a commit on top of a known one in a foreign repository, without git: HEAD,
//! the reference it names and loose commits are read, each only if its content has that
//! digest. Packed objects and other storage formats are not seen.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use untrusted_fs::read_plain;

use crate::capture::claimed::read_commit;
use crate::object::commit::{commit_field, header};
use crate::oid::Oid;

/// Upper bound on the commits that are read on the way down.
const MOST_COMMITS: usize = 256;
const LONGEST_REFERENCE: u64 = 4096;

/// HEAD, where it is a commit that was made on top of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// HEAD at the time of reading.
    pub commit: Oid,
    /// Tree of that commit.
    pub tree: Oid,
}

/// HEAD of the repository in `places`, the first on top, if it descends from `baseline` by
/// commits that lie there. One that was there before the baseline cannot: it would have to
/// know the baseline's digest.
pub fn committed_since(places: &[PathBuf], baseline: Oid) -> Option<Committed> {
    let commit = head(places)?;
    let mut tree = None;
    let mut seen = HashSet::new();
    let mut next = vec![commit];
    while let Some(oid) = next.pop() {
        if oid == baseline {
            return tree.filter(|_| commit != baseline).map(|tree| Committed { commit, tree });
        }
        if seen.len() >= MOST_COMMITS || !seen.insert(oid) {
            continue;
        }
        let Some(text) = places.iter().find_map(|place| read_commit(place, oid)) else { continue };
        if oid == commit {
            tree = commit_field(&text, b"tree ");
        }
        next.extend(header(&text).filter_map(|line| line.strip_prefix(b"parent ")).filter_map(Oid::from_hex));
    }
    None
}

fn head(places: &[PathBuf]) -> Option<Oid> {
    let read = |name: &[u8]| {
        let path = [b".git/", name].concat();
        places.iter().find_map(|place| read_plain(Path::new(place), &path, LONGEST_REFERENCE))
    };
    let text = read(b"HEAD")?;
    match text.strip_prefix(b"ref: ") {
        Some(name) if name.starts_with(b"refs/") => Oid::from_hex(read(name.trim_ascii())?.trim_ascii()),
        Some(_) => None,
        None => Oid::from_hex(text.trim_ascii()),
    }
}
