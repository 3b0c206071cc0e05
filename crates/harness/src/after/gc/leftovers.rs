//! Leftovers of dead processes, and work areas that were kept long ago.

use std::collections::BTreeSet;
use std::path::Path;

use contract::RunId;
use untrusted_fs::own_files::{self, OwnPath as _};
use untrusted_fs::remove_tree;

use super::{Act, Clock, SweptFate, SweptKind, names_in};
use crate::home::layout::Home;
use crate::home::lock;
use crate::run::file::memory_path;

/// Collects old work areas and unfinished imports.
pub(super) fn sweep_leftovers(home: &Home, clock: Clock, act: Act) -> Vec<SweptFate> {
    vec![work_areas(home, clock, act), imports(home, act)]
}

/// Removes bundles that an interrupted collection had moved to the trash.
pub(super) fn trash(home: &Home, act: Act) -> SweptFate {
    let mut fate = SweptFate::new(SweptKind::Trash);
    for path in home.bundles().list_retired().unwrap_or_default() {
        fate.remove(&path, act, || remove_tree(&path));
    }
    fate
}

fn work_areas(home: &Home, clock: Clock, act: Act) -> SweptFate {
    let mut fate = SweptFate::new(SweptKind::WorkAreas);
    let Ok(active) = names_in(&home.active()) else { return fate };
    let runs = active.into_iter().filter_map(|name| RunId::try_from(name).ok());
    let active: BTreeSet<String> = runs.map(|run| run.mark()).collect();
    for name in names_in(&home.work()).unwrap_or_default() {
        let path = home.work().join(&name);
        let used = if RunId::is_mark(&name) {
            active.contains(&name)
        } else {
            !own_files::symlink_metadata(&path).is_ok_and(|stat| stat.is_symlink())
                && lock::take_folder(&path).is_none()
        };
        if used || !clock.is_old_file(&path) {
            fate.kept += 1;
            continue;
        }
        fate.remove(&path, act, || {
            if RunId::is_mark(&name) {
                // In memory, where the folder is a link; what cannot be removed there ends
                // with the machine.
                let _ = remove_tree(&memory_path(&name));
            }
            remove_tree(&path)
        });
    }
    fate
}

/// Imports whose process is gone.
fn imports(home: &Home, act: Act) -> SweptFate {
    let mut fate = SweptFate::new(SweptKind::Imports);
    for path in home.bundles().list_undone_imports().unwrap_or_default() {
        match lock::take_folder(&path) {
            Some(_alone) => fate.remove(&path, act, || remove_tree(&path)),
            None => fate.kept += 1,
        }
    }
    fate
}

/// True for the number of a live process.
pub(super) fn is_alive(pid: &str) -> bool {
    !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) && Path::new("/proc").join(pid).own_exists()
}
