//! Paths that a tree's own `.gitignore` files ignore, with git's own semantics.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::error::{Doing, TreeError};
use crate::object::listing::{Listing, PathMode};
use crate::object::name::leaf;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input};
use crate::worktree::materialise::materialise;

const HERE: &[u8] = b"./";

/// For each path of a file, whether the `.gitignore` files of `rules_from` ignore it;
/// `scratch` is made where it is needed.
pub fn ignored(
    store: &ObjectDatabase,
    rules_from: &Listing,
    paths: &[Vec<u8>],
    scratch: &Path,
) -> Result<Vec<bool>, TreeError> {
    let rules = rules_of(rules_from);
    if rules.0.is_empty() || paths.is_empty() {
        return Ok(vec![false; paths.len()]);
    }
    fs::create_dir_all(scratch).doing("creating directory", scratch)?;
    materialise(store, &rules, scratch)?;
    let mut asked = Vec::new();
    for path in paths {
        // Behind "./" a leading colon is no pathspec magic; this command has no literal mode.
        asked.extend_from_slice(HERE);
        asked.extend_from_slice(path);
        asked.push(0);
    }
    let mut call =
        GitCall::new("asking for ignored paths", store.dir(), &["check-ignore", "--no-index", "-z", "--stdin"]);
    call.work_tree = Some(scratch);
    call.input = Input::Bytes(&asked);
    // Exit code 1 says that none is ignored.
    let out = store.git.run_allowing(call, &[0, 1])?;
    let ignored: HashSet<&[u8]> = out.split(|b| *b == 0).filter_map(|path| path.strip_prefix(HERE)).collect();
    Ok(paths.iter().map(|path| ignored.contains(path.as_slice())).collect())
}

fn rules_of(listing: &Listing) -> Listing {
    // Git does not follow a `.gitignore` that is a link.
    let plain = |mode| matches!(mode, PathMode::File | PathMode::Executable);
    let rules = listing.0.iter().filter(|(path, entry)| leaf(path) == b".gitignore" && plain(entry.mode));
    Listing(rules.map(|(path, entry)| (path.clone(), *entry)).collect())
}
