//! Packs: one file with a workspace, its ledger and its bundles, signed by the harness that made it, for another machine.
//!
//! A tar in one zstd frame: `pack.json` names every other file with size and digest, `pack.sig` is the harness key's signature of
//! it, then the files in the order of their names. Reading follows the signed list and nothing else. No private key travels.

mod bounded;
mod check;
mod names;
mod private_keys;
mod read;
mod write;

use std::fmt;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use contract::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::home::cause::ErrorCause;
use crate::home::layout::OpenHomeError;
use crate::home::trust::ChangeTrustError;

pub use check::check_pack;
pub use read::{SenderTrust, Unpacked, unpack_pack};
pub use write::{Packed, write_pack};

const MANIFEST: &str = "pack.json";
const SIGNATURE: &str = "pack.sig";
const FORMAT: &str = "cto-pack";
const VERSION: &str = "1";
/// Begins what is signed, so that a signature of something else is never one of a pack.
const SIGNED_AS: &[u8] = b"cto-pack@v1\n";
const MOST_FILES: usize = 1_000_000;
const LARGEST_MANIFEST: u64 = 256 << 20;
const MOST_BYTES: u64 = 64 << 30;
/// Plain bytes for each byte of the file beyond which a pack is a bomb, and the size up to which nobody minds.
const MOST_RATIO: u64 = 200;
const FREE_OF_RATIO: u64 = 64 << 20;

/// `pack.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "pack")]
pub struct PackManifest {
    format: String,
    schema_version: String,
    ledger_id: Option<String>,
    /// Sorted by name.
    files: Vec<PackedFile>,
}

/// A file of a pack: `workspace/...` or `home/...`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PackedFile {
    name: String,
    size: u64,
    sha256: Digest,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    executable: bool,
}

/// Reason why nothing was packed or unpacked. What was there before is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
    #[error("a pack cannot carry `{}`: {why}", contract::text::show_controls(.name))]
    Unfit { name: String, why: &'static str },
    #[error("{0} is not a pack: {1}")]
    NotAPack(PathBuf, String),
    #[error("`{}` {why}", contract::text::show_controls(.name))]
    Refused { name: String, why: String },
    #[error("the pack is signed by none of the given keys")]
    OtherKey,
    #[error("{0} does not verify after unpacking: {1}")]
    DoesNotVerify(String, String),
    #[error("the pack verifies, and its sender is not trusted yet: harness key {key}, with {trust}")]
    SenderNotTrusted { key: String, trust: SentTrust },
    #[error("the workspace {0} is itself a home, whose keys and trust stay on this machine")]
    HomeIsWorkspace(PathBuf),
    #[error("{0} exists already and is not empty")]
    Occupied(PathBuf),
    #[error(transparent)]
    Trust(#[from] ChangeTrustError),
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    #[error("{0}")]
    Failed(#[source] ErrorCause),
    #[error("cannot encode the list of files: {0}")]
    Encode(#[source] serde_json::Error),
}

/// Everything of a sender's trust that would count in the receiver's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SentTrust {
    /// Keys of people, whose approvals count.
    pub people: usize,
    /// Keys of further harnesses, whose bundles count.
    pub harnesses: usize,
    /// Imported runs, each with the key that it was checked with.
    pub imports: usize,
    /// True if rules about approvals come with it.
    pub approval_policy: bool,
}

impl fmt::Display for SentTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { people, harnesses, imports, approval_policy } = self;
        let policy = if *approval_policy { "an approval policy" } else { "no approval policy" };
        write!(f, "{people} of people's keys, {harnesses} of other harnesses, {imports} imported runs and {policy}")
    }
}

/// Bytes that the harness key signs.
fn signed_bytes(manifest: &[u8]) -> Vec<u8> {
    [SIGNED_AS, manifest].concat()
}

/// Copies bytes as they are read, so that no file has to fit into memory; their number and digest.
fn copy_digested(mut from: impl Read, to: &mut impl Write) -> io::Result<(u64, Digest)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    let mut size = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok((size, Digest::from_bytes(hasher.finalize().into()))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        size += count as u64;
    }
}
