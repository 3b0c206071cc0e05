//! Targets that stand in the way by what they are: another user's, without room, part of another repository, or beside a tree that
//! nobody may change. The reason is told, and the target stays as it was.

use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};

use testkit::{each_row, git, program};

use super::busy::{SLOW, during_run};
use super::{Scene, reasons};
use crate::world;

fn same(target: &Path) -> PathBuf {
    target.to_owned()
}

/// A file system of its own that holds little; gone with its guard.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mounted = program("mount", Path::new("/")).args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|ran| ran.status.success()).then(|| Self(at.to_owned()))
    }

    /// Leaves no byte.
    fn fill(&self) {
        let filler = fs::File::create(self.0.join("filler")).unwrap();
        let mut left = 4096;
        let block = [7; 4096];
        while left > 0 {
            match std::io::Write::write(&mut &filler, &block[..left]) {
                Ok(0) | Err(_) => left /= 2,
                Ok(_) => {}
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = program("umount", Path::new("/")).arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_file_system_without_room_keeps_the_target_as_it_was() {
    let test = "a_file_system_without_room_keeps_the_target_as_it_was";
    let world = world();
    let place = world.path().join("small");
    let Some(disk) = SmallDisk::mount(&place) else {
        testkit::skip(test, "a small file system cannot be mounted by this user");
        return;
    };
    let moved = |target: &Path| {
        git(target, ["clone", "-q", "--no-hardlinks", ".", place.join("target").to_str().unwrap()]);
        place.join("target")
    };
    let Some(scene) = Scene::with(test, world, moved, &[("fake", SLOW)]) else { return };
    let before = scene.untouched();
    let (told, made) = during_run(&scene, |_, _| disk.fill());
    assert_eq!((told.as_str(), made), ("artifact_write_failure", false));
    assert_eq!((scene.untouched(), scene.branches().len()), (before, 0));
    assert_eq!(scene.git(&["for-each-ref", "refs/cto"]), "");
    fs::remove_file(place.join("filler")).unwrap();
    assert_eq!(scene.git(&["fsck", "--strict"]), "");
    scene.approve("5");
    assert!(scene.run("5", 0)["target_commit"].is_string(), "the control: with room it lands");
    drop(scene);
    drop(disk);
}

#[test]
fn a_protected_tree_that_somebody_changes_meanwhile_fails_the_run() {
    let test = "a_protected_tree_that_somebody_changes_meanwhile_fails_the_run";
    let world = world();
    let core = world.repository("core", &[("core.txt", "core\n")]);
    let Some(scene) = Scene::with(test, world, same, &[("fake", SLOW)]) else { return };
    let _ = scene.world.cto(["init", "."]).expect(0);
    scene.world.write("harness.yaml", format!("protected_roots: [{}]\n", core.display()));
    let before = scene.untouched();
    let (told, made) = during_run(&scene, |_, _| fs::write(core.join("core.txt"), "changed\n").unwrap());
    assert_eq!((told.as_str(), made), ("source_repository_mutated", false));
    assert_eq!((scene.untouched(), scene.branches().len()), (before, 0));
    fs::write(core.join("core.txt"), "core\n").unwrap();
    scene.approve("5");
    let report = scene.run("5", 0);
    assert!(report["target_commit"].is_string(), "the control: nobody changed it");
    let roots = report["protected_roots"].as_array().unwrap();
    assert_eq!((roots.len(), &roots[0]["before"]), (1, &roots[0]["after"]));
}

/// A target that is prepared so, and the reasons for which a run on it is refused; none where it is changed as any other.
type Kind = (&'static str, fn(&Path) -> PathBuf, &'static str);

const KINDS: &[Kind] = &[
    ("its own", same, ""),
    (
        "of another user",
        |target| {
            give(target, 12_345);
            same(target)
        },
        "unowned_repository",
    ),
    ("objects of another repository", |target| clone_shared(target), "source_missing"),
    (
        "a submodule",
        |target| {
            let outer = target.with_extension("outer");
            fs::create_dir(&outer).unwrap();
            git(&outer, ["init", "-q"]);
            git(&outer, ["submodule", "--quiet", "add", target.to_str().unwrap(), "inner"]);
            git(&outer, ["commit", "-q", "-m", "outer"]);
            outer.join("inner")
        },
        "source_missing",
    ),
    (
        "a path into a submodule",
        |target| {
            let inner = target.with_extension("inner");
            git(target, ["clone", "-q", ".", inner.to_str().unwrap()]);
            git(target, ["rm", "-q", "a.txt"]);
            git(target, ["submodule", "--quiet", "add", inner.to_str().unwrap(), "a.txt"]);
            git(target, ["commit", "-q", "-m", "inner"]);
            same(target)
        },
        "source_missing",
    ),
];

fn clone_shared(target: &Path) -> PathBuf {
    let shared = target.with_extension("shared");
    git(target, ["clone", "-q", "--shared", ".", shared.to_str().unwrap()]);
    shared
}

fn give(path: &Path, uid: u32) {
    let _ = lchown(path, Some(uid), Some(uid));
    if path.symlink_metadata().unwrap().is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| give(&entry.path(), uid));
    }
}

#[test]
fn what_a_target_is_decides_and_never_changes_it() {
    let test = "what_a_target_is_decides_and_never_changes_it";
    let is_root = program("id", Path::new("/")).arg("-u").output().is_ok_and(|ran| ran.stdout == b"0\n");
    each_row(KINDS.iter().map(|row| (row.0, row)), |(name, prepare, refused)| {
        if *name == "of another user" && !is_root {
            testkit::skip(test, "the row of another user's repository, which only root can make");
            return;
        }
        let Some(scene) = Scene::with(test, world(), prepare, &[]) else { return };
        let before = scene.untouched();
        if refused.is_empty() {
            scene.approve("5");
            assert!(scene.run("5", 0)["target_commit"].is_string(), "it is changed as any other");
        } else {
            let report = scene.run("5", 3);
            assert!(reasons(&report).contains(refused), "{:#}", report["blockers"]);
            assert_eq!(
                (&report["engine"]["process_started"], &report["target_commit"]),
                (&false.into(), &serde_json::Value::Null)
            );
        }
        assert_eq!(scene.untouched(), before);
    });
}
