//! The bundles that a person names on the command line, and the keys that count for them.

use std::path::{Path, PathBuf};

use contract::Stamp;
use contract::signer::SignerStanding;
use cortex::PersonSigners;
use evidence::PublicKey;
use harness::{Home, People, RunClock};
use ledger::Bundles;
use views::{FindRunError, FoundRun, RunQuery, ViewedHome, Views, WorkerKeys};

use crate::context::Context;
use crate::error::CommandError;
use crate::nearest::did_you_mean;

/// Namespace of keys that sign bundles, in the list of allowed signers.
pub(crate) const BUNDLE_NAMESPACE: &str = "cto-bundle@v1";

/// Finder of bundles that a person names by path or as runs. The home is opened for the
/// first that needs it, and once.
pub(crate) struct BundleFinder<'a> {
    context: &'a Context,
    /// Made after a recovery.
    runs: Option<(Views, Stamp)>,
    /// Views of the home as it is.
    paths: Option<Views>,
}

impl<'a> BundleFinder<'a> {
    /// Search without any opened place.
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, runs: None, paths: None }
    }

    /// A path where there is one, else a run. A file is an archive of `cto export`.
    pub(crate) fn locate(&mut self, bundle: &str) -> Result<FoundRun, CommandError> {
        let path = Path::new(bundle);
        if path.is_file() {
            return open_in_archive(path);
        }
        if is_path(bundle) {
            return self.locate_path(path);
        }
        let (views, now) = match self.runs.take() {
            Some(runs) => self.runs.insert(runs),
            None => self.runs.insert(self.context.look()?),
        };
        views.find_run(bundle, *now).map_err(|error| suggest_run(views, *now, error))
    }

    /// A bundle that does not lie in the home needs no home at all.
    fn locate_path(&mut self, path: &Path) -> Result<FoundRun, CommandError> {
        match Bundles::in_home(&self.context.config.home).name_at(path) {
            Some(_) => Ok(self.paths.get_or_insert_with(|| views_of_paths(self.context)).find_at(path)?),
            None => Ok(FoundRun::at_path(path, None)),
        }
    }
}

/// Runs among which a mistyped one is looked for: the newest.
const NEAR_RUNS: usize = 200;

/// The error of a run that is not found; of a mistyped one with the run that it is likely to mean.
pub(crate) fn suggest_run(views: &Views, now: Stamp, error: FindRunError) -> CommandError {
    let FindRunError::Unknown(reference) = &error else { return error.into() };
    let query = RunQuery { limit: NEAR_RUNS, ..RunQuery::default() };
    let runs = views.list_runs(&query, now).map(|page| page.runs).unwrap_or_default();
    let ids = runs.iter().flat_map(|run| [run.row.run_id.as_str(), run.row.run_id.suffix()]);
    let meant = did_you_mean(reference, ids);
    CommandError::usage(format!("{error}{meant}")).hint("cto runs")
}

/// True for a name that means a path and not a run.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || name == "." || name == ".." || Path::new(name).exists()
}

/// Lays the bundle of an archive out in a folder of its own, which goes with the found run.
fn open_in_archive(archive: &Path) -> Result<FoundRun, CommandError> {
    let folder = tempfile::Builder::new().prefix("cto-archive-").tempdir()?;
    let opened = harness::open_archive(archive, folder.path())?;
    Ok(FoundRun::in_archive(archive, opened.bundle, opened.asked, Box::new(folder)))
}

/// A home or a ledger that cannot be read knows nothing of a bundle that is checked by
/// itself; `verify RUN` says what is wrong with it.
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
    pub(crate) fn keys_of(&self, found: &FoundRun) -> Vec<PublicKey> {
        if self.named { self.keys.clone() } else { found.keys(&self.keys) }
    }
}

/// Keys given on the command line are the only ones that count; without any, those of the home.
pub(crate) fn trusted(context: &Context, files: &[PathBuf]) -> Result<TrustedKeys, CommandError> {
    let read = |file: &PathBuf| {
        PublicKey::read_file(file).map_err(|error| CommandError::usage(error).hint("cto key show     names the files"))
    };
    if !files.is_empty() {
        return Ok(TrustedKeys { keys: files.iter().map(read).collect::<Result<_, _>>()?, named: true });
    }
    let home = Home::existing(&context.config.place()).ok();
    Ok(TrustedKeys { keys: home.map_or(Ok(Vec::new()), |home| home.trusted_keys())?, named: false })
}

/// Workers that the ledger of this home admits; none where nothing was ever recorded.
pub(crate) fn read_workers(context: &Context) -> Result<WorkerKeys, CommandError> {
    let Ok(home) = Home::existing(&context.config.place()) else { return Ok(WorkerKeys::default()) };
    let Some(ledger) = home.ledger_to_read()? else { return Ok(WorkerKeys::default()) };
    let people = People::read_lists(&context.config.records)?;
    Ok(WorkerKeys::read_keys(&ledger, &|key, namespace, at| people.judge_key(key, namespace, at))?)
}

/// Keys for reading a foreign bundle: those of [`trusted`], those of admitted workers, and the ones that `cto trust
/// key add --bundles` lists and that count today. They verify bundles that are read or
/// imported, and nothing of this home relies on them.
pub(crate) fn trusted_for_review(context: &Context, files: &[PathBuf]) -> Result<TrustedKeys, CommandError> {
    let mut trusted = trusted(context, files)?;
    if !trusted.named {
        trusted.keys.extend(listed_keys(context)?);
        trusted.keys.extend(read_workers(context)?.admitted_keys().cloned());
    }
    Ok(trusted)
}

fn listed_keys(context: &Context) -> Result<Vec<PublicKey>, CommandError> {
    if Home::existing(&context.config.place()).is_err() {
        return Ok(Vec::new());
    }
    let people = PersonSigners::read_lists(&context.config.records).map_err(|error| {
        CommandError::blocked_with(format!("the keys that are trusted cannot be read: {error}"))
            .hint("fix the file below CTO_HOME/trust, or restore it from a backup")
    })?;
    let now = RunClock::start_clock().map_err(CommandError::blocked_with)?.started();
    let named = people.allowed().lines().iter().filter(|line| line.namespaces().is_some_and(names_bundles));
    let counting = named.filter(|line| people.judge_key(line.key(), BUNDLE_NAMESPACE, now) == SignerStanding::Allowed);
    Ok(counting.filter_map(|line| PublicKey::parse_line(&line.key().openssh_line()?)).collect())
}

/// A key for everything is a person's; one that signs bundles is named for it.
fn names_bundles(namespaces: &str) -> bool {
    namespaces.split(',').any(|name| name == BUNDLE_NAMESPACE)
}
