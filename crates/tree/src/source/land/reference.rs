//! A branch that must not exist, made by git's own protocol: its lock file first, then a
//! look at every place where it or one in its way could stand, then one rename.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fsync, linkat, mkdirat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::BranchName;
use super::open_like;
use super::ref_name::{RefName, UsedMark};
use crate::error::{Doing, TreeError};
use crate::oid::Oid;
use crate::source::{SourceRepository, packed_rows};
use crate::worktree::fsdir::{kind, lstat, open_dir, read_beneath, sorted_names};

const LOCK: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW);
const LARGEST: u64 = 4096;
/// File of the packed references, in the git directory.
pub(super) const PACKED: &str = "packed-refs";
/// Git holds a lock for moments; one that stays is of a program that was killed.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Result of making a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The branch was made.
    Made,
    /// A reference of that name exists; none if it is no plain commit.
    There(Option<Oid>),
    /// A branch of this name stands where a folder is needed, or the other way round.
    InTheWay(String),
    /// Somebody holds the lock of the name.
    Locked(PathBuf),
    /// The approval was used here before, by this commit; none if the mark is not simply a
    /// commit.
    Used(Option<Oid>),
}

impl SourceRepository {
    /// Obstacle at the branch's place; none if it is free.
    pub fn find_branch(&self, name: &BranchName) -> Result<Option<Landing>, TreeError> {
        self.find_reference(&RefName::branch(name))
    }

    /// Obstacle at the mark's place; none if it is free.
    pub fn find_mark(&self, mark: &UsedMark) -> Result<Option<Landing>, TreeError> {
        self.find_reference(mark.name())
    }

    /// Obstacle at the reference's place, loose or packed.
    pub(super) fn find_reference(&self, name: &RefName) -> Result<Option<Landing>, TreeError> {
        match self.folder_of(name, false)? {
            Folder::Open(dir) => self.look_up_ref(&dir, name, is_empty),
            Folder::Missing => self.look_packed(name),
            Folder::InTheWay(branch) => Ok(Some(Landing::InTheWay(branch))),
        }
    }

    /// Makes a branch that must not exist.
    pub fn make_branch(&self, name: &BranchName, commit: Oid, token: &str) -> Result<Landing, TreeError> {
        self.make_references(&[&RefName::branch(name)], commit, token)
    }

    /// Makes a branch and the mark of its approval, neither of which may exist. Both are
    /// made or none, except after a kill between the two renames, when only the mark
    /// exists.
    pub fn make_marked_branch(
        &self,
        name: &BranchName,
        mark: &UsedMark,
        commit: Oid,
        token: &str,
    ) -> Result<Landing, TreeError> {
        match self.make_references(&[mark.name(), &RefName::branch(name)], commit, token)? {
            Landing::There(found) if self.find_mark(mark)?.is_some() => Ok(Landing::Used(found)),
            landing => Ok(landing),
        }
    }

    /// Makes the mark of an approval alone.
    pub(super) fn make_mark(&self, mark: &UsedMark, commit: Oid, token: &str) -> Result<Landing, TreeError> {
        self.make_references(&[mark.name()], commit, token)
    }

    /// Locks all references, checks all of them, and only then makes the first.
    fn make_references(&self, names: &[&RefName], commit: Oid, token: &str) -> Result<Landing, TreeError> {
        let mut locked = Vec::new();
        for name in names {
            match self.lock_reference(name, token)? {
                Ok((dir, lock)) => locked.push((*name, dir, lock)),
                Err(landing) => return Ok(landing),
            }
        }
        for (name, dir, _) in &locked {
            if let Some(found) = self.look_up_ref(dir, name, remove_empty)? {
                return Ok(found);
            }
        }
        for (name, _, lock) in &mut locked {
            let at = name.as_str().as_bytes();
            lock.write(format!("{commit}\n").as_bytes()).doing_at("writing reference", at)?;
        }
        for (name, dir, lock) in &mut locked {
            let at = name.as_str().as_bytes();
            match lock.place() {
                Ok(()) => {}
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                    return Ok(self.look_up_ref(dir, name, is_empty)?.unwrap_or(Landing::InTheWay(name.to_string())));
                }
                Err(error) => return Err(error).doing_at("placing reference", at),
            }
            fsync(&*dir).doing_at("writing out the folder of reference", at)?;
        }
        Ok(Landing::Made)
    }

    /// Takes the lock of a reference, with the folder that it lies in. Git holds one for
    /// moments, so that it is tried for a while.
    pub(super) fn lock_reference(
        &self,
        name: &RefName,
        token: &str,
    ) -> Result<Result<(Rc<OwnedFd>, RefLock), Landing>, TreeError> {
        for _ in 0..TRIES {
            let dir = match self.folder_of(name, true)? {
                Folder::Open(dir) => Rc::new(dir),
                Folder::Missing => continue,
                Folder::InTheWay(branch) => return Ok(Err(Landing::InTheWay(branch))),
            };
            match RefLock::take_lock(&dir, name.split().1, token) {
                Ok(lock) => return Ok(Ok((dir, lock))),
                Err(Errno::EXIST) => std::thread::sleep(PAUSE),
                // Git removes folders that are empty, also one that was just made.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error).doing_at("locking reference", name.as_str().as_bytes()),
            }
        }
        let lock = format!("refs/{}.lock", name.as_str());
        Ok(Err(Landing::Locked(self.common_path().join(lock))))
    }

    /// `free` says whether a folder in the reference's place is none: git leaves empty ones
    /// behind.
    pub(super) fn look_up_ref(
        &self,
        dir: &OwnedFd,
        name: &RefName,
        free: fn(&OwnedFd, &str) -> bool,
    ) -> Result<Option<Landing>, TreeError> {
        let leaf = name.split().1;
        let found = match lstat(dir, leaf.as_bytes()).map(|stat| kind(&stat)) {
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error).doing_at("looking at reference", name.as_str().as_bytes()),
            Ok(FileType::Directory) if free(dir, leaf) => None,
            Ok(FileType::Directory) => Some(Landing::InTheWay(format!("{name}/"))),
            Ok(_) => {
                let value = read_beneath(dir.as_fd(), leaf.as_bytes(), LARGEST).ok().flatten().unwrap_or_default();
                Some(Landing::There(Oid::from_hex(value.trim_ascii_end())))
            }
        };
        match found {
            Some(found) => Ok(Some(found)),
            None => self.look_packed(name),
        }
    }

    fn look_packed(&self, name: &RefName) -> Result<Option<Landing>, TreeError> {
        let own = name.full();
        for row in packed_rows(&self.packed_refs()?) {
            let (value, reference) = row?;
            if reference == own {
                return Ok(Some(Landing::There(Oid::from_hex(value))));
            }
            if is_below(reference, &own) || is_below(&own, reference) {
                let branch = reference.strip_prefix(b"refs/heads/").unwrap_or(reference);
                return Ok(Some(Landing::InTheWay(String::from_utf8_lossy(branch).into_owned())));
            }
        }
        Ok(None)
    }

    /// The folder that the reference's file lies in.
    pub(super) fn folder_of(&self, name: &RefName, make: bool) -> Result<Folder, TreeError> {
        let refs = open_dir(self.common(), b"refs").doing("opening refs of", self.root())?;
        let (mut folder, mut walked) = (Folder::Open(refs), String::new());
        for part in name.split().0.split('/').filter(|part| !part.is_empty()) {
            let Folder::Open(at) = folder else { break };
            folder = step(&at, part, walked.strip_prefix("heads/").unwrap_or(&walked), make)?;
            walked = format!("{walked}{part}/");
        }
        Ok(folder)
    }
}

/// One folder further down; `walked` is what was gone through, as a branch's name has it.
fn step(at: &OwnedFd, part: &str, walked: &str, make: bool) -> Result<Folder, TreeError> {
    let mut made = false;
    if make {
        match mkdirat(at, part, Mode::from_raw_mode(0o777)) {
            Ok(()) => made = true,
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(Folder::Missing),
            Err(error) => return Err(error).doing_at("creating folder of branches", part.as_bytes()),
        }
    }
    match open_dir(at, part.as_bytes()) {
        Ok(next) => {
            if made {
                open_like(&next, at);
            }
            Ok(Folder::Open(next))
        }
        Err(Errno::NOENT) => Ok(Folder::Missing),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(Folder::InTheWay(format!("{walked}{part}"))),
        Err(error) => Err(error).doing_at("opening folder of branches", part.as_bytes()),
    }
}

/// Folder of a reference.
pub(super) enum Folder {
    /// The folder exists and is open.
    Open(OwnedFd),
    /// The folder does not exist yet.
    Missing,
    /// This branch occupies the path of the folder.
    InTheWay(String),
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

/// True if `name` is a directory without entries. Git leaves such directories behind.
pub(super) fn is_empty(dir: &OwnedFd, name: &str) -> bool {
    open_dir(dir, name.as_bytes()).and_then(sorted_names).is_ok_and(|names| names.is_empty())
}

fn remove_empty(dir: &OwnedFd, name: &str) -> bool {
    matches!(unlinkat(dir, name, AtFlags::REMOVEDIR), Ok(()) | Err(Errno::NOENT))
}

/// Name of git's own lock file for a reference.
pub(super) fn lock_name(leaf: &str) -> String {
    format!("{leaf}.lock")
}

/// The other name of a lock while it is held, which tells whose it is. Git passes over
/// names like it.
pub(super) fn young_lock(token: &str) -> String {
    format!(".cto-{token}.lock")
}

/// A lock file of a reference, or of all packed ones; gone with the value unless it became
/// the file that it locks.
pub(super) struct RefLock {
    dir: Rc<OwnedFd>,
    /// Name under which it was first made.
    young: String,
    name: String,
    leaf: String,
    file: File,
    placed: bool,
}

impl RefLock {
    /// Takes the lock: made under another name first and then linked, so that after a kill
    /// no foreign lock can be taken for ours.
    pub(super) fn take_lock(folder: &Rc<OwnedFd>, leaf: &str, token: &str) -> Result<RefLock, Errno> {
        let dir = &**folder;
        let make = |name: &str| openat(dir, name, LOCK | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
        let (name, young) = (lock_name(leaf), young_lock(token));
        let mut file = make(&young)?;
        match linkat(dir, young.as_str(), dir, name.as_str(), AtFlags::empty()) {
            Ok(()) => {}
            // File systems without a second name for a file.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                unlinkat(dir, young.as_str(), AtFlags::empty())?;
                file = make(&name)?;
            }
            Err(error) => {
                let _ = unlinkat(dir, young.as_str(), AtFlags::empty());
                return Err(error);
            }
        }
        Ok(RefLock {
            dir: Rc::clone(folder),
            young,
            name,
            leaf: leaf.to_owned(),
            file: File::from(file),
            placed: false,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    /// Puts these bytes in the place of what the file holds. The caller has looked, under
    /// this lock.
    pub(super) fn replace_content(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write(bytes)?;
        renameat(&*self.dir, self.name.as_str(), &*self.dir, self.leaf.as_str())?;
        self.placed = true;
        fsync(&*self.dir)?;
        Ok(())
    }

    /// Never over something, where the file system can tell; the lock keeps git away where
    /// it cannot.
    fn place(&mut self) -> Result<(), Errno> {
        let (from, to) = (self.name.as_str(), self.leaf.as_str());
        match renameat_with(&*self.dir, from, &*self.dir, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => renameat(&*self.dir, from, &*self.dir, to)?,
            done => done?,
        }
        self.placed = true;
        Ok(())
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        // A destructor has nobody to tell; the next process that wants the lock reports what stays.
        if !self.placed {
            let _ = unlinkat(&*self.dir, self.name.as_str(), AtFlags::empty());
        }
        let _ = unlinkat(&*self.dir, self.young.as_str(), AtFlags::empty());
    }
}
