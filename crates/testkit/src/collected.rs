//! Bundles that tests make, kept for one judgement at the end of the suite: a few of each kind, wherever they were made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use contract::Digest;
use evidence::names;
use serde_json::Value;

use crate::claims::{search_shared_worlds, search_world};

/// Bundles of each kind that are kept.
const OF_A_KIND: usize = 2;
/// Bytes of a bundle; a larger one shows nothing that a small one of its kind does not.
const LARGEST: u64 = 8 << 20;
/// Beside each kept bundle: the key that signed it.
pub const COLLECTED_KEY: &str = "harness.pub";
/// The kept bundle.
pub const COLLECTED_BUNDLE: &str = "bundle";

/// The folder that collects bundles while the suite runs.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where to keep things")]
pub(crate) fn collecting_folder() -> Option<PathBuf> {
    std::env::var_os("CTO_TEST_BUNDLES").map(PathBuf::from)
}

/// The same folder when the suite is done.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where things were kept")]
pub fn collected_bundles() -> Option<PathBuf> {
    std::env::var_os("CTO_TEST_COLLECTED").map(PathBuf::from)
}

/// Keeps bundles of a world when that is dropped.
#[derive(Debug)]
pub(crate) struct CollectOnDrop(PathBuf);

impl CollectOnDrop {
    /// Collects the bundles of this world when it is dropped.
    pub(crate) fn new(world: &Path) -> Self {
        Self(world.to_owned())
    }
}

impl Drop for CollectOnDrop {
    fn drop(&mut self) {
        let Some(into) = collecting_folder() else { return };
        collect_world(&into, &self.0, |_| true);
        search_world(&into, &self.0);
        search_shared_worlds();
        // A world that is shared is never dropped.
        let Ok(mut shared) = SHARED.lock() else { return };
        let SharedWorlds { worlds, looked_at } = &mut *shared;
        for world in worlds.iter() {
            collect_world(&into, world, |bundle| looked_at.insert(bundle.to_owned()));
        }
    }
}

/// Worlds of the whole test program, and their bundles that were looked at.
struct SharedWorlds {
    worlds: Vec<PathBuf>,
    looked_at: BTreeSet<PathBuf>,
}

static SHARED: Mutex<SharedWorlds> = Mutex::new(SharedWorlds { worlds: Vec::new(), looked_at: BTreeSet::new() });

/// Remembers a world that is never dropped.
pub(crate) fn share_world(world: &Path) {
    if let Ok(mut shared) = SHARED.lock() {
        shared.worlds.push(world.to_owned());
    }
}

/// Folders of the worlds that are never dropped.
pub(crate) fn shared_worlds() -> Vec<PathBuf> {
    SHARED.lock().map(|shared| shared.worlds.clone()).unwrap_or_default()
}

/// Keeps wanted bundles of every home in this folder whose kind is not kept yet.
fn collect_world(into: &Path, world: &Path, mut wanted: impl FnMut(&Path) -> bool) {
    for home in fs::read_dir(world).into_iter().flatten().flatten() {
        let key = home.path().join("keys").join(COLLECTED_KEY);
        let runs = home.path().join("harness-runs");
        if !key.is_file() || runs.is_symlink() {
            continue;
        }
        let bundles = fs::read_dir(runs).into_iter().flatten().flatten().map(|run| run.path());
        for bundle in bundles.filter(|bundle| wanted(bundle)) {
            let _ = collect_bundle(into, &bundle, &key);
        }
    }
}

/// Never panics: a test that failed drops its world too.
fn collect_bundle(into: &Path, bundle: &Path, key: &Path) -> Option<()> {
    let mut files = Vec::new();
    list_files(bundle, Path::new(""), &mut files)?;
    let size: u64 = files.iter().map(|(_, size)| *size).sum();
    let kind = kind_of(bundle, &files).filter(|_| size <= LARGEST)?;
    // The process that makes the folder owns it; tests of several processes collect at once.
    let mut places = (0..OF_A_KIND).map(|number| into.join(format!("{kind}-{number}")));
    let place = places.find(|place| fs::create_dir(place).is_ok())?;
    for (name, _) in &files {
        let to = place.join(COLLECTED_BUNDLE).join(name);
        fs::create_dir_all(to.parent()?).ok()?;
        fs::copy(bundle.join(name), to).ok()?;
    }
    fs::copy(key, place.join(COLLECTED_KEY)).ok().map(drop)
}

/// Files with their sizes; none where something else lies there: tests leave links and devices in bundles that they tamper with.
fn list_files(root: &Path, below: &Path, files: &mut Vec<(PathBuf, u64)>) -> Option<()> {
    for entry in fs::read_dir(root.join(below)).ok()? {
        let entry = entry.ok()?;
        let (name, stat) = (below.join(entry.file_name()), entry.metadata().ok()?);
        match (stat.is_dir(), stat.is_file()) {
            (true, _) => list_files(root, &name, files)?,
            (_, true) => files.push((name, stat.len())),
            _ => return None,
        }
    }
    Some(())
}

/// Engine, stage, status, purpose and a digest of everything else that makes a bundle differ in kind.
fn kind_of(bundle: &Path, files: &[(PathBuf, u64)]) -> Option<String> {
    let report: Value = serde_json::from_slice(&fs::read(bundle.join(names::REPORT)).ok()?).ok()?;
    let mut tops: Vec<&PathBuf> = files.iter().map(|(name, _)| name).filter(|name| name.iter().count() == 1).collect();
    tops.sort();
    let more = serde_json::json!([
        report["blocker_reasons"],
        report["coverage"],
        report["engine"]["process_started"],
        report["rules_version"],
        report["sandbox"]["profile"],
        tops,
    ]);
    let digest = Digest::of_bytes(more.to_string().as_bytes()).to_string();
    let word = |key: &str| report[key].as_str().unwrap_or("none").replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let [engine, status, purpose] = ["backend", "status", "purpose"].map(word);
    Some(format!("{engine}-{}-{status}-{purpose}-{}", report["stage"], &digest[..8]))
}
