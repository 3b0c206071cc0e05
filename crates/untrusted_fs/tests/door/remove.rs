//! Removal of what somebody made to stay, or to lead elsewhere.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use untrusted_fs::remove_tree;

use crate::world::{World, dig};

/// Given to nobody by any system.
const ORDINARY: u32 = 12_345;

/// Does something as an ordinary user, in a thread of its own that stays one.
fn as_ordinary<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            if geteuid().is_root() {
                let (uid, gid) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(gid, gid, gid).unwrap();
                set_thread_res_uid(uid, uid, uid).unwrap();
            }
            act()
        });
        done.join().unwrap()
    })
}

/// Makes something at the first path; the second is the host's folder.
type Plant = fn(&Path, &Path);

const ROWS: &[(&str, Plant)] = &[
    ("nothing", |_, _| {}),
    ("a file", |at, _| fs::write(at, "x").unwrap()),
    ("a link to a file", |at, host| symlink(host.join("secret"), at).unwrap()),
    ("a link to a folder", |at, host| symlink(host, at).unwrap()),
    ("links in a folder", |at, host| {
        fs::create_dir(at).unwrap();
        symlink(host, at.join("a")).unwrap();
        symlink(host.join("secret"), at.join("b")).unwrap();
        symlink("..", at.join("up")).unwrap();
    }),
    ("a pipe and a socket", |at, _| {
        fs::create_dir(at).unwrap();
        mknodat(CWD, at.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        drop(UnixListener::bind(at.join("socket")).unwrap());
    }),
    ("folders that their owner may not enter, list or write to", |at, _| {
        for mode in [0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600] {
            let folder = at.join(format!("{mode:o}"));
            fs::create_dir_all(folder.join("below/deeper")).unwrap();
            fs::write(folder.join("below/file"), "x").unwrap();
            for shut in [folder.join("below"), folder] {
                fs::set_permissions(shut, Permissions::from_mode(mode)).unwrap();
            }
        }
        fs::set_permissions(at, Permissions::from_mode(0o000)).unwrap();
    }),
    ("more names than are held at a time", |at, _| {
        fs::create_dir(at).unwrap();
        (0..20_000).for_each(|number| fs::write(at.join(number.to_string()), "").unwrap());
    }),
    ("folders beside each other at every level", |at, _| {
        fs::create_dir(at).unwrap();
        let mut path = at.to_owned();
        for _ in 0..40 {
            for name in ["a", "b", "c"] {
                fs::create_dir(path.join(name)).unwrap();
            }
            path.push("b");
        }
    }),
];

#[test]
fn everything_goes_and_the_host_stays() {
    for (name, plant) in ROWS {
        for ordinary in [false, true] {
            let world = World::new();
            let at = world.engine().join("it");
            if geteuid().is_root() {
                for path in [world.engine(), world.engine().join("..")] {
                    chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
                }
            }
            let act = || {
                plant(&at, &world.host());
                remove_tree(&at)
            };
            let removed = if ordinary { as_ordinary(act) } else { act() };
            assert!(removed.is_ok(), "{name}: {removed:?}");
            assert!(at.symlink_metadata().is_err(), "{name}");
            world.check_host();
        }
    }
}

/// Several who remove the same tree are not in each other's way.
#[test]
fn many_remove_together() {
    let world = World::new();
    for number in 0..300 {
        fs::create_dir_all(world.engine().join(format!("{}/{number}/x/y", number % 7))).unwrap();
    }
    drop(dig(&world.engine(), "d", 500));
    std::thread::scope(|scope| {
        let removers: Vec<_> = (0..4).map(|_| scope.spawn(|| remove_tree(&world.engine()))).collect();
        for remover in removers {
            remover.join().unwrap().unwrap();
        }
    });
    assert!(!world.engine().exists());
}

/// Files of another user stay and are reported; everything else goes.
#[test]
fn what_cannot_go_stays_alone() {
    if !geteuid().is_root() {
        return testkit::skip("remove::what_cannot_go_stays_alone", "only root makes files of two users");
    }
    let world = World::new();
    let at = world.engine();
    fs::create_dir_all(at.join("a/theirs/deep")).unwrap();
    fs::create_dir_all(at.join("b/c")).unwrap();
    fs::write(at.join("a/own"), "x").unwrap();
    for own in ["a", "b", "b/c", "a/own", "", ".."] {
        chown(at.join(own), Some(ORDINARY), Some(ORDINARY)).unwrap();
    }
    let removed = as_ordinary(|| remove_tree(&at));
    assert_eq!(removed.map_err(|error| error.kind()), Err(std::io::ErrorKind::PermissionDenied));
    assert!(at.join("a/theirs/deep").exists());
    assert!(!at.join("a/own").exists() && !at.join("b").exists());
}

#[test]
fn a_path_without_a_name_is_refused() {
    for path in ["/", "..", ".", "", "a/.."] {
        assert!(remove_tree(Path::new(path)).is_err(), "{path:?}");
    }
}
