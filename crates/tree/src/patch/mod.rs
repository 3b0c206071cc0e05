//! Tree-to-tree patches, made and applied again: in this process where only lines of text
//! files change, by git children where there is more to it.

mod effort;
mod lines;
pub(crate) mod plain;
mod whole;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, GitOutcome, TreeError};
use crate::object::index;
use crate::object::listing::{Listing, PathChange, PathMode, changes};
use crate::object::loose::{ObjectKind, read_loose};
use crate::object::pack::Pack;
use crate::oid::Oid;
use crate::patch::effort::{Effort, Sides};
use crate::patch::lines::line_patch;
use crate::patch::plain::plain_patch;
use crate::patch::whole::write_whole;
use crate::store::ObjectDatabase;
use crate::store::batch::BlobReader;
use crate::store::git::{GitCall, Input, alternates_value};
use crate::worktree::fsdir::Scratch;
use untrusted_fs::own_files;

const DIFF_TREE: &[&str] = &[
    "diff-tree",
    "-r",
    "-p",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=3",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ignore-submodules=none",
    "--submodule=short",
];

impl ObjectDatabase {
    /// The patch from one tree to another: full binary, no renames, no attributes.
    pub fn patch(&self, from: Oid, to: Oid) -> Result<Vec<u8>, TreeError> {
        self.run_git(self.diff_call(&from.to_string(), &to.to_string()))
    }

    /// The same; none where it has more than `most` bytes.
    fn patch_within(&self, from: Oid, to: Oid, most: usize) -> Result<Option<Vec<u8>>, TreeError> {
        if from == to {
            return Ok(Some(Vec::new()));
        }
        let (from, to) = (from.to_string(), to.to_string());
        let mut call = self.diff_call(&from, &to);
        call.most_output = most;
        match self.run_git(call) {
            Ok(patch) => Ok(Some(patch)),
            Err(TreeError::Git { outcome: GitOutcome::TooMuch(_), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn diff_call(&self, from: &str, to: &str) -> GitCall<'_> {
        let args: Vec<&str> = DIFF_TREE.iter().copied().chain([from, to, "--"]).collect();
        GitCall::new("comparing two trees", &self.dir, &args)
    }

    /// The patch from `base` to `result`, and the tree it gives when it is applied again to `base`.
    /// Where looking for the fewest changed lines could take long, the patch has whole blocks
    /// instead. None where the patch has more than `most` bytes.
    pub fn prove_patch(&self, base: &Listing, result: &Listing, most: usize) -> Result<Option<Proof>, TreeError> {
        let mut reader = self.reader();
        let heavy = heavy_changes(&mut reader, base, result)?;
        if !heavy.is_empty() {
            return self.prove_heavy(base, result, &heavy, most);
        }
        if let Some(patch) = line_patch(&mut reader, base, result)?
            && let Some(listing) = apply_plain(&mut reader, base, &patch)?
            && listing == *result
        {
            return Ok((patch.len() <= most).then(|| Proof { patch, applied: Ok(listing.tree_id()) }));
        }
        let (from, to) = (self.put_listing(base)?, self.put_listing(result)?);
        let Some(patch) = self.patch_within(from, to, most)? else { return Ok(None) };
        let applied = match apply_plain(&mut reader, base, &patch)? {
            Some(listing) => Ok(listing.tree_id()),
            None => self.reapply(base, &patch),
        };
        Ok(Some(Proof { patch, applied }))
    }

    fn prove_heavy(
        &self,
        base: &Listing,
        result: &Listing,
        heavy: &[PathChange],
        most: usize,
    ) -> Result<Option<Proof>, TreeError> {
        let (mut from, mut to) = (base.clone(), result.clone());
        for change in heavy {
            from.0.remove(&change.path);
            to.0.remove(&change.path);
        }
        let light = self.patch_within(self.put_listing(&from)?, self.put_listing(&to)?, most)?;
        let Some(mut patch) = light else { return Ok(None) };
        let mut reader = self.reader();
        for change in heavy {
            write_whole(&mut patch, change, &Sides::read_sides(&mut reader, change)?)?;
            if patch.len() > most {
                return Ok(None);
            }
        }
        let applied = self.reapply(base, &patch);
        Ok(Some(Proof { patch, applied }))
    }

    /// The id of the tree that `patch`, one that `Store::patch` makes, makes of `base`.
    /// Nothing is kept.
    ///
    /// Git sees only the blobs of `base` that the patch changes: it takes a binary
    /// postimage it already has instead of what the patch says, so with the whole store in
    /// sight nothing would be proved about the patch.
    pub fn reapply(&self, base: &Listing, patch: &[u8]) -> Result<Oid, TreeError> {
        let applied = self.apply(base, patch, |objects| {
            self.lend(&preimages(base, patch), objects)?;
            Ok(Vec::new())
        })?;
        Ok(applied.map_or_else(|| base.tree_id(), |applied| applied.listing.tree_id()))
    }

    /// The listing that any patch makes of `base`; its new blobs are in the store.
    pub fn apply_into(&self, base: &Listing, patch: &[u8]) -> Result<Listing, TreeError> {
        let lender = ("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates_value(&self.objects()));
        match self.apply(base, patch, |_| Ok(vec![lender]))? {
            Some(applied) => self.adopt(applied),
            None => Ok(base.clone()),
        }
    }

    /// Applies a patch in an object directory of its own; none for an empty patch.
    fn apply(
        &self,
        base: &Listing,
        patch: &[u8],
        prepare: impl FnOnce(&Path) -> Result<Vec<(&'static str, OsString)>, TreeError>,
    ) -> Result<Option<Applied>, TreeError> {
        if patch.is_empty() {
            return Ok(None);
        }
        let scratch = Scratch::create_scratch(&self.scratch)?;
        let (index_file, objects) = (scratch.path().join("index"), scratch.path().join("objects"));
        fs::create_dir(&objects).doing("creating directory", &objects)?;
        own_files::write_file(&index_file, index::encode_listing(base)?).doing("writing index", &index_file)?;
        let mut call = GitCall::new("applying a patch", &self.dir, &["apply", "--cached", "--whitespace=nowarn", "-"]);
        call.env = prepare(&objects)?;
        call.env.push(("GIT_INDEX_FILE", index_file.clone().into()));
        call.env.push(("GIT_OBJECT_DIRECTORY", objects.clone().into()));
        call.input = Input::Bytes(patch);
        self.run_git(call)?;
        let listing = index::decode_listing(&own_files::read_file(&index_file).doing("reading index", &index_file)?)?;
        listing.require_plain()?;
        Ok(Some(Applied { listing, objects, _scratch: scratch }))
    }

    /// Puts blobs of this store into another object directory.
    fn lend(&self, oids: &[Oid], objects: &Path) -> Result<(), TreeError> {
        let mut pack = Pack::default();
        let mut reader = self.reader();
        for oid in oids {
            pack.add_object(*oid, ObjectKind::Blob, &reader.blob(*oid)?)?;
        }
        let dir = objects.join("pack");
        fs::create_dir(&dir).doing("creating directory", &dir)?;
        pack.write_pack(&dir)
    }

    fn adopt(&self, applied: Applied) -> Result<Listing, TreeError> {
        for entry in applied.listing.0.values() {
            if let Some((kind, bytes)) = read_loose(&applied.objects, entry.oid)? {
                self.put_object(kind, &bytes)?;
            }
        }
        Ok(applied.listing)
    }
}

/// The changes that are beyond what is spent on looking for the fewest lines.
fn heavy_changes(reader: &mut BlobReader<'_>, base: &Listing, result: &Listing) -> Result<Vec<PathChange>, TreeError> {
    let (mut effort, mut heavy) = (Effort::default(), Vec::new());
    for change in changes(base, result) {
        if !effort.spend(&Sides::read_sides(reader, &change)?) {
            heavy.push(change);
        }
    }
    Ok(heavy)
}

/// The listing a plain patch makes; none where the patch is not plain or does not fit to
/// the letter.
fn apply_plain(reader: &mut BlobReader<'_>, base: &Listing, patch: &[u8]) -> Result<Option<Listing>, TreeError> {
    let Some(files) = std::str::from_utf8(patch).ok().and_then(plain_patch) else { return Ok(None) };
    let mut listing = base.clone();
    for file in files {
        let entry = listing.0.get_mut(file.path.as_bytes()).filter(|entry| entry.mode.is_regular());
        let Some(entry) = entry else { return Ok(None) };
        let content = String::from_utf8(reader.blob(entry.oid)?).ok();
        let Some(patched) = content.and_then(|content| file.apply_to(&content)) else { return Ok(None) };
        entry.oid = Oid::of_object("blob", patched.as_bytes());
    }
    Ok(Some(listing))
}

/// Patch, with the result of applying it again.
#[derive(Debug)]
pub struct Proof {
    /// Bytes of the patch.
    pub patch: Vec<u8>,
    /// Tree that applying it gives, which must be the result's.
    pub applied: Result<Oid, TreeError>,
}

/// Tree that a patch made, and the object directory that holds its new blobs.
struct Applied {
    listing: Listing,
    objects: PathBuf,
    _scratch: Scratch,
}

/// The blobs of `base` at the paths a patch changes. Read from its headers, which no
/// content line can look like; a path that is misread is one whose preimage git does not
/// find, and then it refuses the patch.
fn preimages(base: &Listing, patch: &[u8]) -> Vec<Oid> {
    let headers = patch.split(|b| *b == b'\n').filter_map(|line| line.strip_prefix(b"diff --git "));
    let entries = headers.filter_map(|names| base.0.get(&path_of(names)?));
    let oids: BTreeSet<Oid> = entries.filter(|entry| entry.mode != PathMode::Gitlink).map(|entry| entry.oid).collect();
    oids.into_iter().collect()
}

/// The path in `a/PATH b/PATH`, or in the same with both sides quoted.
fn path_of(names: &[u8]) -> Option<Vec<u8>> {
    let side = match names.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted)?,
        None => names.get(..names.len() / 2)?.to_vec(),
    };
    side.strip_prefix(b"a/").map(<[u8]>::to_vec)
}

/// Undoes git's C-style quoting up to the closing quote.
fn unquote(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = quoted.iter().copied();
    loop {
        match bytes.next()? {
            b'"' => return Some(out),
            b'\\' => out.push(match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                digit @ b'0'..=b'3' => (digit - b'0') << 6 | octal(bytes.next()?)? << 3 | octal(bytes.next()?)?,
                other => other,
            }),
            plain => out.push(plain),
        }
    }
}

fn octal(digit: u8) -> Option<u8> {
    digit.checked_sub(b'0').filter(|value| *value < 8)
}
