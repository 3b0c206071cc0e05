//! Caches that were not used for long. Nothing relies on one: it can be made again.

use std::fs;
use std::path::{Path, PathBuf};

use untrusted_fs::own_files::OwnPath as _;

use super::remove::discard_folder;
use super::{Act, Clock, SweptFate, SweptKind, names_in};
use crate::home::layout::Home;
use crate::home::lock;

/// Sorts of cache: where they lie, and the file in each that its users touch; none where
/// each is one file.
const CACHES: &[(SweptKind, &str, Option<&str>)] = &[
    (SweptKind::Baselines, "baselines", None),
    (SweptKind::Mounts, "mounts", None),
    (SweptKind::Layers, "layers", Some("layer.json")),
    (SweptKind::Checkouts, "checkouts", Some("stamp")),
];

/// Collects every kind of cache.
pub(super) fn sweep_caches(home: &Home, clock: Clock, act: Act) -> Vec<SweptFate> {
    CACHES
        .iter()
        .map(|(kind, folder, stamp)| one(home, &home.cache().join(folder), *kind, *stamp, clock, act))
        .collect()
}

fn one(home: &Home, folder: &Path, kind: SweptKind, stamp: Option<&str>, clock: Clock, act: Act) -> SweptFate {
    let mut fate = SweptFate::new(kind);
    for name in names_in(folder).unwrap_or_default() {
        let path = folder.join(&name);
        let used = stamp.map_or_else(|| path.clone(), |stamp| stamp_of(&path, stamp));
        if !clock.is_old_file(&used) || is_made_now(&name) {
            fate.kept += 1;
        } else if stamp.is_none() {
            fate.remove(&path, act, || fs::remove_file(&path));
        } else if let Some(_alone) = lock::take_folder(&path) {
            fate.remove(&path, act, || discard_folder(home, &path));
        } else {
            fate.kept += 1;
        }
    }
    fate
}

/// File whose time counts; an unfinished cache has no stamp, so the folder's own time
/// counts.
fn stamp_of(folder: &Path, stamp: &str) -> PathBuf {
    let stamp = folder.join(stamp);
    if stamp.own_exists() { stamp } else { folder.to_owned() }
}

/// A living process makes it: its name ends in `part-PID-...` or `new-PID`.
fn is_made_now(name: &str) -> bool {
    let maker = [".part-", ".new-"].iter().find_map(|mark| name.split_once(mark));
    maker.is_some_and(|(_, rest)| super::leftovers::is_alive(rest.split('-').next().unwrap_or_default()))
}
