//! Packs: one file with a workspace, its ledger and its bundles, signed by the harness that made it, for another machine.
//!
//! A tar in one zstd frame: `pack.json` names every other file with size and digest, `pack.sig` is the harness key's signature of
//! it, then the files in the order of their names. Reading follows the signed list and nothing else. No private key travels.

mod read;
mod write;

use std::io;
use std::path::PathBuf;

use contract::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::home::cause::ErrorCause;
use crate::home::layout::OpenHomeError;

pub use read::{Unpacked, unpack};
pub use write::{Packed, pack};

const MANIFEST: &str = "pack.json";
const SIGNATURE: &str = "pack.sig";
const FORMAT: &str = "cto-pack";
const VERSION: &str = "1";
/// Begins what is signed, so that a signature of something else is never one of a pack.
const SIGNED_AS: &[u8] = b"cto-pack@v1\n";
const MOST_FILES: usize = 1_000_000;
const LARGEST_MANIFEST: u64 = 256 << 20;
const MOST_BYTES: u64 = 64 << 30;
const LONGEST_NAME: usize = 1024;

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
    #[error("a pack cannot carry `{}`: {why}", contract::text::shown(.name))]
    Unfit { name: String, why: &'static str },
    #[error("{0} is not a pack: {1}")]
    NotAPack(PathBuf, String),
    #[error("`{}` {why}", contract::text::shown(.name))]
    Refused { name: String, why: String },
    #[error("the pack is signed by none of the given keys")]
    OtherKey,
    #[error("{0} does not verify after unpacking: {1}")]
    DoesNotVerify(String, String),
    #[error("{0} exists already and is not empty")]
    Occupied(PathBuf),
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    #[error("{0}")]
    Failed(#[source] ErrorCause),
    #[error("cannot encode the list of files: {0}")]
    Encode(#[source] serde_json::Error),
}

/// Bytes that the harness key signs.
fn signed_bytes(manifest: &[u8]) -> Vec<u8> {
    [SIGNED_AS, manifest].concat()
}

/// Problem of a name, which has to lie below `workspace/` or `home/` and to mean one place on every system.
fn name_problem(name: &str) -> Option<&'static str> {
    let has_root = name.starts_with("workspace/") || name.starts_with("home/");
    match () {
        () if !has_root => Some("lies neither in the workspace nor in the home"),
        () if name.len() > LONGEST_NAME => Some("has a name that is too long"),
        () if name.chars().any(char::is_control) || name.contains('\\') => {
            Some("has a name with a control character or backslash")
        }
        () if name.split('/').any(|part| matches!(part, "" | "." | "..")) => Some("leads out of the pack"),
        () if is_secret_name(name) => Some("could be a private key, which never travels"),
        () => None,
    }
}

/// Places of private keys in a home.
fn is_secret_name(name: &str) -> bool {
    name.starts_with("home/keys/") || name == "workspace/.env"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lie_in_their_places_and_no_key_travels() {
        for (name, why) in [
            ("workspace/a/b", None),
            ("home/ledger.db", None),
            ("etc/passwd", Some("lies neither in the workspace nor in the home")),
            ("/workspace/a", Some("lies neither in the workspace nor in the home")),
            ("workspace/../a", Some("leads out of the pack")),
            ("workspace//a", Some("leads out of the pack")),
            ("home/keys/harness.pem", Some("could be a private key, which never travels")),
            ("workspace/a\nb", Some("has a name with a control character or backslash")),
        ] {
            assert_eq!(name_problem(name), why, "{name}");
        }
    }
}
