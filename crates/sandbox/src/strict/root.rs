//! The new root: an empty file system in memory, on which everything visible is mounted one by one.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
    unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use crate::applied::{MountKind, MountRecord};
use crate::confinement::{Access, Space};
use crate::kernel::mount::{Change, change, make_read_only};

/// A directory that every system has, over which the new root lies until it is the root.
const STAGING: &str = "/tmp";
/// Small: it holds directories, links and a few files of `/etc`.
const ROOT_SPACE: Space = Space { bytes: 16 << 20, inodes: 8192 };

#[derive(Debug)]
pub(crate) struct Root {
    mount: OwnedFd,
    pub(crate) mounts: Vec<MountRecord>,
}

impl Root {
    pub(crate) fn new() -> io::Result<Self> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mount = memory(ROOT_SPACE, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(mount.as_fd(), "", CWD, STAGING, flags)?;
        fchdir(&mount)?;
        Ok(Self { mount, mounts: Vec::new() })
    }

    /// Attaches a mount at a place inside, which is made if it is not there, and records it.
    pub(crate) fn attach(&mut self, mount: impl AsFd, directory: bool, record: MountRecord) -> io::Result<()> {
        self.attach_unrecorded(mount, directory, &record.target)?;
        self.mounts.push(record);
        Ok(())
    }

    pub(crate) fn attach_unrecorded(&self, mount: impl AsFd, directory: bool, target: &Path) -> io::Result<()> {
        let place = self.place(target, directory)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(mount.as_fd(), "", place.as_fd(), "", flags)?)
    }

    /// Makes a directory and returns it; one that is there already is good too.
    pub(crate) fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        self.place(path, true)
    }

    pub(crate) fn file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let parent = self.directory(path.parent().unwrap_or(Path::new("/")))?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = fs::File::from(openat(&parent, name, flags, Mode::from_raw_mode(0o644))?);
        file.write_all(content)
    }

    pub(crate) fn link(&self, path: &Path, to: &Path) -> io::Result<()> {
        let parent = self.directory(path.parent().unwrap_or(Path::new("/")))?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(symlinkat(to, &parent, name)?)
    }

    /// A copy of something that is already mounted inside, to be mounted at a second place.
    pub(crate) fn copy(&self, path: &Path, shape: Change<'_>) -> io::Result<OwnedFd> {
        let place = self.resolve(path)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let copy = open_tree(&place, "", flags | OpenTreeFlags::AT_RECURSIVE)?;
        change(&copy, shape)?;
        Ok(copy)
    }

    /// Whether what lies there is a directory; `None` if nothing does.
    pub(crate) fn is_directory(&self, path: &Path) -> Option<bool> {
        let stat = fstat(self.resolve(path).ok()?).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    pub(crate) fn open_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(self.resolve(path)?, ".", flags, Mode::empty())?)
    }

    pub(crate) fn remove_directory(&self, path: &Path) -> io::Result<()> {
        Ok(unlinkat(&self.mount, path, AtFlags::REMOVEDIR)?)
    }

    /// Makes this the root of the process and lets go of the host.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fchdir(&self.mount)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        make_read_only(&self.mount)
    }

    /// Links inside lead to places inside, never to the host.
    fn resolve(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = path.strip_prefix("/").unwrap_or(path);
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(&self.mount, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?)
    }

    fn place(&self, path: &Path, directory: bool) -> io::Result<OwnedFd> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = self.place(parent, true)?;
        if directory {
            match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(&parent, name, flags, Mode::from_raw_mode(0o644))?;
        }
        self.resolve(path)
    }
}

/// A new file system of this kind, attached nowhere.
pub(crate) fn filesystem(kind: &str, options: &[(&str, &str)], shape: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(context.as_fd(), *key)?;
        } else {
            fsconfig_set_string(context.as_fd(), *key, *value)?;
        }
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, shape | MountAttrFlags::MOUNT_ATTR_NOSUID)?)
}

/// A file system in memory that takes so much and no more.
pub(crate) fn memory(space: Space, mode: &str, shape: MountAttrFlags) -> io::Result<OwnedFd> {
    let (size, inodes) = (space.bytes.max(4096).to_string(), space.inodes.max(16).to_string());
    filesystem("tmpfs", &[("size", &size), ("nr_inodes", &inodes), ("mode", mode)], shape)
}

pub(crate) fn record(target: &Path, kind: MountKind, access: Access) -> MountRecord {
    MountRecord { target: target.to_owned(), kind, access }
}
