//! Giving the run's user the files of the harness' user: by a mount that translates ids, or
//! by changing the owner.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chownat, openat, statat};
use rustix::process::{Gid, Signal, Uid, kill_process};

use crate::kernel::process::open_user_namespace;
use untrusted_fs::own_files;

/// Deeper trees than this are not a workspace.
const DEPTH_MAX: usize = 512;

/// User namespaces whose maps translate one owner on disk to the run's uid; one for each
/// owner that was met.
#[derive(Debug)]
pub(crate) struct Translations {
    run: u32,
    made: Vec<((u32, u32), OwnedFd)>,
}

impl Translations {
    /// Translations to the run's uid; each is made when it is first needed.
    pub(crate) fn new(run: u32) -> Self {
        Self { run, made: Vec::new() }
    }

    /// A namespace that makes files of this owner the run's.
    pub(crate) fn namespace_of(&mut self, owner: (u32, u32)) -> io::Result<&OwnedFd> {
        let index = match self.made.iter().position(|(made, _)| *made == owner) {
            Some(index) => index,
            None => {
                self.made.push((owner, make(owner, self.run)?));
                self.made.len() - 1
            }
        };
        self.made.get(index).map(|(_, namespace)| namespace).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A user namespace lives as long as a descriptor of it; the process that opened it is not
/// needed.
fn make((uid, gid): (u32, u32), run: u32) -> io::Result<OwnedFd> {
    let process = open_user_namespace()?;
    let at = |name: &str| format!("/proc/{}/{name}", process.as_raw_pid());
    let namespace = own_files::write_file(at("uid_map"), format!("{uid} {run} 1"))
        .and_then(|()| own_files::write_file(at("gid_map"), format!("{gid} {run} 1")))
        .and_then(|()| Ok(openat(CWD, at("ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?));
    // Not waited for, which on a busy machine costs more than all the rest: the stage ends
    // soon enough.
    let _ = kill_process(process, Signal::KILL);
    namespace
}

/// Gives a whole tree to the run. Links are changed, never followed.
pub(crate) fn change_owner(tree: &Path, run: u32) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, tree, flags, Mode::empty())?;
    chown(&root, OsStr::new("."), run)?;
    change_below(&root, run, 0)
}

fn change_below(directory: &OwnedFd, run: u32, depth: usize) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("the workspace is too deep"));
    }
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        chown(directory, name, run)?;
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            change_below(&openat(directory, name, flags, Mode::empty())?, run, depth + 1)?;
        }
    }
    Ok(())
}

fn chown(directory: &OwnedFd, name: &OsStr, run: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(run), Gid::from_raw(run));
    Ok(chownat(directory.as_fd(), name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
}
