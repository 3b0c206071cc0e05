//! Which run a person means, and where its bundle is.

use std::fs::File;
use std::path::{Path, PathBuf};

use contract::RunId;
use contract::text::shown;
use evidence::PublicKey;
use evidence::verify::{AskedRun, OpenBundleError, VerifiedBundle, VerifyBundleError};
use harness::{Home, asked_run};
use ledger::{BundleOrigin, Bundles, EntryKind, Found, KeptBundle, Ledger, RunCollected, RunRow};

use crate::context::Context;
use crate::error::CommandError;

/// A run's bundle, which is not collected while this value lives.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub(crate) id: String,
    pub(crate) bundle: PathBuf,
    /// The key that an imported run was checked with when it was taken in.
    pub(crate) signer: Option<PublicKey>,
    /// The run that the bundle must be; none for a bundle that was named by its path alone.
    pub(crate) asked: Option<AskedRun>,
    _held: Option<File>,
}

impl FoundRun {
    fn new(id: String, bundle: PathBuf, signer: Option<PublicKey>, asked: Option<AskedRun>) -> Self {
        Self { _held: ledger::hold_bundle(&bundle), id, bundle, signer, asked }
    }

    /// A bundle by its path, wherever it lies.
    pub(crate) fn at(path: &Path) -> Self {
        Self::new(path.display().to_string(), path.to_owned(), None, None)
    }

    /// The keys that its signature may be by: trusted ones, and that of an import unless keys are `named`.
    pub(crate) fn keys(&self, trusted: &[PublicKey], named: &[PathBuf]) -> Vec<PublicKey> {
        let signer = self.signer.iter().filter(|_| named.is_empty());
        trusted.iter().chain(signer).cloned().collect()
    }

    /// The bundle, verified, as the run that was asked for.
    pub(crate) fn bind(&self, keys: &[PublicKey]) -> Result<VerifiedBundle, CommandError> {
        VerifiedBundle::verify(&self.bundle, keys, self.asked.as_ref()).map_err(|error| match error {
            VerifyBundleError::Open(error) => not_a_bundle(&error),
            error => CommandError::fail(format!("the bundle of {} does not verify: {error}", shown(&self.id)))
                .hint(format!("cto verify {}", shown(&self.id))),
        })
    }
}

pub(crate) fn not_a_bundle(error: &OpenBundleError) -> CommandError {
    CommandError::usage(error).hint("give a run id, or the directory that holds report.json")
}

/// A run that a person means.
#[derive(Debug)]
pub(crate) enum Sought {
    Bundle(Box<FoundRun>),
    /// Its bundle was removed by `cto gc`.
    Collected(Box<RunRow>, RunCollected),
}

/// The runs of a home. Opened once, however many of them are looked for.
#[derive(Debug)]
pub(crate) struct Runs {
    home: Option<Home>,
    ledger: Option<Ledger>,
}

impl Runs {
    /// Seals what was interrupted first.
    pub(crate) fn of(context: &Context) -> Result<Self, CommandError> {
        let home = context.home_to_look()?;
        let ledger = home.as_ref().map_or(Ok(None), |home| context.ledger(home))?;
        Ok(Self { home, ledger })
    }

    /// A run that has a bundle.
    pub(crate) fn find(&self, reference: &str) -> Result<FoundRun, CommandError> {
        match self.seek(reference)? {
            Sought::Bundle(found) => Ok(*found),
            Sought::Collected(row, collected) => {
                let (when, why) = (collected.time, shown(&collected.collection.reason));
                let message = format!("the bundle of {} was collected on {when}: {why}", row.run_id);
                Err(CommandError::fail(message)
                    .hint("cto import FILE, if it was exported; the ledger knows its digest"))
            }
        }
    }

    /// The same, where a run that has no bundle any more is an answer too.
    pub(crate) fn seek(&self, reference: &str) -> Result<Sought, CommandError> {
        let unknown = || CommandError::usage(format!("no run matches `{}`", shown(reference))).hint("cto runs");
        let home = self.home.as_ref().ok_or_else(unknown)?;
        let found = self.ledger.as_ref().map_or(Ok(Found::None), |ledger| ledger.run_find(reference))?;
        match (found, &self.ledger) {
            (Found::One(row), Some(ledger)) => found_run(home, ledger, *row),
            (Found::Many(ids), _) => Err(ambiguous(reference, &ids)),
            (_, ledger) => {
                find_imported(home, ledger.as_ref(), reference)?.map(Box::new).map(Sought::Bundle).ok_or_else(unknown)
            }
        }
    }
}

/// Finder of bundles that a person names by path or as runs. The home is opened for the first that needs it, and once.
pub(crate) struct Places<'a> {
    context: &'a Context,
    runs: Option<Runs>,
    /// Of the home, opened without doing anything to it.
    ledger: Option<Option<Ledger>>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, runs: None, ledger: None }
    }

    /// A path where there is one, else a run.
    pub(crate) fn locate(&mut self, bundle: &str) -> Result<FoundRun, CommandError> {
        let path = Path::new(bundle);
        if bundle.contains('/') || bundle == "." || bundle == ".." || path.exists() {
            return Ok(FoundRun { asked: self.asked_at(path)?, ..FoundRun::at(path) });
        }
        let runs = match self.runs.take() {
            Some(runs) => runs,
            None => Runs::of(self.context)?,
        };
        self.runs.insert(runs).find(bundle)
    }

    /// The run of a bundle that lies in the home; none for one that lies elsewhere, which needs no home at all.
    fn asked_at(&mut self, bundle: &Path) -> Result<Option<AskedRun>, CommandError> {
        let Some(name) = Bundles::in_home(&self.context.config.home).name_at(bundle) else { return Ok(None) };
        // A ledger that cannot be read knows nothing of a bundle that is checked by itself; `verify RUN` says what is wrong with it.
        let read = || Home::existing(&self.context.config.place()).ok()?.ledger_to_read().ok()?;
        if self.ledger.is_none() {
            self.ledger = Some(read());
        }
        let Ok(run_id) = RunId::try_from(name) else { return Ok(None) };
        let ledger = self.ledger.as_ref().and_then(Option::as_ref);
        match ledger.map_or(Ok(Found::None), |ledger| ledger.run_find(run_id.as_str()))? {
            Found::One(row) => Ok(Some(asked_run(&row))),
            _ => Ok(Some(AskedRun { run_id, attestation_sha256: None })),
        }
    }
}

/// Keys given on the command line are the only ones that count; without any, those of the home.
pub(crate) fn trusted(context: &Context, files: &[PathBuf]) -> Result<Vec<PublicKey>, CommandError> {
    if files.is_empty() {
        return match Home::existing(&context.config.place()) {
            Ok(home) => Ok(home.trusted_keys()?),
            Err(_) => Ok(Vec::new()),
        };
    }
    let read = |file| {
        PublicKey::read(file).map_err(|error| CommandError::usage(error).hint("cto key show     names the files"))
    };
    files.iter().map(|file: &PathBuf| read(file)).collect()
}

fn found_run(home: &Home, ledger: &Ledger, row: RunRow) -> Result<Sought, CommandError> {
    if row.status == ledger::RunStatus::Running {
        return Err(CommandError::blocked(format!("{} is still running", row.run_id)).hint("cto runs --status running"));
    }
    if let Some(kept) = home.bundles().find_bundle(&row.run_id) {
        return Ok(Sought::Bundle(Box::new(kept_run(home.bundles(), &kept, asked_run(&row)))));
    }
    if let Some(collected) = ledger.run_collection(&row.run_id)? {
        return Ok(Sought::Collected(Box::new(row), collected));
    }
    if home.shares_ledger() && row.owner.is_some_and(|owner| home.instance().is_ok_and(|here| here != owner)) {
        let message = format!("the bundle of {} lies in another home that shares this ledger", row.run_id);
        return Err(CommandError::fail(message).hint("cto export there, then cto import FILE here"));
    }
    let bundle = home.bundles().bundle_dir(&row.run_id);
    let message = format!("the bundle of {} is gone: {} does not exist", row.run_id, bundle.display());
    Err(CommandError::fail(message).hint("restore it from a backup; the ledger still knows its digest"))
}

fn kept_run(bundles: &Bundles, kept: &KeptBundle, asked: AskedRun) -> FoundRun {
    let signer = match kept.origin {
        BundleOrigin::Own => None,
        BundleOrigin::Imported => bundles.import_signer(&asked.run_id).and_then(|text| PublicKey::parse(&text)),
    };
    FoundRun::new(asked.run_id.to_string(), kept.dir.clone(), signer, Some(asked))
}

/// An imported run as the ledger recorded it when it was taken in.
fn asked_import(ledger: Option<&Ledger>, id: &RunId) -> Result<AskedRun, CommandError> {
    let entries = ledger.map_or(Ok(Vec::new()), |ledger| ledger.run_entries(id))?;
    let recorded = entries.iter().rev().find(|entry| entry.is(EntryKind::EvidenceImported));
    let digest = recorded.and_then(|entry| entry.body["attestation_sha256"].as_str()?.parse().ok());
    Ok(AskedRun { run_id: id.clone(), attestation_sha256: digest })
}

/// A whole id or last part wins over the beginning of a longer one, as in the ledger.
fn find_imported(home: &Home, ledger: Option<&Ledger>, reference: &str) -> Result<Option<FoundRun>, CommandError> {
    let all = home.bundles().list_imported()?;
    let whole = |run: &&RunId| run.as_str() == reference || run.suffix() == reference;
    let begins = |run: &&RunId| run.as_str().starts_with(reference) || run.suffix().starts_with(reference);
    let mut found: Vec<&RunId> = all.iter().filter(whole).collect();
    if found.is_empty() && !reference.is_empty() {
        found = all.iter().filter(begins).collect();
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => {
            let asked = asked_import(ledger, one)?;
            Ok(home.bundles().find_imported(one).map(|kept| kept_run(home.bundles(), &kept, asked)))
        }
        many => Err(ambiguous(reference, &many.iter().copied().cloned().collect::<Vec<_>>())),
    }
}

fn ambiguous(reference: &str, ids: &[RunId]) -> CommandError {
    let some: Vec<&str> = ids.iter().take(4).map(RunId::as_str).collect();
    CommandError::usage(format!("`{}` stands for {} runs: {}", shown(reference), ids.len(), some.join(", ")))
        .hint("use more of the id")
}
