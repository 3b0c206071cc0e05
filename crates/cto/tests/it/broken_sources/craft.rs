//! Objects that no git would write, put where git looks for them.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::git;

/// One line of a tree: mode, name, object.
pub(super) type Line<'a> = (&'a str, &'a [u8], &'a str);

/// Writes an object as it is given, whatever it is worth.
pub(super) fn object(root: &Path, kind: &str, bytes: &[u8]) -> String {
    let file = root.with_extension("object");
    fs::write(&file, bytes).unwrap();
    let oid = git(root, ["hash-object", "-t", kind, "-w", "--literally", "--no-filters", file.to_str().unwrap()]);
    fs::remove_file(file).unwrap();
    oid
}

pub(super) fn tree(root: &Path, lines: &[Line<'_>]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, oid) in lines {
        bytes.extend_from_slice(format!("{mode} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&oid[at..at + 2], 16).unwrap()));
    }
    object(root, "tree", &bytes)
}

/// Makes the branch a commit of this tree.
pub(super) fn commit(root: &Path, tree: &str) {
    let person = "U <u@example.invalid> 1700000000 +0000";
    let text = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\ncrafted\n");
    point(root, &object(root, "commit", text.as_bytes()));
}

pub(super) fn commit_lines(root: &Path, lines: &[Line<'_>]) {
    let made = tree(root, lines);
    commit(root, &made);
}

/// Makes the branch name this object.
pub(super) fn point(root: &Path, oid: &str) {
    let branch = git(root, ["symbolic-ref", "HEAD"]);
    fs::write(root.join(".git").join(branch), format!("{oid}\n")).unwrap();
}

pub(super) fn blob(root: &Path) -> String {
    git(root, ["rev-parse", "HEAD:a.txt"])
}

pub(super) fn subtree(root: &Path) -> String {
    git(root, ["rev-parse", "HEAD:deep"])
}

/// The file of a loose object.
pub(super) fn loose(root: &Path, name: &str) -> PathBuf {
    let oid = git(root, ["rev-parse", name]);
    root.join(".git/objects").join(&oid[..2]).join(&oid[2..])
}

pub(super) fn remove_object(root: &Path, name: &str) {
    fs::remove_file(loose(root, name)).unwrap();
}

/// Overwrites a file that may be read-only.
pub(super) fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The file of the only pack, after everything was packed.
pub(super) fn packed(root: &Path, ending: &str) -> PathBuf {
    git(root, ["repack", "-adq"]);
    let names = fs::read_dir(root.join(".git/objects/pack")).unwrap().flatten().map(|entry| entry.path());
    names.into_iter().find(|path| path.extension().is_some_and(|found| found == ending)).unwrap()
}

pub(super) fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let made = testkit::program("mkfifo", Path::new("/")).arg(path).status().unwrap();
    assert!(made.success());
}
