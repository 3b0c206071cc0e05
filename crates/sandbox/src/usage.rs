//! Disk use of a directory, counted through descriptors: no link is followed, no mount is
//! crossed, and a program that changes the tree meanwhile cannot lead the walk out of it.

use std::collections::HashSet;
use std::ffi::CStr;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Statx, StatxAttributes, StatxFlags, fstatvfs, openat, statx,
};

use crate::Space;
use crate::unnamed::Unnamed;

/// Each level holds one descriptor of the harness.
const DEPTH_MAX: usize = 128;
/// Names are not limited where hard links are, and a walk has to end.
const NAMES_MAX: u64 = 10_000_000;
/// Directories that could not be listed and are remembered; one more is no better than one.
const SHUT_MAX: usize = 256;
/// Unit of `st_blocks`, independent of the file system's own blocks.
const BLOCK: u64 = 512;
const HERE: &CStr = c".";

/// Counted use, each inode once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Allocated bytes, not apparent sizes.
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
    /// Directories that may not be listed and were not known to be so, the first of them.
    pub(crate) shut: Vec<FileIdentity>,
    /// Something could not be looked into: one of those, or what lies too deep, or too many
    /// names.
    pub(crate) partial: bool,
}

/// Device, number and time of birth: numbers are used again.
pub(crate) type FileIdentity = (u32, u32, u64, i64, u32);

impl Usage {
    /// The same and what has no name.
    pub(crate) fn with_unnamed(mut self, unnamed: Unnamed) -> Self {
        self.bytes = self.bytes.saturating_add(unnamed.bytes);
        self.inodes = self.inodes.saturating_add(unnamed.inodes);
        self.partial |= unnamed.partial;
        self
    }

    /// Growth since an earlier count; never negative.
    pub(crate) fn growth_since(&self, before: &Self) -> Space {
        Space { bytes: self.bytes.saturating_sub(before.bytes), inodes: self.inodes.saturating_sub(before.inodes) }
    }
}

/// A directory to be counted, held so that it stays the same one.
#[derive(Debug)]
pub(crate) struct CountedRoot {
    directory: OwnedFd,
}

impl CountedRoot {
    /// Opens a directory for counting; a link in its place is an error.
    pub(crate) fn open_dir(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { directory: openat(CWD, path, flags, Mode::empty())? })
    }

    /// Space that the file system has left for ordinary users.
    pub(crate) fn free(&self) -> io::Result<Space> {
        let space = fstatvfs(&self.directory)?;
        Ok(Space { bytes: space.f_bavail.saturating_mul(space.f_frsize), inodes: space.f_favail })
    }
}

/// Options of a count.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    /// Directories that were so before, and hide nothing new.
    pub(crate) known_shut: &'a [FileIdentity],
    /// Beyond this nothing more has to be known.
    pub(crate) ceiling: Space,
    /// Remember every inode, and not only those with several names: what is moved meanwhile
    /// may be met twice.
    pub(crate) exact: bool,
    /// Asked now and then; true ends the count early.
    pub(crate) give_up: &'a dyn Fn() -> bool,
}

/// Counts all roots, which do not lie within each other.
pub(crate) fn measure_roots(roots: &[CountedRoot], how: Measure<'_>) -> Usage {
    let mut walk = Walk { how, found: Usage::default(), names: 0, met: HashSet::new() };
    for root in roots {
        if walk.root(root).is_break() {
            break;
        }
    }
    walk.found
}

/// An open directory and what was said of it when it was opened.
type Listed = (Dir, Statx);

/// The next entry of a directory, counted.
enum Met {
    /// To be gone into.
    Directory(Box<Listed>),
    Other,
    End,
}

struct Walk<'a> {
    how: Measure<'a>,
    found: Usage,
    names: u64,
    /// Device and number.
    met: HashSet<(u32, u32, u64)>,
}

impl Walk<'_> {
    fn root(&mut self, root: &CountedRoot) -> ControlFlow<()> {
        let Ok(stat) = look(root.directory.as_fd(), c"", AtFlags::EMPTY_PATH) else { return self.miss() };
        self.count(&stat)?;
        match list(root.directory.as_fd(), HERE) {
            Ok(directory) => self.below((directory, stat)),
            Err(_) => self.pass_by(&stat),
        }
    }

    /// Walks without recursion, since the program chooses the depth.
    fn below(&mut self, top: Listed) -> ControlFlow<()> {
        let mut open = vec![top];
        while let Some((directory, own)) = open.last_mut() {
            match self.entry(directory, own)? {
                Met::Directory(listed) if open.len() < DEPTH_MAX => open.push(*listed),
                Met::Directory(_) => self.miss()?,
                Met::Other => {}
                Met::End => drop(open.pop()),
            }
        }
        ControlFlow::Continue(())
    }

    /// Counts the next entry.
    fn entry(&mut self, directory: &mut Dir, own: &Statx) -> ControlFlow<(), Met> {
        let Some(entry) = directory.next() else { return ControlFlow::Continue(Met::End) };
        let (Ok(entry), Ok(parent)) = (entry, directory.fd()) else {
            self.found.partial = true;
            return ControlFlow::Continue(Met::End);
        };
        if entry.file_name() == HERE || entry.file_name() == c".." {
            return ControlFlow::Continue(Met::Other);
        }
        self.names += 1;
        if (self.how.give_up)() || self.names > NAMES_MAX {
            self.found.partial = true;
            return ControlFlow::Break(());
        }
        match entry.file_type() {
            FileType::Directory | FileType::Unknown => self.child(parent, entry.file_name(), own),
            _ => self.leaf(parent, entry.file_name(), own).map_continue(|()| Met::Other),
        }
    }

    /// Opens first and examines the descriptor, so that the counted entry is the one that
    /// is walked.
    fn child(&mut self, parent: BorrowedFd<'_>, name: &CStr, above: &Statx) -> ControlFlow<(), Met> {
        let Ok(directory) = list(parent, name) else {
            // Not a directory, gone, or closed to us: then its own size is all there is to
            // be had.
            match look(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_directory(&stat) && !is_mount(&stat, above) => {
                    self.count(&stat)?;
                    self.pass_by(&stat)?;
                }
                _ => self.leaf(parent, name, above)?,
            }
            return ControlFlow::Continue(Met::Other);
        };
        let stat = directory.fd().and_then(|fd| look(fd, c"", AtFlags::EMPTY_PATH));
        let Ok(stat) = stat else { return self.miss().map_continue(|()| Met::Other) };
        if is_mount(&stat, above) {
            return ControlFlow::Continue(Met::Other);
        }
        self.count(&stat)?;
        ControlFlow::Continue(Met::Directory(Box::new((directory, stat))))
    }

    fn leaf(&mut self, parent: BorrowedFd<'_>, name: &CStr, above: &Statx) -> ControlFlow<()> {
        // What is gone again takes no room.
        let Ok(stat) = look(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return ControlFlow::Continue(()) };
        if is_mount(&stat, above) { ControlFlow::Continue(()) } else { self.count(&stat) }
    }

    fn count(&mut self, stat: &Statx) -> ControlFlow<()> {
        let key = (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino);
        let several = self.how.exact || (stat.stx_nlink > 1 && !is_directory(stat));
        if several && !self.met.insert(key) {
            return ControlFlow::Continue(());
        }
        self.found.inodes += 1;
        self.found.bytes = self.found.bytes.saturating_add(stat.stx_blocks.saturating_mul(BLOCK));
        let Space { bytes, inodes } = self.how.ceiling;
        if self.found.bytes > bytes || self.found.inodes > inodes {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// A directory that may not be listed.
    fn pass_by(&mut self, stat: &Statx) -> ControlFlow<()> {
        let birth = stat.stx_btime;
        let identity = (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, birth.tv_sec, birth.tv_nsec);
        if self.how.known_shut.contains(&identity) {
            return ControlFlow::Continue(());
        }
        if self.found.shut.len() < SHUT_MAX {
            self.found.shut.push(identity);
        }
        self.miss()
    }

    fn miss(&mut self) -> ControlFlow<()> {
        self.found.partial = true;
        ControlFlow::Continue(())
    }
}

fn list(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Dir::new(openat(parent, name, flags, Mode::empty())?)
}

fn look(parent: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> rustix::io::Result<Statx> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::NLINK | StatxFlags::BLOCKS | StatxFlags::BTIME;
    statx(parent, name, flags | AtFlags::NO_AUTOMOUNT, wanted)
}

fn is_directory(stat: &Statx) -> bool {
    FileType::from_raw_mode(RawMode::from(stat.stx_mode)) == FileType::Directory
}

/// True for the root of another mount. If the kernel does not say, another device is taken
/// for a mount; if it does, another device can be a part of the same file system, which a
/// program can make.
fn is_mount(stat: &Statx, above: &Statx) -> bool {
    if stat.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    }
    (stat.stx_dev_major, stat.stx_dev_minor) != (above.stx_dev_major, above.stx_dev_minor)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    const PLAIN: Measure<'_> = Measure { known_shut: &[], ceiling: ANY, exact: false, give_up: &|| false };
    const ANY: Space = Space { bytes: u64::MAX, inodes: u64::MAX };

    fn of(path: &Path, ceiling: Space) -> Usage {
        measure_roots(&[CountedRoot::open_dir(path).unwrap()], Measure { ceiling, ..PLAIN })
    }

    #[test]
    fn every_inode_is_counted_once_and_no_link_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("large"), vec![1; 1 << 20]).unwrap();
        let inside = tempfile::tempdir().unwrap();
        let path = |name: &str| inside.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/file"), vec![1; 100_000]).unwrap();
        let before = of(inside.path(), ANY);
        let blocks = ["", "a", "a/b", "a/b/file"].map(|name| path(name).metadata().unwrap().blocks() * BLOCK);
        assert_eq!(before, Usage { bytes: blocks.iter().sum(), inodes: 4, ..Usage::default() });

        fs::hard_link(path("a/b/file"), path("again")).unwrap();
        symlink(outside.path(), path("out")).unwrap();
        symlink("a", path("a/b/round")).unwrap();
        // 1 MiB long, and nothing of it written.
        fs::File::create(path("sparse")).unwrap().set_len(1 << 20).unwrap();
        let after = of(inside.path(), ANY).growth_since(&before);
        assert_eq!(after.inodes, 3);
        assert!(after.bytes < 100_000, "{after:?}");
    }

    #[test]
    fn a_mount_is_told_from_a_directory() {
        for (parent, name, mount) in [("/", c"proc", true), ("/proc/self/.", c"task", false)] {
            let root = CountedRoot::open_dir(Path::new(parent)).unwrap();
            let above = look(root.directory.as_fd(), c"", AtFlags::EMPTY_PATH).unwrap();
            let stat = look(root.directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            assert_eq!(is_mount(&stat, &above), mount, "{parent} {name:?}");
        }
    }

    #[test]
    fn a_directory_that_becomes_a_link_leads_nowhere() {
        let outside = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::write(outside.path().join(number.to_string()), "x").unwrap();
        }
        let inside = tempfile::tempdir().unwrap();
        let [directory, link, aside] = ["directory", "link", "aside"].map(|name| inside.path().join(name));
        fs::create_dir(&directory).unwrap();
        symlink(outside.path(), &link).unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        let most = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    for (from, to) in
                        [(&directory, &aside), (&link, &directory), (&directory, &link), (&aside, &directory)]
                    {
                        fs::rename(from, to).unwrap();
                    }
                }
            });
            let most = (0..3000).map(|_| of(inside.path(), ANY).inodes).max();
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            most
        });
        // A renamed entry may be met under both its names.
        assert!(most.unwrap() < 10, "{most:?}");
    }

    #[test]
    fn an_exact_walk_counts_nothing_twice_that_moves() {
        let tree = tempfile::tempdir().unwrap();
        // Enough names that a walk takes a while, and something that is now before them and now behind.
        for number in 0..300 {
            fs::write(tree.path().join(number.to_string()), "x").unwrap();
        }
        let [here, there] = ["a", "b"].map(|name| tree.path().join(name));
        fs::create_dir_all(here.join("below")).unwrap();
        fs::write(here.join("below/file"), "x").unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        let most = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    fs::rename(&here, &there).unwrap();
                    fs::rename(&there, &here).unwrap();
                }
            });
            let root = [CountedRoot::open_dir(tree.path()).unwrap()];
            let most = (0..300).map(|_| measure_roots(&root, Measure { exact: true, ..PLAIN }).inodes).max();
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            most
        });
        assert!(most.unwrap() <= 304, "{most:?}");
    }

    #[test]
    fn a_walk_ends_at_its_ceiling_at_its_depth_and_when_asked() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::write(tree.path().join(number.to_string()), "x").unwrap();
        }
        let few = of(tree.path(), Space { inodes: 10, ..ANY });
        assert_eq!((few.inodes, few.partial), (11, false));
        let given_up =
            measure_roots(&[CountedRoot::open_dir(tree.path()).unwrap()], Measure { give_up: &|| true, ..PLAIN });
        assert_eq!((given_up.inodes, given_up.partial), (1, true));
        let mut deep = tree.path().to_owned();
        for _ in 0..DEPTH_MAX + 10 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let cut = of(tree.path(), ANY);
        assert_eq!((cut.inodes, cut.partial), (101 + DEPTH_MAX as u64, true));
    }
}
