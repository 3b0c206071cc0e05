//! Captures of random hostile trees: none crashes, hangs, fails for another reason than a limit or a forged mark, or gives a
//! byte of a file outside the tree.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FileType, OFlags, XattrFlags, fchmod, fsetxattr, linkat, mkdirat, mknodat, openat, symlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tree::{Capture, CaptureLimits, Listing, LowerLayers, Manifest, Oid, TreeError, capture, capture_layer};
use untrusted_fs::{open_dir, open_regular, open_root};

use crate::support::{World, files};

const SECRET: &[u8] = b"root:secret";
/// Small, so that some trees are over them.
const LIMITS: CaptureLimits = CaptureLimits { entries: 2000, total_bytes: 4 << 20, file_bytes: 1 << 20, depth: 128 };
/// Trees that each user captures in the everyday suite.
const TREES: u64 = 30;
/// Given to nobody by any system.
const ORDINARY: u32 = 12_345;

/// A sequence of numbers that a seed gives again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

const NAMES: &[&[u8]] = &[
    b"a",
    b"b.txt",
    b"dir",
    b".git",
    b".GIT",
    b".git ",
    b"git~1",
    b"new\nline",
    b"\xff\xfe",
    b"-x",
    b"x.pyc",
    b"node_modules",
    b".gitmodules",
    b".gitignore",
    b"\xe2\x80\x8c.git",
    b"a\\b",
    b"...",
    b" ",
];
const MODES: &[u32] = &[0o000, 0o100, 0o200, 0o300, 0o400, 0o444, 0o500, 0o600, 0o755, 0o4755, 0o1777];
const MARKS: &[(&str, &[u8])] = &[
    ("user.overlay.opaque", b"y"),
    ("user.overlay.opaque", b"x"),
    ("user.overlay.opaque", b"junk"),
    ("user.overlay.whiteout", b""),
    ("user.overlay.redirect", b"/host/secret"),
    ("user.overlay.metacopy", b""),
    ("user.other", b"1"),
];

/// The names of a path.
type Names = Vec<&'static [u8]>;

/// A tree that is being made hostile. Everything is made below open directories without following a link, since its own links
/// lead out of it. What a deed cannot do, because another one was there first, is not done.
struct Tree<'a> {
    root: OwnedFd,
    host: &'a Path,
    random: Random,
    /// Directories that things are put into, from the root.
    directories: Vec<Names>,
    /// Modes that are set at last, so that everything could be made.
    modes: Vec<(OwnedFd, u32)>,
}

impl Tree<'_> {
    /// A directory and a name in it; none where the directory was removed or replaced.
    fn place(&mut self) -> Option<(Names, OwnedFd, &'static [u8])> {
        let name = *self.random.pick(NAMES);
        let path = self.random.pick(&self.directories).clone();
        let root = open_dir(&self.root, b".").ok()?;
        let dir = path.iter().try_fold(root, |at, part| open_dir(&at, part).ok())?;
        Some((path, dir, name))
    }

    fn do_deed(&mut self) {
        let Some((path, dir, name)) = self.place() else { return };
        let link = |target: &Path| may_fail(symlinkat(target, &dir, name));
        let special = |kind| may_fail(mknodat(&dir, name, kind, 0o600.into(), 0));
        match self.random.below(15) {
            0 => link(&self.host.join("secret")),
            1 => link(self.host),
            2 => link(Path::new(*self.random.pick(&["..", "../..", ".", "a", "/proc/self/root", "dir/../.."]))),
            3 => special(FileType::Fifo),
            4 => special(FileType::Socket),
            // A mark of an overlay; only root can make one.
            5 => special(FileType::CharacterDevice),
            6 => self.make_deep(path, dir, name),
            7 => may_fail(make_file(&dir, name).map(|file| file.set_len(self.random.next() % 5000))),
            8 => may_fail(make_file(&dir, name).map(|file| file.set_len(1 << 40))),
            9 => may_fail(linkat(&self.root, "a", &dir, name, AtFlags::empty())),
            10 => may_fail(untrusted_fs::remove_tree_at(dir.as_fd(), name)),
            11 => (0..300).for_each(|number| may_fail(make_file(&dir, number.to_string().as_bytes()))),
            12 => {
                let (mark, value) = *self.random.pick(MARKS);
                let open = open_dir(&dir, name)
                    .or_else(|_| open_regular(&dir, name).map(|(file, _)| file.into()).map_err(drop));
                may_fail(open.map(|open| fsetxattr(open, mark, value, XattrFlags::empty())));
            }
            13 => {
                let open = open_dir(&dir, name)
                    .or_else(|_| open_regular(&dir, name).map(|(file, _)| file.into()).map_err(drop));
                let mode = *self.random.pick(MODES);
                self.modes.extend(open.map(|open| (open, mode)));
            }
            _ => self.make_directory(path, &dir, name),
        }
    }

    fn make_directory(&mut self, mut path: Names, dir: &OwnedFd, name: &'static [u8]) {
        if mkdirat(dir, name, 0o755.into()).is_ok() {
            path.push(name);
            self.directories.push(path);
        }
    }

    fn make_deep(&mut self, mut path: Names, mut dir: OwnedFd, name: &'static [u8]) {
        let depth = *self.random.pick(&[3, 20, 127, 128, 200]);
        for name in [name].into_iter().chain(std::iter::repeat_n(&b"d"[..], depth)) {
            self.make_directory(path.clone(), &dir, name);
            let Ok(below) = open_dir(&dir, name) else { return };
            path.push(name);
            dir = below;
        }
    }

    fn set_modes(&self) {
        self.modes.iter().for_each(|(open, mode)| may_fail(fchmod(open, (*mode).into())));
    }
}

/// A deed for which another one was too early.
fn may_fail<T, E>(_: Result<T, E>) {}

fn make_file(dir: &OwnedFd, name: &[u8]) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, 0o644.into()).map(File::from)
}

/// Captures one tree in both ways; the number of captures that were within the limits.
fn check(world: &World, host: &Path, seed: u64) -> u64 {
    let base = world.put(&files(&[("a", "one\n"), ("dir/b", "two\n"), ("dir/deep/c", "three\n")]));
    let (root, manifest) = world.workspace(&format!("tree-{seed}"), &base);
    let directories = vec![vec![], vec![&b"dir"[..]], vec![b"dir", b"deep"]];
    let open = open_root(&root).unwrap();
    let mut tree = Tree { root: open, host, random: Random(seed), directories, modes: Vec::new() };
    for _ in 0..tree.random.below(40) {
        tree.do_deed();
    }
    tree.set_modes();
    let mut captured = 0;
    for found in capture_both(world, &root, &manifest, &base) {
        match found {
            Ok(found) => {
                captured += 1;
                check_content(world, &found, seed);
            }
            Err(TreeError::Limit { .. } | TreeError::Mark { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    untrusted_fs::remove_tree(&root).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    captured
}

fn capture_both(world: &World, root: &Path, manifest: &Manifest, base: &Listing) -> [Result<Capture, TreeError>; 2] {
    drop(untrusted_fs::grant_owner(root));
    let upper = open_root(root).unwrap();
    let beneath = LowerLayers { baseline: base, layers: &[] };
    [capture(root, manifest, &world.store, &LIMITS), capture_layer(upper.as_fd(), &beneath, &world.store, &LIMITS)]
}

/// Links are carried as links; nothing has the content of what they lead to.
fn check_content(world: &World, found: &Capture, seed: u64) {
    let oids: Vec<Oid> = found.listing.0.values().map(|entry| entry.oid).collect();
    for (path, bytes) in found.listing.0.keys().zip(world.store.reader().blobs(&oids).unwrap()) {
        let bytes = bytes.unwrap();
        let path = path.escape_ascii();
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET), "seed {seed}: {path}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a soak says by the environment for how long")]
fn seconds() -> Option<u64> {
    std::env::var("CTO_TEST_CAPTURE_SECONDS").ok()?.parse().ok()
}

/// For a fixed number of trees, or for a time and then other trees each time.
fn capture_many(first: u64) {
    let world = World::in_memory();
    let host = world.fresh("host");
    fs::write(host.join("secret"), SECRET).unwrap();
    let until = seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let first = first + if until.is_some() { u64::from(std::process::id()) << 32 } else { 0 };
    let (mut count, mut captured) = (0, 0);
    while until.map_or(count < TREES, |until| Instant::now() < until) {
        captured += check(&world, &host, first + count);
        count += 1;
    }
    eprintln!("{count} trees from seed {first}, {captured} of {} captures within the limits", 2 * count);
    assert!(captured > count / 4, "control: most trees are not refused as a whole");
}

#[test]
fn random_hostile_trees() {
    std::thread::scope(|scope| {
        if geteuid().is_root() {
            scope.spawn(|| capture_many(1));
        }
        scope.spawn(|| {
            if geteuid().is_root() {
                let (uid, gid) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(gid, gid, gid).unwrap();
                set_thread_res_uid(uid, uid, uid).unwrap();
            }
            capture_many(1_000_000);
        });
    });
}
