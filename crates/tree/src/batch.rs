//! Reading many objects: small ones from memory, others from a single `git cat-file` child, and what is not held at all.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};

use crate::error::{Doing, TreeError, malformed};
use crate::git::{Call, PATIENCE};
use crate::listing::{Listing, Mode};
use crate::object::{Kind, Object};
use crate::oid::Oid;
use crate::store::Store;
use crate::talk::poll_until;

/// So many requests fit into the smallest pipe, so writing them cannot block while git writes answers.
pub(crate) const WINDOW: usize = 64;
const LFS_LARGEST_POINTER: usize = 1024;
const LFS_HEAD: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Reads blobs of a store.
#[derive(Debug)]
pub struct BlobReader<'s> {
    store: &'s Store,
    batch: Option<Batch>,
}

impl<'s> BlobReader<'s> {
    pub(crate) fn new(store: &'s Store) -> BlobReader<'s> {
        BlobReader { store, batch: None }
    }

    /// The bytes of one blob.
    pub fn blob(&mut self, oid: Oid) -> Result<Vec<u8>, TreeError> {
        match self.object(oid)? {
            (Kind::Blob, bytes) => Ok(bytes),
            _ => Err(malformed("blob", oid.to_string())),
        }
    }

    pub(crate) fn object(&mut self, oid: Oid) -> Result<Object, TreeError> {
        self.window(&[oid])?.pop().flatten().ok_or(TreeError::Missing { oid })
    }

    /// The bytes of these blobs in order, none where the store does not hold one.
    pub fn blobs(&mut self, oids: &[Oid]) -> Result<Vec<Option<Vec<u8>>>, TreeError> {
        let mut blobs = Vec::with_capacity(oids.len());
        for window in oids.chunks(WINDOW) {
            blobs.extend(self.window(window)?.into_iter().map(|found| found.map(|(_, bytes)| bytes)));
        }
        Ok(blobs)
    }

    /// At most `WINDOW` objects in order.
    fn window(&mut self, oids: &[Oid]) -> Result<Vec<Option<Object>>, TreeError> {
        let mut found: Vec<Option<Object>> = oids.iter().map(|oid| self.store.cached(*oid)).collect();
        let packed: Vec<usize> = (0..oids.len()).filter(|at| found[*at].is_none()).collect();
        if !packed.is_empty() {
            self.store.flush()?;
            let wanted: Vec<Oid> = packed.iter().map(|at| oids[*at]).collect();
            for (at, answer) in packed.into_iter().zip(self.batch()?.ask(&wanted)?) {
                found[at] = answer;
            }
        }
        Ok(found)
    }

    fn batch(&mut self) -> Result<&mut Batch, TreeError> {
        match &mut self.batch {
            Some(batch) => Ok(batch),
            none => Ok(none.insert(Batch::start(self.store)?)),
        }
    }
}

/// A running `git cat-file --batch`.
#[derive(Debug)]
struct Batch {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<Timed>,
}

impl Batch {
    fn start(store: &Store) -> Result<Batch, TreeError> {
        let mut child = store.git.start(&Call::new("reading objects", &store.dir, &["cat-file", "--batch"]))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Batch { child, stdin, stdout: BufReader::with_capacity(1 << 16, Timed(stdout)) })
    }

    fn ask(&mut self, oids: &[Oid]) -> Result<Vec<Option<Object>>, TreeError> {
        let asked: String = oids.iter().map(|oid| format!("{oid}\n")).collect();
        let stdin = self.stdin.as_mut().ok_or_else(|| malformed("git cat-file", "no input"))?;
        stdin.write_all(asked.as_bytes()).doing("asking git cat-file for", "objects".as_ref())?;
        oids.iter().map(|oid| self.answer(*oid)).collect()
    }

    fn answer(&mut self, oid: Oid) -> Result<Option<Object>, TreeError> {
        let mut head = Vec::new();
        self.stdout.read_until(b'\n', &mut head).doing("reading from git cat-file", "objects".as_ref())?;
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.trim_end().ends_with(" missing") {
            return Ok(None);
        }
        let (kind, size) = parse_head(&head, oid).ok_or_else(|| malformed("git cat-file answer", head))?;
        let mut bytes = vec![0; size + 1];
        self.stdout.read_exact(&mut bytes).doing("reading from git cat-file", "objects".as_ref())?;
        bytes.truncate(size);
        Ok(Some((kind, bytes)))
    }
}

fn parse_head(head: &str, oid: Oid) -> Option<(Kind, usize)> {
    let mut words = head.trim_end().split(' ');
    (words.next()? == oid.to_string()).then_some(())?;
    Some((Kind::from_word(words.next()?.as_bytes())?, words.next()?.parse().ok()?))
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.stdin = None;
        // It ends at the end of its input; a broken one is not waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe whose reads give up after a while.
#[derive(Debug)]
struct Timed(Option<ChildStdout>);

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &mut self.0 else { return Ok(0) };
        poll_until(&mut [PollFd::new(pipe, PollFlags::IN)], Instant::now() + PATIENCE)?;
        pipe.read(into)
    }
}

/// A path whose content git objects do not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    pub path: Vec<u8>,
    pub why: AbsentWhy,
}

/// Why content is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentWhy {
    Submodule,
    LfsPointer,
    NotHeld,
}

/// The paths of a listing whose content the store does not hold: submodules, LFS pointers, blobs left out of a partial clone.
pub fn absent_content(listing: &Listing, store: &Store) -> Result<Vec<Absent>, TreeError> {
    let mut absent = Vec::new();
    let mut reader = store.reader();
    let entries: Vec<_> = listing.0.iter().collect();
    for window in entries.chunks(WINDOW) {
        let oids: Vec<Oid> = window.iter().filter(|(_, e)| e.mode != Mode::Gitlink).map(|(_, e)| e.oid).collect();
        let mut blobs = reader.blobs(&oids)?.into_iter();
        for (path, entry) in window {
            let why = match entry.mode {
                Mode::Gitlink => Some(AbsentWhy::Submodule),
                _ => why_absent(blobs.next().flatten().as_deref()),
            };
            absent.extend(why.map(|why| Absent { path: path.to_vec(), why }));
        }
    }
    Ok(absent)
}

fn why_absent(blob: Option<&[u8]>) -> Option<AbsentWhy> {
    match blob {
        None => Some(AbsentWhy::NotHeld),
        Some(bytes) if bytes.len() <= LFS_LARGEST_POINTER && bytes.starts_with(LFS_HEAD) => Some(AbsentWhy::LfsPointer),
        Some(_) => None,
    }
}
