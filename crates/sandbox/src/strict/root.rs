//! The new root: an empty file system in memory, on which everything visible is mounted one
//! by one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, openat, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
    unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};
use sandbox_facts::{Access, MountKind, MountRecord};

use crate::confinement::Space;
use crate::kernel::mount::make_read_only;

/// Small: it holds directories, links and a few files of `/etc`.
const ROOT_SPACE: Space = Space { bytes: 16 << 20, inodes: 8192 };

/// Root under construction; it is not attached to any mount tree yet.
#[derive(Debug)]
pub(crate) struct Root {
    mount: Rc<OwnedFd>,
    /// Directories that were made or found, so that not every entry of one asks for the way
    /// to it again.
    known: Vec<(PathBuf, Rc<OwnedFd>)>,
    pub(crate) mounts: Vec<MountRecord<PathBuf>>,
}

impl Root {
    /// Makes an empty root. `staging` is a directory of the host over which it lies until
    /// it becomes the root. `hidden` are file systems to copy parts from: a mount can be
    /// copied only while it is attached. They lie at an unreachable place and go with the
    /// root.
    pub(crate) fn new(hidden: &[BorrowedFd<'_>], staging: &Path) -> io::Result<Self> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mount = Rc::new(memory(ROOT_SPACE, "0755", MountAttrFlags::MOUNT_ATTR_NODEV)?);
        for mount in hidden.iter().copied().chain([mount.as_fd()]) {
            move_mount(mount, "", CWD, staging, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        Ok(Self { known: vec![(PathBuf::from("/"), Rc::clone(&mount))], mount, mounts: Vec::new() })
    }

    /// Attaches a mount at a place inside, which is made if it is not there, and records it.
    pub(crate) fn attach_mount(
        &mut self,
        mount: impl AsFd,
        directory: bool,
        record: MountRecord<PathBuf>,
    ) -> io::Result<()> {
        let target = record.target.as_path();
        let (parent, name) = self.parent(target)?;
        let made = if directory {
            mkdirat(&parent, name, Mode::from_raw_mode(0o755))
        } else {
            mknodat(&parent, name, FileType::RegularFile, Mode::from_raw_mode(0o644), 0)
        };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        match made {
            Ok(()) => move_mount(mount.as_fd(), "", parent.as_fd(), name, flags)?,
            Err(Errno::EXIST) => {
                let place = self.resolve(target)?;
                move_mount(mount.as_fd(), "", place.as_fd(), "", flags | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)?;
            }
            Err(errno) => return Err(errno.into()),
        }
        // What lay there is covered now.
        self.known.retain(|(path, _)| !path.starts_with(target));
        self.mounts.push(record);
        Ok(())
    }

    /// Makes a directory and returns it; an existing one is fine.
    pub(crate) fn directory(&mut self, path: &Path) -> io::Result<Rc<OwnedFd>> {
        if let Some((_, directory)) = self.known.iter().find(|(known, _)| known == path) {
            return Ok(Rc::clone(directory));
        }
        let (parent, name) = self.parent(path)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let directory = Rc::new(self.resolve(path)?);
        self.known.push((path.to_owned(), Rc::clone(&directory)));
        Ok(directory)
    }

    /// Writes a file into the root's own file system.
    pub(crate) fn write_text_file(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.create_file(path)?.write_all(content)
    }

    /// A new file, to be written.
    pub(crate) fn create_file(&mut self, path: &Path) -> io::Result<File> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&parent, name, flags, Mode::from_raw_mode(0o644))?))
    }

    /// Makes a symbolic link in the root's own file system.
    pub(crate) fn link_path(&mut self, path: &Path, to: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(symlinkat(to, &parent, name)?)
    }

    /// A copy of something that is already mounted inside, to be mounted at a second place
    /// as it is.
    pub(crate) fn copy_mount(&self, path: &Path) -> io::Result<OwnedFd> {
        copy_mount_at(self.resolve(path)?, Path::new(""))
    }

    /// Makes this the root of the process and detaches the host's.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fchdir(&self.mount)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        make_read_only(&self.mount)
    }

    fn parent<'a>(&mut self, path: &'a Path) -> io::Result<(Rc<OwnedFd>, &'a std::ffi::OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok((self.directory(parent)?, name))
    }

    /// Links inside lead to places inside, never to the host.
    fn resolve(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = path.strip_prefix("/").unwrap_or(path);
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(&self.mount, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?)
    }
}

/// A copy of what is mounted at a place, with all its properties, attached nowhere. An
/// empty path is the place itself.
pub(crate) fn copy_mount_at(place: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(place, path, flags | OpenTreeFlags::AT_EMPTY_PATH)?)
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
    let [size, inodes] = sizes(space);
    filesystem("tmpfs", &[(size.0, &size.1), (inodes.0, &inodes.1), ("mode", mode)], shape)
}

/// The options that say how much it takes.
pub(crate) fn sizes(space: Space) -> [(&'static str, String); 2] {
    [("size", space.bytes.max(4096).to_string()), ("nr_inodes", space.inodes.max(16).to_string())]
}

/// Record of a mount for the posture.
pub(crate) fn record_mount(target: &Path, kind: MountKind, access: Access) -> MountRecord<PathBuf> {
    MountRecord { target: target.to_owned(), kind, access }
}
