//! `trust/continuity.json`: the last entry about approvals that this home wrote. It has two
//! slots of a disk sector each. The one that does not hold the newest entry is written
//! over, so that a power cut leaves the other, and remembering costs one flush of data.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use contract::{Digest, canonical_bytes};
use evidence::stop;
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files;

const SLOT: usize = 512;

/// An entry, in the ledger and the home that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LastEntry {
    /// Id of the ledger.
    pub(super) ledger_id: String,
    /// Identity of the home.
    pub(super) instance_id: Digest,
    /// Number of the entry.
    pub(super) seq: u64,
    /// Digest of the entry.
    pub(super) hash: Digest,
}

impl LastEntry {
    /// True for the same ledger and home, so that entry numbers can be compared.
    fn continues(&self, other: &Self) -> bool {
        (&self.ledger_id, self.instance_id) == (&other.ledger_id, other.instance_id)
    }

    fn to_slot(&self) -> io::Result<Vec<u8>> {
        let mut bytes = canonical_bytes(self).map_err(io::Error::other)?;
        if bytes.len() >= SLOT {
            return Err(io::Error::other("an entry is too long to be remembered"));
        }
        bytes.resize(SLOT - 1, b' ');
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// The remembered entry; none where there is no file.
pub(super) fn read_memory(file: &Path) -> Result<Option<LastEntry>, String> {
    match own_files::read_file(file) {
        Ok(bytes) => newest(&bytes).map(|(_, last)| Some(last)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The newest entry and its slot. One slot may be torn or empty; a whole file of none is an
/// error.
fn newest(bytes: &[u8]) -> Result<(usize, LastEntry), String> {
    let mut why = "it is empty".to_owned();
    let mut found: Option<(usize, LastEntry)> = None;
    for (at, slot) in bytes.chunks(SLOT).enumerate().filter(|(_, slot)| !slot.trim_ascii().is_empty()) {
        match serde_json::from_slice::<LastEntry>(slot) {
            Ok(last) if found.as_ref().is_none_or(|(_, known)| known.seq < last.seq) => found = Some((at, last)),
            Ok(_) => {}
            Err(error) => why = error.to_string(),
        }
    }
    found.ok_or(why)
}

/// Remembers an entry where it is newer than the remembered one. The caller holds the lock
/// of `folder`, so that of two who read the same, the later to write is not the one with
/// the earlier entry.
pub(super) fn remember_entry(file: &Path, folder: &File, last: &LastEntry) -> io::Result<()> {
    let bytes = own_files::read_file(file).unwrap_or_default();
    match newest(&bytes) {
        Ok((_, known)) if known.continues(last) && known.seq >= last.seq => Ok(()),
        Ok((at, known)) if known.continues(last) && bytes.len() == 2 * SLOT => write_slot(file, 1 - at, last),
        _ => replace_memory(file, folder, last),
    }
}

fn write_slot(file: &Path, at: usize, last: &LastEntry) -> io::Result<()> {
    let open = own_files::open_to_write(file)?;
    open.write_all_at(&last.to_slot()?, (at * SLOT) as u64)?;
    stop::pass_place("continuity.written");
    open.sync_data()
}

/// Forgets what was remembered. A process that is killed leaves at most the file's name beside it.
pub(super) fn replace_memory(file: &Path, folder: &File, last: &LastEntry) -> io::Result<()> {
    let aside = file.with_extension("new");
    let mut open = own_files::create_file(&aside)?;
    open.write_all(&last.to_slot()?)?;
    open.write_all(&[b' '; SLOT])?;
    open.sync_all()?;
    stop::pass_place("continuity.replaced");
    fs::rename(&aside, file)?;
    folder.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> LastEntry {
        let hash = Digest::of_bytes(&seq.to_be_bytes());
        LastEntry { ledger_id: "ledger".to_owned(), instance_id: Digest::of_bytes(b"home"), seq, hash }
    }

    #[test]
    fn one_torn_slot_loses_only_the_entry_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (file, lock) = (folder.path().join("continuity.json"), own_files::open_folder(folder.path()).unwrap());
        assert_eq!(read_memory(&file), Ok(None));
        for seq in 1..=4 {
            remember_entry(&file, &lock, &entry(seq)).unwrap();
            assert_eq!(read_memory(&file), Ok(Some(entry(seq))));
        }
        remember_entry(&file, &lock, &entry(2)).unwrap();
        assert_eq!(read_memory(&file), Ok(Some(entry(4))), "an older entry is not remembered again");

        let whole = own_files::read_file(&file).unwrap();
        for (torn, expected) in [(0..SLOT / 4, 4), (SLOT..SLOT + SLOT / 4, 3)] {
            let mut bytes = whole.clone();
            bytes[torn.clone()].fill(0);
            own_files::write_file(&file, bytes).unwrap();
            assert_eq!(read_memory(&file), Ok(Some(entry(expected))), "{torn:?}");
        }
        own_files::write_file(&file, [0; 2 * SLOT]).unwrap();
        assert!(read_memory(&file).is_err(), "nothing is left to continue");

        own_files::write_file(&file, canonical_bytes(&entry(5)).unwrap()).unwrap();
        assert_eq!(read_memory(&file), Ok(Some(entry(5))), "a file without slots");
        remember_entry(&file, &lock, &entry(6)).unwrap();
        remember_entry(&file, &lock, &LastEntry { ledger_id: "another".to_owned(), ..entry(1) }).unwrap();
        assert_eq!(
            read_memory(&file).unwrap().unwrap().ledger_id,
            "another",
            "numbers of two ledgers are not compared"
        );
    }
}
