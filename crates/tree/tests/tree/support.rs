//! A temporary world: a store, directories, and the plain git a user would run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use tree::{Author, CaptureLimits, CommitSpec, Git, Listing, ListingEntry, Manifest, ObjectDatabase, Oid, PathMode};

pub(crate) const AUTHOR: Author<'static> = Author { name: "An Engine", email: "engine@example.invalid" };

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File(Vec<u8>),
    Executable(Vec<u8>),
    Link(Vec<u8>),
}

pub(crate) type Nodes = BTreeMap<Vec<u8>, Node>;

pub(crate) struct World {
    dir: TempDir,
    pub(crate) store: ObjectDatabase,
}

impl Drop for World {
    fn drop(&mut self) {
        // What a test closed to its owner could not be removed.
        if !rustix::process::geteuid().is_root() {
            let _ = program("chmod").args(["-R", "u+rwX"]).arg(self.dir.path()).status();
        }
    }
}

impl World {
    pub(crate) fn new() -> World {
        World::at(TempDir::new().unwrap())
    }

    /// In memory where there is such a place: for tests that make and remove thousands of files.
    pub(crate) fn in_memory() -> World {
        World::at(TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap())
    }

    fn at(dir: TempDir) -> World {
        let store = ObjectDatabase::create_store(&dir.path().join("store.git"), Git::find_git(&[]).unwrap()).unwrap();
        World { dir, store }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A fresh directory.
    pub(crate) fn fresh(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        path
    }

    pub(crate) fn put(&self, nodes: &Nodes) -> Listing {
        let entry = |node: &Node| {
            let (mode, bytes) = match node {
                Node::File(bytes) => (PathMode::File, bytes),
                Node::Executable(bytes) => (PathMode::Executable, bytes),
                Node::Link(bytes) => (PathMode::Link, bytes),
            };
            ListingEntry { mode, oid: self.store.put_blob(bytes).unwrap() }
        };
        Listing(nodes.iter().map(|(path, node)| (path.clone(), entry(node))).collect())
    }

    /// A workspace of this listing, made and recorded.
    pub(crate) fn workspace(&self, name: &str, listing: &Listing) -> (PathBuf, Manifest) {
        let root = self.fresh(name);
        tree::materialise(&self.store, listing, &root).unwrap();
        let manifest = Manifest::record_workspace(&root, listing).unwrap();
        (root, manifest)
    }

    pub(crate) fn capture(&self, root: &Path, manifest: &Manifest) -> tree::Capture {
        tree::capture(root, manifest, &self.store, &CaptureLimits::default()).unwrap()
    }

    pub(crate) fn commit(&self, listing: &Listing, parents: &[Oid]) -> Oid {
        let tree = self.store.put_listing(listing).unwrap();
        let spec = CommitSpec {
            tree,
            parents,
            name: "A",
            email: "a@example.invalid",
            unix_time: 1_700_000_000,
            message: "m\n",
        };
        let commit = self.store.put_commit(&spec).unwrap();
        // Tests look into the store with a git of their own.
        self.store.flush().unwrap();
        commit
    }
}

pub(crate) fn files(rows: &[(&str, &str)]) -> Nodes {
    rows.iter().map(|(path, text)| (path.as_bytes().to_vec(), Node::File(text.as_bytes().to_vec()))).collect()
}

pub(crate) fn at(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub(crate) fn write_node(root: &Path, path: &[u8], node: &Node) {
    let to = at(root, path);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    match node {
        Node::File(bytes) => fs::write(&to, bytes).unwrap(),
        Node::Executable(bytes) => {
            fs::write(&to, bytes).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Node::Link(target) => symlink(OsStr::from_bytes(target), &to).unwrap(),
    }
}

/// Content of a directory, read without this crate.
pub(crate) fn read_back(root: &Path) -> Nodes {
    let mut nodes = Nodes::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let key = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if meta.is_dir() {
                directories.push(path);
            } else if meta.is_symlink() {
                nodes.insert(key, Node::Link(fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()));
            } else if meta.permissions().mode() & 0o100 != 0 {
                nodes.insert(key, Node::Executable(fs::read(&path).unwrap()));
            } else {
                nodes.insert(key, Node::File(fs::read(&path).unwrap()));
            }
        }
    }
    nodes
}

#[expect(clippy::disallowed_methods, reason = "tests compare with the git a user runs")]
pub(crate) fn program(name: &str) -> Command {
    Command::new(name)
}

/// Plain git with its own defaults, as a user would run it in `dir`.
pub(crate) fn run_git(dir: &Path, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = program("git")
        .args(["-c", "user.name=U", "-c", "user.email=u@example.invalid", "-c", "commit.gpgsign=false"])
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "advice.graftFileDeprecated=false",
        ])
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent"), ("LC_ALL", "C")])
        .envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // A git that does not read its input is no failure.
    let _ = pipe.write_all(stdin);
    drop(pipe);
    child.wait_with_output().unwrap()
}

pub(crate) fn git_with(dir: &Path, args: &[&str], stdin: &[u8]) -> String {
    let out = run_git(dir, args, stdin);
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    git_with(dir, args, b"")
}

/// A repository with one commit of these files.
pub(crate) fn repository(root: &Path, rows: &[(&str, &str)]) {
    fs::create_dir_all(root).unwrap();
    git(root, &["init", "-q"]);
    for (path, text) in rows {
        write(&root.join(path), text.as_bytes());
    }
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "--allow-empty", "-m", "first"]);
}

pub(crate) fn text(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}

pub(crate) fn oid(text: &str) -> Oid {
    text.trim().parse().unwrap()
}
