//! Values that specifications and vendors print as examples. They are known by digest alone, so that nothing that merely
//! looks like one of them is passed over.

use sha2::{Digest as _, Sha256};

/// Whether the value is one of the published examples.
pub(crate) fn is_documented(value: &[u8]) -> bool {
    let digest: [u8; 32] = Sha256::digest(value).into();
    DOCUMENTED.binary_search_by(|(known, _)| known.cmp(&digest)).is_ok()
}

/// Digest and source, in the order of the digests.
const DOCUMENTED: &[([u8; 32], &str)] = &[];
