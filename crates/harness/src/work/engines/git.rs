//! Reading the repository that an engine had: raw and through the door for untrusted files,
//! because the engine may have written it, or put a link in its place. Git is never asked.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use gate::conduct::GitState;
use rustix::io::Errno;
use untrusted_fs::{lstat, open_dir, open_root, read_beneath, some_names};

use super::Layered;

const CONFIG: &str = ".git/config";
const HOOKS: &str = ".git/hooks";
const LARGEST_CONFIG: u64 = 1 << 20;
const MOST_HOOKS: usize = 1000;

/// Current configuration of the repository. In layers, paths outside of the changes are as
/// before.
pub(super) fn state(root: &Path, layers: Option<&Layered>) -> GitState {
    let places: Vec<PathBuf> = layers.map(Layered::path).into_iter().chain([root.to_owned()]).collect();
    let mut state = GitState::default();
    let mut configured = false;
    for place in &places {
        match open_git(place) {
            Ok(Some(git)) => {
                configured = configured || read_config(&git, &mut state);
                read_hooks(&git, &mut state);
            }
            Ok(None) => {}
            // A link, a file or a mark in its place: nothing beneath it shows, and nothing
            // of it is believed.
            Err(_) => {
                let hidden = [CONFIG, HOOKS].into_iter().filter(|name| *name != CONFIG || !configured);
                state.unread.extend(hidden.map(str::to_owned));
                break;
            }
        }
    }
    state.hooks.sort();
    state.hooks.dedup();
    state
}

/// The directory `.git`; none where there is nothing of that name.
fn open_git(place: &Path) -> Result<Option<OwnedFd>, Errno> {
    let Ok(root) = open_root(place) else { return Ok(None) };
    match open_dir(&root, b".git") {
        Err(Errno::NOENT) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Reads the configuration; false where this place has none.
fn read_config(git: &OwnedFd, state: &mut GitState) -> bool {
    if matches!(lstat(git, b"config"), Err(Errno::NOENT)) {
        return false;
    }
    match read_beneath(git.as_fd(), b"config", LARGEST_CONFIG) {
        Ok(Some(bytes)) => state.config = bytes,
        Ok(None) | Err(_) => state.unread.push(CONFIG.to_owned()),
    }
    true
}

fn read_hooks(git: &OwnedFd, state: &mut GitState) {
    let names = match open_dir(git, b"hooks") {
        Err(Errno::NOENT) => return,
        opened => opened.and_then(|hooks| some_names(hooks, MOST_HOOKS)),
    };
    let Ok(names) = names else { return state.unread.push(HOOKS.to_owned()) };
    let names = names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    state.hooks.extend(names.filter(|name| !name.ends_with(".sample")));
}
