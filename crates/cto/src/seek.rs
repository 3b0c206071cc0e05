//! Which run a person means, and where its bundle is.

use std::fs::File;
use std::path::{Path, PathBuf};

use contract::RunId;
use contract::text::shown;
use evidence::PublicKey;
use harness::Home;
use ledger::{Found, Ledger, RunCollected, RunRow};

use crate::context::Context;
use crate::error::CommandError;

/// A run's bundle, which is not collected while this value lives.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub(crate) id: String,
    pub(crate) bundle: PathBuf,
    /// The key that an imported run was checked with when it was taken in.
    pub(crate) signer: Option<PublicKey>,
    _held: Option<File>,
}

impl FoundRun {
    fn new(id: String, bundle: PathBuf, signer: Option<PublicKey>) -> Self {
        Self { _held: harness::hold(&bundle), id, bundle, signer }
    }

    /// A bundle by its path, wherever it lies.
    pub(crate) fn at(path: &Path) -> Self {
        Self::new(path.display().to_string(), path.to_owned(), None)
    }
}

/// A run that a person means.
#[derive(Debug)]
pub(crate) enum Sought {
    Bundle(FoundRun),
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
            Sought::Bundle(found) => Ok(found),
            Sought::Collected(row, collected) => {
                let (when, why) = (shown(&collected.time), shown(&collected.reason));
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
            _ => find_imported(home, reference)?.map(Sought::Bundle).ok_or_else(unknown),
        }
    }
}

fn found_run(home: &Home, ledger: &Ledger, row: RunRow) -> Result<Sought, CommandError> {
    if row.status == ledger::RunStatus::Running {
        return Err(CommandError::blocked(format!("{} is still running", row.run_id)).hint("cto runs --status running"));
    }
    let id = RunId::try_from(row.run_id.clone()).map_err(CommandError::fail)?;
    let bundle = home.bundle(&id);
    if bundle.is_dir() {
        return Ok(Sought::Bundle(FoundRun::new(row.run_id, bundle, None)));
    }
    if let Some(found) = imported(home, &id) {
        return Ok(Sought::Bundle(found));
    }
    if let Some(collected) = ledger.run_collection(&row.run_id)? {
        return Ok(Sought::Collected(Box::new(row), collected));
    }
    let message = format!("the bundle of {} is gone: {} does not exist", row.run_id, bundle.display());
    Err(CommandError::fail(message).hint("restore it from a backup; the ledger still knows its digest"))
}

fn imported(home: &Home, id: &RunId) -> Option<FoundRun> {
    let bundle = harness::imported_bundle(home, id);
    bundle.is_dir().then(|| FoundRun::new(id.to_string(), bundle, harness::imported_signer(home, id)))
}

/// A whole id or last part wins over the beginning of a longer one, as in the ledger.
fn find_imported(home: &Home, reference: &str) -> Result<Option<FoundRun>, CommandError> {
    let all = harness::imported_runs(home)?;
    let whole = |run: &&RunId| run.as_str() == reference || run.suffix() == reference;
    let begins = |run: &&RunId| run.as_str().starts_with(reference) || run.suffix().starts_with(reference);
    let mut found: Vec<&RunId> = all.iter().filter(whole).collect();
    if found.is_empty() && !reference.is_empty() {
        found = all.iter().filter(begins).collect();
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(imported(home, one)),
        many => Err(ambiguous(reference, &many.iter().map(ToString::to_string).collect::<Vec<_>>())),
    }
}

fn ambiguous(reference: &str, ids: &[String]) -> CommandError {
    let some: Vec<&str> = ids.iter().take(4).map(String::as_str).collect();
    CommandError::usage(format!("`{}` stands for {} runs: {}", shown(reference), ids.len(), some.join(", ")))
        .hint("use more of the id")
}
