//! The run that a person means, and its bundle.

use std::any::Any;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use contract::text::show_controls;
use contract::{Purpose, RunId, Stamp};
use evidence::PublicKey;
use evidence::verify::{AskedRun, VerifiedBundle, VerifyBundleError};
use ledger::{
    BundleOrigin, EntryKind, FoundRuns, KeptBundle, Ledger, ReadLedgerError, RunCollected, RunRow, RunStatus,
    ShareBundleError, hold_bundle,
};

use crate::Views;
use crate::last_run::{find_last, steps_back};

/// Ids that are named where a reference stands for several.
const NAMED: usize = 4;

/// A run's bundle, which is not collected while this value lives.
#[derive(Debug)]
pub struct FoundRun {
    pub id: String,
    pub bundle: PathBuf,
    /// The key that an imported run was checked with when it was taken in.
    pub signer: Option<PublicKey>,
    /// The run that the bundle must be; none for a bundle that was named by its path alone.
    pub asked: Option<AskedRun>,
    _held: Option<File>,
    /// Kept as long as the bundle is needed: the folder that an archive was laid out in.
    _unpacked: Option<Box<dyn Any + Send>>,
}

/// A run that is known, with its bundle or with why there is none any more.
#[derive(Debug)]
pub(crate) enum KnownRun {
    Bundle(Box<FoundRun>, BundleOrigin),
    Collected(Box<RunRow>, RunCollected),
}

/// Reason why a reference gives no bundle.
#[derive(Debug, thiserror::Error)]
pub enum FindRunError {
    #[error("no run matches `{}`", show_controls(.0))]
    Unknown(String),
    #[error("`{}` stands for {} runs: {}", show_controls(.reference), .ids.len(), name_some(.ids))]
    Ambiguous { reference: String, ids: Vec<RunId> },
    #[error("{0} is still running")]
    Running(RunId),
    /// Its process is gone, and no recovery has sealed it.
    #[error("{0} was interrupted and is not sealed yet")]
    Interrupted(RunId),
    #[error("the bundle of {} was collected on {}: {}", .0.run_id, .0.time, show_controls(&.0.collection.reason))]
    Collected(RunCollected),
    #[error("the bundle of {0} lies in another home that shares this ledger")]
    Elsewhere(RunId),
    #[error("the bundle of {run_id} is gone: {dir} does not exist")]
    Gone { run_id: RunId, dir: PathBuf },
    #[error(transparent)]
    Shared(#[from] ShareBundleError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error("cannot list the imported runs: {0}")]
    Imports(#[source] io::Error),
}

fn name_some(ids: &[RunId]) -> String {
    let some: Vec<&str> = ids.iter().take(NAMED).map(RunId::as_str).collect();
    some.join(", ")
}

/// Bundle that does not verify as the one of its run.
#[derive(Debug, thiserror::Error)]
#[error("the bundle of {} does not verify: {error}", show_controls(.id))]
pub struct BindRunError {
    pub id: String,
    #[source]
    pub error: VerifyBundleError,
}

/// The run of a ledger's row, as its bundle must be.
pub fn asked_run(row: &RunRow) -> AskedRun {
    AskedRun { run_id: row.run_id.clone(), attestation_sha256: row.attestation_sha256 }
}

impl FoundRun {
    /// A bundle by its path, wherever it lies.
    pub fn at_path(path: &Path, asked: Option<AskedRun>) -> Self {
        let (id, bundle) = (path.display().to_string(), path.to_owned());
        Self { id, bundle, signer: None, asked, _held: hold_bundle(path), _unpacked: None }
    }

    /// The bundle of an archive, laid out in a folder that goes with `unpacked`.
    pub fn in_archive(archive: &Path, bundle: PathBuf, asked: AskedRun, unpacked: Box<dyn Any + Send>) -> Self {
        let id = archive.display().to_string();
        Self { id, bundle, signer: None, asked: Some(asked), _held: None, _unpacked: Some(unpacked) }
    }

    fn kept(kept: KeptBundle, signer: Option<PublicKey>, asked: AskedRun) -> Self {
        let id = asked.run_id.to_string();
        Self { id, bundle: kept.dir, signer, asked: Some(asked), _held: kept.held, _unpacked: None }
    }

    /// The keys that its signature may be by: trusted ones, and the one that an import was
    /// checked with.
    pub fn keys(&self, trusted: &[PublicKey]) -> Vec<PublicKey> {
        trusted.iter().chain(&self.signer).cloned().collect()
    }

    /// The bundle, verified, as the run that was asked for.
    pub fn bind_bundle(&self, keys: &[PublicKey]) -> Result<VerifiedBundle, BindRunError> {
        let bound = VerifiedBundle::verify_dir(&self.bundle, keys, self.asked.as_ref());
        bound.map_err(|error| BindRunError { id: self.id.clone(), error })
    }
}

impl Views {
    /// A run with a bundle, by id, unique prefix, suffix, `@` or `@-N`. `now` tells lapsed
    /// leases.
    pub fn find_run(&self, reference: &str, now: Stamp) -> Result<FoundRun, FindRunError> {
        match self.seek_run(reference, now)? {
            KnownRun::Bundle(found, _) => Ok(*found),
            KnownRun::Collected(_, collected) => Err(FindRunError::Collected(collected)),
        }
    }

    /// A bundle by its path; one that lies in its place in this home is asked for as the
    /// run that the ledger knows by its name.
    pub fn find_at(&self, path: &Path) -> Result<FoundRun, ReadLedgerError> {
        let name = self.home.bundles.name_at(path);
        let Some(run_id) = name.and_then(|name| RunId::try_from(name).ok()) else {
            return Ok(FoundRun::at_path(path, None));
        };
        let asked = match self.ledger().map_or(Ok(FoundRuns::None), |ledger| ledger.run_find(run_id.as_str()))? {
            FoundRuns::One(row) => asked_run(&row),
            _ => AskedRun { run_id, attestation_sha256: None },
        };
        Ok(FoundRun::at_path(path, Some(asked)))
    }

    /// The ledger's row of a run; none where the ledger does not know it.
    pub fn find_row(&self, run_id: &str) -> Result<Option<RunRow>, ReadLedgerError> {
        let found = self.ledger().map_or(Ok(FoundRuns::None), |ledger| ledger.run_find(run_id))?;
        Ok(match found {
            FoundRuns::One(row) => Some(*row),
            FoundRuns::None | FoundRuns::Many(_) => None,
        })
    }

    /// Finds the run of a reference: `@` forms first, then ids, suffixes and names.
    pub(crate) fn seek_run(&self, reference: &str, now: Stamp) -> Result<KnownRun, FindRunError> {
        let steps = steps_back(reference);
        if let (Some(steps), Some(ledger)) = (steps, self.ledger())
            && let Some(row) = find_last(ledger, steps)?
        {
            return self.seek_row(row, now);
        }
        let found = self.ledger().map_or(Ok(FoundRuns::None), |ledger| ledger.run_find(reference))?;
        // What is left of `@` in a home in which nobody asked for a run: no lane passes for
        // one.
        if steps.is_some() && matches!(&found, FoundRuns::One(row) if row.purpose == Purpose::Governed) {
            return Err(FindRunError::Unknown(reference.to_owned()));
        }
        match found {
            FoundRuns::One(row) => self.seek_row(*row, now),
            FoundRuns::Many(ids) => Err(FindRunError::Ambiguous { reference: reference.to_owned(), ids }),
            FoundRuns::None => {
                let found = self.find_imported(reference)?.ok_or_else(|| FindRunError::Unknown(reference.to_owned()));
                found.map(|found| KnownRun::Bundle(Box::new(found), BundleOrigin::Imported))
            }
        }
    }

    fn seek_row(&self, row: RunRow, now: Stamp) -> Result<KnownRun, FindRunError> {
        if row.status == RunStatus::Running {
            return Err(match self.is_interrupted(&row.run_id, now)? {
                true => FindRunError::Interrupted(row.run_id),
                false => FindRunError::Running(row.run_id),
            });
        }
        if let Some(kept) = self.home.bundles.find_bundle(&row.run_id) {
            let origin = kept.origin;
            return Ok(KnownRun::Bundle(Box::new(self.found(kept, asked_run(&row))), origin));
        }
        if let Some(collected) = self.collection_of(&row)? {
            return Ok(KnownRun::Collected(Box::new(row), collected));
        }
        if let Some(kept) = self.fetch_bundle(&row)? {
            return Ok(KnownRun::Bundle(Box::new(self.found(kept, asked_run(&row))), BundleOrigin::Shared));
        }
        match self.home.shared_as.is_some_and(|here| row.owner.is_some_and(|owner| owner != here)) {
            true => Err(FindRunError::Elsewhere(row.run_id)),
            false => Err(FindRunError::Gone { dir: self.home.bundles.bundle_dir(&row.run_id), run_id: row.run_id }),
        }
    }

    /// The bundle of a run of another home, from the object store that the homes share.
    fn fetch_bundle(&self, row: &RunRow) -> Result<Option<KeptBundle>, ShareBundleError> {
        match row.attestation_sha256 {
            Some(attestation) => self.home.bundles.fetch_bundle(&row.run_id, attestation),
            None => Ok(None),
        }
    }

    fn found(&self, kept: KeptBundle, asked: AskedRun) -> FoundRun {
        let signer = match kept.origin {
            BundleOrigin::Own | BundleOrigin::Shared => None,
            BundleOrigin::Imported => self.home.bundles.import_signer(&asked.run_id),
        };
        FoundRun::kept(kept, signer.and_then(|text| PublicKey::parse_line(&text)), asked)
    }

    /// A whole id or last part wins over the beginning of a longer one, as in the ledger.
    fn find_imported(&self, reference: &str) -> Result<Option<FoundRun>, FindRunError> {
        let all = self.home.bundles.list_imported().map_err(FindRunError::Imports)?;
        let whole = |run: &&RunId| run.as_str() == reference || run.suffix() == reference;
        let begins = |run: &&RunId| run.as_str().starts_with(reference) || run.suffix().starts_with(reference);
        let mut found: Vec<&RunId> = all.iter().filter(whole).collect();
        if found.is_empty() && !reference.is_empty() {
            found = all.iter().filter(begins).collect();
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => {
                let asked = asked_import(self.ledger(), one)?;
                Ok(self.home.bundles.find_imported(one).map(|kept| self.found(kept, asked)))
            }
            many => {
                let ids = many.iter().copied().cloned().collect();
                Err(FindRunError::Ambiguous { reference: reference.to_owned(), ids })
            }
        }
    }
}

/// An imported run as the ledger recorded it when it was taken in.
fn asked_import(ledger: Option<&Ledger>, id: &RunId) -> Result<AskedRun, ReadLedgerError> {
    let entries = ledger.map_or(Ok(Vec::new()), |ledger| ledger.run_entries(id))?;
    let recorded = entries.iter().rev().find(|entry| entry.is_kind(EntryKind::EvidenceImported));
    let digest = recorded.and_then(|entry| entry.body["attestation_sha256"].as_str()?.parse().ok());
    Ok(AskedRun { run_id: id.clone(), attestation_sha256: digest })
}
