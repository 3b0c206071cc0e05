//! Environment of a repository's builds and tests beside its own files: mounts, a search
//! path, setup.

mod fit;
mod inputs;
mod layer;
mod mounts;
mod problems;
mod proxy;
mod settle;
mod steps;
mod withdraw;

use std::path::PathBuf;

use contract::Coverage;

use crate::judge::copy::Copy;
use crate::run::file::{RunFile, Stopped};

pub(crate) use layer::{JudgedTree, Layer, LayerMaker, MadeLayer};
pub(crate) use mounts::digests;
pub(crate) use problems::problems;
pub(crate) use settle::uncover_folder;
pub(crate) use withdraw::ExamFiles;

/// File of the bundle with the output of setup.
pub(crate) const SETUP_LOG: &str = "setup.log";

/// Looks at the mounts and makes the setup layer of the baseline, or finds it, where the
/// contract has a setup; says why it cannot, if it cannot.
pub(crate) fn prepare_environment(
    run: &mut RunFile<'_>,
    copy: &Copy,
) -> Result<Result<Option<Layer>, String>, Stopped> {
    let environment = &run.task().contract.environment;
    let mounts = match digests(run.harness(), &environment.mounts) {
        Err(Stopped::Io(path, error)) => {
            return Ok(Err(format!("environment.mounts `{}` cannot be read: {error}", path.display())));
        }
        digests => digests?,
    };
    run.sandboxes_mut().note_mounts(mounts.clone());
    if environment.setup.is_empty() {
        return Ok(Ok(None));
    }
    if !environment.setup_network.is_empty() {
        run.standing.cover(Coverage::SetupWithNetwork);
    }
    let mut setup = LayerMaker::new(run.setting(), run.watch(), &mounts, &copy.baseline.store);
    let made = setup.baseline_layer(&copy.baseline.listing);
    let LayerMaker { cells, log, .. } = setup;
    run.add_sandbox_records(cells)?;
    run.write_artifact(SETUP_LOG, &log)?;
    // Also of a setup that was cancelled: its sandbox is part of what the run came to.
    run.note_standing();
    match made? {
        MadeLayer::Failed(failed) => {
            let why = format!("the environment could not be set up: {failed}");
            run.sandboxes_mut().add_setup([failed.record]);
            Ok(Err(why))
        }
        MadeLayer::Layer(layer) => {
            run.sandboxes_mut().add_setup([layer.record.clone()]);
            Ok(Ok(Some(layer)))
        }
    }
}

/// The layers over the checkout of an engine's workspace, the first on top.
pub(crate) fn layers_of_engine(run: &RunFile<'_>, layer: Option<&Layer>, copy: &Copy) -> Result<Vec<PathBuf>, Stopped> {
    let Some(layer) = layer else { return Ok(Vec::new()) };
    let folder = run.setting().dir("setup-restored")?;
    fit::fit_layer(&copy.baseline.store, &copy.baseline.listing, layer, folder)
}
