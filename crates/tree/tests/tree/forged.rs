//! Layers that no kernel wrote: every mark is read as a kernel reads it, or refused.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode as Permissions, XattrFlags, mknodat, setxattr};
use tree::{CaptureLimits, Limit, LowerLayers, TreeError, capture_layer};

use crate::capture::{changed_paths, summary};
use crate::support::{World, files, write};

const BASE: &[(&str, &str)] = &[("a", "1\n"), ("d/e/f", "2\n"), ("d/g", "3\n"), ("h", "4\n")];

/// Makes what shall lie in a layer.
type Make = fn(&Path);

fn whiteout(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::CharacterDevice, Permissions::from_raw_mode(0o644), 0).unwrap();
}

fn mark(path: &Path, name: &str, value: &str) {
    setxattr(path, name, value.as_bytes(), XattrFlags::empty()).unwrap();
}

fn directory(path: PathBuf, opaque: &str) {
    fs::create_dir_all(&path).unwrap();
    mark(&path, "user.overlay.opaque", opaque);
}

fn file(path: PathBuf, bytes: &[u8], name: &str) {
    write(&path, bytes);
    mark(&path, name, "");
}

/// Captures a layer made by hand over others, the first on top.
fn captured(
    limits: &CaptureLimits,
    setup: &[&dyn Fn(&Path)],
    upper: impl Fn(&Path),
) -> Result<(String, Vec<String>), TreeError> {
    let world = World::new();
    let base = world.put(&files(BASE));
    let mut layers = Vec::new();
    for (number, make) in setup.iter().enumerate() {
        let layer = world.fresh(&format!("setup-{number}"));
        make(&layer);
        layers.push(layer);
    }
    let above = world.fresh("upper");
    upper(&above);
    let opened = fs::File::open(&above).unwrap();
    let beneath = LowerLayers { baseline: &base, layers: &layers };
    let found = capture_layer(opened.as_fd(), &beneath, &world.store, limits)?;
    Ok((summary(&found).trim().to_owned(), changed_paths(&base, &found)))
}

fn check(name: &str, upper: impl Fn(&Path), says: &str, changed: &[&str]) {
    let (said, paths) = captured(&CaptureLimits::default(), &[], upper).unwrap();
    assert_eq!(said, says, "{name}");
    assert_eq!(paths, changed, "{name}");
}

#[test]
fn marks_are_read_as_a_kernel_reads_them() {
    check("whiteout of a file", |u| whiteout(&u.join("a")), "", &["a"]);
    check("whiteout of a directory", |u| whiteout(&u.join("d")), "", &["d/e/f", "d/g"]);
    check("whiteout of nothing", |u| whiteout(&u.join("x/y")), "empty x;", &[]);
    check("whiteout of .git", |u| whiteout(&u.join(".git")), "", &[]);
    check("whiteout of a nested .git", |u| whiteout(&u.join("d/.git")), "", &[]);
    check("whiteout of .GIT", |u| whiteout(&u.join(".GIT")), "", &[]);
    check("whiteout in .git", |u| whiteout(&u.join(".git/MERGE_HEAD")), "", &[]);
    check("opaque and empty", |u| directory(u.join("d"), "y"), "empty d;", &["d/e/f", "d/g"]);
    check(
        "opaque above what is not",
        |u| (directory(u.join("d"), "y"), write(&u.join("d/e/n"), b"")).1,
        "",
        &["d/e/f", "d/e/n", "d/g"],
    );
    check("opaque over a file", |u| directory(u.join("a"), "y"), "empty a;", &["a"]);
    check("a directory over a file", |u| fs::create_dir(u.join("a")).unwrap(), "empty a;", &["a"]);
    check("a file over a directory", |u| write(&u.join("d"), b""), "", &["d", "d/e/f", "d/g"]);
    check("a link over a directory", |u| symlink("a", u.join("d")).unwrap(), "", &["d", "d/e/f", "d/g"]);
    check("a plain directory", |u| fs::create_dir(u.join("d")).unwrap(), "", &[]);
    check("whiteouts may be files", |u| directory(u.join("d"), "x"), "", &[]);
    check(
        "a file that is a whiteout",
        |u| (directory(u.join("d"), "x"), file(u.join("d/g"), b"", "user.overlay.whiteout")).1,
        "",
        &["d/g"],
    );
    check("such a one with bytes is none", |u| file(u.join("a"), b"x", "user.overlay.whiteout"), "", &["a"]);
    check("such a one that is new is none", |u| file(u.join("n"), b"x", "user.overlay.whiteout"), "", &["n"]);
    check("bookkeeping", |u| file(u.join("a"), b"1\n", "user.overlay.origin"), "", &[]);
    check("escaped by the kernel", |u| file(u.join("a"), b"1\n", "user.overlay.overlay.metacopy"), "", &[]);
    check("anybody's attribute", |u| file(u.join("a"), b"1\n", "user.redirect"), "", &[]);
}

#[test]
fn a_setup_layers_marks_are_read_too() {
    let rows: [(&str, Make, &[&str]); 4] = [
        ("hidden before", |s| whiteout(&s.join("d")), &[]),
        ("hidden by a file", |s| file(s.join("d"), b"", "user.overlay.whiteout"), &[]),
        ("covered before", |s| directory(s.join("d"), "y"), &["d/e/f", "d/g"]),
        ("seen before", |s| fs::create_dir(s.join("d")).unwrap(), &["d/e/f", "d/g"]),
    ];
    for (name, setup, changed) in rows {
        let (_, paths) = captured(&CaptureLimits::default(), &[&setup], |u| whiteout(&u.join("d"))).unwrap();
        assert_eq!(paths, changed, "{name}");
    }
}

/// A directory ends what lies beneath it where that is no directory; it hides nothing of its own.
#[test]
fn a_directory_over_a_file_of_another_setup_layer() {
    let above = |s: &Path| write(&s.join("s/x"), b"1");
    let below = |s: &Path| write(&s.join("s"), b"2");
    for (bytes, changed) in [(b"1", &[][..]), (b"3", &["s/x"])] {
        let (_, paths) =
            captured(&CaptureLimits::default(), &[&above, &below], |u| write(&u.join("s/x"), bytes)).unwrap();
        assert_eq!(paths, changed);
    }
}

#[test]
fn a_device_is_no_whiteout() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("forged::a_device_is_no_whiteout", "only root makes devices");
    }
    let device = |path: PathBuf| {
        let null = rustix::fs::makedev(1, 3);
        mknodat(CWD, path, FileType::CharacterDevice, Permissions::from_raw_mode(0o644), null).unwrap();
    };
    check("a device", |u| device(u.join("a")), "special a;", &["a"]);
}

#[test]
fn forged_marks_are_refused() {
    let rows: [(&str, Make, &str, &str); 7] = [
        (
            "redirected directory",
            |u| (fs::create_dir(u.join("n")).unwrap(), mark(&u.join("n"), "user.overlay.redirect", "/d")).1,
            "n",
            "redirect",
        ),
        ("redirected file", |u| file(u.join("d/g"), b"", "user.overlay.redirect"), "d/g", "redirect"),
        ("metacopy", |u| file(u.join("h"), b"4\n", "user.overlay.metacopy"), "h", "metacopy"),
        ("opaque root", |u| mark(u, "user.overlay.opaque", "y"), "", "opaque"),
        ("half opaque", |u| directory(u.join("d"), "z"), "d", "opaque"),
        ("opaque and more", |u| directory(u.join("d"), "yy"), "d", "opaque"),
        ("very opaque", |u| directory(u.join("d"), "yyyy"), "d", "opaque"),
    ];
    for (name, forge, at, kind) in rows {
        let nothing: Make = |_| {};
        // A layer beneath is looked at only where the upper one has something too.
        let touch: Make = |u| {
            for folder in ["n", "d"] {
                fs::create_dir(u.join(folder)).unwrap();
            }
            ["d/g", "h"].iter().for_each(|path| write(&u.join(path), b"other"));
        };
        for (setup, upper) in [(nothing, forge), (forge, touch)] {
            match captured(&CaptureLimits::default(), &[&setup], upper) {
                Err(TreeError::Mark { path, mark }) => {
                    assert_eq!((path.as_slice(), mark), (at.as_bytes(), kind), "{name}")
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn limits() {
    let some = CaptureLimits { entries: 3, total_bytes: 100, file_bytes: 60, depth: 2 };
    let row = |upper: &dyn Fn(&Path)| match captured(&some, &[], upper) {
        Ok(_) => None,
        Err(TreeError::Limit { limit, .. }) => Some(limit),
        Err(e) => panic!("{e}"),
    };
    let many = |count: usize, make: fn(&Path)| move |u: &Path| (0..count).for_each(|n| make(&u.join(n.to_string())));
    let entries = Some(Limit::Entries);
    assert_eq!(row(&many(3, |path| write(path, b""))), None);
    assert_eq!(row(&many(4, |path| write(path, b""))), entries);
    assert_eq!(row(&many(4, |path| fs::create_dir(path).unwrap())), entries);
    assert_eq!(row(&many(3, whiteout)), None);
    assert_eq!(row(&many(4, whiteout)), entries, "marks over nothing");
    assert_eq!(row(&|u| ["a", "h", "d/g", "d/e/f"].iter().for_each(|path| whiteout(&u.join(path)))), None);
    assert_eq!(row(&|u| ["a", "h", "d/g", "d/e/f"].iter().for_each(|path| write(&u.join(path), b""))), None);
    assert_eq!(row(&|u| write(&u.join("a"), &[0; 60])), None);
    assert_eq!(row(&|u| write(&u.join("a"), &[0; 61])), Some(Limit::FileBytes));
    assert_eq!(row(&|u| ["a", "h"].iter().for_each(|path| write(&u.join(path), &[0; 60]))), Some(Limit::TotalBytes));
    assert_eq!(row(&|u| write(&u.join("d/e/x"), b"")), None);
    assert_eq!(row(&|u| write(&u.join("d/e/x/y"), b"")), Some(Limit::Depth));
}

#[test]
fn unreadable_matter_is_refused_not_skipped() {
    if testkit::tested_as_ordinary_user("forged::unreadable_matter_is_refused_not_skipped") {
        return;
    }
    let closed = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    check("a file", |u| (write(&u.join("a"), b"x"), closed(&u.join("a"), 0)).1, "Unreadable a;", &["a"]);
    let made = |u: &Path, mode: u32| (write(&u.join("d/n"), b"x"), closed(&u.join("d"), mode)).1;
    check("a directory", |u| made(u, 0), "Unreadable d;", &["d/e/f", "d/g"]);
    check("names without what they are", |u| made(u, 0o444), "Unreadable d;", &["d/e/f", "d/g"]);
}
