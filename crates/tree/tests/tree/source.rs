//! Source repositories of every kind a user has, and those that are refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tree::{AbsentWhy, SourceProblem, SourceRepository, TreeError, absent_content};

use crate::support::{World, git, repository, run_git, text, write};

const ROWS: &[(&str, &str)] = &[("a", "1\n"), ("d/b", "2\n")];

fn refused(path: &Path) -> SourceProblem {
    match SourceRepository::open_repository(path) {
        Err(TreeError::Source { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

/// A good repository, spoilt, and the error for it.
fn check(spoil: impl Fn(&Path), expected: SourceProblem) {
    let world = World::new();
    let root = world.path("source");
    repository(&root, ROWS);
    assert!(SourceRepository::open_repository(&root).is_ok(), "before");
    spoil(&root);
    assert_eq!(refused(&root), expected);
}

#[test]
fn what_is_refused() {
    check(|r| fs::remove_dir_all(r.join(".git")).unwrap(), SourceProblem::NotARepository);
    check(|r| write(&r.join(".git/objects/info/alternates"), b"/elsewhere/objects\n"), SourceProblem::Alternates);
    check(|r| write(&r.join(".git/objects/info/http-alternates"), b"http://x\n"), SourceProblem::Alternates);
    check(|r| write(&r.join(".git/commondir"), b"/elsewhere/.git\n"), SourceProblem::GitFilePointsElsewhere);
    check(|r| move_away(r, ".git", |to| symlink(to, r.join(".git")).unwrap()), SourceProblem::SymlinkInside(".git"));
    check(
        |r| move_away(r, ".git", |to| write(&r.join(".git"), format!("gitdir: {}\n", to.display()).as_bytes())),
        SourceProblem::GitDirElsewhere,
    );
    check(
        |r| move_away(r, ".git/objects", |to| symlink(to, r.join(".git/objects")).unwrap()),
        SourceProblem::SymlinkInside("objects"),
    );
    check(
        |r| symlink("/tmp", r.join(".git/objects/zz")).unwrap(),
        SourceProblem::SymlinkInside("a directory of objects"),
    );
    check(|r| symlink("/x.pack", r.join(".git/objects/pack/x.pack")).unwrap(), SourceProblem::SymlinkInside("a pack"));
    check(|r| write(&r.join(".git/HEAD"), b"ref: refs/heads/none\n"), SourceProblem::UnbornHead);
    check(|r| write(&r.join(".git/HEAD"), &[b'a'; 64]), SourceProblem::Sha256);
    check(
        |r| write(&r.join(".git/HEAD"), b"ref: refs/../../x\n"),
        SourceProblem::UnsafeReference("refs/../../x".into()),
    );
    check(|r| write(&r.join(".git/HEAD"), b"ref: /etc/passwd\n"), SourceProblem::UnsafeReference("/etc/passwd".into()));
    check(
        |r| write(&r.join(".git/refs/heads/main"), b"ref: refs/heads/main\n"),
        SourceProblem::UnsafeReference("too many symbolic references".into()),
    );
}

fn move_away(root: &Path, name: &str, then: impl Fn(&Path)) {
    let to = root.with_file_name("elsewhere");
    fs::rename(root.join(name), &to).unwrap();
    then(&to);
}

#[test]
fn other_formats_are_refused_clearly() {
    let world = World::new();
    for (name, flag, expected) in [
        ("sha256", "--object-format=sha256", SourceProblem::Sha256),
        ("reftable", "--ref-format=reftable", SourceProblem::Reftable),
    ] {
        let root = world.fresh(name);
        if !run_git(&root, &["init", "-q", flag], b"").status.success() {
            testkit::not_here("source::other_formats_are_refused_clearly", &format!("this git has no {flag}"));
            continue;
        }
        git(&root, &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(refused(&root), expected);
    }
    let bare = world.fresh("bare");
    git(&bare, &["init", "-q", "--bare"]);
    assert_eq!(refused(&bare), SourceProblem::Bare);
}

fn fetched(world: &World, root: &Path) -> Vec<String> {
    let source = SourceRepository::open_repository(root).unwrap();
    let commit = source.fetch_into(&world.store).unwrap();
    assert_eq!(commit.to_string(), git(root, &["rev-parse", "HEAD"]));
    let listing = world.store.list_tree(commit).unwrap();
    assert_eq!(listing.tree_id(), world.store.tree_of(commit).unwrap());
    listing.0.keys().map(|path| text(path)).collect()
}

#[test]
fn head_in_all_its_places() {
    let world = World::new();
    let root = world.path("with \"odd: name\"");
    repository(&root, ROWS);
    assert_eq!(fetched(&world, &root), ["a", "d/b"]);
    git(&root, &["pack-refs", "--all"]);
    git(&root, &["branch", "other"]);
    assert_eq!(fetched(&world, &root), ["a", "d/b"]);
    git(&root, &["checkout", "-q", "--detach"]);
    assert_eq!(fetched(&world, &root), ["a", "d/b"]);
    let linked = world.path("linked");
    git(&root, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    write(&linked.join("c"), b"3\n");
    git(&linked, &["add", "c"]);
    git(&linked, &["commit", "-qm", "c"]);
    assert_eq!(fetched(&world, &linked), ["a", "c", "d/b"]);
    let thief = world.fresh("thief");
    fs::copy(linked.join(".git"), thief.join(".git")).unwrap();
    assert_eq!(refused(&thief), SourceProblem::GitFilePointsElsewhere);
}

fn cloned(world: &World, name: &str, args: &[&str], from: &Path) -> PathBuf {
    let to = world.path(name);
    let url = format!("file://{}", from.display());
    git(from, &[&["clone", "-q"], args, &[&url, to.to_str().unwrap()]].concat());
    to
}

#[test]
fn shallow_and_partial_clones() {
    let world = World::new();
    let origin = world.path("origin");
    repository(&origin, ROWS);
    write(&origin.join("a"), b"changed\n");
    git(&origin, &["commit", "-qam", "second"]);
    git(&origin, &["config", "uploadpack.allowFilter", "true"]);

    let shallow = cloned(&world, "shallow", &["--depth=1"], &origin);
    let source = SourceRepository::open_repository(&shallow).unwrap();
    assert!(source.is_shallow() && !source.is_partial());
    assert_eq!(fetched(&world, &shallow), ["a", "d/b"]);
    let listing = world.store.list_tree(source.head_commit()).unwrap();
    let root = world.fresh("work");
    tree::materialise(&world.store, &listing, &root).unwrap();
    tree::work_repository(&root, &world.store, source.head_commit(), &listing, crate::support::AUTHOR).unwrap();
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(git(&root, &["fsck"]), "");

    let other = World::new();
    let partial = cloned(&world, "partial", &["--filter=blob:none", "--no-checkout"], &origin);
    let source = SourceRepository::open_repository(&partial).unwrap();
    assert!(source.is_partial());
    let listing = other.store.list_tree(source.fetch_into(&other.store).unwrap()).unwrap();
    let absent: Vec<_> =
        absent_content(&listing, &other.store).unwrap().into_iter().map(|a| (text(&a.path), a.why)).collect();
    assert_eq!(absent, [("a".to_owned(), AbsentWhy::NotHeld), ("d/b".to_owned(), AbsentWhy::NotHeld)]);
}

#[test]
fn content_git_does_not_hold() {
    let world = World::new();
    let (root, inner) = (world.path("source"), world.path("inner"));
    repository(&inner, &[("x", "")]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    repository(&root, &[("big.bin", pointer), ("plain", "version 1\n")]);
    git(&root, &["submodule", "add", "-q", inner.to_str().unwrap(), "mod"]);
    git(&root, &["commit", "-qm", "mod"]);
    let source = SourceRepository::open_repository(&root).unwrap();
    let listing = world.store.list_tree(source.fetch_into(&world.store).unwrap()).unwrap();
    let absent: Vec<_> =
        absent_content(&listing, &world.store).unwrap().into_iter().map(|a| (text(&a.path), a.why)).collect();
    assert_eq!(absent, [("big.bin".to_owned(), AbsentWhy::LfsPointer), ("mod".to_owned(), AbsentWhy::Submodule)]);
}

#[test]
fn a_damaged_source_is_not_copied() {
    let world = World::new();
    let root = world.path("source");
    repository(&root, ROWS);
    let blob = git(&root, &["rev-parse", "HEAD:d/b"]);
    let path = root.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(&path).unwrap();
    let missing = SourceRepository::open_repository(&root).unwrap();
    assert!(missing.fetch_into(&world.store).is_err());
    // A whole object under the wrong name.
    let other = git(&root, &["rev-parse", "HEAD:a"]);
    fs::copy(root.join(".git/objects").join(&other[..2]).join(&other[2..]), &path).unwrap();
    assert!(missing.fetch_into(&world.store).is_err());
}

fn dirty(world: &World, root: &Path, scratch: &str) -> Vec<String> {
    let status =
        SourceRepository::open_repository(root).unwrap().dirty_paths(world.store.git(), &world.fresh(scratch)).unwrap();
    status.dirty.iter().map(|path| text(path)).collect()
}

#[test]
fn status_as_git_sees_it_and_a_little_more() {
    let world = World::new();
    let root = world.path("source");
    repository(
        &root,
        &[
            ("a", "1\n"),
            ("b", "1\n"),
            ("c", "1\n"),
            ("d/e", "1\n"),
            (".gitignore", "*.o\n"),
            ("crlf", "x\n"),
            (".gitattributes", "crlf text eol=crlf\n"),
        ],
    );
    fs::remove_file(root.join("crlf")).unwrap();
    git(&root, &["checkout", "-q", "crlf"]);
    assert_eq!(fs::read(root.join("crlf")).unwrap(), b"x\r\n");
    write(&root.join(".git/info/exclude"), b"*.local\n");
    write(&root.join("x.o"), b"");
    write(&root.join("x.local"), b"");
    assert_eq!(dirty(&world, &root, "s1"), [""; 0]);
    write(&root.join("a"), b"changed\n");
    write(&root.join("new"), b"");
    git(&root, &["rm", "-q", "--cached", "b"]);
    assert_eq!(dirty(&world, &root, "s2"), ["a", "b", "new"]);
    git(&root, &["update-index", "--assume-unchanged", "a"]);
    git(&root, &["update-index", "--skip-worktree", "c"]);
    write(&root.join("c"), b"hidden\n");
    assert_eq!(git(&root, &["status", "--porcelain"]), "D  b\n?? b\n?? new", "plain git does not see a and c");
    assert_eq!(dirty(&world, &root, "s3"), ["a", "b", "c", "new"]);
    git(&root, &["update-index", "--index-version=4"]);
    assert_eq!(dirty(&world, &root, "s4"), ["a", "b", "c", "new"]);
    git(&root, &["add", "-N", "new"]);
    assert_eq!(dirty(&world, &root, "s5"), ["a", "b", "c", "new"]);
    git(&root, &["update-index", "--split-index"]);
    let split = SourceRepository::open_repository(&root).unwrap().dirty_paths(world.store.git(), &world.fresh("s6"));
    assert!(matches!(split, Err(TreeError::Source { problem: SourceProblem::SplitIndex, .. })));
}

/// Git compares whole seconds, and rewrites entries it was told to pass over without looking at their files again: once the
/// index is a second younger, a change of the same second and size is as good as committed to it.
#[test]
fn what_git_passes_over_is_looked_at_also_when_its_times_agree() {
    let world = World::new();
    let root = world.path("source");
    let tick = |at_most: u32| loop {
        write(&world.path("clock"), b"");
        let now = fs::metadata(world.path("clock")).unwrap().modified().unwrap();
        if now.duration_since(std::time::UNIX_EPOCH).unwrap().subsec_millis() < at_most {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    tick(100);
    repository(&root, &[("assumed", "one\n"), ("skipped", "one\n"), ("touched", "one\n")]);
    git(&root, &["update-index", "--assume-unchanged", "assumed"]);
    git(&root, &["update-index", "--skip-worktree", "skipped"]);
    for name in ["assumed", "skipped"] {
        write(&root.join(name), b"own\n");
    }
    std::thread::sleep(std::time::Duration::from_millis(900));
    tick(500);
    // A file as it was, but younger: git writes the index to remember that.
    write(&root.join("touched"), b"one\n");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(dirty(&world, &root, "s"), ["assumed", "skipped"]);
}

#[test]
fn an_unfinished_merge_is_seen() {
    let world = World::new();
    let root = world.path("source");
    repository(&root, &[("a", "1\n"), ("b", "1\n")]);
    git(&root, &["checkout", "-qb", "side"]);
    write(&root.join("a"), b"side\n");
    git(&root, &["commit", "-qam", "side"]);
    git(&root, &["checkout", "-q", "main"]);
    write(&root.join("a"), b"main\n");
    git(&root, &["commit", "-qam", "main"]);
    assert!(!run_git(&root, &["merge", "-q", "side"], b"").status.success());
    git(&root, &["checkout", "-q", "--ours", "a"]);
    let status =
        SourceRepository::open_repository(&root).unwrap().dirty_paths(world.store.git(), &world.fresh("s")).unwrap();
    assert_eq!((status.dirty, status.unfinished), (vec![b"a".to_vec()], vec!["MERGE_HEAD".to_owned()]));
}

#[test]
fn a_sparse_checkout_is_not_dirty() {
    let world = World::new();
    let root = world.path("source");
    repository(&root, &[("a", "1\n"), ("in/x", "1\n"), ("out/y", "1\n"), ("out/deep/z", "1\n")]);
    for (scratch, flag) in [("s1", "--no-sparse-index"), ("s2", "--sparse-index")] {
        git(&root, &["sparse-checkout", "init", "--cone", flag]);
        git(&root, &["sparse-checkout", "set", "in"]);
        assert!(!root.join("out").exists());
        let status = SourceRepository::open_repository(&root)
            .unwrap()
            .dirty_paths(world.store.git(), &world.fresh(scratch))
            .unwrap();
        assert_eq!(status.dirty, Vec::<Vec<u8>>::new(), "{flag}");
        assert!(status.sparse.iter().all(|path| path.starts_with(b"out/")) && !status.sparse.is_empty(), "{flag}");
    }
    write(&root.join("a"), b"2\n");
    assert_eq!(dirty(&world, &root, "s3"), ["a"]);
}

#[test]
fn the_digest_of_references_moves_with_each_of_them() {
    let world = World::new();
    let root = world.path("source");
    repository(&root, ROWS);
    let source = SourceRepository::open_repository(&root).unwrap();
    let first = source.references_digest().unwrap();
    let same = |expected: bool, what: &str| {
        assert_eq!(source.references_digest().unwrap() == first, expected, "{what}");
    };
    write(&root.join("a"), b"9\n");
    same(true, "the work tree is no reference");
    git(&root, &["branch", "deep/er"]);
    same(false, "a new branch");
    let second = source.references_digest().unwrap();
    git(&root, &["pack-refs", "--all"]);
    assert_eq!(source.references_digest().unwrap(), second, "packing moves nothing");
    git(&root, &["branch", "-D", "deep/er"]);
    same(true, "gone again");
    git(&root, &["update-ref", "refs/cto/used/x", "HEAD"]);
    same(false, "outside of branches");
    git(&root, &["update-ref", "-d", "refs/cto/used/x"]);
    git(&root, &["checkout", "-q", "--detach"]);
    same(false, "HEAD names a commit");
}

#[test]
fn the_digest_moves_with_the_source() {
    let world = World::new();
    let root = world.path("source");
    repository(&root, ROWS);
    symlink("a", root.join("l")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(250));
    write(&root.join("young"), b"y");
    let source = SourceRepository::open_repository(&root).unwrap();
    let first = source.digest(None).unwrap();
    let same = |expected: bool, what: &str| {
        assert_eq!(source.digest(None).unwrap() == first, expected, "{what}");
        assert_eq!(source.digest(Some(&first)).unwrap() == first, expected, "{what}, from the earlier one");
    };
    same(true, "untouched");
    git(&root, &["status"]);
    same(true, "git status writes .git only");
    write(&root.join("a"), b"9\n");
    same(false, "content");
    write(&root.join("a"), b"1\n");
    same(true, "content put back");
    fs::create_dir(root.join("empty")).unwrap();
    same(false, "directory");
    fs::remove_dir(root.join("empty")).unwrap();
    fs::remove_file(root.join("l")).unwrap();
    same(false, "link gone");
    symlink("d", root.join("l")).unwrap();
    same(false, "link elsewhere");
    fs::remove_file(root.join("l")).unwrap();
    symlink("a", root.join("l")).unwrap();
    same(true, "all put back");
    git(&root, &["commit", "-q", "--allow-empty", "-m", "x"]);
    same(false, "HEAD");
}
