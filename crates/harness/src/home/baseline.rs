//! The baseline of a run as one tar: made from a repository for receivers without it, and
//! read from unknown senders.
//!
//! Nothing is ever laid out from it. Its content becomes a listing, and the id of that
//! listing's tree must be the signed one; any fault of the tar makes another tree.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use evidence::tarball::{TarForm, TarKind, TarWriter};
use tar::EntryType;
use tree::{BlobReader, Listing, ListingEntry, Oid, PathMode};
use untrusted_fs::own_files;

/// Larger files are not carried, so that none has to be held in memory that is larger.
const LARGEST: u64 = 256 << 20;
/// Longest name, and longest target of a link.
const LONGEST: u64 = 4096;
const MOST_FILES: usize = 1_000_000;

/// Reason why a baseline cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CarryBaselineError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Tree(#[from] tree::TreeError),
    /// This path, and what is with it.
    #[error("`{}` {}", contract::text::path_text(.0), .1)]
    Unfit(Vec<u8>, &'static str),
}

/// Writes every file of a listing; the same bytes for the same tree.
pub(crate) fn write_tar(
    listing: &Listing,
    blobs: &mut BlobReader<'_>,
    to: &mut impl Write,
) -> Result<(), CarryBaselineError> {
    let mut out = TarWriter::new(TarForm::CarriedBaseline, to);
    for (path, entry) in &listing.0 {
        let unfit = |why| CarryBaselineError::Unfit(path.clone(), why);
        if entry.mode == PathMode::Gitlink {
            return Err(unfit("is a submodule, whose files are elsewhere"));
        }
        let bytes = blobs.blob(entry.oid)?;
        if bytes.len() as u64 > LARGEST {
            return Err(unfit("is too large"));
        }
        add(&mut out, path, entry.mode, &bytes)?;
    }
    out.write_end()?;
    Ok(())
}

fn add(out: &mut TarWriter<impl Write>, path: &[u8], mode: PathMode, bytes: &[u8]) -> io::Result<()> {
    match mode {
        PathMode::Link => out.add_entry(path, TarKind::Link(bytes), &[]),
        PathMode::Executable => out.add_entry(path, TarKind::Executable, bytes),
        PathMode::File | PathMode::Gitlink => out.add_entry(path, TarKind::File, bytes),
    }
}

/// The id of the tree that a tar holds; nothing of it is kept.
pub(crate) fn tree_id(path: &Path) -> Result<Oid, CarryBaselineError> {
    read_tar(path, |bytes| Ok(Oid::of_object("blob", bytes))).map(|listing| listing.tree_id())
}

/// The listing of a tar; every content is handed to `put`, which gives its id.
pub(crate) fn read_tar(
    path: &Path,
    mut put: impl FnMut(&[u8]) -> Result<Oid, tree::TreeError>,
) -> Result<Listing, CarryBaselineError> {
    let mut archive = tar::Archive::new(BufReader::new(own_files::open_file(path)?));
    let mut listing = Listing::default();
    let (mut long_name, mut long_link) = (None, None);
    // Entry by entry as they stand: an entry's header may describe the next one, and is read here,
    // within limits.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => {
                long_name = Some(note(&mut entry)?);
                continue;
            }
            EntryType::GNULongLink => {
                long_link = Some(note(&mut entry)?);
                continue;
            }
            _ => {}
        }
        let name = long_name.take().unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let unfit = |why| CarryBaselineError::Unfit(name.clone(), why);
        let short = entry.header().link_name_bytes().map(|target| target.into_owned());
        let (mode, bytes) = match kind {
            EntryType::Regular if entry.size() > LARGEST => return Err(unfit("is too large")),
            EntryType::Regular => {
                let executable = entry.header().mode()? & 0o111 != 0;
                let mut bytes = Vec::new();
                entry.by_ref().take(LARGEST).read_to_end(&mut bytes)?;
                (if executable { PathMode::Executable } else { PathMode::File }, bytes)
            }
            EntryType::Symlink => (PathMode::Link, long_link.take().or(short).ok_or_else(|| unfit("leads nowhere"))?),
            _ => return Err(unfit("is neither a file nor a link")),
        };
        let plain = Path::new(std::ffi::OsStr::from_bytes(&name)).components();
        if name.is_empty() || !plain.into_iter().all(|part| matches!(part, Component::Normal(_))) {
            return Err(unfit("is no plain path"));
        }
        if listing.0.len() >= MOST_FILES {
            return Err(unfit("is one file too many"));
        }
        let oid = put(&bytes)?;
        if listing.0.insert(name.clone(), ListingEntry { mode, oid }).is_some() {
            return Err(unfit("is there twice"));
        }
    }
    Ok(listing)
}

/// The text of an entry that says something of the next one.
fn note(entry: &mut tar::Entry<'_, impl Read>) -> Result<Vec<u8>, CarryBaselineError> {
    if entry.size() > LONGEST + 1 {
        return Err(CarryBaselineError::Unfit(entry.header().path_bytes().into_owned(), "has a name that is too long"));
    }
    let mut bytes = Vec::new();
    entry.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use tar::Header;

    use super::*;

    /// Contents of every kind that a listing may have, in a tar of ours.
    fn tar(files: &[(&str, PathMode, &str)]) -> Vec<u8> {
        let mut out = TarWriter::new(TarForm::CarriedBaseline, Vec::new());
        for (name, mode, text) in files {
            add(&mut out, name.as_bytes(), *mode, text.as_bytes()).unwrap();
        }
        out.write_end().unwrap()
    }

    fn read_bytes(bytes: &[u8]) -> Result<Listing, CarryBaselineError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar");
        untrusted_fs::own_files::write_file(&path, bytes).unwrap();
        read_tar(&path, |bytes| Ok(Oid::of_object("blob", bytes)))
    }

    #[test]
    fn every_kind_of_file_comes_back() {
        let (deep, far) = (format!("{}/a", "d/".repeat(200)).replace("//", "/"), "../".repeat(100) + "a//./b/");
        let files = [
            ("a", PathMode::File, "one"),
            ("b/run", PathMode::Executable, ""),
            ("c", PathMode::Link, "./a//b/../"),
            (&deep, PathMode::File, "deep"),
            ("e", PathMode::Link, &far),
        ];
        let listing = read_bytes(&tar(&files)).unwrap();
        let expected = files.iter().map(|(name, mode, text)| {
            (name.as_bytes().to_vec(), ListingEntry { mode: *mode, oid: Oid::of_object("blob", text.as_bytes()) })
        });
        assert_eq!(listing.0, expected.collect());
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let entry = |name: &[u8], kind: EntryType, size: u64| {
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_size(size);
            header.set_cksum();
            header.as_bytes().to_vec()
        };
        for (bytes, words) in [
            (entry(b"../a", EntryType::Regular, 0), "is no plain path"),
            (entry(b"/a", EntryType::Regular, 0), "is no plain path"),
            (entry(b"", EntryType::Regular, 0), "is no plain path"),
            (entry(b"a", EntryType::Directory, 0), "is neither a file nor a link"),
            (entry(b"a", EntryType::Fifo, 0), "is neither a file nor a link"),
            (entry(b"a", EntryType::Link, 0), "is neither a file nor a link"),
            (entry(b"a", EntryType::XHeader, 0), "is neither a file nor a link"),
            (entry(b"a", EntryType::Symlink, 0), "leads nowhere"),
            (entry(b"a", EntryType::Regular, LARGEST + 1), "is too large"),
            (entry(b"a", EntryType::GNULongName, 1 << 30), "has a name that is too long"),
            ([entry(b"a", EntryType::Regular, 0), entry(b"a", EntryType::Regular, 0)].concat(), "is there twice"),
        ] {
            let refused = read_bytes(&bytes).unwrap_err().to_string();
            assert!(refused.contains(words), "{words}: {refused}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_come_to_an_end(at in 0_usize..4000, bytes in proptest::collection::vec(proptest::num::u8::ANY, 1..600)) {
            let mut whole = tar(&[("a", PathMode::File, "one"), ("b", PathMode::Link, "a"), ("c", PathMode::Executable, "x")]);
            let at = at.min(whole.len());
            whole.splice(at.., bytes.iter().copied());
            let _ = read_bytes(&whole);
            let _ = read_bytes(&bytes);
        }
    }
}
