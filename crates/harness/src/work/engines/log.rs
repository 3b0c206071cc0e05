//! The event log that Case leaves in its repository. It is read raw, without git and
//! without following a link: while the program runs, to see how far it is, and when its
//! processes are dead, because what is judged at its end is judged before its result is
//! taken.

use std::path::{Path, PathBuf};

use untrusted_fs::{plain_names, read_plain};

use super::Layered;
use crate::judge::copy::Copy;

const FOLDER: &str = ".case";
const MOST_NAMES: usize = 64;
/// Upper bound on the bytes of all logs together.
const MOST_BYTES: usize = 32 << 20;

/// Name under which the bundle keeps the log as it was judged.
pub(super) const KEPT: &str = "backend/engine-log.jsonl";

/// Reads the events of this run, all logs one after the other.
pub(super) fn read_logs(copy: &Copy, layers: Option<&Layered>) -> Vec<u8> {
    let mut all = read_each(copy, layers).join(&b'\n');
    if !all.is_empty() {
        all.push(b'\n');
    }
    all
}

/// Reads the events of this run, each log for itself. Events that the baseline has are left
/// out by their content, because a log may go on under a name that was committed with the
/// repository.
pub(super) fn read_each(copy: &Copy, layers: Option<&Layered>) -> Vec<Vec<u8>> {
    let root: PathBuf = layers.map_or_else(|| copy.root.clone(), Layered::path);
    let mut left = MOST_BYTES;
    let mut logs = Vec::new();
    for path in paths(&root) {
        let limit = u64::try_from(left).unwrap_or_default();
        let Some(bytes) = read_plain(&root, &path, limit).filter(|bytes| !bytes.is_empty()) else { continue };
        left = left.saturating_sub(bytes.len());
        let own = since_baseline(copy, &path, bytes);
        if !own.is_empty() {
            logs.push(own);
        }
    }
    logs
}

/// Rest of a log beyond the baseline's file of that name; all of it where it is another one.
fn since_baseline(copy: &Copy, path: &[u8], bytes: Vec<u8>) -> Vec<u8> {
    let before = copy.baseline.listing.0.get(path).and_then(|entry| copy.baseline.store.blob(entry.oid).ok());
    let Some(before) = before else { return bytes };
    bytes.strip_prefix(before.as_slice()).map(<[u8]>::to_vec).unwrap_or(bytes)
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
