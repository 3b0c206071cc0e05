//! A program that lives and exchanges files for links while they are read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use untrusted_fs::{Bounds, Met, Next, kind, open_regular, open_root, read_limited, read_plain, walk};

use crate::world::{SECRET, World};

/// Tries of each reader.
const TRIES: usize = 1000;
/// More than a reader by path ever needed.
const CONTROL: usize = 2_000_000;

/// Exchanges two names for each other until the readers are done.
fn exchange(one: &Path, other: &Path, read: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Also where a reader fails.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Everything that the door gives below a directory.
fn read_all(root: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let bounds = Bounds::within(std::time::Duration::from_secs(60));
    let walked = walk::<std::io::Error>(open_root(root).unwrap(), &bounds, |met| {
        if let Met::Entry(entry) = met
            && let Ok((file, _)) = open_regular(entry.dir, entry.name)
        {
            all.push(read_limited(file, 1 << 20)?);
        }
        Ok(Next::Enter)
    });
    walked.unwrap();
    all
}

/// Looks first and reads then, as a reader by path does.
fn naive(path: &Path) -> Option<Vec<u8>> {
    fs::symlink_metadata(path).ok()?.is_file().then(|| fs::read(path).ok()).flatten()
}

#[test]
fn a_file_exchanged_for_a_link_gives_nothing_of_the_host() {
    let world = World::new();
    let [file, link] = ["f", "g"].map(|name| world.engine().join(name));
    fs::write(&file, "own").unwrap();
    symlink(world.secret(), &link).unwrap();
    exchange(&file, &link, || {
        for _ in 0..TRIES {
            let read = read_plain(&world.engine(), b"f", 1 << 20);
            assert!(read.is_none_or(|bytes| bytes == b"own"));
            assert!(read_all(&world.engine()).iter().all(|bytes| bytes == b"own"));
        }
        let stolen = (0..CONTROL).any(|_| naive(&file).is_some_and(|bytes| bytes == SECRET));
        assert!(stolen, "control: a reader by path is led out");
    });
}

#[test]
fn a_folder_exchanged_for_a_link_gives_nothing_of_the_host() {
    let world = World::new();
    let [folder, link] = ["f", "g"].map(|name| world.engine().join(name));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("secret"), "own").unwrap();
    symlink(world.host(), &link).unwrap();
    exchange(&folder, &link, || {
        for _ in 0..TRIES {
            let read = read_plain(&world.engine(), b"f/secret", 1 << 20);
            assert!(read.is_none_or(|bytes| bytes == b"own"));
            assert!(read_all(&world.engine()).iter().all(|bytes| bytes == b"own"));
        }
        let stolen = (0..CONTROL).any(|_| {
            let is_folder = fs::symlink_metadata(&folder).is_ok_and(|stat| stat.is_dir());
            is_folder && naive(&folder.join("secret")).is_some_and(|bytes| bytes == SECRET)
        });
        assert!(stolen, "control: a reader by path is led out");
    });
}

/// A pipe in the place of a file: opening it to read would wait for a writer who never comes.
#[test]
fn a_file_exchanged_for_a_pipe_holds_nobody_up() {
    let world = World::new();
    let [file, pipe] = ["f", "g"].map(|name| world.engine().join(name));
    fs::write(&file, "own").unwrap();
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    exchange(&file, &pipe, || {
        for _ in 0..TRIES {
            assert!(read_plain(&world.engine(), b"f", 1 << 20).is_none_or(|bytes| bytes == b"own"));
        }
        let root = open_root(&world.engine()).unwrap();
        // Control: what was looked at is at times not what is opened by the same name next.
        let looked = |name: &[u8]| untrusted_fs::lstat(&root, name).is_ok_and(|stat| kind(&stat) == FileType::Fifo);
        assert!(
            (0..CONTROL).any(|_| !looked(b"f") && looked(b"f")),
            "control: the names are exchanged between two calls"
        );
    });
}
