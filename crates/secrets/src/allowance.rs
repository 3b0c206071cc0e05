//! Shapes that a person has reviewed and allows at one place.

use sha2::{Digest as _, Sha256};

use crate::baseline::bare;

/// Permission for one value of one rule in one file of a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Allowance {
    /// The id of the rule that finds it.
    pub rule: String,
    /// The file, literally, from the root of the repository.
    pub path: String,
    /// The SHA-256 of the value without its line breaks.
    pub value_sha256: [u8; 32],
}

/// The digest by which a value is allowed: a key is the same key however it is wrapped.
pub(crate) fn value_digest(value: &[u8]) -> [u8; 32] {
    Sha256::digest(bare(value)).into()
}

/// True if one of them is for this value, in whatever file.
pub(crate) fn allows_somewhere(allowances: &[Allowance], rule: &str, digest: &[u8; 32]) -> bool {
    allowances.iter().any(|allowance| allowance.rule == rule && allowance.value_sha256 == *digest)
}

/// True if one of them is for this value in this file.
pub(crate) fn allows_at(allowances: &[Allowance], rule: &str, digest: &[u8; 32], path: &str) -> bool {
    let is_it =
        |allowance: &Allowance| allowance.path == path && allowance.rule == rule && allowance.value_sha256 == *digest;
    allowances.iter().any(is_it)
}
