//! Objects outside a pack: their kinds, and the loose files a git child leaves behind.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::ZlibDecoder;
use untrusted_fs::own_files;

use crate::error::{Doing, TreeError, malformed};
use crate::oid::Oid;

/// The kinds of object the harness handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// An object: its kind and its bytes.
pub(crate) type Object = (ObjectKind, Vec<u8>);

impl ObjectKind {
    /// Word of the kind in object headers.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ObjectKind::Blob => "blob",
            ObjectKind::Tree => "tree",
            ObjectKind::Commit => "commit",
            ObjectKind::Tag => "tag",
        }
    }

    /// Kind of a header's word; none if git knows no such kind.
    pub(crate) fn from_word(word: &[u8]) -> Option<ObjectKind> {
        [ObjectKind::Blob, ObjectKind::Tree, ObjectKind::Commit, ObjectKind::Tag]
            .into_iter()
            .find(|kind| kind.word().as_bytes() == word)
    }
}

/// Reads a loose object; none if there is no such file.
pub(crate) fn read_loose(objects: &Path, oid: Oid) -> Result<Option<Object>, TreeError> {
    let hex = oid.to_string();
    let path = objects.join(&hex[..2]).join(&hex[2..]);
    let packed = match own_files::read_file(&path) {
        Ok(packed) => packed,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e).doing("reading object file", &path),
    };
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed.as_slice()).read_to_end(&mut bytes).doing("inflating object file", &path)?;
    split_header(bytes).map(Some).ok_or_else(|| malformed("loose object", oid.to_string()))
}

fn split_header(mut bytes: Vec<u8>) -> Option<Object> {
    let nul = bytes.iter().position(|b| *b == 0)?;
    let space = bytes[..nul].iter().position(|b| *b == b' ')?;
    let kind = ObjectKind::from_word(&bytes[..space])?;
    let size: usize = std::str::from_utf8(&bytes[space + 1..nul]).ok()?.parse().ok()?;
    bytes.drain(..=nul);
    (bytes.len() == size).then_some((kind, bytes))
}
