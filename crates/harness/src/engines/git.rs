//! What is read of the repository an engine had: raw, because the engine may have written it. Git is never asked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gate::conduct::GitState;

use super::Layered;

const CONFIG: &str = ".git/config";
const HOOKS: &str = ".git/hooks";
const LARGEST_CONFIG: u64 = 1 << 20;
const MOST_HOOKS: usize = 1000;

/// Its configuration now. In layers, what is not in the changes is as it was.
pub(super) fn state(root: &Path, layers: Option<&Layered>) -> GitState {
    let places: Vec<PathBuf> = layers.map(Layered::path).into_iter().chain([root.to_owned()]).collect();
    let mut state = GitState::default();
    if let Some(place) = places.iter().find(|place| is_there(&place.join(CONFIG))) {
        match tree::read_plain(place, CONFIG.as_bytes(), LARGEST_CONFIG) {
            Some(bytes) => state.config = bytes,
            None => state.unread.push(CONFIG.to_owned()),
        }
    }
    for place in &places {
        hooks(&place.join(HOOKS), &mut state);
    }
    state.hooks.sort();
    state.hooks.dedup();
    state
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn hooks(folder: &Path, state: &mut GitState) {
    let is_folder = fs::symlink_metadata(folder).map(|stat| stat.is_dir());
    match is_folder {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Ok(true) => {}
        Ok(false) | Err(_) => return state.unread.push(HOOKS.to_owned()),
    }
    let Ok(entries) = fs::read_dir(folder) else { return state.unread.push(HOOKS.to_owned()) };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    state.hooks.extend(names.filter(|name| !name.ends_with(".sample")).take(MOST_HOOKS));
}
