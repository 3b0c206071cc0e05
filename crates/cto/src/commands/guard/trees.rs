//! The state of a work tree of Core with its submodules, read only.

use std::fs;

use contract::core_route::{CoreWorktree, WorktreeState};
use tree::{Git, SourceRepository};

/// Dirty paths that a report names of each work tree.
const NAMED_PATHS: usize = 20;
/// More submodules within submodules than anybody has.
const DEEPEST: usize = 16;

/// Changes of a work tree and of everything in it.
#[derive(Debug, Default)]
struct TreeChanges {
    dirty: Vec<String>,
    unfinished: Vec<String>,
}

/// A tree of which nobody can say what it is in.
pub(super) fn unreadable(path: &str, locked: bool) -> CoreWorktree {
    CoreWorktree {
        path: path.to_owned(),
        branch: None,
        head: None,
        state: WorktreeState::Unreadable,
        locked,
        dirty_paths: Vec::new(),
        unfinished: Vec::new(),
    }
}

/// The state of a work tree; the index is copied, so that nothing is written there. It is clean if its submodules are.
pub(super) fn describe_tree(git: &Git, source: &SourceRepository, locked: bool) -> CoreWorktree {
    let path = source.root().display().to_string();
    let mut changes = TreeChanges::default();
    if add_changes(git, source, "", 0, &mut changes).is_none() {
        return unreadable(&path, locked);
    }
    let state = match (changes.unfinished.is_empty(), changes.dirty.is_empty()) {
        (false, _) => WorktreeState::Unfinished,
        (true, false) => WorktreeState::Dirty,
        (true, true) => WorktreeState::Clean,
    };
    changes.dirty.truncate(NAMED_PATHS);
    CoreWorktree {
        path,
        branch: source.checked_out().ok().flatten(),
        head: Some(source.head_commit().to_string()),
        state,
        locked,
        dirty_paths: changes.dirty,
        unfinished: changes.unfinished,
    }
}

/// Adds what is not clean in a tree and its submodules; none where one of them cannot be read.
fn add_changes(
    git: &Git,
    source: &SourceRepository,
    below: &str,
    depth: usize,
    changes: &mut TreeChanges,
) -> Option<()> {
    let scratch = tempfile::tempdir().ok()?;
    let status = source.dirty_with_submodules(git, scratch.path()).ok()?;
    let name = |path: &[u8]| format!("{below}{}", String::from_utf8_lossy(path));
    changes.dirty.extend(status.dirty.iter().map(|path| name(path)));
    changes.unfinished.extend(status.unfinished.iter().map(|what| format!("{below}{what}")));
    for path in &status.submodules {
        let inner = name(path);
        if !is_filled(source, path)? {
            continue;
        }
        if depth == DEEPEST {
            return None;
        }
        let submodule = source.open_submodule(path).ok()?;
        add_changes(git, &submodule, &format!("{inner}/"), depth + 1, changes)?;
    }
    Some(())
}

/// True if a submodule was checked out; git leaves an empty folder, or none, where it was not.
fn is_filled(source: &SourceRepository, path: &[u8]) -> Option<bool> {
    let folder = source.root().join(std::str::from_utf8(path).ok()?);
    match fs::read_dir(&folder) {
        Ok(mut entries) => Some(entries.next().is_some()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}
