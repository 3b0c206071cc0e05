//! A checkout is whole or not there, is the one that was built, and says so when it is not.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tree::{Author, Checkout, Listing, ListingEntry, Oid, PathMode, TreeError, checkout};

use crate::support::{AUTHOR, Node, World, files, git, program, read_back, write};

/// Damage to a checkout.
type Harm = fn(&Path);

struct Case {
    world: World,
    base: Listing,
    commit: Oid,
}

impl Case {
    fn new() -> Case {
        let world = World::new();
        let mut nodes = files(&[("a", "aaaa"), ("d/b", "2\n"), ("d/e/c", "3\n")]);
        nodes.insert(b"run".to_vec(), Node::Executable(b"#!/bin/sh\n".to_vec()));
        nodes.insert(b"l".to_vec(), Node::Link(b"a".to_vec()));
        let mut base = world.put(&nodes);
        base.0.insert(b"mod".to_vec(), ListingEntry { mode: PathMode::Gitlink, oid: Oid([7; 20]) });
        let commit = world.commit(&base, &[]);
        Case { world, base, commit }
    }

    fn cache(&self) -> PathBuf {
        self.world.path("home/cache")
    }

    fn get(&self) -> Result<Checkout, TreeError> {
        checkout(&self.cache(), &self.world.store, &self.base, self.commit, AUTHOR)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.cache())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }
}

fn identity(path: &Path) -> (u64, i64, i64) {
    let meta = fs::metadata(path).unwrap();
    (meta.ino(), meta.ctime(), meta.ctime_nsec())
}

#[test]
fn it_is_built_once_and_is_what_a_copy_is() {
    let case = Case::new();
    let first = case.get().unwrap();
    let copy = case.world.workspace("copy", &case.base).0;
    let mut held = read_back(&first.root);
    held.retain(|path, _| !path.starts_with(b".git/"));
    assert_eq!(held, read_back(&copy));
    assert_eq!(git(&first.root, &["-c", "core.fsmonitor=false", "status", "--porcelain"]), "");
    assert_eq!(git(&first.root, &["rev-parse", "HEAD"]), case.commit.to_string());
    for (path, mode) in [("", 0o755), ("a", 0o644), ("run", 0o755), ("d", 0o755), ("mod", 0o755)] {
        let found = fs::metadata(first.root.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, mode, "{path:?} as a program sees it");
    }
    assert_eq!(fs::metadata(case.cache()).unwrap().permissions().mode() & 0o7777, 0o700);
    let second = case.get().unwrap();
    assert_eq!((&second.root, identity(&second.root)), (&first.root, identity(&first.root)));
    assert_eq!(case.names().len(), 1, "{:?}", case.names());
    assert!(case.names()[0].starts_with(&case.commit.to_string()));
}

#[test]
fn another_author_gets_another_one() {
    let case = Case::new();
    let root = case.get().unwrap().root;
    let before = identity(&root);
    let author = Author { name: "Another", ..AUTHOR };
    let other = checkout(&case.cache(), &case.world.store, &case.base, case.commit, author).unwrap();
    assert_ne!(root, other.root);
    other.check_files(&case.base).unwrap();
    assert_eq!(identity(&case.get().unwrap().root), before, "one that nobody uses now is kept");
}

#[test]
fn those_who_build_at_once_share_what_the_first_built() {
    let case = Case::new();
    let found: Vec<(PathBuf, (u64, i64, i64))> = std::thread::scope(|scope| {
        let one = || {
            let found = case.get().unwrap();
            found.check_files(&case.base).unwrap();
            (found.root.clone(), identity(&found.root))
        };
        let all: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    assert_eq!(case.names().len(), 1, "{:?}", case.names());
}

#[test]
fn what_dead_builders_left_goes_and_what_others_build_stays() {
    let case = Case::new();
    let (dead, alive) = (case.cache().join("aside-1-0"), case.cache().join("aside-1-1"));
    for folder in [&dead, &alive] {
        write(&folder.join("tree/half"), b"x");
    }
    let lock = fs::File::open(&alive).unwrap();
    lock.lock().unwrap();
    case.get().unwrap();
    assert!(!dead.exists() && alive.join("tree/half").exists());
    drop(lock);
    let author = Author { name: "Another", ..AUTHOR };
    checkout(&case.cache(), &case.world.store, &case.base, case.commit, author).unwrap();
    assert!(!alive.exists());
}

/// A store that cannot give what the listing names leaves nothing behind.
#[test]
fn a_build_that_fails_leaves_nothing() {
    let mut case = Case::new();
    case.base.0.insert(b"z".to_vec(), ListingEntry { mode: PathMode::File, oid: Oid([9; 20]) });
    assert!(matches!(case.get(), Err(TreeError::Missing { .. })));
    assert_eq!(case.names(), Vec::<String>::new());
}

#[test]
fn one_that_is_not_the_one_built_is_built_anew() {
    let rows: [(&str, Harm); 7] = [
        ("no stamp", |f| fs::remove_file(f.join("stamp")).unwrap()),
        ("another's stamp", |f| write(&f.join("stamp"), b"content 0\n")),
        ("a stamp with more in it", |f| {
            let text = fs::read_to_string(f.join("stamp")).unwrap();
            write(&f.join("stamp"), format!("{text}more\n").as_bytes());
        }),
        ("no tree", |f| fs::remove_dir_all(f.join("tree")).unwrap()),
        ("something new in the root", |f| write(&f.join("tree/new"), b"")),
        ("something gone from the root", |f| fs::remove_file(f.join("tree/a")).unwrap()),
        ("a copy", |f| {
            let aside = f.with_extension("aside");
            assert!(program("cp").arg("-a").args([f, aside.as_path()]).status().unwrap().success());
            fs::remove_dir_all(f).unwrap();
            fs::rename(aside, f).unwrap();
        }),
    ];
    for (name, harm) in rows {
        let case = Case::new();
        let root = case.get().unwrap().root;
        let stamp = || fs::read(root.with_file_name("stamp")).ok();
        let built = stamp();
        harm(root.parent().unwrap());
        let harmed = stamp();
        let again = case.get().unwrap();
        again.check_files(&case.base).unwrap();
        assert_eq!(again.root, root, "{name}");
        assert!(![built, harmed].contains(&stamp()), "{name}");
        assert_eq!(case.names().len(), 1, "{name}");
    }
}

#[test]
fn one_in_use_is_not_removed() {
    let case = Case::new();
    let (held, other) = (case.get().unwrap(), case.get().unwrap());
    let in_use = |result: Result<(), TreeError>| match result {
        Err(TreeError::Damaged { problem, .. }) => assert!(problem.contains("in use"), "{problem}"),
        other => panic!("{other:?}"),
    };
    in_use(other.discard());
    held.check_files(&case.base).unwrap();
    write(&held.root.join("new"), b"");
    in_use(case.get().map(drop));
    held.discard().unwrap();
    assert_eq!(case.names(), Vec::<String>::new());
    case.get().unwrap().check_files(&case.base).unwrap();
}

#[test]
fn anothers_under_its_name_is_not_taken() {
    let case = Case::new();
    let author = Author { name: "Another", ..AUTHOR };
    let other = checkout(&case.cache(), &case.world.store, &case.base, case.commit, author).unwrap().root;
    let root = case.get().unwrap().root;
    fs::remove_dir_all(root.parent().unwrap()).unwrap();
    fs::rename(other.parent().unwrap(), root.parent().unwrap()).unwrap();
    let found = case.get().unwrap();
    assert!(fs::read_to_string(found.root.join(".git/config")).unwrap().contains(AUTHOR.name));
}

/// A caller that waits for a checkout that another removes gets a new one.
#[test]
fn one_that_went_while_it_was_waited_for_is_built_anew() {
    let case = Case::new();
    let folder = case.get().unwrap().root.parent().unwrap().to_path_buf();
    let lock = fs::File::open(&folder).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| case.get().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!waiting.is_finished());
        fs::rename(&folder, case.world.path("gone")).unwrap();
        drop(lock);
        let found = waiting.join().unwrap();
        assert_eq!(found.root.parent(), Some(folder.as_path()));
        found.check_files(&case.base).unwrap();
    });
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn keep_times(path: &Path, act: impl FnOnce()) {
    let before = fs::metadata(path).unwrap();
    act();
    let time = rustix::fs::Timespec { tv_sec: before.mtime(), tv_nsec: before.mtime_nsec() as _ };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty()).unwrap();
}

/// Harm below the root, where no stamp sees it, what the check says, and that the next one is good again.
#[test]
fn a_check_sees_every_harm() {
    let harms: [(&str, Harm, &str); 12] = [
        ("other bytes", |r| write(&r.join("d/b"), b"9\n"), "tree/d/b has other content"),
        (
            "bytes with their time put back",
            |r| keep_times(&r.join("a"), || write(&r.join("a"), b"bbbb")),
            "tree/a has other content",
        ),
        ("mode", |r| set_mode(&r.join("run"), 0o700), "tree/run has another mode"),
        ("setuid", |r| set_mode(&r.join("run"), 0o4755), "tree/run has another mode"),
        ("new file", |r| write(&r.join("d/new"), b""), "tree/d/new was not there"),
        ("new directory", |r| fs::create_dir(r.join("d/new")).unwrap(), "tree/d/new was not there"),
        ("gone", |r| fs::remove_file(r.join("d/e/c")).unwrap(), "tree/d/e/c is not there any more"),
        (
            "another kind",
            |r| (fs::remove_file(r.join("d/b")).unwrap(), symlink("a", r.join("d/b")).unwrap()).1,
            "tree/d/b has another mode",
        ),
        ("submodule filled", |r| write(&r.join("mod/x"), b""), "tree/mod is no empty directory any more"),
        ("configuration", |r| write(&r.join(".git/config"), b"[core]\n"), "tree/.git/config has other content"),
        ("hook", |r| write(&r.join(".git/hooks/pre-commit"), b""), "tree/.git/hooks was not there"),
        (
            "manifest",
            |r| write(&r.with_file_name("manifest"), b""),
            "has a manifest that is not the one it was stamped with",
        ),
    ];
    for (name, harm, says) in harms {
        let case = Case::new();
        let found = case.get().unwrap();
        found.check_files(&case.base).unwrap();
        harm(&found.root);
        let said = found.check_files(&case.base).unwrap_err().to_string();
        assert!(said.ends_with(says), "{name}: {said}");
        found.discard().unwrap();
        case.get().unwrap().check_files(&case.base).unwrap();
    }
}

#[test]
fn a_check_is_against_the_callers_listing() {
    let case = Case::new();
    let found = case.get().unwrap();
    let mut other = case.base.clone();
    other.0.remove(b"a".as_slice());
    for listing in [other, case.world.put(&files(&[("a", "1")]))] {
        let said = found.check_files(&listing).unwrap_err().to_string();
        assert!(said.ends_with("has a manifest of another listing"), "{said}");
    }
}

/// Stats that moved are no harm where the content has not.
#[test]
fn what_moved_is_read_again() {
    let case = Case::new();
    let found = case.get().unwrap();
    let file = found.root.join("d/b");
    fs::rename(&file, found.root.join("d/aside")).unwrap();
    write(&file, b"2\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(found.root.join("d/aside")).unwrap();
    found.check_files(&case.base).unwrap();
}
