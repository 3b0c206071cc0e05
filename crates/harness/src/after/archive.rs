//! One portable file of a run: its bundle, the signed statements about it, the public key
//! that signed it, and its baseline where that is asked for and the bundle does not hold
//! it.
//!
//! A tar in one zstd frame, written in exactly one way: plain files only, in the order of
//! their names, every header a function of name and size. So two archives of a run are the
//! same bytes, and reading has nothing to interpret: a header that is not the one we would
//! have written is refused. The key is there for a person who compares it by eye; it is never
//! checked with.

mod entry;
mod export;
mod import;
mod names;
mod read;
mod said;
mod statement;

use std::io;
use std::path::PathBuf;

use contract::{Digest, RunId};
use evidence::verify::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use export::{ExportSource, Exported, export_run};
pub use import::{Imported, OpenedArchive, TakenIn, import_archive, open_archive};
pub(crate) use said::SAID_BY_PEOPLE;
pub(crate) use statement::check_statement;

/// First file of an archive, which identifies it.
const MANIFEST: &str = "archive.json";
const BUNDLE: &str = "bundle";
const STATEMENTS: &str = "statements";
const PUBLIC_KEY: &str = "harness.pub";

/// zstd: the magic of a frame, then a descriptor that says: a checksum, no dictionary, no size.
const FRAME: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0x04];
const LEVEL: i32 = 9;
/// Largest window of a frame, which a reader keeps in memory: 8 MiB, and more than our
/// level needs.
const WINDOW_LOG: u32 = 23;

const FORMAT: &str = "cto-archive";
const VERSION: &str = "1";

/// Limits for writer and reader alike, so that what is exported can be imported. Files and
/// depth are those of `verify`.
const MOST_FILES: usize = 50_000;
const DEEPEST: usize = 32;
/// All content together.
const MOST_BYTES: u64 = 4 << 30;
/// Upper bound on the memory of `verify`: the files at the top of the bundle, its baseline
/// left out.
const MOST_JUDGED: u64 = 512 << 20;
/// Content may be this, and so many times the archive's own size more: beyond is a bomb.
const FREE_BYTES: u64 = 512 << 20;
const RATIO: u64 = 200;
/// Manifest and key are a few lines, a statement is a document.
const LARGEST_NOTE: u64 = 64 << 10;
const LARGEST_STATEMENT: u64 = 64 << 20;

/// `archive.json`: format of the archive, and its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "archive")]
pub struct ArchiveManifest {
    /// Digest of `bundle/attestation.dsse.json`.
    attestation_sha256: Digest,
    /// `cto-archive`.
    format: String,
    run_id: RunId,
    /// `1`.
    schema_version: String,
}

/// Reason why a run cannot be put into an archive.
#[derive(Debug, thiserror::Error)]
pub enum ExportRunError {
    /// The bundle, or what was stated about it, does not verify.
    #[error("{0} does not verify, so it is not exported")]
    Verify(String),
    /// A file that an archive cannot carry.
    #[error("an archive cannot carry `{}`: {why}", contract::text::show_controls(.name))]
    Unfit { name: String, why: &'static str },
    #[error("{0} exists already")]
    Exists(PathBuf),
    /// The place it is to go to.
    #[error("cannot write {0}: {1}")]
    Place(PathBuf, #[source] io::Error),
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot encode the archive's first file: {0}")]
    Encode(#[source] serde_json::Error),
    /// The baseline was asked for and cannot be obtained.
    #[error(transparent)]
    Baseline(crate::after::reverify::ReverifyError),
}

/// Reason why an archive was not taken in. Nothing of it is kept.
#[derive(Debug, thiserror::Error)]
pub enum ImportArchiveError {
    /// The file is no archive of a run.
    #[error("{0} is not an archive of a run: {1}")]
    NotAnArchive(PathBuf, String),
    /// The archive is damaged or malicious: the file of it that shows this, and the fault.
    #[error("`{}` {why}", contract::text::show_controls(.name))]
    Refused { name: String, why: String },
    /// The archive is intact, and its bundle does not verify with the given keys.
    #[error("its bundle does not verify{}", describe_first(.0))]
    DoesNotVerify(Vec<Failure>),
    /// This home has another run of that name.
    #[error("{run_id} is here already, and it is another: {found}")]
    Another { run_id: RunId, found: String },
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Home(crate::home::layout::OpenHomeError),
    #[error("{0}")]
    Ledger(#[source] crate::home::cause::ErrorCause),
}

/// The first of the failed checks, to stand behind a sentence.
fn describe_first(failures: &[Failure]) -> String {
    let first = failures.first().map(|failure| {
        let Failure { file, check, expected, found, .. } = failure;
        format!(": {file} {check}, expected {expected}, found {found}")
    });
    first.unwrap_or_default()
}

fn refused(name: &str, why: impl Into<String>) -> ImportArchiveError {
    ImportArchiveError::Refused { name: name.to_owned(), why: why.into() }
}

/// Largest permitted content of an archive of this size.
fn allowance(archive_bytes: u64) -> u64 {
    MOST_BYTES.min(FREE_BYTES.saturating_add(archive_bytes.saturating_mul(RATIO)))
}
