//! One file that is asked for by name, and what may lie in its place.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use untrusted_fs::{open_regular, open_root, plain_names, read_plain, read_within};

use crate::world::{SECRET, World};

const LIMIT: u64 = 1 << 20;

/// Puts something at `f` below the first path; the second is the host's folder with the secret.
type Plant = fn(&Path, &Path);

struct Row {
    name: &'static str,
    plant: Plant,
    /// The path that is read.
    path: &'static str,
    /// A reader by path gets the secret. None where it would hang.
    naive: Option<bool>,
    read: Option<&'static [u8]>,
}

const ROWS: &[Row] = &[
    Row {
        name: "a plain file",
        plant: |at, _| fs::write(at.join("f"), "own").unwrap(),
        path: "f",
        naive: Some(false),
        read: Some(b"own"),
    },
    Row { name: "nothing", plant: |_, _| {}, path: "f", naive: Some(false), read: None },
    Row {
        name: "a link to a file",
        plant: |at, host| symlink(host.join("secret"), at.join("f")).unwrap(),
        path: "f",
        naive: Some(true),
        read: None,
    },
    Row {
        name: "a link that climbs",
        plant: |at, _| symlink("../host/secret", at.join("f")).unwrap(),
        path: "f",
        naive: Some(true),
        read: None,
    },
    Row {
        name: "a link to a link",
        plant: |at, host| {
            symlink(host.join("secret"), at.join("g")).unwrap();
            symlink("g", at.join("f")).unwrap();
        },
        path: "f",
        naive: Some(true),
        read: None,
    },
    Row {
        name: "a link to a folder",
        plant: |at, host| symlink(host, at.join("f")).unwrap(),
        path: "f/secret",
        naive: Some(true),
        read: None,
    },
    Row {
        name: "a dangling link",
        plant: |at, _| symlink("/nonexistent", at.join("f")).unwrap(),
        path: "f",
        naive: Some(false),
        read: None,
    },
    Row {
        name: "a link to itself",
        plant: |at, _| symlink("f", at.join("f")).unwrap(),
        path: "f",
        naive: Some(false),
        read: None,
    },
    Row {
        name: "a folder",
        plant: |at, _| fs::create_dir(at.join("f")).unwrap(),
        path: "f",
        naive: Some(false),
        read: None,
    },
    Row { name: "a path that climbs", plant: |_, _| {}, path: "../host/secret", naive: Some(true), read: None },
    Row { name: "a pipe", plant: |at, _| make(at, FileType::Fifo), path: "f", naive: None, read: None },
    Row {
        name: "a link to a pipe",
        plant: |at, _| {
            make(at, FileType::Fifo);
            symlink("f", at.join("g")).unwrap();
        },
        path: "g",
        naive: None,
        read: None,
    },
    Row {
        name: "a socket",
        plant: |at, _| drop(UnixListener::bind(at.join("f")).unwrap()),
        path: "f",
        naive: Some(false),
        read: None,
    },
    Row {
        name: "a sparse file without end",
        plant: |at, _| File::create(at.join("f")).unwrap().set_len(1 << 40).unwrap(),
        path: "f",
        naive: None,
        read: None,
    },
    Row {
        name: "a file as large as may be",
        plant: |at, _| fs::write(at.join("f"), FULL).unwrap(),
        path: "f",
        naive: Some(false),
        read: Some(&FULL),
    },
];

static FULL: [u8; LIMIT as usize] = [7; LIMIT as usize];

fn make(at: &Path, kind: FileType) {
    mknodat(CWD, at.join("f"), kind, Mode::RWXU, 0).unwrap();
}

#[test]
fn only_plain_files_are_read() {
    for Row { name, plant, path, naive, read } in ROWS {
        let world = World::new();
        plant(&world.engine(), &world.host());
        assert_eq!(read_plain(&world.engine(), path.as_bytes(), LIMIT).as_deref(), *read, "{name}");
        if let Some(naive) = naive {
            let got = fs::read(world.engine().join(path)).is_ok_and(|bytes| bytes == SECRET);
            assert_eq!(got, *naive, "{name}: control");
        }
    }
}

/// A device gives bytes for ever, and opening one can have effects.
#[test]
fn a_device_is_not_read() {
    let world = World::new();
    let zero = world.engine().join("f");
    if mknodat(CWD, &zero, FileType::CharacterDevice, Mode::RWXU, makedev(1, 5)).is_err() {
        return testkit::skip("read::a_device_is_not_read", "only root makes devices");
    }
    assert_eq!(read_plain(&world.engine(), b"f", LIMIT), None);
}

/// The kernel's own links lead anywhere, and look like files and folders to a program that follows them.
#[test]
fn links_of_proc_are_not_followed() {
    let root = Path::new("/proc").join(std::process::id().to_string());
    let root = root.as_path();
    for path in ["root/proc/version", "cwd/Cargo.toml", "exe"] {
        assert_eq!(read_plain(root, path.as_bytes(), LIMIT), None, "{path}");
        assert!(File::open(root.join(path)).is_ok(), "{path}: control");
    }
    assert_eq!(plain_names(root, b"root", 10), Vec::<Vec<u8>>::new());
    assert!(!plain_names(root, b"task", 10).is_empty(), "control: a folder beside them");
}

/// A pipe that is looked at stays as it is: a process that waits to write into it still waits.
#[test]
fn looking_at_a_pipe_lets_no_writer_in() {
    use rustix::fs::{OFlags, openat};
    use rustix::io::Errno;
    let world = World::new();
    make(&world.engine(), FileType::Fifo);
    let try_to_write = || openat(CWD, world.engine().join("f"), OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    let root = open_root(&world.engine()).unwrap();
    for _ in 0..100 {
        assert!(open_regular(&root, b"f").is_err());
        assert_eq!(try_to_write().map(drop), Err(Errno::NXIO), "nobody reads");
    }
    let reader = openat(CWD, world.engine().join("f"), OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    assert!(try_to_write().is_ok(), "control: an open for reading lets it in");
    drop(reader);
}

#[test]
fn a_file_that_grows_is_cut_by_bytes_and_by_time() {
    let world = World::new();
    let over = AtomicBool::new(false);
    let path = world.engine().join("f");
    let mut file = File::create(&path).unwrap();
    file.write_all(&[1; 4096]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut left = 20_000;
            while !over.load(Ordering::Relaxed) && left > 0 {
                file.write_all(&[1; 4096]).unwrap();
                left -= 1;
            }
        });
        let root = open_root(&world.engine()).unwrap();
        let read = |limit, until| {
            let (file, _) = open_regular(&root, b"f").unwrap();
            read_within(file, limit, until).map(|bytes| bytes.len()).map_err(|error| error.kind())
        };
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(read(1000, later), Err(std::io::ErrorKind::FileTooLarge));
        assert_eq!(read(u64::MAX, Instant::now()), Err(std::io::ErrorKind::TimedOut));
        over.store(true, Ordering::Relaxed);
    });
}

/// Names are read where a plain way of directories leads, and no further.
#[test]
fn names_below_a_root_are_plain() {
    let world = World::new();
    let root = world.engine();
    fs::create_dir_all(root.join("a/b")).unwrap();
    for name in ["a/b/1", "a/b/2", "a/b/3", "c"] {
        fs::write(root.join(name), "").unwrap();
    }
    symlink("a", root.join("link")).unwrap();
    for (path, expected) in [
        ("a/b", &["1", "2", "3"][..]),
        ("a", &["b"]),
        ("", &["a", "c", "link"]),
        ("link/b", &[]),
        ("link", &[]),
        ("c", &[]),
        ("none", &[]),
        ("a/../a", &[]),
        ("..", &[]),
        ("/", &[]),
    ] {
        let names = plain_names(&root, path.as_bytes(), 9);
        assert_eq!(names, expected.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>(), "{path}");
    }
    assert_eq!(plain_names(&root, b"a/b", 2).len(), 2);
}
