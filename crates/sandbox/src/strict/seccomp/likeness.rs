//! Programs that are recognised by their content: a copy, a link or a file in memory runs
//! the same code under any name.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, fstatvfs, openat2};

/// Bytes that are read of a file: enough for the mark that a linker leaves.
const HEAD_MAX: u64 = 8192;
/// Begins the note of an ELF file that holds the linker's digest of it: sizes, type, owner.
const BUILD_NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
const BUILD_LEN: usize = 20;

/// The beginning of a file. `None` where the file may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) size: u64,
    pub(super) head: Option<Vec<u8>>,
}

impl Content {
    /// Reads a plain file that is held by path. The holder of a lease on it cannot make this wait.
    pub(super) fn read_content(file: &OwnedFd) -> Option<Self> {
        let size = u64::try_from(fstat(file).ok()?.st_size).ok()?;
        let held = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened = rustix::fs::open(held, flags, Mode::empty());
        Some(Self { size, head: opened.ok().and_then(|file| read_head(File::from(file))) })
    }

    fn build(&self) -> Option<&[u8]> {
        let head = self.head.as_deref()?;
        let at = head.windows(BUILD_NOTE.len()).position(|bytes| bytes == BUILD_NOTE)? + BUILD_NOTE.len();
        head.get(at..at + BUILD_LEN)
    }

    /// The same program: by the linker's digest, which stays where bytes are added or taken
    /// away behind it, else by beginning and size. A file that may not be read is known by
    /// its size alone.
    fn is_like(&self, known: &Self) -> bool {
        match (self.build(), known.build()) {
            (Some(build), Some(known)) => build == known,
            _ => self.size == known.size && (self.head.is_none() || self.head == known.head),
        }
    }
}

/// Programs of the search path, read when the first file is compared with them.
#[derive(Debug)]
pub(super) struct KnownPrograms {
    names: fn() -> Vec<&'static str>,
    path: Vec<PathBuf>,
    read: Option<Vec<(&'static str, Content)>>,
}

impl KnownPrograms {
    /// Remembers names and search path; the programs are read when the first comparison
    /// needs them.
    pub(super) fn new(names: fn() -> Vec<&'static str>, path: Vec<PathBuf>) -> Self {
        Self { names, path, read: None }
    }

    /// The name of the program that this content is. `root` is the root directory of the run.
    pub(super) fn name_of(&mut self, root: &OwnedFd, content: &Content) -> Option<&'static str> {
        let (names, path) = (self.names, &self.path);
        let known = self.read.get_or_insert_with(|| read_programs(root, &names(), path));
        known.iter().find(|(_, known)| content.is_like(known)).map(|(name, _)| *name)
    }
}

fn read_programs(root: &OwnedFd, names: &[&'static str], path: &[PathBuf]) -> Vec<(&'static str, Content)> {
    let places = path.iter().flat_map(|directory| names.iter().map(move |name| (*name, directory.join(name))));
    places.filter_map(|(name, place)| Some((name, read_program(root, &place)?))).collect()
}

/// Reads a program of the search path, only from a read-only mount: a writable file may be
/// the program's own work.
fn read_program(root: &OwnedFd, place: &Path) -> Option<Content> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let place = place.strip_prefix("/").ok()?;
    let file = openat2(root.as_fd(), place, flags, Mode::empty(), resolve).ok()?;
    is_read_only(&file).then(|| Content::read_content(&file)).flatten().filter(|content| content.head.is_some())
}

/// True if the file lies on a mount that nobody inside can write.
pub(super) fn is_read_only(file: &OwnedFd) -> bool {
    fstatvfs(file).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn read_head(file: File) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD_MAX).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(build: u8, tail: &[u8]) -> Content {
        let head = [b"\x7fELF".as_slice(), BUILD_NOTE, &[build; BUILD_LEN], tail].concat();
        Content { size: head.len() as u64, head: Some(head) }
    }

    fn script(text: &str) -> Content {
        Content { size: text.len() as u64, head: Some(text.as_bytes().to_vec()) }
    }

    #[test]
    fn a_copy_is_known_by_what_it_holds() {
        let closed = |size| Content { size, head: None };
        for (one, known, like) in [
            (elf(1, b"a"), elf(1, b"a"), true),
            (elf(1, b"padded or stripped"), elf(1, b"a"), true),
            (elf(2, b"a"), elf(1, b"a"), false),
            (script("#!/bin/sh\n"), script("#!/bin/sh\n"), true),
            (script("#!/bin/sh\n"), script("#!/bin/ba\n"), false),
            (script("#!/bin/sh\n"), elf(1, b"a"), false),
            (closed(41), elf(1, b"a"), true),
            (closed(42), elf(1, b"a"), false),
            (elf(1, b""), closed(40), false),
        ] {
            assert_eq!(one.is_like(&known), like, "{one:?} {known:?}");
        }
    }
}
