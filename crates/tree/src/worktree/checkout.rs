//! Checkouts that many workspaces share: a baseline laid out once, with its repository, and
//! kept under its commit.

mod examine;
mod kept;
mod place;
mod stamp;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Doing, TreeError};
use crate::object::listing::Listing;
use crate::oid::Oid;
use crate::store::ObjectDatabase;
use crate::worktree::fsdir::open_root;
use crate::worktree::manifest::Manifest;
use crate::worktree::materialise::materialise;
use crate::worktree::work_repository::{Author, work_repository};
use place::{Building, FoundCheckout, find_checkout, set_aside, sweep_builders};
use stamp::CheckoutStamp;
use untrusted_fs::own_files;

/// The form of what is kept. Folders of another form are other folders.
const FORM: u32 = 1;
/// The files of a checkout, beside what is known of them.
const TREE: &str = "tree";
const MANIFEST: &str = "manifest";
/// Attempts at one checkout: other processes may build and damage the same one at the same
/// time.
const ATTEMPTS: usize = 3;

/// A baseline laid out once, files and `.git`, for overlays to lie on. Nobody may write in it.
///
/// Guarantees, and the reason for each:
/// - It is whole: it was built aside, flushed, and got its name by one rename.
/// - It is of this listing, commit and author: their digest is in its name and in its stamp.
/// - It is the directory that was built and nothing was added to or taken from its root: the stamp has the root's inode and
///   times.
/// - It stays while this value lives: removal needs a lock that this value keeps from everybody else.
/// - Its files below the root are as they were built: by nothing but the permissions of the harness's home, until
///   [`Checkout::check_files`] has looked. Modes cannot keep a writer out here, since an overlay shows them and copies them up.
#[derive(Debug)]
pub struct Checkout {
    /// The directory to lie on.
    pub root: PathBuf,
    folder: PathBuf,
    stamp: CheckoutStamp,
    /// Locked for sharing.
    held: File,
}

/// The checkout of `commit`, whose tree is `listing`, from the folder `cache`; built there
/// first if need be.
pub fn checkout(
    cache: &Path,
    store: &ObjectDatabase,
    listing: &Listing,
    commit: Oid,
    author: Author<'_>,
) -> Result<Checkout, TreeError> {
    let content = stamp::digest(listing, commit, author);
    let folder = cache.join(format!("{commit}-{FORM}-{}", &content[..16]));
    for _ in 0..ATTEMPTS {
        match find_checkout(&folder, &content)? {
            FoundCheckout::Good(checkout) => return Ok(checkout),
            FoundCheckout::Damaged => set_aside(cache, &folder)?,
            FoundCheckout::Nothing => {
                sweep_builders(cache);
                let building = Building::begin_build(cache)?;
                build(&building.path, store, listing, commit, author, &content)?;
                building.place_build(&folder)?;
            }
        }
    }
    Err(TreeError::Damaged { path: folder, problem: "is broken again each time it is built" })
}

/// Lays everything out in an own folder; the stamp comes last.
fn build(
    folder: &Path,
    store: &ObjectDatabase,
    listing: &Listing,
    commit: Oid,
    author: Author<'_>,
    content: &str,
) -> Result<(), TreeError> {
    let root = folder.join(TREE);
    fs::create_dir(&root).doing("creating directory", &root)?;
    materialise(store, listing, &root)?;
    work_repository(&root, store, commit, listing, author)?;
    let manifest = kept::encode_manifest(&Manifest::record_workspace(&root, &kept::with_repository(&root, listing)?)?);
    let path = folder.join(MANIFEST);
    own_files::write_file(&path, &manifest).doing("writing", &path)?;
    let top = open_root(folder)?;
    let stamp = CheckoutStamp::of_folder(&top, content, &manifest)?;
    let path = folder.join(stamp::NAME);
    own_files::write_file(&path, stamp.text()).doing("writing", &path)?;
    // One for all of it: flushing fifty thousand files one by one takes minutes.
    rustix::fs::syncfs(&top).doing("flushing", folder)
}

impl Checkout {
    /// Looks at every file, and reads again those whose stat does not prove that they are
    /// as they were built. `listing` is what it was built from.
    pub fn check_files(&self, listing: &Listing) -> Result<(), TreeError> {
        let path = self.folder.join(MANIFEST);
        let bytes = match own_files::read_file(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(self.damaged("has no manifest")),
            read => read.doing("reading", &path)?,
        };
        if !self.stamp.is_of_manifest(&bytes) {
            return Err(self.damaged("has a manifest that is not the one it was stamped with"));
        }
        let manifest = kept::decode_manifest(&bytes)?;
        if !kept::manifest_fits(&manifest, listing) {
            return Err(self.damaged("has a manifest of another listing"));
        }
        examine::examine_checkout(&self.root, &manifest)
    }

    /// Removes it, unless another holds it: the way on from a check that failed.
    pub fn discard(self) -> Result<(), TreeError> {
        let Checkout { folder, held, .. } = self;
        drop(held);
        let cache = folder.parent().unwrap_or(Path::new("/"));
        set_aside(cache, &folder)
    }

    fn damaged(&self, problem: &'static str) -> TreeError {
        TreeError::Damaged { path: self.folder.clone(), problem }
    }
}
