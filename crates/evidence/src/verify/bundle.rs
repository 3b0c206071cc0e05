//! A bundle that was verified and is the run that was asked for.
//!
//! Everything that acts on a sealed run takes this type, and it can be had from
//! [`VerifiedBundle::verify`] alone: a genuine bundle of another run in the place of this
//! one is refused in one place, for all of them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use contract::{Digest, Report};

use super::files::read_named;
use super::{AskedRun, Expectation, Failure, OpenBundleError, verify_bundle};
use crate::key::PublicKey;

/// A bundle of which every check holds, bound to the run that was asked for. Nobody else
/// can make one:
///
/// ```compile_fail,E0451
/// use evidence::verify::VerifiedBundle;
///
/// fn trust(dir: std::path::PathBuf, other: VerifiedBundle) -> VerifiedBundle {
///     VerifiedBundle { dir, ..other }
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn replace(bundle: &mut evidence::verify::VerifiedBundle, report: contract::Report) {
///     bundle.report = report;
/// }
/// ```
#[derive(Debug)]
pub struct VerifiedBundle {
    dir: PathBuf,
    report: Report,
    signer: String,
    attestation_sha256: Digest,
    files: BTreeMap<String, Digest>,
}

/// Mismatch between a bundle and the run it is taken for.
#[derive(Debug, thiserror::Error)]
pub enum VerifyBundleError {
    /// There is no bundle at this path.
    #[error(transparent)]
    Open(OpenBundleError),
    /// It does not verify, or belongs to another run.
    #[error("{}", first_failure(.0))]
    Checks(Vec<Failure>),
}

fn first_failure(failures: &[Failure]) -> String {
    failures
        .first()
        .map_or_else(|| "nobody signed it".to_owned(), |failure| format!("{} {}", failure.file, failure.check))
}

impl VerifiedBundle {
    /// Verifies the bundle at `dir`. Without a run that is asked for, it is the run that
    /// its signed statement names.
    pub fn verify_dir(dir: &Path, keys: &[PublicKey], asked: Option<&AskedRun>) -> Result<Self, VerifyBundleError> {
        let expected: Vec<Expectation> = asked.cloned().map(Expectation::Run).into_iter().collect();
        let checked = verify_bundle(dir, keys, &expected).map_err(VerifyBundleError::Open)?;
        match (checked.report, checked.signer, checked.attestation_sha256) {
            (Some(report), Some(signer), Some(attestation_sha256)) => {
                Ok(Self { dir: dir.to_owned(), report, signer, attestation_sha256, files: checked.files })
            }
            _ => Err(VerifyBundleError::Checks(checked.failures)),
        }
    }

    /// Folder of the bundle.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Digests of all files, as they were verified.
    pub fn file_digests(&self) -> &BTreeMap<String, Digest> {
        &self.files
    }

    /// Content of a file, which is the one that was verified. `NotFound` if the bundle had none of this name; `InvalidData` if it is another
    /// by now.
    pub fn read_file(&self, name: &str) -> io::Result<Vec<u8>> {
        self.read_within(name, u64::MAX)
    }

    /// The same of a file that is not larger.
    pub fn read_within(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let verified = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let bytes = read_named(&self.dir, name, most)?;
        match Digest::of_bytes(&bytes) == *verified {
            true => Ok(bytes),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger, or changed since it was verified")),
        }
    }

    /// Report whose digest, signature and judgement have all been checked.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Id of the key that signed it.
    pub fn signer(&self) -> &str {
        &self.signer
    }

    /// SHA-256 of `attestation.dsse.json` as it was read for the check.
    pub fn attestation_sha256(&self) -> Digest {
        self.attestation_sha256
    }

    /// Report alone, for callers that need no file of the bundle.
    pub fn into_report(self) -> Report {
        self.report
    }
}
