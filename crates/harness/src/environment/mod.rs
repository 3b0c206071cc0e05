//! What a repository needs to build and test beside its own files: mounts, a search path, setup.

mod layer;
mod mounts;
mod proxy;
mod settle;

use std::path::{Path, PathBuf};

use contract::Coverage;
use contract::decision::Shortfall;
use contract::task::{Environment, Mount};
use untrusted_fs::own_files::OwnPath as _;

use crate::posture::Cells;
use crate::quarters::is_reserved;
use crate::run::{Run, Stopped};
use crate::target::Copy;
use crate::task::Task;

pub(crate) use layer::{Layer, Made, Setup};
pub(crate) use mounts::digests;

/// What setup printed, in the bundle.
pub(crate) const SETUP_LOG: &str = "setup.log";

/// Looks at the mounts and makes the setup layer of the baseline, or finds it. The layers to put under the workspace, or why
/// there are none.
pub(crate) fn prepare(run: &mut Run<'_>, copy: &Copy) -> Result<Result<Vec<PathBuf>, String>, Stopped> {
    let environment = &run.task.contract.environment;
    run.findings.environment.mounts = match digests(run.harness, &environment.mounts) {
        Err(Stopped::Io(path, error)) => {
            return Ok(Err(format!("environment.mounts `{}` cannot be read: {error}", path.display())));
        }
        digests => digests?,
    };
    if environment.setup.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    if !environment.setup_network.is_empty() {
        run.findings.coverage.insert(Coverage::SetupWithNetwork);
    }
    let mounts = run.findings.environment.mounts.clone();
    let mut setup = Setup {
        setting: run.setting(),
        cancel: run.watch.cancel,
        mounts: &mounts,
        cells: Cells::default(),
        log: Vec::new(),
    };
    let made = setup.layer(&copy.baseline.tree.to_string(), &copy.root)?;
    let Setup { cells, log, .. } = setup;
    run.findings.cells.extend(cells);
    run.write(SETUP_LOG, &log)?;
    match made {
        Made::Failed(failed) => {
            let why = format!("the environment could not be set up: {failed}");
            run.findings.environment.setup.push(failed.record);
            Ok(Err(why))
        }
        Made::Layer(layer) => {
            run.findings.environment.setup.push(layer.record.clone());
            let files = layer.files.clone();
            run.layer = Some(layer);
            Ok(Ok(vec![files]))
        }
    }
}

/// What stands against the contract's environment on this machine.
pub(crate) fn problems(task: &Task) -> Vec<Shortfall> {
    let environment = &task.contract.environment;
    let mut problems: Vec<Shortfall> = environment.mounts.iter().filter_map(problem_of).collect();
    let hidden = environment.path.iter().map(Path::new).filter(|dir| dir.is_absolute() && !is_shown(environment, dir));
    problems.extend(hidden.map(|dir| Shortfall {
        text: format!("environment.path `{}` is not visible in the sandbox", dir.display()),
        remedy: format!("add it to environment.mounts: {{source: {0}, target: {0}}}", dir.display()),
    }));
    problems
}

fn problem_of(mount: &Mount) -> Option<Shortfall> {
    let (source, target) = (Path::new(&mount.source), Path::new(&mount.target));
    let plain = |path: &Path| {
        use std::path::Component::{Normal, RootDir};
        path.is_absolute() && path.components().all(|part| matches!(part, RootDir | Normal(_)))
    };
    let (text, remedy) = if !plain(source) || !plain(target) {
        ("needs absolute paths without `..`", "write both paths out in full")
    } else if is_reserved(target) {
        ("lies where the sandbox has something of its own", "choose a target such as /opt/NAME")
    } else if !source.own_exists() {
        ("has a source that is not there", "make it, or name another")
    } else {
        return None;
    };
    let name = format!("{} -> {}", mount.source, mount.target);
    Some(Shortfall { text: format!("environment.mounts `{name}` {text}"), remedy: remedy.to_owned() })
}

pub(crate) fn is_shown(environment: &Environment, dir: &Path) -> bool {
    crate::quarters::is_system(dir) || environment.mounts.iter().any(|mount| dir.starts_with(&mount.target))
}

/// Where the host has what is seen at a place.
pub(crate) fn host_path(environment: &Environment, seen: &Path) -> PathBuf {
    let mounts = environment.mounts.iter();
    let below = mounts.filter_map(|mount| seen.strip_prefix(&mount.target).ok().map(|below| (mount, below)));
    below
        .max_by_key(|(mount, _)| mount.target.len())
        .map_or_else(|| seen.to_owned(), |(mount, below)| Path::new(&mount.source).join(below))
}
