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

/// Shows a folder at a second place, until the guard goes; none where this user cannot.
fn mount_again(folder: &Path, at: &Path) -> Option<SmallDisk> {
    fs::create_dir(at).unwrap();
    let mounted = program("mount", Path::new("/")).arg("--bind").args([folder, at]).output();
    mounted.is_ok_and(|ran| ran.status.success()).then(|| SmallDisk(at.to_owned()))
}

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
    (
        "a linked work tree of another user",
        |target| {
            let tree = target.with_extension("theirs");
            git(target, ["worktree", "add", "-q", "-b", "beside", tree.to_str().unwrap()]);
            let _ = lchown(&tree, Some(12_345), Some(12_345));
            tree
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
        "shallow",
        |target| {
            git(target, ["commit", "-q", "--allow-empty", "-m", "second"]);
            let shallow = target.with_extension("shallow");
            let url = format!("file://{}", target.display());
            git(target, ["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()]);
            shallow
        },
        "",
    ),
    (
        "another object format",
        |target| {
            let other = target.with_extension("sha256");
            fs::create_dir(&other).unwrap();
            git(&other, ["init", "-q", "--object-format=sha256"]);
            git(&other, ["commit", "-q", "--allow-empty", "-m", "first"]);
            other
        },
        "source_missing",
    ),
    (
        "no commit",
        |target| {
            let empty = target.with_extension("empty");
            fs::create_dir(&empty).unwrap();
            git(&empty, ["init", "-q"]);
            empty
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

/// Targets that are prepared so that the landing has no place in them, and the reasons for which an approved run on them is refused.
const IN_THE_WAY: &[Kind] = &[
    ("nothing", same, ""),
    (
        "a branch where the folder of branches would be",
        |target| {
            git(target, ["branch", "cto"]);
            same(target)
        },
        "dirty_starting_tree",
    ),
    (
        "a link where the folder of branches would be",
        |target| link_away(target, ".git/refs/heads/cto"),
        "dirty_starting_tree",
    ),
    ("a link where the folder of marks would be", |target| link_away(target, ".git/refs/cto"), "dirty_starting_tree"),
    (
        "a file where the folder of marks would be",
        |target| {
            git(target, ["update-ref", "refs/cto/used", "HEAD"]);
            same(target)
        },
        "dirty_starting_tree",
    ),
    (
        "the same, packed",
        |target| {
            git(target, ["update-ref", "refs/cto/used", "HEAD"]);
            git(target, ["pack-refs", "--all"]);
            same(target)
        },
        "dirty_starting_tree",
    ),
];

/// Puts a link to a folder outside of the repository in a place of its git directory.
fn link_away(target: &Path, place: &str) -> PathBuf {
    let outside = target.with_extension("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, target.join(place)).unwrap();
    same(target)
}

#[test]
fn a_place_that_is_taken_is_found_before_the_engine_starts() {
    let test = "a_place_that_is_taken_is_found_before_the_engine_starts";
    each_row(IN_THE_WAY.iter().map(|row| (row.0, row)), |(_, prepare, refused)| {
        let Some(scene) = Scene::with(test, world(), prepare, &[]) else { return };
        scene.approve("5");
        let (before, refs) = (scene.untouched(), scene.git(&["for-each-ref"]));
        if refused.is_empty() {
            assert!(scene.run("5", 0)["target_commit"].is_string(), "the control");
            return;
        }
        let report = scene.run("5", 3);
        assert_eq!(reasons(&report), *refused, "{:#}", report["blockers"]);
        assert_eq!(report["engine"]["process_started"], false);
        assert_eq!((scene.untouched(), scene.git(&["for-each-ref"])), (before, refs));
        let outside = scene.target.with_extension("outside");
        assert_eq!(fs::read_dir(outside).into_iter().flatten().count(), 0, "nothing is written elsewhere");
    });
}

/// Repositories that lie where nobody may change anything, with the words that choose their workspace.
#[test]
fn a_target_in_a_tree_that_nobody_may_change_is_refused_whatever_its_record_says() {
    let test = "a_target_in_a_tree_that_nobody_may_change_is_refused_whatever_its_record_says";
    let linked: fn(&Path) -> PathBuf = |target| {
        let linked = target.with_extension("linked");
        git(target, ["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
        linked
    };
    let rows: [Kind; 4] = [
        ("the tree itself", same, "target"),
        ("a tree around it", same, ""),
        ("by another name", same, "link"),
        ("a work tree of a repository in it", linked, "target"),
    ];
    each_row(rows.map(|row| (row.0, row)), |(_, prepare, root)| {
        let Some(scene) = Scene::with(test, world(), prepare, &[]) else { return };
        std::os::unix::fs::symlink(scene.world.path().join("target"), scene.world.path().join("link")).unwrap();
        let _ = scene.world.cto(["init", "."]).expect(0);
        let protect =
            |root: &Path| drop(scene.world.write("harness.yaml", format!("protected_roots: [{}]\n", root.display())));
        protect(&scene.world.path().join("target-2"));
        assert_eq!(reasons(&scene.run("5", 3)), "approval_missing", "the control: another tree is protected");
        protect(&scene.world.path().join(root));
        let before = scene.untouched();
        let report = scene.run("5", 3);
        assert!(reasons(&report).contains("critical_repository"), "{:#}", report["blockers"]);
        assert!(report["blockers"].to_string().contains("which protected_roots names"), "{:#}", report["blockers"]);
        assert_eq!((&report["engine"]["process_started"], scene.untouched()), (&false.into(), before));
    });
    let Some(scene) = Scene::new(test) else { return };
    let _ = scene.world.cto(["init", scene.target.to_str().unwrap()]).expect(0);
    git(&scene.target, ["add", "-A"]);
    git(&scene.target, ["commit", "-q", "-m", "a workspace"]);
    let own = ["--workspace", scene.target.to_str().unwrap()];
    let report = scene.world.cto([own.to_vec(), scene.words("run", "5")].concat()).expect(3).json();
    assert!(reasons(&report).contains("critical_repository"), "{:#}", report["blockers"]);
    assert!(
        report["blockers"].to_string().contains("lies in the repository that it admits"),
        "{:#}",
        report["blockers"]
    );
}

#[test]
fn a_protected_tree_is_protected_at_a_second_mount() {
    let test = "a_protected_tree_is_protected_at_a_second_mount";
    let Some(mut scene) = Scene::new(test) else { return };
    let (target, again) = (scene.target.clone(), scene.world.path().join("again"));
    let Some(mounted) = mount_again(&target, &again) else {
        testkit::skip(test, "a folder cannot be mounted a second time by this user");
        return;
    };
    scene.target.clone_from(&again);
    scene.admit("admitted");
    let _ = scene.world.cto(["init", "."]).expect(0);
    for (root, expected) in [("target-2", false), ("target", true)] {
        let root = scene.world.path().join(root);
        scene.world.write("harness.yaml", format!("protected_roots: [{}]\n", root.display()));
        let report = scene.run("5", 3);
        assert_eq!(reasons(&report).contains("critical_repository"), expected, "{:#}", report["blockers"]);
    }
    drop(scene);
    drop(mounted);
}

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
        if name.ends_with("of another user") && !is_root {
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
