//! Reading of many objects: small ones from memory, others from a single `git cat-file`
//! child; and the paths whose content is absent.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};

use crate::error::{Doing, TreeError, malformed};
use crate::object::listing::{Listing, PathMode};
use crate::object::loose::{Object, ObjectKind};
use crate::oid::Oid;
use crate::store::ObjectDatabase;
use crate::store::git::{GitCall, Input, PATIENCE};
use crate::store::talk::poll_until;

/// Number of requests that fit into the smallest pipe, so that writing them cannot block
/// while git writes answers.
pub(crate) const WINDOW: usize = 64;
/// Largest object that is held in memory: a few bytes on disk can claim to be any size.
const LARGEST_OBJECT: usize = 2 << 30;
const LFS_LARGEST_POINTER: u64 = 1024;
const LFS_HEAD: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Reads blobs of a store.
#[derive(Debug)]
pub struct BlobReader<'s> {
    store: &'s ObjectDatabase,
    batch: Option<Batch>,
}

impl<'s> BlobReader<'s> {
    /// Reader without a child; one is started when an object is not in memory.
    pub(crate) fn new(store: &'s ObjectDatabase) -> BlobReader<'s> {
        BlobReader { store, batch: None }
    }

    /// The bytes of one blob.
    pub fn blob(&mut self, oid: Oid) -> Result<Vec<u8>, TreeError> {
        match self.object(oid)? {
            (ObjectKind::Blob, bytes) => Ok(bytes),
            (kind, _) => Err(malformed("blob", format!("{oid} is a {}", kind.word()))),
        }
    }

    /// One object. Fails if the store does not hold it.
    pub(crate) fn object(&mut self, oid: Oid) -> Result<Object, TreeError> {
        self.window(&[oid])?.pop().flatten().ok_or(TreeError::Missing { oid })
    }

    /// The bytes of these blobs in order, none where the store does not hold one.
    pub fn blobs(&mut self, oids: &[Oid]) -> Result<Vec<Option<Vec<u8>>>, TreeError> {
        let mut blobs = Vec::with_capacity(oids.len());
        for window in oids.chunks(WINDOW) {
            for (oid, found) in window.iter().zip(self.window(window)?) {
                blobs.push(match found {
                    None => None,
                    Some((ObjectKind::Blob, bytes)) => Some(bytes),
                    Some((kind, _)) => return Err(malformed("blob", format!("{oid} is a {}", kind.word()))),
                });
            }
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
    fn start(store: &ObjectDatabase) -> Result<Batch, TreeError> {
        let mut child =
            store.git.start_child(&GitCall::new("reading objects", &store.dir, &["cat-file", "--batch"]))?;
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
        let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST_OBJECT);
        let size = size.ok_or_else(|| malformed("object", format!("{oid} is too large")))?;
        let mut bytes = vec![0; size + 1];
        self.stdout.read_exact(&mut bytes).doing("reading from git cat-file", "objects".as_ref())?;
        bytes.truncate(size);
        Ok(Some((kind, bytes)))
    }
}

fn parse_head(head: &str, oid: Oid) -> Option<(ObjectKind, u64)> {
    let mut words = head.trim_end().split(' ');
    (words.next()? == oid.to_string()).then_some(())?;
    Some((ObjectKind::from_word(words.next()?.as_bytes())?, words.next()?.parse().ok()?))
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

/// Reason why content is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentWhy {
    /// Commit of a submodule.
    Submodule,
    /// Pointer of Git LFS, whose content is on a server.
    LfsPointer,
    /// Object that a partial clone left out.
    NotHeld,
}

/// The paths of a listing whose content the store does not hold: submodules, LFS pointers,
/// blobs left out of a partial clone.
pub fn absent_content(listing: &Listing, store: &ObjectDatabase) -> Result<Vec<Absent>, TreeError> {
    absent_in(listing, store).map(|(_, absent)| absent)
}

/// A path and how many bytes its content has.
type Sized<'l> = (&'l Vec<u8>, u64);

/// The same, and the size of every content that is held. Only what is short enough for an
/// LFS pointer is read.
pub(crate) fn absent_in<'l>(
    listing: &'l Listing,
    store: &ObjectDatabase,
) -> Result<(Vec<Sized<'l>>, Vec<Absent>), TreeError> {
    let (gitlinks, files): (Vec<_>, Vec<_>) = listing.0.iter().partition(|(_, entry)| entry.mode == PathMode::Gitlink);
    let absent_for = |path: &Vec<u8>, why| Absent { path: path.clone(), why };
    let mut absent: Vec<Absent> = gitlinks.iter().map(|(path, _)| absent_for(path, AbsentWhy::Submodule)).collect();
    let oids: Vec<Oid> = files.iter().map(|(_, entry)| entry.oid).collect();
    let (mut sizes, mut short) = (Vec::with_capacity(files.len()), Vec::new());
    for ((path, entry), size) in files.iter().zip(store.blob_sizes(&oids)?) {
        match size {
            None => absent.push(absent_for(path, AbsentWhy::NotHeld)),
            Some(size) => {
                sizes.push((*path, size));
                if size <= LFS_LARGEST_POINTER && size >= LFS_HEAD.len() as u64 {
                    short.push((*path, entry.oid));
                }
            }
        }
    }
    let oids: Vec<Oid> = short.iter().map(|(_, oid)| *oid).collect();
    let pointers = short.iter().zip(store.reader().blobs(&oids)?);
    let pointers = pointers.filter(|(_, blob)| blob.as_deref().is_some_and(|blob| blob.starts_with(LFS_HEAD)));
    absent.extend(pointers.map(|((path, _), _)| absent_for(path, AbsentWhy::LfsPointer)));
    absent.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok((sizes, absent))
}

impl ObjectDatabase {
    /// Size in bytes of each blob; none if the store does not hold it. Nothing is unpacked.
    pub fn blob_sizes(&self, oids: &[Oid]) -> Result<Vec<Option<u64>>, TreeError> {
        let cached = |oid: &Oid| self.cached(*oid).map(|(kind, bytes)| (kind, bytes.len() as u64));
        let mut known: HashMap<Oid, (ObjectKind, u64)> =
            oids.iter().filter_map(|oid| Some((*oid, cached(oid)?))).collect();
        let asked: BTreeSet<Oid> = oids.iter().filter(|oid| !known.contains_key(oid)).copied().collect();
        if !asked.is_empty() {
            let input: String = asked.iter().map(|oid| format!("{oid}\n")).collect();
            let mut call = GitCall::new("asking for the sizes of objects", &self.dir, &["cat-file", "--batch-check"]);
            call.input = Input::Bytes(input.as_bytes());
            let told = self.run_git(call)?;
            let told = String::from_utf8_lossy(&told);
            known
                .extend(asked.iter().zip(told.lines()).filter_map(|(oid, line)| Some((*oid, parse_head(line, *oid)?))));
        }
        let size = |oid: &Oid| match known.get(oid) {
            None => Ok(None),
            Some((ObjectKind::Blob, size)) => Ok(Some(*size)),
            Some((kind, _)) => Err(malformed("blob", format!("{oid} is a {}", kind.word()))),
        };
        oids.iter().map(size).collect()
    }
}
