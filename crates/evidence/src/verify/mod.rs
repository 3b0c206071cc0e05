//! Checking a bundle offline, and judging again what can be recomputed.
//!
//! Trusts nothing in the bundle: no path, no link, no key. A bundle that does not verify has no verdict.

mod attestation;
mod bundle;
mod exam;
mod expect;
mod files;
mod judge;
mod model;
mod sandbox;
mod signed;
mod truth;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use contract::{Digest, Report, RunId, Statement};
use schemars::JsonSchema;
use serde::Serialize;

use crate::key::PublicKey;
use crate::names;

pub use bundle::{VerifiedBundle, VerifyBundleError};
pub use expect::{AskedRun, Expectation, ParseExpectationError};

/// The check that fails for a bundle of a format that this program does not read; no other says anything about such a one.
pub const FORMAT_VERSION: &str = "format_version";

/// The check that fails for a whole bundle in the place of another run's.
pub const RUN_MISMATCH: &str = "run_mismatch";

/// One check that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    pub file: String,
    pub check: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub expected: String,
    pub found: String,
}

/// What came of checking one bundle.
#[derive(Debug)]
pub struct Checked {
    pub path: PathBuf,
    pub checked: u64,
    pub failures: Vec<Failure>,
    /// The report, only when every check holds.
    pub report: Option<Report>,
    pub statement: Option<Statement>,
    pub signer: Option<String>,
    /// Of the attestation as it was read.
    pub attestation_sha256: Option<Digest>,
    pub files: usize,
    pub bytes: u64,
    pub events: u64,
    /// False when the bundle's rules are of another version: integrity is checked, the verdict is not judged again.
    pub judged_again: bool,
}

/// The path is not a bundle at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenBundleError {
    #[error("{0} is not a bundle: it is not a directory")]
    NotADirectory(PathBuf),
    #[error("{0} does not exist")]
    Missing(PathBuf),
    /// Neither a report nor an attestation in it.
    #[error("{} is not a bundle: it has neither {} nor {}", .0.display(), names::REPORT, names::ATTESTATION)]
    NotABundle(PathBuf),
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
}

/// Collects checks as they are made.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    made: u64,
    failures: Vec<Failure>,
}

impl Checks {
    /// Counts a check; a failed one is kept with what was expected and found.
    fn check(
        &mut self,
        holds: bool,
        file: &str,
        check: &str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> bool {
        self.made += 1;
        if !holds {
            self.fail(file, check, None, expected, found);
        }
        holds
    }

    fn same<T: PartialEq + fmt::Display>(&mut self, file: &str, check: &str, expected: T, found: T) -> bool {
        self.check(expected == found, file, check, &expected, &found)
    }

    fn fail(
        &mut self,
        file: &str,
        check: &str,
        line: Option<u64>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        let cut = |value: &dyn fmt::Display| contract::text::shown(&value.to_string()).chars().take(300).collect();
        self.failures.push(Failure {
            file: contract::text::shown(file),
            check: check.to_owned(),
            line,
            expected: cut(&expected),
            found: cut(&found),
        });
    }
}

/// Checks one bundle against the keys the caller trusts.
pub fn verify(path: &Path, keys: &[PublicKey], expectations: &[Expectation]) -> Result<Checked, OpenBundleError> {
    let mut checks = Checks::default();
    let mut tree = files::read(path, &mut checks)?;
    let signed = attestation::check(&tree, keys, &mut checks);
    if let Some(signed) = &signed {
        files::check_subjects(&tree, &signed.statement, &mut checks);
    }
    files::check_presence(&tree, &mut checks);
    files::check_canonical(&mut tree, &mut checks);
    let judged = judge::check(&tree, signed.as_ref().map(|signed| &signed.statement), &mut checks);
    if let (Some(signed), Some(judged)) = (&signed, &judged) {
        check_folder(path, &signed.statement, &mut checks);
        expect::check(expectations, &tree, &signed.statement, &judged.report, &mut checks);
    }
    // Whatever could not be looked at was named above; should that ever be forgotten, nothing holds all the same.
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
        files: tree.files.len(),
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
        checks.same(names::ATTESTATION, RUN_MISMATCH, named.as_str(), signed.as_str());
    }
}
