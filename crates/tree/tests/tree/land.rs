//! A commit put into a repository that git itself is at work in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tree::{
    BranchName, BranchNameProblem, CommitSpec, Forwarding, Landing, Listing, Oid, Removal, SourceRepository, UsedMark,
};

use crate::support::{World, git, oid, repository, run_git, write};

/// Bears what is not whole yet.
const TOKEN: &str = "1-token";
const ROWS: &[(&str, &str)] = &[("a", "1\n"), ("d/e/b", "2\n"), ("d/c", "3\n")];

/// A repository, and in the harness's store a commit on top of it that changes these files.
struct Scene {
    world: World,
    root: PathBuf,
    source: SourceRepository,
    before: Listing,
    base: Oid,
}

impl Scene {
    fn new() -> Scene {
        let world = World::new();
        let root = world.path("source");
        repository(&root, ROWS);
        let source = SourceRepository::open_repository(&root).unwrap();
        let base = source.fetch_into(&world.store).unwrap();
        let before = world.store.list_tree(base).unwrap();
        Scene { world, root, source, before, base }
    }

    fn commit(&self, path: &str, text: &str) -> (Listing, Oid) {
        let mut after = self.before.clone();
        after.0.get_mut(path.as_bytes()).unwrap().oid = self.world.store.put_blob(text.as_bytes()).unwrap();
        let tree = self.world.store.put_listing(&after).unwrap();
        let (name, email, unix_time) = ("A", "a@example.invalid", 1_700_000_000);
        let spec = CommitSpec { tree, parents: &[self.base], name, email, unix_time, message: text };
        (after, self.world.store.put_commit(&spec).unwrap())
    }

    /// Writes the objects of a commit and gives its id.
    fn put(&self, path: &str, text: &str) -> (usize, Oid) {
        let (after, commit) = self.commit(path, text);
        (self.source.put_objects(&self.world.store, &self.before, &after, commit, TOKEN).unwrap(), commit)
    }
}

fn name(text: &str) -> BranchName {
    BranchName::parse_name(text).unwrap()
}

#[test]
fn only_what_is_new_is_written_and_git_finds_it_whole() {
    for (path, objects) in [("a", 3), ("d/c", 4), ("d/e/b", 5)] {
        let scene = Scene::new();
        let (written, commit) = scene.put(path, "new\n");
        assert_eq!(written, objects, "{path}: a commit, a blob and the trees above it");
        assert_eq!(scene.source.make_branch(&name("x/y"), commit, TOKEN).unwrap(), Landing::Made);
        assert_eq!(oid(&git(&scene.root, &["rev-parse", "x/y"])), commit);
        assert_eq!(git(&scene.root, &["show", &format!("x/y:{path}")]), "new");
        assert_eq!(git(&scene.root, &["fsck", "--strict", "--full", "--unreachable"]), "");
        let found = scene.world.store.commit(commit).unwrap();
        assert_eq!((found.parents, found.message), (vec![scene.base], b"new\n".to_vec()));
        assert_eq!(found.author, Some(("A".into(), "a@example.invalid".into())));
    }
}

#[test]
fn files_are_as_open_as_the_repository_is() {
    let scene = Scene::new();
    let objects = scene.root.join(".git/objects");
    fs::set_permissions(&objects, fs::Permissions::from_mode(0o2775)).unwrap();
    let (_, commit) = scene.put("a", "shared\n");
    let hex = commit.to_string();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&objects.join(&hex[..2])), 0o2775);
    let heads = scene.root.join(".git/refs/heads");
    fs::set_permissions(&heads, fs::Permissions::from_mode(0o2775)).unwrap();
    assert_eq!(scene.source.make_branch(&name("group/x"), commit, TOKEN).unwrap(), Landing::Made);
    assert_eq!(mode(&heads.join("group")), 0o2775);
    assert_eq!(mode(&objects.join(&hex[..2]).join(&hex[2..])), 0o444);
}

#[test]
fn of_many_who_want_one_name_one_gets_it() {
    let scene = Scene::new();
    let commits: Vec<Oid> = (0..8).map(|at| scene.put("a", &format!("{at}\n")).1).collect();
    let want = |commit: &Oid| {
        SourceRepository::open_repository(&scene.root)
            .unwrap()
            .make_branch(&name("one/name"), *commit, &commit.to_string())
            .unwrap()
    };
    let landings: Vec<Landing> = std::thread::scope(|scope| {
        let threads: Vec<_> = commits.iter().map(|commit| scope.spawn(move || want(commit))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let made: Vec<usize> = (0..8).filter(|at| landings[*at] == Landing::Made).collect();
    assert_eq!(made.len(), 1, "{landings:?}");
    let winner = commits[made[0]];
    assert_eq!(oid(&git(&scene.root, &["rev-parse", "one/name"])), winner);
    let others = landings.iter().filter(|landing| **landing == Landing::There(Some(winner))).count();
    assert_eq!(others, 7, "{landings:?}");
}

#[test]
fn git_that_packs_and_removes_meanwhile_loses_nothing() {
    let scene = Scene::new();
    let (_, commit) = scene.put("a", "new\n");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Each may lose a race against the other; what was made must not be lost.
                run_git(&scene.root, &["branch", "-f", "many/other", "HEAD"], b"");
                run_git(&scene.root, &["pack-refs", "--all", "--prune"], b"");
                run_git(&scene.root, &["branch", "-D", "many/other"], b"");
            }
        });
        for at in 0..60 {
            let landing = scene.source.make_branch(&name(&format!("many/{at}")), commit, TOKEN).unwrap();
            assert_eq!(landing, Landing::Made, "{at}");
        }
        done.store(true, Ordering::Relaxed);
    });
    for at in 0..60 {
        let branch = name(&format!("many/{at}"));
        assert_eq!(oid(&git(&scene.root, &["rev-parse", &format!("refs/heads/{branch}")])), commit);
        assert_eq!(scene.source.find_branch(&branch).unwrap(), Some(Landing::There(Some(commit))));
    }
    assert_eq!(scene.source.find_branch(&name("many/none")).unwrap(), None);
}

#[test]
fn garbage_in_packed_references_is_told() {
    let scene = Scene::new();
    write(&scene.root.join(".git/packed-refs"), b"garbage\n");
    assert!(scene.source.make_branch(&name("x"), scene.base, TOKEN).is_err());
    assert!(!scene.root.join(".git/refs/heads/x").exists() && !scene.root.join(".git/refs/heads/x.lock").exists());
}

/// True if git accepts the text as the name of a reference.
fn git_takes(text: &str) -> bool {
    let reference = format!("refs/heads/{text}");
    run_git(Path::new("/"), &["check-ref-format", &reference], b"").status.success()
}

#[test]
fn reasons_against_a_name_are_told() {
    use BranchNameProblem as Problem;
    for (text, expected) in [
        ("", Problem::Empty),
        ("-x", Problem::LeadingDash),
        ("HEAD", Problem::Reserved),
        ("a b", Problem::Character(' ')),
        ("a..b", Problem::Sequence("..")),
        ("a/", Problem::EmptyComponent),
        ("a/.b", Problem::DotComponent),
        ("a.lock/b", Problem::LockComponent),
        ("a.", Problem::TrailingDot),
    ] {
        assert_eq!(BranchName::parse_name(text), Err(expected), "{text:?}");
    }
    assert_eq!(BranchName::parse_name(&"x".repeat(300)), Err(Problem::TooLong));
    assert!(BranchName::parse_name("fix/ünïcode-1_2+3,4=5;$(x)").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Git accepts every name that is accepted here. Names that git accepts are refused here only by the stricter rules for branches.
    #[test]
    fn names_are_those_of_git(text in "[a.b/@{~^: ?*\\[\\\\\\-lock\u{7f}\u{85}é]{1,12}") {
        let stricter = text.starts_with('-') || text == "@" || text.contains('\u{85}');
        match BranchName::parse_name(&text) {
            Ok(_) => prop_assert!(git_takes(&text), "{text:?}"),
            Err(_) => prop_assert!(stricter || !git_takes(&text), "{text:?}"),
        }
    }
}

/// Everything in a repository but whole objects, by path.
fn places(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(".git")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if !name.starts_with(".git/objects/") || name.contains("tmp_obj") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// A landing may be killed between any two of its steps; what is another's stays.
#[test]
fn what_a_killed_landing_left_is_cleared() {
    type Step = fn(&Path);
    let heads = |root: &Path| root.join(".git/refs/heads");
    let rows: &[(&str, Step, &str)] = &[
        ("nothing", |_| {}, ""),
        ("an object", |root| write(&root.join(".git/objects/ab/tmp_obj_cto_1-token_3"), b"half"), ""),
        ("folders", |root| fs::create_dir_all(root.join(".git/refs/heads/x/y")).unwrap(), ""),
        ("a lock that is none yet", |root| write(&root.join(".git/refs/heads/x/y/.cto-1-token.lock"), b""), ""),
        (
            "a lock",
            |root| {
                let young = root.join(".git/refs/heads/x/y/.cto-1-token.lock");
                write(&young, b"half");
                fs::hard_link(&young, young.with_file_name("z.lock")).unwrap();
            },
            "",
        ),
        (
            "a lock of somebody else",
            |root| {
                write(&root.join(".git/refs/heads/x/y/.cto-1-token.lock"), b"");
                write(&root.join(".git/refs/heads/x/y/z.lock"), b"");
                write(&root.join(".git/refs/heads/x/y/.cto-1-other.lock"), b"");
                write(&root.join(".git/objects/ab/tmp_obj_cto_1-tokens_3"), b"half");
            },
            "x/y/z.lock x/y/.cto-1-other.lock",
        ),
        (
            "the lock of the packed references",
            |root| {
                let young = root.join(".git/.cto-1-token.lock");
                write(&young, b"half");
                fs::hard_link(&young, young.with_file_name("packed-refs.lock")).unwrap();
            },
            "",
        ),
        (
            "the lock of the packed references of somebody else",
            |root| {
                write(&root.join(".git/.cto-1-token.lock"), b"");
                write(&root.join(".git/packed-refs.lock"), b"");
            },
            "../../packed-refs.lock",
        ),
        (
            "the branch",
            |root| {
                let young = root.join(".git/refs/heads/x/y/.cto-1-token.lock");
                write(&young, format!("{}\n", git(root, &["rev-parse", "HEAD"])).as_bytes());
                fs::hard_link(&young, young.with_file_name("z")).unwrap();
            },
            "x/y/z",
        ),
    ];
    for (what, leave, stays) in rows {
        let scene = Scene::new();
        let before = places(&scene.root);
        leave(&scene.root);
        scene.source.clear_landing(&name("x/y/z"), TOKEN).unwrap();
        let left: Vec<String> = places(&scene.root).into_iter().filter(|name| !before.contains(name)).collect();
        for kept in stays.split_whitespace() {
            assert!(heads(&scene.root).join(kept).exists(), "{what}: {kept} stays");
        }
        let foreign = |name: &String| stays.is_empty() && !name.contains("1-tokens");
        assert_eq!(left.into_iter().filter(foreign).collect::<Vec<_>>(), Vec::<String>::new(), "{what}");
        for own in [heads(&scene.root).join("x/y/.cto-1-token.lock"), scene.root.join(".git/.cto-1-token.lock")] {
            assert!(!own.exists(), "{what}: {own:?}");
        }
        git(&scene.root, &["fsck", "--full"]);
    }
}

fn mark(digit: char) -> UsedMark {
    UsedMark::new(&digit.to_string().repeat(64)).unwrap()
}

#[test]
fn marks_are_digests_and_nothing_else() {
    for wrong in [
        "",
        "ab",
        "../../heads/main",
        &"A".repeat(64),
        &"g".repeat(64),
        &"a".repeat(65),
        &format!("{}/", "a".repeat(63)),
    ] {
        assert_eq!(UsedMark::new(wrong), None, "{wrong}");
    }
    assert_eq!(mark('a').to_string(), format!("refs/cto/used/{}", "a".repeat(64)));
}

/// A branch and its mark come together; where one of them is there, nothing is made.
#[test]
fn a_marked_branch_is_made_with_its_mark_or_not_at_all() {
    let scene = Scene::new();
    let (_, commit) = scene.put("a", "new\n");
    let make =
        |branch: &str, digit| scene.source.make_marked_branch(&name(branch), &mark(digit), commit, TOKEN).unwrap();
    assert_eq!(make("cto/x", 'a'), Landing::Made);
    let of = |reference: &str| git(&scene.root, &["rev-parse", "--verify", "--quiet", reference]);
    assert_eq!(of("refs/heads/cto/x"), commit.to_string());
    assert_eq!(of(&mark('a').to_string()), commit.to_string());
    let before = places(&scene.root);
    assert_eq!(make("cto/y", 'a'), Landing::Used(Some(commit)), "the approval was used");
    assert_eq!(make("cto/x", 'b'), Landing::There(Some(commit)), "the branch is there");
    assert_eq!(places(&scene.root), before, "a refusal leaves nothing");
    git(&scene.root, &["pack-refs", "--all"]);
    assert_eq!(make("cto/y", 'a'), Landing::Used(Some(commit)), "a packed mark counts");
    assert_eq!(scene.source.find_mark(&mark('b')).unwrap(), None);
    git(&scene.root, &["fsck", "--full", "--strict"]);
}

#[test]
fn of_many_landings_of_one_approval_one_is_made() {
    let scene = Scene::new();
    let (_, commit) = scene.put("a", "new\n");
    let landings: Vec<Landing> = std::thread::scope(|scope| {
        let land = |at: usize| {
            let root = &scene.root;
            scope.spawn(move || {
                let source = SourceRepository::open_repository(root).unwrap();
                source
                    .make_marked_branch(&name(&format!("many/{at}")), &mark('c'), commit, &format!("{at}-token"))
                    .unwrap()
            })
        };
        let threads: Vec<_> = (0..16).map(land).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(landings.iter().filter(|landing| **landing == Landing::Made).count(), 1, "{landings:?}");
    assert_eq!(git(&scene.root, &["for-each-ref", "--format=%(refname)", "refs/heads/many"]).lines().count(), 1);
}

/// Each row: what was done to the branch since it was made, and what removing it comes to.
#[test]
fn a_branch_is_removed_only_while_it_names_the_commit() {
    type Step = fn(&Path);
    type Expected = fn(&Removal) -> bool;
    let rows: &[(&str, Step, Expected)] = &[
        ("loose", |_| {}, |found| *found == Removal::Removed),
        ("packed", |root| drop(git(root, &["pack-refs", "--all"])), |found| *found == Removal::Removed),
        (
            "packed, then written again",
            |root| {
                git(root, &["update-ref", "refs/heads/x/y", "HEAD"]);
                git(root, &["pack-refs", "--all"]);
                git(root, &["update-ref", "refs/heads/x/y", "refs/keep"]);
            },
            |found| *found == Removal::Removed,
        ),
        ("gone", |root| drop(git(root, &["update-ref", "-d", "refs/heads/x/y"])), |found| *found == Removal::Gone),
        (
            "moved",
            |root| drop(git(root, &["update-ref", "refs/heads/x/y", "HEAD"])),
            |found| matches!(found, Removal::Moved(Some(_))),
        ),
        (
            "checked out",
            |root| drop(git(root, &["switch", "--quiet", "x/y"])),
            |found| matches!(found, Removal::CheckedOut(_)),
        ),
        (
            "checked out in a worktree",
            |root| drop(git(root, &["worktree", "add", "--quiet", "../linked", "x/y"])),
            |found| matches!(found, Removal::CheckedOut(at) if at.ends_with("worktrees/linked")),
        ),
        (
            "locked",
            |root| write(&root.join(".git/refs/heads/x/y.lock"), b""),
            |found| matches!(found, Removal::Locked(_)),
        ),
        (
            "packed references locked",
            |root| {
                git(root, &["pack-refs", "--all"]);
                write(&root.join(".git/packed-refs.lock"), b"");
            },
            |found| matches!(found, Removal::Locked(_)),
        ),
    ];
    for (what, step, expected) in rows {
        let scene = Scene::new();
        let (_, commit) = scene.put("a", "new\n");
        assert_eq!(scene.source.make_branch(&name("x/y"), commit, TOKEN).unwrap(), Landing::Made);
        git(&scene.root, &["update-ref", "refs/keep", &commit.to_string()]);
        git(&scene.root, &["tag", "-a", "-m", "an annotated tag", "v1"]);
        step(&scene.root);
        let others = |root: &Path| git(root, &["for-each-ref", "--exclude=refs/heads/x"]);
        let before = others(&scene.root);
        let found = scene.source.remove_branch(&name("x/y"), commit, TOKEN).unwrap();
        assert!(expected(&found), "{what}: {found:?}");
        let there = run_git(&scene.root, &["rev-parse", "--verify", "--quiet", "refs/heads/x/y"], b"").status.success();
        assert_eq!(there, !matches!(found, Removal::Removed | Removal::Gone), "{what}");
        assert_eq!(others(&scene.root), before, "{what}: nothing else is touched");
        let folder = scene.root.join(".git/refs/heads/x");
        assert!(found != Removal::Removed || !folder.exists(), "{what}: a folder in which nothing is left goes too");
        let _ = fs::remove_file(scene.root.join(".git/packed-refs.lock"));
        let _ = fs::remove_file(scene.root.join(".git/refs/heads/x/y.lock"));
        git(&scene.root, &["fsck", "--full"]);
    }
}

/// A branch that somebody checks out while its lock is waited for stays.
#[test]
fn a_branch_that_is_checked_out_meanwhile_is_not_removed() {
    for (is_checked_out, expected) in [(true, false), (false, true)] {
        let scene = Scene::new();
        let (_, commit) = scene.put("a", "new\n");
        assert_eq!(scene.source.make_branch(&name("x/y"), commit, TOKEN).unwrap(), Landing::Made);
        let lock = scene.root.join(".git/refs/heads/x/y.lock");
        write(&lock, b"");
        let found = std::thread::scope(|scope| {
            let removing = scope.spawn(|| {
                let source = SourceRepository::open_repository(&scene.root).unwrap();
                source.remove_branch(&name("x/y"), commit, TOKEN).unwrap()
            });
            std::thread::sleep(std::time::Duration::from_millis(200));
            if is_checked_out {
                git(&scene.root, &["symbolic-ref", "HEAD", "refs/heads/x/y"]);
            }
            fs::remove_file(&lock).unwrap();
            removing.join().unwrap()
        });
        assert_eq!(found == Removal::Removed, expected, "{found:?}");
        assert_eq!(matches!(found, Removal::CheckedOut(_)), is_checked_out, "{found:?}");
        let there = run_git(&scene.root, &["rev-parse", "--verify", "--quiet", "refs/heads/x/y"], b"").status.success();
        assert_eq!(there, is_checked_out);
    }
}

/// The branch that HEAD names, after something was done to a bare clone of it; and whether it was moved.
fn forwarded(step: fn(&Path)) -> (Forwarding, bool, Option<Landing>) {
    let scene = Scene::new();
    let bare = scene.world.path("bare.git");
    git(&scene.root, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    step(&bare);
    let target = SourceRepository::open_target(&bare).unwrap();
    assert!(
        target.is_bare() && target.dirty_paths(&tree::Git::find_git(&[]).unwrap(), &bare).unwrap().dirty.is_empty()
    );
    let before = target.digest(None).unwrap();
    let (after, commit) = scene.commit("a", "new\n");
    target.put_objects(&scene.world.store, &scene.before, &after, commit, TOKEN).unwrap();
    let (branch, mark) = (target.current_branch().unwrap(), UsedMark::new(&"d".repeat(64)).unwrap());
    let done = target.forward_branch(&branch, Some(&mark), scene.base, commit, TOKEN).unwrap();
    let is_there = git(&bare, &["rev-parse", "HEAD"]) == commit.to_string();
    assert_eq!(is_there, target.digest(None).unwrap() != before);
    (done, is_there, target.find_mark(&mark).unwrap())
}

#[test]
fn a_branch_is_moved_only_from_the_commit_it_was_seen_at_and_while_nobody_has_it_checked_out() {
    for step in [|_: &Path| {}, |bare: &Path| drop(git(bare, &["pack-refs", "--all"]))] {
        let (done, is_there, mark) = forwarded(step);
        assert_eq!((done, is_there), (Forwarding::Moved, true), "control");
        assert!(matches!(mark, Some(Landing::There(Some(_)))));
    }
    let (done, is_there, mark) = forwarded(|bare| {
        let tree = git(bare, &["rev-parse", "HEAD^{tree}"]);
        let commit = git(bare, &["commit-tree", "-m", "of somebody else", "-p", "HEAD", &tree]);
        git(bare, &["update-ref", "HEAD", &commit]);
    });
    assert!(matches!(done, Forwarding::Elsewhere(Some(_))) && !is_there && mark.is_none(), "{done:?}");
    let (done, is_there, mark) =
        forwarded(|bare| drop(git(bare, &["worktree", "add", "-f", "--quiet", "../linked", "main"])));
    assert!(matches!(done, Forwarding::CheckedOut(_)) && !is_there && mark.is_none(), "{done:?}");
    let (done, is_there, _) = forwarded(|bare| {
        git(bare, &["update-ref", &format!("refs/cto/used/{}", "d".repeat(64)), "HEAD"]);
    });
    assert!(matches!(done, Forwarding::Used(Some(_))) && !is_there, "{done:?}");
}

#[test]
fn a_branch_with_a_work_tree_is_never_moved() {
    let scene = Scene::new();
    let (_, commit) = scene.put("a", "new\n");
    let (branch, mark) = (scene.source.current_branch().unwrap(), UsedMark::new(&"d".repeat(64)).unwrap());
    let done = scene.source.forward_branch(&branch, Some(&mark), scene.base, commit, TOKEN).unwrap();
    assert!(matches!(done, Forwarding::CheckedOut(_)), "{done:?}");
    assert_eq!(git(&scene.root, &["rev-parse", "HEAD"]), scene.base.to_string());
}
