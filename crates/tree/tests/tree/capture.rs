//! Captured changes, refusals and limits of a capture.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tree::{Capture, CaptureLimits, Limit, Listing, Manifest, TreeError, capture, changes, ignored};

use crate::layer::PairedWorkspaces;
use crate::support::{Node, World, files, program, text, write};

const BASE: &[(&str, &str)] = &[("a.py", "1\n"), ("d/b", "2\n"), ("old.pyc", "3"), ("__pycache__/k.txt", "4")];

pub(crate) fn summary(c: &Capture) -> String {
    let list =
        |what: &str, paths: &[Vec<u8>]| paths.iter().map(|p| format!("{what} {}; ", text(p))).collect::<String>();
    let refused: String = c.refused.iter().map(|r| format!("{:?} {}; ", r.why, text(&r.path))).collect();
    let parts = [
        list("nested", &c.nested_repositories),
        list("special", &c.special_files),
        list("empty", &c.empty_directories),
    ];
    format!(
        "{refused}{}{}",
        parts.concat(),
        c.unfinished.iter().map(|u| format!("unfinished {u}; ")).collect::<String>()
    )
}

/// One deed in a workspace, a copy and one of layers, what the captures say of it, and the paths that changed.
fn check(name: &str, deed: impl Fn(&Path), says: &str, changed: &[&str]) {
    let mut nodes = files(BASE);
    nodes.insert(b"abs".to_vec(), Node::Link(b"/etc/hostname".to_vec()));
    nodes.insert(b"via".to_vec(), Node::Link(b"q/up/..".to_vec()));
    nodes.insert(b"deep".to_vec(), Node::Link(b"d/x/y".to_vec()));
    nodes.insert(b"kept".to_vec(), Node::Link(b"deep/../..".to_vec()));
    let twice = PairedWorkspaces::new(&nodes, &[b"mod"]);
    let upper = twice.layer("upper", &[], |overlay| deed(overlay.root()));
    deed(&twice.copy);
    for (of, found) in [("layer", twice.capture_layer(&upper, &[])), ("copy", twice.capture_copy())] {
        assert_eq!(summary(&found).trim(), says, "{name}, {of}");
        assert_eq!(changed_paths(&twice.base, &found), changed, "{name}, {of}");
    }
}

pub(crate) fn changed_paths(base: &Listing, found: &Capture) -> Vec<String> {
    changes(base, &found.listing).iter().map(|change| text(&change.path)).collect()
}

fn socket(path: &Path) {
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
}

#[test]
fn refusals() {
    check("nothing", |_| {}, "", &[]);
    check("a plain change", |r| write(&r.join("a.py"), b"9\n"), "", &["a.py"]);
    check(
        "same bytes, another mode",
        |r| fs::set_permissions(r.join("a.py"), fs::Permissions::from_mode(0o755)).unwrap(),
        "",
        &["a.py"],
    );
    check("link out", |r| symlink("../x", r.join("d/l")).unwrap(), "", &["d/l"]);
    check("link far out", |r| symlink("../../x", r.join("d/l")).unwrap(), "LinkLeavesRepository d/l;", &["d/l"]);
    check("absolute link", |r| symlink("/etc/passwd", r.join("l")).unwrap(), "LinkLeavesRepository l;", &["l"]);
    check("link into .git", |r| symlink(".git/config", r.join("l")).unwrap(), "LinkLeavesRepository l;", &["l"]);
    check(
        "links that leave together",
        |r| {
            symlink("..", r.join("d/up")).unwrap();
            symlink("d/up/..", r.join("l")).unwrap();
        },
        "LinkLeavesRepository l;",
        &["d/up", "l"],
    );
    check(
        "an old link that a new one leads out",
        |r| (fs::create_dir(r.join("q")).unwrap(), symlink("..", r.join("q/up")).unwrap()).1,
        "LinkLeavesRepository via;",
        &["q/up"],
    );
    check(
        "an old link that one now gone kept in",
        |r| (fs::remove_file(r.join("deep")).unwrap(), write(&r.join("deep/f"), b"")).1,
        "LinkLeavesRepository kept;",
        &["deep", "deep/f"],
    );
    check(".GIT", |r| write(&r.join(".GIT/config"), b"x"), "GitName .GIT;", &[]);
    check("git~1", |r| write(&r.join("d/git~1"), b"x"), "GitName d/git~1;", &[]);
    check("link .gitmodules", |r| symlink("a.py", r.join(".gitmodules")).unwrap(), "GitName .gitmodules;", &[]);
    check("not UTF-8", |r| write(&r.join(OsStr::from_bytes(b"f\xff")), b"x"), "NotUtf8 f\\xff;", &["f\\xff"]);
    check("FIFO", |r| assert!(program("mkfifo").arg(r.join("d/p")).status().unwrap().success()), "special d/p;", &[]);
    check("socket", |r| socket(&r.join("s")), "special s;", &[]);
    check("empty directories", |r| fs::create_dir_all(r.join("e/f/g")).unwrap(), "empty e;", &[]);
    check(
        "nested repository",
        |r| (write(&r.join("n/f"), b"1"), write(&r.join("n/.git/HEAD"), b"ref: refs/heads/main\n")).0,
        "nested n;",
        &["n/f"],
    );
    check("nested .git file", |r| write(&r.join("n/.git"), b"gitdir: /elsewhere\n"), "nested n; empty n;", &[]);
    check("gitlink filled", |r| write(&r.join("mod/f"), b""), "GitlinkChanged mod;", &[]);
    check("gitlink gone", |r| fs::remove_dir(r.join("mod")).unwrap(), "GitlinkChanged mod;", &["mod"]);
    check(
        "gitlink replaced",
        |r| (fs::remove_dir(r.join("mod")).unwrap(), write(&r.join("mod"), b"")).1,
        "GitlinkChanged mod;",
        &["mod"],
    );
    check("own .git gone", |r| fs::remove_dir_all(r.join(".git")).unwrap(), "", &[]);
    check(
        "own .git a link",
        |r| (fs::remove_dir_all(r.join(".git")).unwrap(), symlink("/", r.join(".git")).unwrap()).1,
        "",
        &[],
    );
    check(
        "unfinished",
        |r| (write(&r.join(".git/MERGE_HEAD"), b""), write(&r.join(".git/refs/stash"), b"")).1,
        "unfinished MERGE_HEAD; unfinished refs/stash;",
        &[],
    );
}

#[test]
fn limits() {
    let row = |limits: CaptureLimits, deed: &dyn Fn(&Path)| {
        let world = World::new();
        let (root, manifest) = world.workspace("work", &world.put(&files(BASE)));
        deed(&root);
        match capture(&root, &manifest, &world.store, &limits) {
            Ok(_) => None,
            Err(TreeError::Limit { limit, .. }) => Some(limit),
            Err(e) => panic!("{e}"),
        }
    };
    let some = CaptureLimits { entries: 3, total_bytes: 100, file_bytes: 60, depth: 4 };
    assert_eq!(row(some, &|_| {}), None);
    assert_eq!(row(some, &|r| (0..3).for_each(|n| write(&r.join(n.to_string()), b""))), None);
    assert_eq!(row(some, &|r| (0..4).for_each(|n| write(&r.join(n.to_string()), b""))), Some(Limit::Entries));
    assert_eq!(
        row(some, &|r| (0..4).for_each(|n| fs::create_dir(r.join(n.to_string())).unwrap())),
        Some(Limit::Entries)
    );
    assert_eq!(row(some, &|r| write(&r.join("x"), &[0; 60])), None);
    assert_eq!(row(some, &|r| write(&r.join("x"), &[0; 61])), Some(Limit::FileBytes));
    assert_eq!(
        row(some, &|r| (write(&r.join("x"), &[0; 60]), write(&r.join("y"), &[0; 60])).1),
        Some(Limit::TotalBytes)
    );
    let deep = CaptureLimits { entries: 100, ..some };
    assert_eq!(row(deep, &|r| fs::create_dir_all(r.join("1/2/3/4")).unwrap()), None);
    assert_eq!(row(deep, &|r| fs::create_dir_all(r.join("1/2/3/4/5")).unwrap()), Some(Limit::Depth));
    let sparse = |r: &Path| fs::File::create(r.join("x")).unwrap().set_len(1 << 50).unwrap_or(());
    assert_eq!(
        row(CaptureLimits { file_bytes: 0, ..deep }, &|r| (sparse(r), write(&r.join("y"), b"1")).1),
        Some(Limit::FileBytes)
    );
}

fn restore_mtime(path: &Path, before: &fs::Metadata) {
    let mtime = rustix::fs::Timespec { tv_sec: before.mtime(), tv_nsec: before.mtime_nsec() as _ };
    let times = rustix::fs::Timestamps { last_access: mtime, last_modification: mtime };
    rustix::fs::futimens(fs::File::options().write(true).open(path).unwrap(), &times).unwrap();
}

/// Same size, mtime put back, at once: again and again, so that some fall into the tick of the clock in which the file was made.
#[test]
fn a_change_within_one_tick_is_seen() {
    let world = World::new();
    let base = world.put(&files(&[("f", "aaaa")]));
    for round in 0..50 {
        let (root, manifest) = world.workspace(&format!("work{round}"), &base);
        let file = root.join("f");
        let before = fs::metadata(&file).unwrap();
        fs::write(&file, "bbbb").unwrap();
        restore_mtime(&file, &before);
        assert_eq!(changes(&base, &world.capture(&root, &manifest).listing).len(), 1, "round {round}");
    }
}

/// The same long after the manifest was taken, where unchanged files are not read again.
#[test]
fn a_late_change_with_its_mtime_put_back_is_seen() {
    let world = World::new();
    let base = world.put(&files(&[("f", "aaaa"), ("g", "cccc")]));
    let (root, _) = world.workspace("work", &base);
    std::thread::sleep(std::time::Duration::from_millis(250));
    let late = world.put(&files(&[("z", "late")]));
    tree::materialise(&world.store, &late, &root).unwrap();
    let all = Listing(base.0.iter().chain(&late.0).map(|(p, e)| (p.clone(), *e)).collect());
    let manifest = Manifest::record_workspace(&root, &all).unwrap();
    let before = fs::metadata(root.join("f")).unwrap();
    fs::write(root.join("f"), "bbbb").unwrap();
    restore_mtime(&root.join("f"), &before);
    let changed: Vec<String> =
        changes(&all, &world.capture(&root, &manifest).listing).iter().map(|c| text(&c.path)).collect();
    assert_eq!(changed, ["f"]);
}

/// tmpfs writes pages of a shared mapping without moving mtime or ctime.
#[test]
fn a_change_that_leaves_no_trace_in_stat_is_seen() {
    let script =
        "import mmap,sys\nf=open(sys.argv[1],'r+b')\nm=mmap.mmap(f.fileno(),0)\nm[0]\nm[0:1]=b'b'\nm.flush()\n";
    let Ok(shm) = tempfile::TempDir::new_in("/dev/shm") else {
        return testkit::skip("capture::a_change_that_leaves_no_trace_in_stat_is_seen", "no /dev/shm");
    };
    let world = World::new();
    let base = world.put(&files(&[("f", "aaaa")]));
    tree::materialise(&world.store, &base, shm.path()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(150));
    let late = world.put(&files(&[("z", "late")]));
    tree::materialise(&world.store, &late, shm.path()).unwrap();
    let all = Listing(base.0.iter().chain(&late.0).map(|(p, e)| (p.clone(), *e)).collect());
    let manifest = Manifest::record_workspace(shm.path(), &all).unwrap();
    match program("python3").args(["-c", script]).arg(shm.path().join("f")).status() {
        Ok(status) => assert!(status.success()),
        Err(e) => {
            return testkit::skip(
                "capture::a_change_that_leaves_no_trace_in_stat_is_seen",
                &format!("no python3: {e}"),
            );
        }
    }
    assert_eq!(fs::read(shm.path().join("f")).unwrap(), b"baaa", "the script works");
    assert_eq!(changes(&all, &world.capture(shm.path(), &manifest).listing).len(), 1);
}

#[test]
fn ignored_as_git_ignores() {
    let world = World::new();
    let rules = world.put(&files(&[
        (".gitignore", "*.o\nbuild/\n!keep.o\n/top\n"),
        ("sub/.gitignore", "*.log\n!/x.o\n"),
        ("sub/other", ""),
        ("esc/.gitignore", "\\#x\nsp\\ \n"),
    ]));
    let rows = [
        ("a.o", true),
        ("keep.o", false),
        ("d/a.o", true),
        ("build/x/y", true),
        ("build", false),
        ("top", true),
        ("d/top", false),
        ("sub/a.log", true),
        ("a.log", false),
        ("sub/x.o", false),
        ("sub/d/x.o", true),
        ("esc/#x", true),
        ("esc/sp ", true),
        ("odd\nname.o", true),
        (":(top)x.o", true),
        (":!x", false),
        ("-z.o", true),
    ];
    let paths: Vec<Vec<u8>> = rows.iter().map(|(path, _)| path.as_bytes().to_vec()).collect();
    let found = ignored(&world.store, &rules, &paths, &world.fresh("scratch")).unwrap();
    for ((path, expected), found) in rows.iter().zip(found) {
        assert_eq!(found, *expected, "{path:?}");
    }
    let none = world.put(&files(&[("a", "")]));
    assert_eq!(ignored(&world.store, &none, &paths, Path::new("/nonexistent")).unwrap(), vec![false; paths.len()]);
    assert_eq!(ignored(&world.store, &rules, &[], Path::new("/nonexistent")).unwrap(), Vec::<bool>::new());
}

#[test]
fn unreadable_matter_is_refused_not_skipped() {
    if testkit::tested_as_ordinary_user("capture::unreadable_matter_is_refused_not_skipped") {
        return;
    }
    let closed = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    check("a file", |r| (write(&r.join("n"), b"x"), closed(&r.join("n"), 0)).1, "Unreadable n;", &[]);
    check("a directory", |r| closed(&r.join("d"), 0), "Unreadable d;", &["d/b"]);
    check("names without what they are", |r| closed(&r.join("d"), 0o444), "Unreadable d;", &["d/b"]);
    check("what cannot be listed", |r| closed(&r.join("d"), 0o111), "Unreadable d;", &["d/b"]);
}
