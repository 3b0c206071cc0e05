//! Git index files: written in process as version 2, read in versions 2 to 4.

use sha1::{Digest, Sha1};

use crate::error::{TreeError, malformed};
use crate::object::listing::{Listing, ListingEntry, PathMode};
use crate::object::name::require_plain;
use crate::oid::Oid;

const ASSUME_UNCHANGED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
const CHECKSUM: usize = 20;
/// Signature and version.
const HEAD: usize = 8;
const SPLIT: &[u8; 4] = b"link";
/// Extensions that a reader must understand; names of optional ones begin with a capital
/// letter.
const KNOWN: [&[u8; 4]; 2] = [SPLIT, b"sdir"];

/// Stat words of an entry in file order: ctime, mtime (seconds, nanoseconds each), dev,
/// inode, uid, gid, size.
pub(crate) type StatWords = [u32; 9];

/// One entry of an index.
#[derive(Debug, Clone)]
pub(crate) struct IndexEntry {
    pub(crate) path: Vec<u8>,
    /// Mode bits, as trees have them.
    pub(crate) bits: u32,
    pub(crate) oid: Oid,
    pub(crate) stat: StatWords,
    /// 0, or 1 to 3 in an unfinished merge.
    pub(crate) stage: u16,
    /// True if a sparse checkout leaves it out.
    pub(crate) skip_worktree: bool,
    /// True for a path that was only announced with `git add -N`.
    pub(crate) intent_to_add: bool,
}

/// An index file as read.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) entries: Vec<IndexEntry>,
    /// True if its entries are in another file.
    pub(crate) split: bool,
    /// A part without which git does not understand it, and which is not known here.
    unknown: Option<[u8; 4]>,
}

impl IndexEntry {
    /// Entry of an unconflicted, fully present file.
    pub(crate) fn new(path: &[u8], entry: &ListingEntry, stat: StatWords) -> IndexEntry {
        let (path, bits) = (path.to_vec(), entry.mode.bits());
        IndexEntry { path, bits, oid: entry.oid, stat, stage: 0, skip_worktree: false, intent_to_add: false }
    }
}

/// The bytes of a version 2 index; the entries must be sorted by path and stage, the
/// extensions be whole ones.
pub(crate) fn encode_index(entries: &[IndexEntry], extensions: &[u8]) -> Result<Vec<u8>, TreeError> {
    let count = u32::try_from(entries.len()).map_err(|_| malformed("index", "too many entries"))?;
    let mut out = Vec::with_capacity(entries.len() * 100 + 32);
    out.extend_from_slice(b"DIRC");
    out.extend_from_slice(&2u32.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    for entry in entries {
        encode_entry(entry, &mut out);
    }
    out.extend_from_slice(extensions);
    let checksum: [u8; CHECKSUM] = Sha1::digest(&out).into();
    out.extend_from_slice(&checksum);
    Ok(out)
}

fn encode_entry(entry: &IndexEntry, out: &mut Vec<u8>) {
    let start = out.len();
    let [before_mode @ .., uid, gid, size] = &entry.stat;
    for word in before_mode.iter().chain([&entry.bits, uid, gid, size]) {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&entry.oid.0);
    let length = u16::try_from(entry.path.len()).map_or(LENGTH, |n| n.min(LENGTH));
    out.extend_from_slice(&(entry.stage << 12 & STAGE | length).to_be_bytes());
    out.extend_from_slice(&entry.path);
    // One to eight NULs: the name is terminated and the entry is a multiple of eight bytes.
    let padding = 8 - (out.len() - start) % 8;
    out.resize(out.len() + padding, 0);
}

/// Reads an index file. Assume-unchanged marks are dropped: they only say what its owner
/// did not want to see. The stat words of what git was told not to look at are zero: git
/// writes them again without having looked, so they vouch for nothing.
pub(crate) fn decode_index(bytes: &[u8]) -> Result<Index, TreeError> {
    let version = require_whole(bytes)?;
    let index = Decoder { bytes, at: HEAD }.index(version).ok_or_else(|| malformed("index", "it ends too early"))?;
    match index.unknown {
        Some(name) => Err(malformed("index", format!("its part \"{}\" is not known", name.escape_ascii()))),
        None => Ok(index),
    }
}

/// The version of an index whose checksum holds. Git writes zeros where it was told to
/// leave the checksum out.
fn require_whole(bytes: &[u8]) -> Result<u32, TreeError> {
    let short = || malformed("index", "it ends too early");
    let version = bytes.get(4..8).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes).ok_or_else(short)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(malformed("index", format!("it is none of git's, or of an unknown version ({version})")));
    }
    let (body, sum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(short)?;
    let made: [u8; CHECKSUM] = Sha1::digest(body).into();
    if *sum != made && *sum != [0; CHECKSUM] {
        return Err(malformed("index", "its checksum does not hold"));
    }
    Ok(version)
}

impl Index {
    /// Refuses paths that are not plain, and entries out of order.
    pub(crate) fn require_plain(&self) -> Result<(), TreeError> {
        let mut before: Option<(&[u8], u16)> = None;
        for entry in &self.entries {
            // A sparse index has folders, which end with a slash.
            require_plain(entry.path.strip_suffix(b"/").unwrap_or(&entry.path))?;
            let here = (entry.path.as_slice(), entry.stage);
            if before.is_some_and(|before| before >= here) {
                return Err(TreeError::Name { path: entry.path.clone(), problem: "stands twice or out of order" });
            }
            before = Some(here);
        }
        Ok(())
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Decoder<'_> {
    fn take(&mut self, n: usize) -> Option<&[u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn index(mut self, version: u32) -> Option<Index> {
        let count = self.word()?;
        let mut entries: Vec<IndexEntry> = Vec::new();
        for _ in 0..count {
            let previous = entries.last().map_or(&b""[..], |e| &e.path);
            let entry = self.entry(version, previous)?;
            entries.push(entry);
        }
        let needed = self.needed_parts()?;
        let unknown = needed.iter().copied().find(|name| !KNOWN.contains(&name));
        Some(Index { entries, split: needed.contains(SPLIT), unknown })
    }

    fn entry(&mut self, version: u32, previous: &[u8]) -> Option<IndexEntry> {
        let start = self.at;
        let mut words = [0; 10];
        for word in &mut words {
            *word = self.word()?;
        }
        let [c, cn, m, mn, dev, ino, bits, uid, gid, size] = words;
        let oid = Oid::from_slice(self.take(20)?)?;
        let flags = self.short()?;
        let extended = if flags & EXTENDED != 0 { self.short()? } else { 0 };
        let path = if version == 4 { self.compressed_path(previous)? } else { self.padded_path(start)? };
        let (skip_worktree, intent_to_add) = (extended & SKIP_WORKTREE != 0, extended & INTENT_TO_ADD != 0);
        let looked_at = flags & ASSUME_UNCHANGED == 0 && !skip_worktree;
        let stat = if looked_at { [c, cn, m, mn, dev, ino, uid, gid, size] } else { [0; 9] };
        Some(IndexEntry { path, bits, oid, stat, stage: (flags & STAGE) >> 12, skip_worktree, intent_to_add })
    }

    fn until_nul(&mut self) -> Option<Vec<u8>> {
        let length = self.bytes.get(self.at..)?.iter().position(|b| *b == 0)?;
        self.take(length).map(<[u8]>::to_vec)
    }

    fn padded_path(&mut self, start: usize) -> Option<Vec<u8>> {
        let path = self.until_nul()?;
        let padding = 8 - (self.at - start) % 8;
        self.take(padding)?;
        Some(path)
    }

    fn compressed_path(&mut self, previous: &[u8]) -> Option<Vec<u8>> {
        let strip = self.varint()?;
        let mut path = previous.get(..previous.len().checked_sub(strip)?)?.to_vec();
        path.extend(self.until_nul()?);
        self.take(1)?;
        Some(path)
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value = 0usize;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value |= byte & 0x7f;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }

    /// Names of the extensions after the entries that a reader must understand.
    fn needed_parts(&mut self) -> Option<Vec<[u8; 4]>> {
        let mut needed = Vec::new();
        while self.bytes.len() - self.at > CHECKSUM {
            let name: [u8; 4] = self.take(4)?.try_into().ok()?;
            if !name[0].is_ascii_uppercase() {
                needed.push(name);
            }
            let size = self.word()? as usize;
            self.take(size)?;
        }
        Some(needed)
    }
}

/// Index of a listing without a checkout; its stat words are zero.
pub(crate) fn encode_listing(listing: &Listing) -> Result<Vec<u8>, TreeError> {
    let entries: Vec<IndexEntry> = listing.0.iter().map(|(path, entry)| IndexEntry::new(path, entry, [0; 9])).collect();
    encode_index(&entries, &[])
}

/// The listing an index holds; an unfinished merge has none.
pub(crate) fn decode_listing(bytes: &[u8]) -> Result<Listing, TreeError> {
    let mut listing = Listing::default();
    for entry in decode_index(bytes)?.entries {
        let mode = PathMode::from_bits(entry.bits).filter(|_| entry.stage == 0);
        let mode = mode.ok_or_else(|| malformed("index entry", entry.path.escape_ascii().to_string()))?;
        listing.0.insert(entry.path, ListingEntry { mode, oid: entry.oid });
    }
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut listing = Listing::default();
        for length in [1, 2, 7, 8, 9, 10, 63, 0xffe, 0xfff, 0x1001] {
            for mode in [PathMode::File, PathMode::Executable, PathMode::Link, PathMode::Gitlink] {
                let path = format!("{mode:?}{}", "x".repeat(length)).into_bytes();
                listing.0.insert(path, ListingEntry { mode, oid: Oid::of_object("blob", &[length as u8]) });
            }
        }
        assert_eq!(decode_listing(&encode_listing(&listing).unwrap()).unwrap(), listing);
        assert!(decode_index(b"DIRC").is_err() && decode_index(&[0; 40]).is_err());
    }
}
