//! Packs: one file with a workspace, its ledger and its bundles, signed by the harness that made it, for another machine.
//!
//! A tar in one zstd frame: `pack.json` names every other file with size and digest, `pack.sig` is the harness key's signature of
//! it, then the files in the order of their names. Reading follows the signed list and nothing else. No private key travels.

mod check;
mod read;
mod write;

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
pub use read::{SenderTrust, Unpacked, unpack};
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
/// Longest part of a name that every file system takes.
const LONGEST_PART: usize = 255;
/// Folders within folders, far more than a workspace or a bundle has.
const DEEPEST: usize = 64;
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
    #[error(
        "everything in the pack verifies, and its sender is not trusted yet: the harness key {key}, with {people} of people's keys \
         that its home trusts"
    )]
    SenderNotTrusted { key: String, people: usize },
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

/// Problem of a name, which has to lie below `workspace/` or `home/` and to mean one place on every system.
fn name_problem(name: &str) -> Option<&'static str> {
    let has_root = name.starts_with("workspace/") || name.starts_with("home/");
    match () {
        () if !has_root => Some("lies neither in the workspace nor in the home"),
        () if name.len() > LONGEST_NAME => Some("has a name that is too long"),
        () if name.split('/').any(|part| part.len() > LONGEST_PART) => Some("has a name that is too long"),
        () if name.split('/').count() > DEEPEST => Some("lies too deep"),
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

    #[test]
    fn names_have_a_length_and_a_depth() {
        let (part, long) = ("x".repeat(LONGEST_PART), format!("/{}", "x".repeat(100)).repeat(10));
        for (name, why) in [
            (format!("workspace/{part}"), None),
            (format!("workspace/{part}x"), Some("has a name that is too long")),
            (format!("workspace{long}"), None),
            (format!("workspace{long}/12345"), Some("has a name that is too long")),
            (format!("workspace{}", "/a".repeat(DEEPEST - 1)), None),
            (format!("workspace{}", "/a".repeat(DEEPEST)), Some("lies too deep")),
        ] {
            assert_eq!(name_problem(&name), why, "{name}");
        }
    }
}
