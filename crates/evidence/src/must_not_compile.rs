//! Proofs that the types forbid, also inside this crate. `cargo xtask ci` compiles this file with its crate and expects exactly the
//! error named at the end of each line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contract::{Digest, Report};

use crate::verify::VerifiedBundle;

type FileDigests = BTreeMap<String, Digest>;

fn forge_verified(dir: PathBuf, report: Report, signer: String, digest: Digest, files: FileDigests) -> VerifiedBundle {
    VerifiedBundle { dir, report, signer, attestation_sha256: digest, files } //~ E0451
}
