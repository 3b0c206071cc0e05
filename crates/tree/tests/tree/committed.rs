//! Commits on top of a known one, as they are seen without git.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tree::committed_since;

use crate::support::{World, git, oid, repository, write};

/// Steps in a repository with two commits of history, and whether HEAD then descends from the baseline.
type Row = (&'static str, fn(&Path), bool);

const ROWS: &[Row] = &[
    ("nothing", |_| {}, false),
    ("one commit", |root| commit(root, "one"), true),
    (
        "two commits",
        |root| {
            commit(root, "one");
            commit(root, "two");
        },
        true,
    ),
    (
        "a commit on another branch",
        |root| {
            git(root, &["checkout", "-qb", "side"]);
            commit(root, "one");
        },
        true,
    ),
    (
        "a commit without a branch",
        |root| {
            git(root, &["checkout", "-q", "--detach"]);
            commit(root, "one");
        },
        true,
    ),
    ("the commit before", |root| drop(git(root, &["checkout", "-q", "HEAD~1"])), false),
    (
        "a commit on the one before",
        |root| {
            git(root, &["checkout", "-q", "HEAD~1"]);
            commit(root, "one");
        },
        false,
    ),
    (
        "a beginning of its own",
        |root| {
            git(root, &["checkout", "-q", "--orphan", "other"]);
            commit(root, "one");
        },
        false,
    ),
    (
        "a name that leaves the repository",
        |root| {
            commit(root, "one");
            write(&root.join(".git/HEAD"), b"ref: refs/../../outside\n");
        },
        false,
    ),
    (
        "a commit that is not what its name says",
        |root| {
            let before = git(root, &["rev-parse", "HEAD"]);
            commit(root, "one");
            let made = git(root, &["rev-parse", "HEAD"]);
            let loose = |id: &str| root.join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
            let bytes = fs::read(loose(&before)).unwrap();
            fs::remove_file(loose(&made)).unwrap();
            write(&loose(&made), &bytes);
        },
        false,
    ),
    ("HEAD a pipe", |root| as_head(root, mkfifo), false),
    ("HEAD a link", |root| as_head(root, |head| std::os::unix::fs::symlink("ORIG_HEAD", head).unwrap()), false),
    ("HEAD a directory", |root| as_head(root, |head| fs::create_dir(head).unwrap()), false),
    ("HEAD very large", |root| as_head(root, very_large), false),
    (
        "references packed into a very large file",
        |root| {
            commit(root, "one");
            git(root, &["pack-refs", "--all"]);
            very_large(&root.join(".git/packed-refs"));
        },
        false,
    ),
    (
        "references that name each other",
        |root| {
            commit(root, "one");
            write(&root.join(".git/HEAD"), b"ref: refs/heads/a\n");
            write(&root.join(".git/refs/heads/a"), b"ref: refs/heads/b\n");
            write(&root.join(".git/refs/heads/b"), b"ref: refs/heads/a\n");
        },
        false,
    ),
    ("no repository", |root| fs::remove_dir_all(root.join(".git")).unwrap(), false),
];

/// A commit is made, and something else is put where HEAD was.
fn as_head(root: &Path, make: fn(&Path)) {
    commit(root, "one");
    let head = root.join(".git/HEAD");
    fs::rename(&head, root.join(".git/ORIG_HEAD")).unwrap();
    make(&head);
}

fn mkfifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn very_large(path: &Path) {
    fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
}

fn commit(root: &Path, text: &str) {
    write(&root.join("a.txt"), text.as_bytes());
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", text]);
}

#[test]
fn only_a_commit_on_the_baseline_counts() {
    for (name, act, stands) in ROWS {
        let world = World::new();
        let root = world.fresh("repository");
        repository(&root, &[("a.txt", "a\n")]);
        commit(&root, "history");
        let baseline = oid(&git(&root, &["rev-parse", "HEAD"]));
        act(&root);
        let began = Instant::now();
        let found = committed_since(std::slice::from_ref(&root), baseline);
        assert!(began.elapsed() < Duration::from_secs(2), "{name}: nothing is waited for, and little is read");
        assert_eq!(found.is_some(), *stands, "{name}: {found:?}");
        if let Some(found) = found {
            assert_eq!(found.commit, oid(&git(&root, &["rev-parse", "HEAD"])), "{name}");
            assert_eq!(found.tree, oid(&git(&root, &["rev-parse", "HEAD^{tree}"])), "{name}");
        }
    }
}
