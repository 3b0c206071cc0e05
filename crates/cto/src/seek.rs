//! The bundles that a person names on the command line, and the keys that count for them.

use std::path::{Path, PathBuf};

use contract::Stamp;
use evidence::PublicKey;
use harness::Home;
use ledger::Bundles;
use views::{FoundRun, ViewedHome, Views};

use crate::context::Context;
use crate::error::CommandError;

/// Finder of bundles that a person names by path or as runs. The home is opened for the first that needs it, and once.
pub(crate) struct Places<'a> {
    context: &'a Context,
    /// Made after a recovery.
    runs: Option<(Views, Stamp)>,
    /// Of the home as it is.
    paths: Option<Views>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, runs: None, paths: None }
    }

    /// A path where there is one, else a run.
    pub(crate) fn locate(&mut self, bundle: &str) -> Result<FoundRun, CommandError> {
        let path = Path::new(bundle);
        if bundle.contains('/') || bundle == "." || bundle == ".." || path.exists() {
            return self.locate_path(path);
        }
        let (views, now) = match self.runs.take() {
            Some(runs) => self.runs.insert(runs),
            None => self.runs.insert(self.context.look()?),
        };
        Ok(views.find_run(bundle, *now)?)
    }

    /// A bundle that does not lie in the home needs no home at all.
    fn locate_path(&mut self, path: &Path) -> Result<FoundRun, CommandError> {
        match Bundles::in_home(&self.context.config.home).name_at(path) {
            Some(_) => Ok(self.paths.get_or_insert_with(|| views_of_paths(self.context)).find_at(path)?),
            None => Ok(FoundRun::at(path, None)),
        }
    }
}

/// A home or a ledger that cannot be read knows nothing of a bundle that is checked by itself; `verify RUN` says what is wrong with it.
fn views_of_paths(context: &Context) -> Views {
    let home = Home::existing(&context.config.place()).ok();
    let ledger = home.as_ref().and_then(|home| home.ledger_to_read().ok()).flatten();
    let (bundles, active) = (Bundles::in_home(&context.config.home), PathBuf::new());
    Views::new(ViewedHome { ledger, bundles, active, shared_as: None })
}

/// Keys that bundles may be signed by.
#[derive(Debug)]
pub(crate) struct TrustedKeys {
    pub(crate) keys: Vec<PublicKey>,
    /// Given on the command line: no other counts.
    named: bool,
}

impl TrustedKeys {
    /// The keys that the signature of a bundle may be by.
    pub(crate) fn of(&self, found: &FoundRun) -> Vec<PublicKey> {
        if self.named { self.keys.clone() } else { found.keys(&self.keys) }
    }
}

/// Keys given on the command line are the only ones that count; without any, those of the home.
pub(crate) fn trusted(context: &Context, files: &[PathBuf]) -> Result<TrustedKeys, CommandError> {
    let read = |file: &PathBuf| {
        PublicKey::read(file).map_err(|error| CommandError::usage(error).hint("cto key show     names the files"))
    };
    if !files.is_empty() {
        return Ok(TrustedKeys { keys: files.iter().map(read).collect::<Result<_, _>>()?, named: true });
    }
    let home = Home::existing(&context.config.place()).ok();
    Ok(TrustedKeys { keys: home.map_or(Ok(Vec::new()), |home| home.trusted_keys())?, named: false })
}
