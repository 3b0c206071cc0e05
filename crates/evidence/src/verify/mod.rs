//! Offline verification of a bundle, and recomputation of its judgements.
//!
//! Trusts nothing in the bundle: no path, no link, no key. A bundle that does not verify
//! has no verdict.

mod attestation;
mod bundle;
mod checks;
mod collection;
mod copied;
mod exam;
mod expect;
mod files;
mod governed;
mod judge;
mod model;
mod sandbox;
mod signed;
mod truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::{Digest, Report, RunId, Statement};

use crate::key::PublicKey;
use crate::names;

pub use bundle::{VerifiedBundle, VerifyBundleError};
pub use checks::{FORMAT_VERSION, Failure, RUN_MISMATCH};
pub use expect::{AskedRun, Expectation, ParseExpectationError};
pub use files::OpenBundleError;

use checks::Checks;

/// Result of checking one bundle.
#[derive(Debug)]
pub struct Checked {
    pub path: PathBuf,
    /// Number of checks that were made.
    pub checked: u64,
    /// Checks that do not hold; empty for a good bundle.
    pub failures: Vec<Failure>,
    /// The report, only when every check holds.
    pub report: Option<Report>,
    /// Signed statement, if its signature holds.
    pub statement: Option<Statement>,
    /// Fingerprint of the key that signed.
    pub signer: Option<String>,
    /// Digest of the attestation as it was read.
    pub attestation_sha256: Option<Digest>,
    /// Digest of every file as it was read.
    pub files: BTreeMap<String, Digest>,
    pub bytes: u64,
    /// Number of events in the chain.
    pub events: u64,
    /// False when the bundle's rules are of another version: integrity is checked, the
    /// verdict is not judged again.
    pub judged_again: bool,
}

/// Checks one bundle against the keys the caller trusts.
pub fn verify_bundle(
    path: &Path,
    keys: &[PublicKey],
    expectations: &[Expectation],
) -> Result<Checked, OpenBundleError> {
    let mut checks = Checks::default();
    let mut tree = files::read_files(path, &mut checks)?;
    let signed = attestation::check_attestation(&tree, keys, &mut checks);
    if let Some(signed) = &signed {
        files::check_subjects(&tree, &signed.statement, &mut checks);
    }
    files::check_presence(&tree, &mut checks);
    files::check_canonical(&mut tree, &mut checks);
    let judged = judge::judge_again(&tree, signed.as_ref().map(|signed| &signed.statement), &mut checks);
    if let (Some(signed), Some(judged)) = (&signed, &judged) {
        check_folder(path, &signed.statement, &mut checks);
        expect::check_expectations(expectations, &tree, &signed.statement, &judged.report, &mut checks);
    }
    // Whatever could not be looked at was named above; should that ever be forgotten,
    // nothing holds all the same.
    let looked_at = signed.is_some() && judged.is_some();
    if !looked_at && checks.failures.is_empty() {
        checks.fail(names::ATTESTATION, "judged", None, "a signed statement and a report", "one cannot be read");
    }
    if let Some(unreadable) = checks.failures.iter().find(|failure| failure.check == FORMAT_VERSION).cloned() {
        checks.failures = vec![unreadable];
    }
    let holds = checks.failures.is_empty();
    let (report, events, judged_again) = match judged {
        Some(judged) => (holds.then_some(judged.report), judged.events, judged.again),
        None => (None, 0, false),
    };
    Ok(Checked {
        path: path.to_owned(),
        checked: checks.made,
        failures: checks.failures,
        report,
        signer: signed.as_ref().map(|signed| signed.key_id.clone()),
        attestation_sha256: tree.files.get(names::ATTESTATION).copied(),
        statement: signed.filter(|_| holds).map(|signed| signed.statement),
        files: tree.files,
        bytes: tree.bytes,
        events,
        judged_again,
    })
}

/// A folder that is named like a run holds that run.
fn check_folder(path: &Path, statement: &Statement, checks: &mut Checks) {
    let real = path.canonicalize().ok();
    let name = real.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    if let Some(named) = name.and_then(|name| RunId::try_from(name.to_owned()).ok()) {
        let signed = &statement.predicate.run_id;
        checks.check_same(names::ATTESTATION, RUN_MISMATCH, named.as_str(), signed.as_str());
    }
}
