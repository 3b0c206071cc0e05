//! The event log that Case leaves in its repository, as it lies there when its processes are dead. It is read raw, without git and
//! without following a link, because what is judged at the end of the engine is judged before its result is taken.

use std::path::{Path, PathBuf};

use untrusted_fs::{plain_names, read_plain};

use super::Layered;
use crate::target::Copy;

const FOLDER: &str = ".case";
const MOST_NAMES: usize = 64;
/// Of all logs together.
pub(super) const MOST_BYTES: usize = 32 << 20;

/// Every log that the run added; what the repository had before says nothing of this run.
pub(super) fn read(copy: &Copy, layers: Option<&Layered>) -> Vec<u8> {
    let root: PathBuf = layers.map_or_else(|| copy.root.clone(), Layered::path);
    let mut log = Vec::new();
    for path in paths(&root) {
        if copy.baseline.listing.0.contains_key(&path) || log.len() >= MOST_BYTES {
            continue;
        }
        let left = u64::try_from(MOST_BYTES - log.len()).unwrap_or_default();
        log.extend(read_plain(&root, &path, left).unwrap_or_default());
        log.push(b'\n');
    }
    log
}

/// `.case/ID/events/NAME.jsonl`.
fn paths(root: &Path) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for task in plain_names(root, FOLDER.as_bytes(), MOST_NAMES) {
        let folder = [FOLDER.as_bytes(), b"/", &task, b"/events"].concat();
        let names = plain_names(root, &folder, MOST_NAMES);
        let logs = names.iter().filter(|name| name.ends_with(b".jsonl"));
        paths.extend(logs.map(|name| [folder.as_slice(), b"/", name].concat()));
    }
    paths
}

/// Whether a file of the bundle is such a log.
pub(super) fn is_kept(name: &str) -> bool {
    let below = name.strip_prefix("backend/litter/").and_then(|name| name.strip_prefix(FOLDER));
    below.is_some_and(|below| below.starts_with('/') && below.contains("/events/") && below.ends_with(".jsonl"))
}
