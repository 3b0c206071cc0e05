//! Commits, trees and blobs that are absent, damaged or not what their place says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use testkit::git;

use super::craft::{
    blob, commit, commit_lines, loose, object, overwrite, packed, pipe, point, remove_object, subtree, tree,
};
use super::{Row, check_all, check_bundles, run};
use crate::world;

const FSCK: &str = "git fsck";
const ABSENT: &str = "1111111111111111111111111111111111111111";

fn named(root: &Path, name: &[u8]) {
    commit_lines(root, &[("100644", name, &blob(root))]);
}

fn moded(root: &Path, mode: &str) {
    commit_lines(root, &[(mode, b"a.txt", &blob(root))]);
}

const TREES: &[Row] = &[
    Row { name: "dot", spoil: |r| named(r, b"."), says: &["\".\""], fix: FSCK },
    Row { name: "dots", spoil: |r| named(r, b".."), says: &["\"..\""], fix: FSCK },
    Row { name: "git", spoil: |r| named(r, b".git"), says: &["\".git\""], fix: FSCK },
    Row { name: "git-folded", spoil: |r| named(r, b".GiT "), says: &["folds to .git"], fix: FSCK },
    Row { name: "git-short", spoil: |r| named(r, b"git~1"), says: &["folds to .git"], fix: FSCK },
    Row { name: "slash", spoil: |r| named(r, b"../../out"), says: &["../../out"], fix: FSCK },
    Row { name: "absolute", spoil: |r| named(r, b"/etc/passwd"), says: &["/etc/passwd"], fix: FSCK },
    Row { name: "nameless", spoil: |r| named(r, b""), says: &["content cannot be read"], fix: FSCK },
    Row { name: "long-name", spoil: |r| named(r, &[b'x'; 300]), says: &["longer than 255 bytes"], fix: FSCK },
    Row {
        name: "twice",
        spoil: |r| commit_lines(r, &[("100644", b"a.txt", &blob(r)), ("100755", b"a.txt", &blob(r))]),
        says: &["\"a.txt\"", "twice"],
        fix: FSCK,
    },
    Row {
        name: "folder-twice",
        spoil: |r| {
            let other = tree(r, &[("100644", b"c", &blob(r))]);
            commit_lines(r, &[("40000", b"deep", &subtree(r)), ("40000", b"deep", &other)]);
        },
        says: &["\"deep\"", "twice"],
        fix: FSCK,
    },
    Row {
        name: "file-and-folder",
        spoil: |r| commit_lines(r, &[("100644", b"deep", &blob(r)), ("40000", b"deep", &subtree(r))]),
        says: &["\"deep\" is a file and a directory"],
        fix: FSCK,
    },
    Row {
        name: "out-of-order",
        spoil: |r| commit_lines(r, &[("100644", b"b", &blob(r)), ("100644", b"a", &blob(r))]),
        says: &["\"a\"", "out of order"],
        fix: FSCK,
    },
    Row { name: "no-mode", spoil: |r| moded(r, "0"), says: &["\"a.txt\" has an unknown mode"], fix: FSCK },
    Row { name: "odd-mode", spoil: |r| moded(r, "10644"), says: &["unknown mode"], fix: FSCK },
    Row { name: "device-mode", spoil: |r| moded(r, "60644"), says: &["unknown mode"], fix: FSCK },
    Row { name: "folder-is-file", spoil: |r| moded(r, "40000"), says: &["content cannot be read"], fix: FSCK },
    Row {
        name: "file-is-folder",
        spoil: |r| commit_lines(r, &[("100644", b"deep", &subtree(r))]),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "link-to-nothing",
        spoil: |r| commit_lines(r, &[("120000", b"l", &object(r, "blob", b""))]),
        says: &["\"l\" is a link that leads to no path"],
        fix: FSCK,
    },
    Row {
        name: "link-with-nul",
        spoil: |r| commit_lines(r, &[("120000", b"l", &object(r, "blob", b"a\0b"))]),
        says: &["\"l\" is a link that leads to no path"],
        fix: FSCK,
    },
    Row {
        name: "absent-blob-named",
        spoil: |r| commit_lines(r, &[("100644", b"a.txt", ABSENT)]),
        says: &[ABSENT],
        fix: FSCK,
    },
    Row {
        name: "absent-tree-named",
        spoil: |r| commit_lines(r, &[("40000", b"d", ABSENT)]),
        says: &[ABSENT],
        fix: FSCK,
    },
    Row {
        name: "half-a-tree",
        spoil: |r| {
            let made = object(r, "tree", b"100644 a.txt\0abc");
            commit(r, &made);
        },
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "no-tree",
        spoil: |r| {
            let made = object(r, "commit", b"author nobody\n\nx\n");
            point(r, &made);
        },
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row { name: "tree-is-blob", spoil: |r| commit(r, &blob(r)), says: &["content cannot be read"], fix: FSCK },
    Row {
        name: "too-deep",
        spoil: |r| {
            let mut made = subtree(r);
            (0..200).for_each(|_| made = tree(r, &[("40000", b"d", &made)]));
            commit(r, &made);
        },
        says: &["too deep"],
        fix: "smaller repository",
    },
    // Small on disk, ten to the tenth files in a work tree.
    Row {
        name: "bomb",
        spoil: |r| {
            let mut made = subtree(r);
            for _ in 0..10 {
                let names: Vec<String> = (0..10).map(|at| format!("d{at}")).collect();
                let lines: Vec<_> = names.iter().map(|name| ("40000", name.as_bytes(), made.as_str())).collect();
                made = tree(r, &lines);
            }
            commit(r, &made);
        },
        says: &["list of files is longer"],
        fix: "smaller repository",
    },
];

#[test]
fn crafted_trees() {
    check_all(TREES);
}

const STORED: &[Row] = &[
    Row {
        name: "absent-blob",
        spoil: |r| remove_object(r, "HEAD:a.txt"),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row { name: "absent-tree", spoil: |r| remove_object(r, "HEAD:deep"), says: &["content cannot be read"], fix: FSCK },
    Row { name: "absent-commit", spoil: |r| remove_object(r, "HEAD"), says: &["content cannot be read"], fix: FSCK },
    Row {
        name: "damaged-loose",
        spoil: |r| overwrite(&loose(r, "HEAD:a.txt"), |bytes| bytes[3] ^= 0x55),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "empty-loose",
        spoil: |r| overwrite(&loose(r, "HEAD:deep"), Vec::clear),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "another-name",
        spoil: |r| {
            let other = fs::read(loose(r, "HEAD:deep/b.txt")).unwrap();
            overwrite(&loose(r, "HEAD:a.txt"), |bytes| *bytes = other);
        },
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "damaged-pack",
        spoil: |r| overwrite(&packed(r, "pack"), |bytes| bytes.iter_mut().skip(12).for_each(|byte| *byte ^= 0x5a)),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "cut-pack",
        spoil: |r| overwrite(&packed(r, "pack"), |bytes| bytes.truncate(30)),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "no-pack-index",
        spoil: |r| fs::remove_file(packed(r, "idx")).unwrap(),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "damaged-pack-index",
        spoil: |r| overwrite(&packed(r, "idx"), |bytes| bytes.iter_mut().skip(8).for_each(|byte| *byte ^= 0x5a)),
        says: &["content cannot be read"],
        fix: FSCK,
    },
    Row {
        name: "piped-object",
        spoil: |r| pipe(&loose(r, "HEAD:a.txt")),
        says: &["objects/", "not a regular file"],
        fix: "remove it",
    },
    Row {
        name: "linked-object",
        spoil: |r| {
            let file = loose(r, "HEAD:a.txt");
            fs::remove_file(&file).unwrap();
            symlink("/etc/passwd", file).unwrap();
        },
        says: &["objects/", "not a regular file"],
        fix: "remove it",
    },
    Row {
        name: "no-objects",
        spoil: |r| fs::remove_dir_all(r.join(".git/objects")).unwrap(),
        says: &["objects cannot be read"],
        fix: "chmod",
    },
];

#[test]
fn objects_that_are_absent_or_damaged() {
    check_all(STORED);
}

/// Every object that git reads can be read. Replacements and grafts change no object, and old trees have old modes.
#[test]
fn odd_but_readable() {
    let world = world();
    world.case("made", &[]);
    type Change = fn(&Path);
    let rows: &[(&str, Change)] = &[
        ("replaced", |r| {
            let other = git(r, ["commit-tree", "-m", "other", &subtree(r)]);
            fs::create_dir_all(r.join(".git/refs/replace")).unwrap();
            let head = git(r, ["rev-parse", "HEAD"]);
            fs::write(r.join(".git/refs/replace").join(head), format!("{other}\n")).unwrap();
        }),
        ("grafted", |r| {
            let head = git(r, ["rev-parse", "HEAD"]);
            fs::write(r.join(".git/info/grafts"), format!("{head} {ABSENT}\n")).unwrap();
        }),
        ("alternate-refs", |r| fs::write(r.join(".git/packed-refs"), "# pack-refs with: peeled \n").unwrap()),
        ("old-modes", |r| {
            let deep = tree(r, &[("100664", b"b.txt", &git(r, ["rev-parse", "HEAD:deep/b.txt"]))]);
            commit_lines(r, &[("100664", b"a.txt", &blob(r)), ("040000", b"deep", &deep)]);
        }),
    ];
    for (name, change) in rows {
        let root = world.repository(name, super::FILES);
        change(&root);
        run(&world, &root, 0);
    }
    check_bundles(&world, rows.len());
}
