//! A look at whether a pack could be made and would verify elsewhere. Nothing is written:
//! no file, no key.

use std::path::Path;

use evidence::PublicKey;
use evidence::verify::VerifiedBundle;

use super::PackError;
use super::write::{describe_file, list_parts};
use crate::after::audit::{AuditScope, audit};
use crate::home::layout::Home;

/// Reads everything that a pack would carry, and verifies bundles and ledger as the
/// receiver would.
pub fn check_pack(home: &Home, workspace: &Path) -> Result<(), PackError> {
    for (name, file) in &list_parts(home, workspace)? {
        describe_file(name, file)?;
    }
    verify_home(home, &home.trusted_keys()?).map(drop)
}

/// Verifies every bundle by these keys, and the ledger by its chain; the number of bundles.
pub(super) fn verify_home(home: &Home, keys: &[PublicKey]) -> Result<usize, PackError> {
    let found = home.bundles().list_sealed().map_err(|error| PackError::Read(home.root().to_owned(), error))?;
    for folder in &found {
        VerifiedBundle::verify_dir(&folder.dir, keys, None)
            .map_err(|error| PackError::DoesNotVerify(folder.name.clone(), error.to_string()))?;
    }
    let audited = audit(home, AuditScope::Local).map_err(|error| PackError::Failed(error.into()))?;
    match audited.and_then(|audit| audit.problems.into_iter().next()) {
        Some(problem) => Err(PackError::DoesNotVerify("the ledger".to_owned(), format!("{problem:?}"))),
        None => Ok(found.len()),
    }
}
