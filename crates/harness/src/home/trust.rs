//! The files that list whom this home trusts. They change under a lock, whole, and never
//! without an entry in the ledger.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use contract::{Digest, Stamp};
use evidence::stop;
use ledger::{Entry, EntryKind, ReadLedgerError};
use serde_json::{Value, json};
use untrusted_fs::own_files::{self, OwnOptions as _};

use crate::home::layout::{Home, OpenHomeError};
use crate::home::token::random_suffix;

/// A file of `trust/` that `cto trust` changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustFile {
    AllowedSigners,
    CompromisedKeys,
    Workspaces,
    /// Keys of the harnesses whose packs the home was made of.
    HarnessKeys,
}

impl TrustFile {
    /// Every value, in order.
    pub const ALL: [Self; 4] = [Self::AllowedSigners, Self::CompromisedKeys, Self::Workspaces, Self::HarnessKeys];

    /// File name below `trust/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllowedSigners => "allowed_signers",
            Self::CompromisedKeys => "compromised.json",
            Self::Workspaces => "workspaces",
            Self::HarnessKeys => "harness_keys",
        }
    }

    /// Path in a home.
    pub fn path_in(self, home: &Home) -> PathBuf {
        home.root().join("trust").join(self.name())
    }
}

/// A change of a trust file: its new bytes, and its ledger entry.
#[derive(Debug)]
pub struct TrustEdit {
    /// New content of the file.
    pub bytes: Vec<u8>,
    /// Verb, such as `key_added`.
    pub act: &'static str,
    /// Details for the ledger's entry.
    pub detail: Value,
}

/// Reason why a trust file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeTrustError {
    #[error("cannot change {}: {error}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    #[error("the ledger cannot be told, so nothing was changed: {0}")]
    Ledger(#[source] ledger::AppendEntryError),
}

/// Changes a trust file by `edit`; none changes nothing. The new file is written aside, the
/// ledger gets an entry, and then one rename makes it count: a change without an entry
/// never counts.
pub fn change_trust<E: From<ChangeTrustError>>(
    home: &Home,
    file: TrustFile,
    now: Stamp,
    edit: impl FnOnce(&[u8]) -> Result<Option<TrustEdit>, E>,
) -> Result<bool, E> {
    let path = file.path_in(home);
    let failed = |error| ChangeTrustError::File { path: path.clone(), error };
    let folder = own_files::open_folder(home.root().join("trust")).map_err(failed)?;
    folder.lock().map_err(failed)?;
    let before = read_if_there(&path).map_err(failed)?;
    let Some(change) = edit(before.as_deref().unwrap_or_default())? else { return Ok(false) };
    let aside = write_aside(&path, &change.bytes).map_err(failed)?;
    let told = tell_ledger(home, file, now, before.as_deref(), &change);
    stop::pass_place("trust.told");
    let placed = told.and_then(|()| fs::rename(&aside, &path).and_then(|()| folder.sync_all()).map_err(failed));
    if let Err(error) = placed {
        let _ = fs::remove_file(&aside);
        return Err(error.into());
    }
    Ok(true)
}

fn tell_ledger(
    home: &Home,
    file: TrustFile,
    now: Stamp,
    before: Option<&[u8]>,
    change: &TrustEdit,
) -> Result<(), ChangeTrustError> {
    let body = json!({
        "act": change.act,
        "after": Digest::of_bytes(&change.bytes),
        "before": before.map(Digest::of_bytes),
        "detail": change.detail,
        "file": file.name(),
        "home": home.instance()?,
    });
    let ledger = home.ledger()?;
    ledger.append(EntryKind::TrustChanged, None, now, &body).map(drop).map_err(ChangeTrustError::Ledger)
}

fn write_aside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let aside = path.with_file_name(format!(".new-{}-{}", std::process::id(), random_suffix()?));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(aside)
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match own_files::read_file(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A trust file that is not as the ledger's last entry about it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustLog {
    pub file: TrustFile,
    pub path: PathBuf,
    /// True if the file exists and no entry mentions it.
    pub never_logged: bool,
}

/// Finds trust files that were changed by hand.
pub fn find_unlogged_trust(home: &Home) -> Result<Vec<TrustLog>, FindTrustError> {
    let entries = match home.ledger_to_read()? {
        Some(ledger) => ledger.entries_of(&[EntryKind::TrustChanged], None)?,
        None => Vec::new(),
    };
    // Homes that share a ledger have trust files of their own.
    let own = if home.shares_ledger() { Some(home.instance()?.to_string()) } else { None };
    let mut unlogged = Vec::new();
    for file in TrustFile::ALL {
        let path = file.path_in(home);
        let found = read_if_there(&path).map_err(|error| FindTrustError::File { path: path.clone(), error })?;
        let last = entries.iter().rev().find(|entry| is_about(entry, file, own.as_deref()));
        let logged = last.and_then(|entry| entry.body["after"].as_str());
        if found.as_deref().map(|bytes| Digest::of_bytes(bytes).to_string()).as_deref() != logged {
            unlogged.push(TrustLog { file, path, never_logged: last.is_none() });
        }
    }
    Ok(unlogged)
}

fn is_about(entry: &Entry, file: TrustFile, home: Option<&str>) -> bool {
    entry.body["file"] == file.name() && home.is_none_or(|home| entry.body["home"] == home)
}

/// Reason why trust files and ledger cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum FindTrustError {
    #[error("cannot read {}: {error}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    Home(#[from] OpenHomeError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::home::layout::HomePlace;

    fn now() -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap()
    }

    fn add(home: &Home, text: &str) -> bool {
        let edit = |before: &[u8]| {
            let bytes = [before, text.as_bytes()].concat();
            Ok::<_, ChangeTrustError>(Some(TrustEdit { bytes, act: "key_added", detail: Value::Null }))
        };
        change_trust(home, TrustFile::AllowedSigners, now(), edit).unwrap()
    }

    #[test]
    fn a_change_is_in_the_ledger_and_one_by_hand_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create_folders(&HomePlace::from(folder.path().join("home"))).unwrap();
        assert!(find_unlogged_trust(&home).unwrap().is_empty());
        assert!(add(&home, "a\n") && add(&home, "b\n"));
        let path = TrustFile::AllowedSigners.path_in(&home);
        assert_eq!(own_files::read_to_string(&path).unwrap(), "a\nb\n");
        assert!(find_unlogged_trust(&home).unwrap().is_empty(), "the control");
        let entries = home.ledger().unwrap().entries_of(&[EntryKind::TrustChanged], Some(now())).unwrap();
        assert_eq!((entries.len(), &entries[0].body["before"]), (2, &Value::Null));
        assert_eq!(entries[0].body["after"], entries[1].body["before"]);
        own_files::write_file(&path, "a\nb\nc\n").unwrap();
        let found = find_unlogged_trust(&home).unwrap();
        assert_eq!((found.len(), found[0].file, found[0].never_logged), (1, TrustFile::AllowedSigners, false));
        own_files::write_file(TrustFile::Workspaces.path_in(&home), "/srv\n").unwrap();
        assert!(find_unlogged_trust(&home).unwrap()[1].never_logged);
    }

    #[test]
    fn nothing_counts_that_the_ledger_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create_folders(&HomePlace::from(folder.path().join("home"))).unwrap();
        std::fs::create_dir(home.ledger_place().as_file().unwrap()).unwrap();
        let edit = |_: &[u8]| {
            Ok::<_, ChangeTrustError>(Some(TrustEdit { bytes: b"a".to_vec(), act: "key_added", detail: Value::Null }))
        };
        assert!(change_trust(&home, TrustFile::AllowedSigners, now(), edit).is_err());
        assert_eq!(own_files::read_dir(home.root().join("trust")).unwrap().count(), 0);
    }
}
