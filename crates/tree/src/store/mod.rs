//! The object store of the harness: a bare GIT_DIR written in process, and the objects put
//! into it.

pub(crate) mod batch;
pub(crate) mod git;
mod pending;
mod talk;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use untrusted_fs::own_files;

use crate::error::{Doing, TreeError, malformed};
use crate::object::commit::{Commit, CommitSpec, commit_field};
use crate::object::listing::{Listing, ListingEntry, PathMode, parse_tree};
use crate::object::loose::{Object, ObjectKind};
use crate::oid::Oid;
use crate::store::batch::BlobReader;
use crate::store::git::{Git, GitCall};
use crate::store::pending::Pending;

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
// Highest precedence of all attribute files: bytes stay raw whatever a tree says about itself.
const ATTRIBUTES: &str = "* -text !eol !crlf -ident !filter !working-tree-encoding !diff !merge !whitespace\n";
const DEEPEST_TREE: usize = 2048;
const TREE_BITS: u32 = 0o40_000;
/// A tree that names itself ten times over, ten levels deep, is small and has more paths
/// than any machine holds.
const LARGEST_LIST: usize = 128 << 20;

/// A bare repository that only the harness writes.
#[derive(Debug, Clone)]
pub struct ObjectDatabase {
    /// Git directory of the store.
    pub(crate) dir: PathBuf,
    pub(crate) git: Git,
    /// Folder for temporary files of calls.
    pub(crate) scratch: PathBuf,
    pending: Pending,
}

impl ObjectDatabase {
    /// Makes an empty store in a directory that is made for it.
    pub fn create_store(dir: &Path, git: Git) -> Result<ObjectDatabase, TreeError> {
        let dir = &std::path::absolute(dir).doing("resolving", dir)?;
        for part in ["", "objects", "objects/pack", "refs", "info"] {
            let path = dir.join(part);
            fs::create_dir_all(&path).doing("creating directory", &path)?;
        }
        for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", CONFIG), ("info/attributes", ATTRIBUTES)] {
            let path = dir.join(name);
            own_files::write_file(&path, text).doing("writing", &path)?;
        }
        Ok(ObjectDatabase { dir: dir.clone(), git, scratch: dir.clone(), pending: Pending::default() })
    }

    /// Opens a store that `create` made.
    pub fn open_store(dir: &Path, git: Git) -> Result<ObjectDatabase, TreeError> {
        let dir = std::path::absolute(dir).doing("resolving", dir)?;
        let attributes = dir.join("info/attributes");
        let found = own_files::read_file(&attributes).doing("reading", &attributes)?;
        if found != ATTRIBUTES.as_bytes() {
            return Err(malformed("store", format!("{} was not made by this program", dir.display())));
        }
        Ok(ObjectDatabase { scratch: dir.clone(), dir, git, pending: Pending::default() })
    }

    /// Puts short-lived files into this directory instead of the store's own; one in memory
    /// spares `reapply` most of its time.
    pub fn with_scratch(self, scratch: &Path) -> ObjectDatabase {
        ObjectDatabase { scratch: scratch.to_path_buf(), ..self }
    }

    /// The GIT_DIR of this store.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The git this store runs.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Object directory, for children that borrow from it.
    pub(crate) fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    /// Adds an object and returns its id. It may stay in memory until it is written out.
    pub(crate) fn put_object(&self, kind: ObjectKind, body: &[u8]) -> Result<Oid, TreeError> {
        self.pending.put_object(kind, body, &self.dir.join("objects/pack"))
    }

    /// Object that is still in memory.
    pub(crate) fn cached(&self, oid: Oid) -> Option<Object> {
        self.pending.cached(oid)
    }

    /// Writes to disk what was put so far. Only another process needs to ask for it.
    pub fn flush(&self) -> Result<(), TreeError> {
        self.pending.flush(&self.dir.join("objects/pack"))
    }

    /// Runs a git child in this store.
    pub(crate) fn run_git(&self, call: GitCall<'_>) -> Result<Vec<u8>, TreeError> {
        self.flush()?;
        self.git.run_child(call)
    }

    /// Stores a blob.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Oid, TreeError> {
        self.put_object(ObjectKind::Blob, bytes)
    }

    /// Stores a commit.
    pub fn put_commit(&self, spec: &CommitSpec<'_>) -> Result<Oid, TreeError> {
        self.put_object(ObjectKind::Commit, spec.text().as_bytes())
    }

    /// Reads a commit.
    pub fn commit(&self, oid: Oid) -> Result<Commit, TreeError> {
        let commit = match self.reader().object(oid)? {
            (ObjectKind::Commit, text) => Commit::parse_text(&text),
            (ObjectKind::Blob | ObjectKind::Tree | ObjectKind::Tag, _) => None,
        };
        commit.ok_or_else(|| malformed("commit", oid.to_string()))
    }

    /// Stores the tree objects of a listing and returns the root's id.
    pub fn put_listing(&self, listing: &Listing) -> Result<Oid, TreeError> {
        listing.require_plain()?;
        listing.fold_trees(&mut |tree| self.put_object(ObjectKind::Tree, tree))
    }

    /// The bytes of one blob; `reader` is the way to many.
    pub fn blob(&self, oid: Oid) -> Result<Vec<u8>, TreeError> {
        self.reader().blob(oid)
    }

    /// A reader for many blobs that starts at most one git child, and none for small ones
    /// this process put.
    pub fn reader(&self) -> BlobReader<'_> {
        BlobReader::new(self)
    }

    /// The tree id a commit (or a tree) names.
    pub fn tree_of(&self, oid: Oid) -> Result<Oid, TreeError> {
        match self.reader().object(oid)? {
            (ObjectKind::Commit, text) => {
                commit_field(&text, b"tree ").ok_or_else(|| malformed("commit", oid.to_string()))
            }
            (ObjectKind::Tree, _) => Ok(oid),
            (ObjectKind::Blob | ObjectKind::Tag, _) => Err(malformed("commit or tree", oid.to_string())),
        }
    }

    /// Every path of a commit or a tree; names that are not plain are refused.
    pub fn list_tree(&self, oid: Oid) -> Result<Listing, TreeError> {
        let listing = match self.list_cached(oid)? {
            Some(listing) => listing,
            None => self.list_by_git(oid)?,
        };
        listing.require_plain()?;
        Ok(listing)
    }

    /// Refuses modes that git does not know and takes for those of submodules.
    pub(crate) fn require_modes(&self, tree: Oid) -> Result<(), TreeError> {
        let (mut wanted, mut seen, mut reader) = (vec![tree], HashSet::new(), self.reader());
        while let Some(oid) = wanted.pop() {
            if !seen.insert(oid) {
                continue;
            }
            let (_, bytes) = reader.object(oid)?;
            for line in parse_tree(&bytes)? {
                match PathMode::from_bits(line.bits) {
                    Some(_) => {}
                    None if line.bits == TREE_BITS => wanted.push(line.oid),
                    None => return Err(TreeError::Name { path: line.name.to_vec(), problem: "has an unknown mode" }),
                }
            }
        }
        Ok(())
    }

    fn list_cached(&self, oid: Oid) -> Result<Option<Listing>, TreeError> {
        let tree = match self.cached(oid) {
            Some((ObjectKind::Commit, text)) => {
                commit_field(&text, b"tree ").ok_or_else(|| malformed("commit", oid.to_string()))?
            }
            Some((ObjectKind::Tree, _)) => oid,
            Some((ObjectKind::Blob | ObjectKind::Tag, _)) => return Err(malformed("commit or tree", oid.to_string())),
            None => return Ok(None),
        };
        let mut listing = Listing::default();
        Ok(self.add_cached_tree(tree, &mut Vec::new(), 0, &mut listing)?.then_some(listing))
    }

    fn add_cached_tree(
        &self,
        tree: Oid,
        prefix: &mut Vec<u8>,
        depth: usize,
        into: &mut Listing,
    ) -> Result<bool, TreeError> {
        if depth > DEEPEST_TREE {
            return Err(malformed("tree", "nested too deeply"));
        }
        let Some((_, bytes)) = self.cached(tree) else { return Ok(false) };
        for line in parse_tree(&bytes)? {
            let length = prefix.len();
            prefix.extend_from_slice(line.name);
            match PathMode::from_bits(line.bits) {
                Some(mode) => add(into, prefix.clone(), ListingEntry { mode, oid: line.oid })?,
                None => {
                    prefix.push(b'/');
                    if !self.add_cached_tree(line.oid, prefix, depth + 1, into)? {
                        return Ok(false);
                    }
                }
            }
            prefix.truncate(length);
        }
        Ok(true)
    }

    fn list_by_git(&self, oid: Oid) -> Result<Listing, TreeError> {
        let args = ["ls-tree", "-r", "-t", "-z", "--full-tree", &oid.to_string()];
        let mut call = GitCall::new("listing a tree", &self.dir, &args);
        call.most_output = LARGEST_LIST;
        let out = self.run_git(call)?;
        let (mut listing, mut last) = (Listing::default(), Vec::new());
        for line in out.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let wrong = || malformed("entry of a tree", line.escape_ascii().to_string());
            let (path, bits, oid) = parse_ls_line(line).ok_or_else(wrong)?;
            let is_tree = bits == TREE_BITS;
            require_order(&mut last, path, is_tree)?;
            if !is_tree {
                let mode = PathMode::from_bits(bits).ok_or_else(wrong)?;
                listing.0.insert(path.to_vec(), ListingEntry { mode, oid });
            }
        }
        Ok(listing)
    }
}

fn add(listing: &mut Listing, path: Vec<u8>, entry: ListingEntry) -> Result<(), TreeError> {
    match listing.0.insert(path.clone(), entry) {
        None => Ok(()),
        Some(_) => Err(TreeError::Name { path, problem: "stands twice in one tree" }),
    }
}

/// Git's order of trees is that of whole paths by their bytes, a tree's with a slash at its
/// end. What stands twice breaks it too.
fn require_order(last: &mut Vec<u8>, path: &[u8], is_tree: bool) -> Result<(), TreeError> {
    let mut here = path.to_vec();
    here.extend(is_tree.then_some(b'/'));
    if *last >= here {
        return Err(TreeError::Name { path: path.to_vec(), problem: "stands twice in its tree, or out of order" });
    }
    *last = here;
    Ok(())
}

fn parse_ls_line(line: &[u8]) -> Option<(&[u8], u32, Oid)> {
    let tab = line.iter().position(|b| *b == b'\t')?;
    let mut words = line[..tab].split(|b| *b == b' ');
    let bits = u32::from_str_radix(std::str::from_utf8(words.next()?).ok()?, 8).ok()?;
    let oid = Oid::from_hex(words.nth(1)?)?;
    Some((&line[tab + 1..], bits, oid))
}
