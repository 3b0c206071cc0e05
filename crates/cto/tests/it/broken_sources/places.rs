//! HEAD, references, index, configuration and the folders around them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use testkit::git;

use super::craft::{blob, overwrite, pipe, point, subtree};
use super::{FILES, Row, check_all, check_bundles, check_refused};
use crate::world;

const HEAD: &str = "git symbolic-ref HEAD";
const INDEX: &str = "rm .git/index && git reset";

fn write(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(".git").join(name);
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn make_folder(root: &Path, name: &str) {
    let path = root.join(".git").join(name);
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path).unwrap();
}

const HEADS: &[Row] = &[
    Row {
        name: "tag",
        spoil: |r| {
            git(r, ["tag", "-a", "-m", "t", "v1"]);
            point(r, &git(r, ["rev-parse", "v1"]));
        },
        says: &["HEAD names ", "is a tag and no commit"],
        fix: "git checkout --detach",
    },
    Row { name: "tree", spoil: |r| point(r, &subtree(r)), says: &["is a tree and no commit"], fix: HEAD },
    Row { name: "blob", spoil: |r| point(r, &blob(r)), says: &["is a blob and no commit"], fix: HEAD },
    Row {
        name: "nowhere",
        spoil: |r| point(r, "1111111111111111111111111111111111111111"),
        says: &["1111111111111111111111111111111111111111"],
        fix: "git fsck",
    },
    Row {
        name: "unborn",
        spoil: |r| write(r, "HEAD", b"ref: refs/heads/none\n"),
        says: &["HEAD has no commit yet"],
        fix: "git commit",
    },
    Row {
        name: "loop",
        spoil: |r| write(r, "HEAD", b"ref: refs/heads/x\n"),
        says: &["HEAD has no"],
        fix: "git commit",
    },
    Row {
        name: "ring",
        spoil: |r| {
            write(r, "HEAD", b"ref: refs/heads/x\n");
            write(r, "refs/heads/x", b"ref: refs/heads/y\n");
            write(r, "refs/heads/y", b"ref: refs/heads/x\n");
        },
        says: &["too many symbolic references"],
        fix: HEAD,
    },
    Row { name: "garbage", spoil: |r| write(r, "HEAD", b"\x00\xff\n"), says: &["unsafe reference"], fix: HEAD },
    Row { name: "out", spoil: |r| write(r, "HEAD", b"ref: refs/../../x\n"), says: &["refs/../../x"], fix: HEAD },
    Row { name: "head-folder", spoil: |r| make_folder(r, "HEAD"), says: &["HEAD"], fix: HEAD },
    Row { name: "head-pipe", spoil: |r| pipe(&r.join(".git/HEAD")), says: &["HEAD"], fix: HEAD },
    Row { name: "long-id", spoil: |r| write(r, "HEAD", &[b'a'; 64]), says: &["SHA-256"], fix: "--repo DIR" },
    Row {
        name: "packed-garbage",
        spoil: |r| {
            git(r, ["pack-refs", "--all"]);
            write(r, "packed-refs", b"no-name\n");
        },
        says: &["packed-refs"],
        fix: HEAD,
    },
    Row {
        name: "packed-folder",
        spoil: |r| {
            git(r, ["pack-refs", "--all"]);
            make_folder(r, "packed-refs");
        },
        says: &["packed-refs cannot be read"],
        fix: "chmod",
    },
];

#[test]
fn heads_that_lead_nowhere() {
    check_all(HEADS);
}

/// Changes the body of the index and, unless it is to be found damaged, its checksum.
fn index(root: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    overwrite(&root.join(".git/index"), |bytes| {
        bytes.truncate(bytes.len() - 20);
        change(bytes);
        // As git writes it with index.skipHash.
        bytes.extend_from_slice(&[0; 20]);
    });
}

const INDEXES: &[Row] = &[
    Row {
        name: "split",
        spoil: |r| drop(git(r, ["update-index", "--split-index"])),
        says: &["index is split"],
        fix: "git update-index --no-split-index",
    },
    Row {
        name: "flipped",
        spoil: |r| overwrite(&r.join(".git/index"), |bytes| bytes[50] ^= 1),
        says: &["index is damaged", "checksum"],
        fix: INDEX,
    },
    Row {
        name: "cut",
        spoil: |r| index(r, |bytes| bytes.truncate(40)),
        says: &["index is damaged", "ends too early"],
        fix: INDEX,
    },
    Row { name: "empty", spoil: |r| write(r, "index", b""), says: &["index is damaged"], fix: INDEX },
    Row { name: "version", spoil: |r| index(r, |bytes| bytes[7] = 9), says: &["unknown version (9)"], fix: INDEX },
    Row {
        name: "part",
        spoil: |r| index(r, |bytes| bytes.extend_from_slice(b"zzzz\0\0\0\0")),
        says: &["\"zzzz\" is not known"],
        fix: INDEX,
    },
    Row {
        name: "outside",
        spoil: |r| {
            index(r, |bytes| {
                let at = bytes.windows(5).position(|name| name == b"a.txt").unwrap();
                bytes[at..at + 5].copy_from_slice(b"../ab");
            });
        },
        says: &["\"../ab\""],
        fix: INDEX,
    },
    Row {
        name: "order",
        spoil: |r| {
            index(r, |bytes| {
                let at = bytes.windows(5).position(|name| name == b"a.txt").unwrap();
                bytes[at..at + 5].copy_from_slice(b"z.txt");
            });
        },
        says: &["out of order"],
        fix: INDEX,
    },
    Row { name: "folder", spoil: |r| make_folder(r, "index"), says: &["index cannot be read"], fix: "chmod" },
    Row { name: "pipe", spoil: |r| pipe(&r.join(".git/index")), says: &["index cannot be read"], fix: "chmod" },
    Row {
        name: "link",
        spoil: |r| {
            fs::remove_file(r.join(".git/index")).unwrap();
            symlink("/etc/passwd", r.join(".git/index")).unwrap();
        },
        says: &["index cannot be read"],
        fix: "chmod",
    },
];

#[test]
fn indexes_that_are_not_read() {
    check_all(INDEXES);
}

const AROUND: &[Row] = &[
    Row {
        name: "config",
        spoil: |r| write(r, "config", b"[core\nx"),
        says: &["configuration cannot be read"],
        fix: "git config --list",
    },
    Row { name: "config-folder", spoil: |r| make_folder(r, "config"), says: &["config cannot be read"], fix: "chmod" },
    Row {
        name: "format",
        spoil: |r| write(r, "config", b"[core]\n\trepositoryformatversion = 9\n"),
        says: &["core.repositoryformatversion=9"],
        fix: "git clone",
    },
    Row {
        name: "extension",
        spoil: |r| write(r, "config", b"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnew = 1\n"),
        says: &["extensions.new=1"],
        fix: "git clone",
    },
    Row { name: "shallow", spoil: |r| write(r, "shallow", b"here\n"), says: &[".git/shallow"], fix: "git fsck" },
    Row {
        name: "alternates",
        spoil: |r| write(r, "objects/info/alternates", b"/nowhere\n"),
        says: &["alternates"],
        fix: "git repack -a -d",
    },
    Row {
        name: "exclude",
        spoil: |r| pipe(&r.join(".git/info/exclude")),
        says: &["info/exclude cannot be read"],
        fix: "chmod",
    },
    Row {
        name: "ignore-pipe",
        spoil: |r| pipe(&r.join("deep/.gitignore")),
        says: &["deep/.gitignore is not a regular file"],
        fix: "remove it",
    },
    Row {
        name: "attributes-pipe",
        spoil: |r| pipe(&r.join(".gitattributes")),
        says: &[".gitattributes is not a regular file"],
        fix: "remove it",
    },
    Row { name: "reftable", spoil: |r| make_folder(r, "reftable"), says: &["reftable"], fix: "git refs migrate" },
    Row {
        name: "no-git",
        spoil: |r| fs::remove_dir_all(r.join(".git")).unwrap(),
        says: &["not the top of a git work tree"],
        fix: "--repo DIR",
    },
    Row {
        name: "git-file",
        spoil: |r| {
            fs::remove_dir_all(r.join(".git")).unwrap();
            fs::write(r.join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
        },
        says: &["does not point back"],
        fix: "git worktree repair",
    },
    Row {
        name: "git-file-of-a-submodule",
        spoil: |r| {
            let elsewhere = r.with_extension("module");
            fs::rename(r.join(".git"), &elsewhere).unwrap();
            fs::write(r.join(".git"), format!("gitdir: {}\n", elsewhere.display())).unwrap();
        },
        says: &["as a submodule's does"],
        fix: "git clone . DIR",
    },
    Row {
        name: "git-file-of-garbage",
        spoil: |r| {
            fs::remove_dir_all(r.join(".git")).unwrap();
            fs::write(r.join(".git"), [0xff; 9000]).unwrap();
        },
        says: &[".git cannot be read"],
        fix: "chmod",
    },
    Row {
        name: "bare",
        spoil: |r| {
            fs::remove_file(r.join("a.txt")).unwrap();
            fs::remove_dir_all(r.join("deep")).unwrap();
            for name in ["HEAD", "objects", "refs", "config"] {
                fs::rename(r.join(".git").join(name), r.join(name)).unwrap();
            }
            fs::remove_dir_all(r.join(".git")).unwrap();
        },
        says: &["bare repository"],
        fix: "git clone",
    },
];

#[test]
fn what_lies_around() {
    check_all(AROUND);
}

#[test]
fn what_is_not_there() {
    let world = world();
    world.case("made", &[]);
    let file = world.write("file", "no folder");
    check_refused(&world, "file", &file, &["Not a directory"], "chmod");
    check_refused(&world, "nothing", &world.path().join("nothing"), &["there is nothing at this path"], "--repo DIR");
    let partial = world.repository("origin", FILES);
    git(&partial, ["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", partial.display());
    git(world.path(), ["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "partial"]);
    let words = ["left out when it was cloned", "a.txt"];
    check_refused(&world, "partial", &world.path().join("partial"), &words, "git fetch --refetch");
    check_bundles(&world, 3);
}
