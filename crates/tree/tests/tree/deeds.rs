//! Changes that a program may make to a tree, to make the same in two places.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode as Permissions, mknodat};

use crate::support::{Node, at};

/// A deed that cannot be done where it is tried is none. No link is followed: they may lead anywhere.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    Write(Vec<u8>, Vec<u8>),
    Append(Vec<u8>, Vec<u8>),
    /// Opened for writing, or given the mode it has: copied up, and nothing else.
    Touch(Vec<u8>),
    /// Written anew with the same bytes.
    Rewrite(Vec<u8>),
    Remove(Vec<u8>),
    Rename(Vec<u8>, Vec<u8>),
    MakeDirectory(Vec<u8>),
    /// Removed with everything in it and made again.
    RemakeDirectory(Vec<u8>),
    DirectoryByFile(Vec<u8>, Vec<u8>),
    FileByDirectory(Vec<u8>, Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    HardLink(Vec<u8>, Vec<u8>),
    Executable(Vec<u8>, bool),
    Fifo(Vec<u8>),
}

/// Entry at a path, read without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Nothing,
    File,
    Directory,
    Other,
}

pub(crate) fn kind_of(path: &Path) -> Kind {
    match fs::symlink_metadata(path) {
        Err(_) => Kind::Nothing,
        Ok(meta) if meta.is_file() => Kind::File,
        Ok(meta) if meta.is_dir() => Kind::Directory,
        Ok(_) => Kind::Other,
    }
}

impl Deed {
    pub(crate) fn apply(&self, root: &Path) {
        let path = self.path();
        // The index in a repository differs from place to place, so the repository stays where it is.
        let repository_leaves = path == b".git" && matches!(self, Deed::Rename(..));
        // Below a file or a link nothing can be done.
        if repository_leaves || !way(root, path) {
            return;
        }
        let (to, kind) = (at(root, path), kind_of(&at(root, path)));
        match self {
            Deed::Write(_, bytes) if kind != Kind::Directory => write(&to, kind, bytes),
            Deed::Append(_, bytes) if kind == Kind::File => {
                fs::File::options().append(true).open(&to).unwrap().write_all(bytes).unwrap();
            }
            Deed::Touch(_) => touch(&to, kind),
            Deed::Rewrite(_) if kind == Kind::File => {
                let (bytes, mode) = (fs::read(&to).unwrap(), fs::metadata(&to).unwrap().permissions());
                fs::remove_file(&to).unwrap();
                fs::write(&to, bytes).unwrap();
                fs::set_permissions(&to, mode).unwrap();
            }
            Deed::Remove(_) => remove(&to, kind),
            Deed::Rename(_, other) if kind != Kind::Nothing && !other.starts_with(path) && free(root, other) => {
                rename(&to, &at(root, other));
            }
            Deed::MakeDirectory(_) if kind == Kind::Nothing => fs::create_dir(&to).unwrap(),
            Deed::RemakeDirectory(_) if kind == Kind::Directory => {
                remove(&to, kind);
                fs::create_dir(&to).unwrap();
            }
            Deed::DirectoryByFile(_, bytes) if kind == Kind::Directory => {
                remove(&to, kind);
                fs::write(&to, bytes).unwrap();
            }
            Deed::FileByDirectory(_, bytes) if kind == Kind::File || kind == Kind::Other => {
                remove(&to, kind);
                fs::create_dir(&to).unwrap();
                fs::write(to.join("a"), bytes).unwrap();
            }
            Deed::Link(_, target) if kind == Kind::Nothing => symlink(OsStr::from_bytes(target), &to).unwrap(),
            Deed::HardLink(_, other) if kind == Kind::File && free(root, other) => {
                fs::hard_link(&to, at(root, other)).unwrap();
            }
            Deed::Executable(_, yes) if kind == Kind::File => {
                fs::set_permissions(&to, fs::Permissions::from_mode(if *yes { 0o755 } else { 0o644 })).unwrap();
            }
            Deed::Fifo(_) if kind == Kind::Nothing => {
                mknodat(CWD, &to, FileType::Fifo, Permissions::from_raw_mode(0o644), 0).unwrap();
            }
            _ => {}
        }
    }

    fn path(&self) -> &[u8] {
        match self {
            Deed::Touch(path)
            | Deed::Rewrite(path)
            | Deed::Remove(path)
            | Deed::MakeDirectory(path)
            | Deed::RemakeDirectory(path)
            | Deed::Executable(path, _)
            | Deed::Fifo(path)
            | Deed::Write(path, _)
            | Deed::Append(path, _)
            | Deed::Rename(path, _)
            | Deed::DirectoryByFile(path, _)
            | Deed::FileByDirectory(path, _)
            | Deed::Link(path, _)
            | Deed::HardLink(path, _) => path,
        }
    }
}

/// Makes the directories above a path; whether that could be done without following a link.
fn way(root: &Path, path: &[u8]) -> bool {
    for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let above = at(root, &path[..slash]);
        match kind_of(&above) {
            Kind::Directory => {}
            Kind::Nothing => fs::create_dir(&above).unwrap(),
            Kind::File | Kind::Other => return false,
        }
    }
    true
}

fn free(root: &Path, path: &[u8]) -> bool {
    way(root, path) && kind_of(&at(root, path)) == Kind::Nothing
}

fn write(to: &Path, kind: Kind, bytes: &[u8]) {
    if kind == Kind::Other {
        fs::remove_file(to).unwrap();
    }
    fs::write(to, bytes).unwrap();
}

fn touch(to: &Path, kind: Kind) {
    match kind {
        Kind::File => drop(fs::File::options().append(true).open(to).unwrap()),
        Kind::Directory => fs::set_permissions(to, fs::metadata(to).unwrap().permissions()).unwrap(),
        Kind::Nothing | Kind::Other => {}
    }
}

fn remove(to: &Path, kind: Kind) {
    match kind {
        Kind::Nothing => {}
        Kind::Directory => fs::remove_dir_all(to).unwrap(),
        Kind::File | Kind::Other => fs::remove_file(to).unwrap(),
    }
}

/// An overlay does not rename a directory that lies beneath; programs move what is in it then.
fn rename(from: &Path, to: &Path) {
    match fs::rename(from, to) {
        Err(e) if e.kind() == ErrorKind::CrossesDevices => {
            fs::create_dir(to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let name = entry.unwrap().file_name();
                rename(&from.join(&name), &to.join(&name));
            }
            fs::remove_dir(from).unwrap();
        }
        renamed => renamed.unwrap(),
    }
}

const TARGETS: &[&str] = &["a", "b/c", "..", "../..", "a/..", "a/b/../..", "/etc/hostname", ".git/config", "./c"];

/// Few names, so that deeds meet.
pub(crate) fn plain_path() -> impl Strategy<Value = Vec<u8>> {
    let names = prop::collection::vec(prop::sample::select(&["a", "b", "c", "d-", "d"][..]), 1..4);
    let odd = prop::sample::select(&["x.so", "a/x.pyc", "node_modules/p", "node_modules/a/b", "__pycache__/k"][..]);
    prop_oneof![6 => names.prop_map(|names| names.join("/").into_bytes()), 1 => odd.prop_map(|path| path.into())]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    const ODD: &[&[u8]] = &[
        b"mod",
        b"mod/f",
        b"n/.git/HEAD",
        b"a/.git",
        b".GIT/x",
        b"b/git~1",
        b".gitmodules",
        b"a/.gitmodules",
        b"f\xff",
        b".git",
        b".git/MERGE_HEAD",
        b".git/refs/stash",
        b".git/HEAD",
    ];
    prop_oneof![4 => plain_path(), 1 => prop::sample::select(ODD).prop_map(<[u8]>::to_vec)]
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(&["", "1\n", "2\n", "longer content\n"][..]).prop_map(|text| text.as_bytes().to_vec())
}

fn target() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(TARGETS).prop_map(|text| text.as_bytes().to_vec())
}

/// Entries of a baseline.
pub(crate) fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        5 => contents().prop_map(Node::File),
        1 => contents().prop_map(Node::Executable),
        1 => target().prop_map(Node::Link),
    ]
}

/// Deeds of a setup: nothing that no tree carries, so that they are distinct from a program's, and no links, since an overlay
/// parts hard links when it copies one up.
pub(crate) fn setup_deed() -> impl Strategy<Value = Deed> {
    on(plain_path().boxed())
}

pub(crate) fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => on(path().boxed()),
        1 => (path(), target()).prop_map(|(path, target)| Deed::Link(path, target)),
        1 => (path(), path()).prop_map(|(from, to)| Deed::HardLink(from, to)),
        1 => path().prop_map(Deed::Fifo),
    ]
}

fn on(path: BoxedStrategy<Vec<u8>>) -> impl Strategy<Value = Deed> {
    let path = || path.clone();
    prop_oneof![
        4 => (path(), contents()).prop_map(|(path, bytes)| Deed::Write(path, bytes)),
        1 => (path(), contents()).prop_map(|(path, bytes)| Deed::Append(path, bytes)),
        1 => path().prop_map(Deed::Touch),
        1 => path().prop_map(Deed::Rewrite),
        3 => path().prop_map(Deed::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Deed::Rename(from, to)),
        1 => path().prop_map(Deed::MakeDirectory),
        2 => path().prop_map(Deed::RemakeDirectory),
        1 => (path(), contents()).prop_map(|(path, bytes)| Deed::DirectoryByFile(path, bytes)),
        1 => (path(), contents()).prop_map(|(path, bytes)| Deed::FileByDirectory(path, bytes)),
        1 => (path(), any::<bool>()).prop_map(|(path, yes)| Deed::Executable(path, yes)),
    ]
}
