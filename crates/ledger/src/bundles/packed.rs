//! A bundle as one object: a line with the name of the format, a line with every file's path, size and digest, then their bytes in that
//! order. The same folder is the same bytes. Nothing in it is believed: a file that is not as its line says is none.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use contract::{Digest, canonical_text};
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files::{self, OwnOptions as _};

/// More than a bundle has; it is held in memory while it is sent.
pub(super) const LARGEST_PACKED: u64 = 512 << 20;
/// The name of the file with the list, beside the folder of a bundle that was fetched.
pub(super) const LIST_FILE: &str = "files.json";
/// Bytes of the list of files at most.
pub(super) const LARGEST_LIST: u64 = 16 << 20;
const FORMAT: &str = "cto-packed-bundle@v1";

/// One file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackedFile {
    path: String,
    sha256: Digest,
    size: u64,
}

/// All files of a bundle, by path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PackedList {
    files: Vec<PackedFile>,
}

/// Bytes that are no packed bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnpackBundleError(&'static str);

impl PackedList {
    /// The files of a folder, and their bytes one after the other.
    fn of_folder(folder: &Path) -> io::Result<(Self, Vec<u8>)> {
        let (mut files, mut content) = (Vec::new(), Vec::new());
        for path in list_files(folder)? {
            let left = LARGEST_PACKED.saturating_sub(content.len() as u64);
            let bytes = untrusted_fs::read_plain(folder, path.as_bytes(), left);
            let bytes = bytes.ok_or_else(|| io::Error::other(format!("{path} cannot be read, or is too large")))?;
            files.push(PackedFile { path, sha256: Digest::of_bytes(&bytes), size: bytes.len() as u64 });
            content.extend_from_slice(&bytes);
        }
        Ok((Self { files }, content))
    }

    /// True if the folder has these files, and no others.
    pub(super) fn matches_folder(&self, folder: &Path) -> bool {
        Self::of_folder(folder).is_ok_and(|(found, _)| found == *self)
    }

    /// True if one of the files has this digest.
    pub(super) fn has_digest(&self, digest: Digest) -> bool {
        self.files.iter().any(|file| file.sha256 == digest)
    }

    /// Reads a list and refuses names and sizes that no bundle has.
    pub(super) fn parse_list(bytes: &[u8]) -> Result<Self, UnpackBundleError> {
        let list: Self = serde_json::from_slice(bytes).map_err(|_| UnpackBundleError("its list cannot be read"))?;
        let is_ordered = list.files.windows(2).all(|pair| pair[0].path < pair[1].path);
        match is_ordered && list.files.iter().all(|file| is_inner_path(&file.path)) {
            true => Ok(list),
            false => Err(UnpackBundleError("its list names files that no bundle has")),
        }
    }

    /// The list as one line of canonical JSON.
    pub(super) fn to_text(&self) -> io::Result<String> {
        canonical_text(self).map_err(io::Error::other)
    }
}

/// A bundle that came as one object, each file as its line says.
pub(super) struct PackedBundle<'a> {
    pub(super) list: PackedList,
    contents: Vec<&'a [u8]>,
}

impl<'a> PackedBundle<'a> {
    /// Splits a packed bundle into its list and the bytes of its files.
    pub(super) fn parse_bundle(bytes: &'a [u8]) -> Result<Self, UnpackBundleError> {
        let (format, rest) = split_line(bytes).ok_or(UnpackBundleError("it has no format"))?;
        if format != FORMAT.as_bytes() {
            return Err(UnpackBundleError("it is of another format"));
        }
        let (list, mut rest) = split_line(rest).ok_or(UnpackBundleError("it has no list"))?;
        let list = PackedList::parse_list(list)?;
        let mut contents = Vec::new();
        for file in &list.files {
            let size = usize::try_from(file.size).ok().filter(|size| *size <= rest.len());
            let (content, after) = rest.split_at(size.ok_or(UnpackBundleError("it ends in the middle"))?);
            if Digest::of_bytes(content) != file.sha256 {
                return Err(UnpackBundleError("a file has other bytes than its list says"));
            }
            contents.push(content);
            rest = after;
        }
        match rest.is_empty() {
            true => Ok(Self { list, contents }),
            false => Err(UnpackBundleError("it is longer than its list says")),
        }
    }

    /// Writes the files into a folder that nobody else uses yet.
    pub(super) fn lay_out(&self, folder: &Path) -> io::Result<()> {
        let make_folder = |path: &Path| DirBuilder::new().mode(0o700).recursive(true).create(path);
        make_folder(folder)?;
        for (file, content) in self.list.files.iter().zip(&self.contents) {
            let path = folder.join(&file.path);
            path.parent().map(make_folder).transpose()?;
            OpenOptions::new().write(true).create_new(true).mode(0o600).own_open(&path)?.write_all(content)?;
        }
        Ok(())
    }
}

/// The folder of a bundle as one object.
pub(super) fn pack_folder(folder: &Path) -> io::Result<Vec<u8>> {
    let (list, content) = PackedList::of_folder(folder)?;
    Ok([format!("{FORMAT}\n{}\n", list.to_text()?).as_bytes(), &content].concat())
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// A path that stays below the folder that it is joined to.
fn is_inner_path(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let again = || Path::new(path).components().collect::<std::path::PathBuf>();
    !path.is_empty() && Path::new(path).components().all(is_plain) && again().as_os_str() == path
}

/// Paths of all plain files below a folder, in order. Anything else that lies there is an error.
fn list_files(folder: &Path) -> io::Result<Vec<String>> {
    let (mut found, mut open) = (Vec::new(), vec![String::new()]);
    while let Some(below) = open.pop() {
        for entry in own_files::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is no text"))?;
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            match entry.file_type()? {
                kind if kind.is_dir() => open.push(path),
                kind if kind.is_file() => found.push(path),
                _ => return Err(io::Error::other(format!("{path} is neither a file nor a folder"))),
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        DirBuilder::new().recursive(true).create(folder.path().join("backend/deep")).unwrap();
        for (path, text) in [("report.json", "{}"), ("backend/a.log", ""), ("backend/deep/b", "b\n")] {
            own_files::write_file(folder.path().join(path), text).unwrap();
        }
        let packed = pack_folder(folder.path()).unwrap();
        (folder, packed)
    }

    #[test]
    fn a_bundle_comes_back_as_it_went() {
        let (folder, packed) = sample();
        let to = tempfile::tempdir().unwrap();
        let bundle = PackedBundle::parse_bundle(&packed).unwrap();
        bundle.lay_out(&to.path().join("bundle")).unwrap();
        assert_eq!(pack_folder(&to.path().join("bundle")).unwrap(), packed);
        assert!(bundle.list.matches_folder(folder.path()));
        assert!(bundle.list.has_digest(Digest::of_bytes(b"{}")) && !bundle.list.has_digest(Digest::of_bytes(b"x")));
        own_files::write_file(folder.path().join("more"), "").unwrap();
        assert!(!bundle.list.matches_folder(folder.path()), "a file more");
    }

    /// Only a path can be changed for another, which the signed list of the bundle does not have.
    #[test]
    fn bytes_that_were_changed_are_no_bundle() {
        let (_folder, packed) = sample();
        let whole = PackedBundle::parse_bundle(&packed).unwrap();
        let digests = |list: &PackedList| list.files.iter().map(|file| (file.sha256, file.size)).collect::<Vec<_>>();
        for place in 0..packed.len() {
            let mut changed = packed.clone();
            changed[place] ^= 1;
            if let Ok(other) = PackedBundle::parse_bundle(&changed) {
                assert!(other.list != whole.list && digests(&other.list) == digests(&whole.list), "byte {place}");
            }
            assert!(PackedBundle::parse_bundle(&packed[..place]).is_err(), "cut at {place}");
        }
        assert!(PackedBundle::parse_bundle(&[packed.as_slice(), b"x"].concat()).is_err(), "a byte more");
        assert!(PackedBundle::parse_bundle(&packed).is_ok(), "the control");
    }

    #[test]
    fn a_list_stays_below_its_folder() {
        let list = |path: &str| {
            let (sha256, size) = (Digest::of_bytes(b""), 0);
            let list = PackedList { files: vec![PackedFile { path: path.to_owned(), sha256, size }] };
            PackedList::parse_list(list.to_text().unwrap().as_bytes())
        };
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a/./b"] {
            assert!(list(path).is_err(), "{path}");
        }
        assert!(list("a/b").is_ok(), "the control");
    }
}
