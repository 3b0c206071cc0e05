//! Any bytes at all: no panic, an end, and nothing read that `cto export` would have written in another way.

use std::io::Write as _;

use evidence::tarball::{TarForm, TarKind, TarWriter};
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::{FRAME, LEVEL};
use super::*;

type Files = Vec<(String, Vec<u8>)>;

fn tar_of(files: &Files) -> Vec<u8> {
    let mut tar = TarWriter::new(TarForm::Archive, Vec::new());
    for (name, bytes) in files {
        tar.add_entry(name.as_bytes(), TarKind::File, bytes).unwrap();
    }
    tar.write_end().unwrap()
}

fn compressed(tar: &[u8]) -> Vec<u8> {
    let mut out = zstd::stream::write::Encoder::new(Vec::new(), LEVEL).unwrap();
    out.include_checksum(true).unwrap();
    out.write_all(tar).unwrap();
    out.finish().unwrap()
}

/// Every file of these bytes, or why there is none.
fn read_all(bytes: &[u8]) -> Result<Files, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    untrusted_fs::own_files::write_file(&path, bytes).unwrap();
    let mut reader = ArchiveReader::open_archive(&path).map_err(|error| error.to_string())?;
    let mut files = Files::new();
    while let Some(entry) = reader.next_entry().map_err(|error| error.to_string())? {
        let mut content = Vec::new();
        reader.copy_entry(&entry, &mut content, &path).map_err(|error| error.to_string())?;
        files.push((entry.name, content));
    }
    Ok(files)
}

fn good() -> Files {
    let long = format!("bundle/backend/{}/deep.log", "a".repeat(180));
    [("archive.json", "{}"), (&long, "x"), ("bundle/patch.diff", ""), ("bundle/report.json", "{\"a\":1}")]
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    /// Whole blocks, so that what follows still begins where a header may.
    Repeat(Index, usize),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), 1_usize..600).prop_map(|(at, count)| Change::Delete(at, count)),
        (any::<Index>(), 1_usize..4).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

fn changed(bytes: &[u8], change: &Change) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match change {
        Change::Flip(at, bit) => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Change::Insert(at, more) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more.iter().copied());
        }
        Change::Delete(at, count) => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Change::Repeat(at, count) => {
            let at = at.index(bytes.len() / BLOCK) * BLOCK;
            let block = bytes[at..at + BLOCK].repeat(*count);
            bytes.splice(at..at, block);
        }
    }
    bytes
}

#[test]
fn what_is_written_is_read() {
    let tar = tar_of(&good());
    assert_eq!(compressed(&tar)[..FRAME.len()], FRAME, "this is how frames begin");
    assert_eq!(read_all(&compressed(&tar)).unwrap(), good());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// There is one way to write what was read: were there two, two readers could see two archives in one.
    #[test]
    fn a_changed_tar_is_refused_or_means_what_it_says(changes in prop::collection::vec(any_change(), 1..4)) {
        let tar = changes.iter().fold(tar_of(&good()), |tar, change| changed(&tar, change));
        if let Ok(files) = read_all(&compressed(&tar)) {
            prop_assert_eq!(tar_of(&files), tar);
        }
    }

    #[test]
    fn changed_compressed_bytes_are_refused_or_change_nothing(change in any_change()) {
        let whole = compressed(&tar_of(&good()));
        let bytes = changed(&[whole.as_slice(), &vec![0; BLOCK]].concat(), &change);
        if let Ok(files) = read_all(&bytes) {
            prop_assert_eq!(files, good());
        }
    }

    #[test]
    fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        prop_assert!(read_all(&bytes).is_err());
        prop_assert!(read_all(&[&FRAME, bytes.as_slice()].concat()).is_err());
        let first = tar_of(&vec![good()[0].clone()]);
        let tar = [&first[..first.len() - 2 * BLOCK], &bytes].concat();
        prop_assert!(read_all(&compressed(&tar)).is_err());
    }
}
