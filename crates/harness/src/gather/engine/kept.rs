//! Engines as the harness keeps them: whole trees, read-only, under the digest of their
//! manifest. Runs use these copies and no others, so that the examined program is the one
//! that runs.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use contract::{Digest, canonical_bytes, canonical_digest};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use untrusted_fs::own_files::{self, OwnPath as _};

use super::locate::Located;

/// More than any agent in use has.
const MOST_FILES: usize = 200_000;
const MOST_BYTES: u64 = 8 << 30;
const DEEPEST: usize = 64;

/// One entry of a tree; sorted by path they are its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: String,
    #[serde(flatten)]
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    File { sha256: Digest, executable: bool, bytes: u64 },
    Link(String),
}

/// A tree in the harness's home.
#[derive(Debug, Clone)]
pub(crate) struct KeptTree {
    pub(crate) tree_sha256: Digest,
    pub(crate) executable_sha256: Digest,
    /// The copy's own executable.
    pub(crate) located: Located,
}

/// Reason why a copy is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckCopyError {
    /// There is no copy of this digest.
    #[error("it is not in the home any more")]
    Missing,
    /// The copy no longer has its digest.
    #[error("{0}")]
    Changed(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Store of the copies.
#[derive(Debug, Clone)]
pub(crate) struct EngineCopies {
    root: PathBuf,
}

impl EngineCopies {
    /// Store in the home's folder.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Copy of a tree; made if there is none.
    pub(crate) fn keep_copy(&self, located: &Located) -> io::Result<KeptTree> {
        make_private(&self.root)?;
        let tree = Tree { root: &located.root, part: located.part.as_deref() };
        let marks = Marks::of(tree)?;
        let known = self.known(&tree.top(), &marks);
        let tree_sha256 = match known {
            Some(digest) => digest,
            None => {
                let digest = canonical_digest(&manifest(tree)?).map_err(io::Error::other)?;
                self.remember(&tree.top(), &marks, digest);
                digest
            }
        };
        if !self.place(tree_sha256).own_exists() {
            self.copy(tree, tree_sha256)?;
        }
        self.check_copy(tree_sha256, &located.below).map_err(io::Error::other)
    }

    /// A copy that must be there and must be what its name says.
    pub(crate) fn check_copy(&self, tree_sha256: Digest, below: &Path) -> Result<KeptTree, CheckCopyError> {
        let place = self.place(tree_sha256);
        let root = self.tree(tree_sha256);
        let stat = own_files::symlink_metadata(&root).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CheckCopyError::Missing,
            _ => CheckCopyError::Io(error),
        })?;
        let located = Located { root: root.clone(), part: None, below: below.to_owned() };
        let marks = Marks::of(Tree::whole(&root))?;
        let mark_file = place.join("marks");
        let same = own_files::read_file(&mark_file).is_ok_and(|bytes| bytes == marks.0.to_string().into_bytes());
        if !same {
            let found = canonical_digest(&manifest(Tree::whole(&root))?).map_err(io::Error::other)?;
            if found != tree_sha256 {
                return Err(CheckCopyError::Changed(format!("the kept copy {} was changed", short(tree_sha256))));
            }
            crate::home::host::write_aside(&mark_file, marks.0.to_string().as_bytes());
        }
        if stat.is_dir() == below.as_os_str().is_empty() {
            return Err(CheckCopyError::Changed("the kept copy has another shape".to_owned()));
        }
        let executable = located.executable();
        let executable_sha256 = self.file_digest(&executable)?;
        Ok(KeptTree { tree_sha256, executable_sha256, located })
    }

    fn place(&self, tree_sha256: Digest) -> PathBuf {
        self.root.join(tree_sha256.to_string())
    }

    fn tree(&self, tree_sha256: Digest) -> PathBuf {
        self.place(tree_sha256).join("tree")
    }

    fn copy(&self, from: Tree<'_>, tree_sha256: Digest) -> io::Result<()> {
        let aside = self.root.join(format!(".new-{}-{}", std::process::id(), crate::home::token::random_suffix()?));
        make_private(&aside)?;
        let made = copy_part(from, &aside.join("tree")).and_then(|()| {
            let entries = manifest(Tree::whole(&aside.join("tree")))?;
            // Somebody may have written to the source while it was copied.
            if canonical_digest(&entries).map_err(io::Error::other)? != tree_sha256 {
                return Err(io::Error::other("it changed while it was copied"));
            }
            own_files::write_file(aside.join("manifest.json"), canonical_bytes(&entries).map_err(io::Error::other)?)?;
            match fs::rename(&aside, self.place(tree_sha256)) {
                // Another run was first.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty) =>
                {
                    Ok(())
                }
                other => other,
            }
        });
        if aside.own_exists() {
            remove(&aside);
        }
        made
    }

    /// Digest of a file, remembered by its stat, since a file of many megabytes is not read
    /// for each run.
    fn file_digest(&self, file: &Path) -> io::Result<Digest> {
        let file = &own_files::canonicalize(file)?;
        let marks = Marks::of(Tree::whole(file))?;
        if let Some(known) = self.known(file, &marks) {
            return Ok(known);
        }
        let digest = digest_of(file)?;
        self.remember(file, &marks, digest);
        Ok(digest)
    }

    fn memory(&self, path: &Path) -> PathBuf {
        let name = Digest::of_bytes(path.as_os_str().as_encoded_bytes()).to_string();
        self.root.join(format!("seen-{}", &name[..32]))
    }

    fn known(&self, path: &Path, marks: &Marks) -> Option<Digest> {
        let text = own_files::read_to_string(self.memory(path)).ok()?;
        let (seen, digest) = text.split_once(' ')?;
        (seen == marks.0.to_string()).then(|| digest.parse().ok()).flatten()
    }

    /// Remembers a digest. If that fails, it is computed again next time.
    fn remember(&self, path: &Path, marks: &Marks, digest: Digest) {
        crate::home::host::write_aside(&self.memory(path), format!("{} {digest}", marks.0).as_bytes());
    }
}

fn short(digest: Digest) -> String {
    digest.to_string().chars().take(12).collect()
}

/// A directory or a part of one, or a file.
#[derive(Debug, Clone, Copy)]
struct Tree<'a> {
    root: &'a Path,
    part: Option<&'a str>,
}

impl<'a> Tree<'a> {
    fn whole(root: &'a Path) -> Self {
        Self { root, part: None }
    }

    /// Top folder of the part.
    fn top(self) -> PathBuf {
        self.part.map_or_else(|| self.root.to_owned(), |part| self.root.join(part))
    }
}

/// Digest of a tree's stats, without its content: a change to any file changes it.
struct Marks(Digest);

impl Marks {
    fn of(tree: Tree<'_>) -> io::Result<Self> {
        let mut marks = Sha256::new();
        walk(&tree.top(), &mut |path, stat| {
            marks.update(path.as_os_str().as_encoded_bytes());
            for number in [stat.dev(), stat.ino(), stat.size(), u64::from(stat.mode())] {
                marks.update(number.to_le_bytes());
            }
            for number in [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()] {
                marks.update(number.to_le_bytes());
            }
            Ok(())
        })?;
        Ok(Self(Digest::from_bytes(marks.finalize().into())))
    }
}

/// Every entry below a root, directories too, in a fixed order.
fn walk(root: &Path, each: &mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>) -> io::Result<()> {
    fn below(
        path: &Path,
        depth: usize,
        left: &mut usize,
        each: &mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>,
    ) -> io::Result<()> {
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files"))?;
        let stat = own_files::symlink_metadata(path)?;
        each(path, &stat)?;
        if !stat.is_dir() {
            return Ok(());
        }
        let depth = depth.checked_sub(1).ok_or_else(|| io::Error::other("it is too deep"))?;
        let mut names: Vec<PathBuf> =
            own_files::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        names.sort();
        names.iter().try_for_each(|name| below(name, depth, left, each))
    }
    below(root, DEEPEST, &mut { MOST_FILES }, each)
}

fn manifest(tree: Tree<'_>) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut left = MOST_BYTES;
    walk(&tree.top(), &mut |path, stat| {
        let kind = if stat.is_dir() {
            return Ok(());
        } else if stat.file_type().is_symlink() {
            let target = own_files::read_link(path)?.into_os_string();
            Kind::Link(target.into_string().map_err(|_| io::Error::other("a link in it is not UTF-8"))?)
        } else if stat.is_file() {
            left = left.checked_sub(stat.len()).ok_or_else(|| io::Error::other("it is too large"))?;
            Kind::File {
                sha256: digest_of(path)?,
                executable: stat.permissions().mode() & 0o111 != 0,
                bytes: stat.len(),
            }
        } else {
            return Err(io::Error::other("it holds a socket, device or pipe"));
        };
        let below = path.strip_prefix(tree.root).map_err(io::Error::other)?;
        let name = below.to_str().ok_or_else(|| io::Error::other("a name in it is not UTF-8"))?;
        entries.push(Entry { path: name.to_owned(), kind });
        Ok(())
    })?;
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let (mut file, mut digest) = (own_files::open_file(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => digest.update(&buffer[..read]),
        }
    }
    Ok(Digest::from_bytes(digest.finalize().into()))
}

fn copy_part(from: Tree<'_>, to: &Path) -> io::Result<()> {
    let Some(part) = from.part else { return copy_tree(from.root, to, DEEPEST) };
    make_private(to)?;
    copy_tree(&from.top(), &to.join(part), DEEPEST)?;
    own_files::set_permissions(to, Permissions::from_mode(0o555))
}

/// Copies files, directories and links as they are, and takes all rights to write away.
fn copy_tree(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    let stat = own_files::symlink_metadata(from)?;
    if stat.file_type().is_symlink() {
        return symlink(own_files::read_link(from)?, to);
    }
    if stat.is_dir() {
        let depth = depth.checked_sub(1).ok_or_else(|| io::Error::other("it is too deep"))?;
        make_private(to)?;
        for entry in own_files::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), depth)?;
        }
        return own_files::set_permissions(to, Permissions::from_mode(0o555));
    }
    own_files::copy_file(from, to)?;
    let executable = stat.permissions().mode() & 0o111 != 0;
    own_files::set_permissions(to, Permissions::from_mode(if executable { 0o555 } else { 0o444 }))
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).recursive(true).create(path)
}

fn remove(path: &Path) {
    let _ = untrusted_fs::remove_tree(path);
}
