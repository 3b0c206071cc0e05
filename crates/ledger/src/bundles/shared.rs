//! Bundles of all homes on one ledger, by way of the object store: handed in before the ledger calls them sealed, fetched when somebody
//! looks. What was fetched is kept in a bounded cache and compared with its list at every look; the caller verifies it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use contract::{Digest, RunId};
use untrusted_fs::own_files;

use super::packed::{
    LARGEST_LIST, LARGEST_PACKED, LIST_FILE, PackedBundle, PackedList, UnpackBundleError, pack_folder,
};
use super::{BundleOrigin, Bundles, KeptBundle, list_folder};
use crate::objects::{Creation, UseObjectError};
use crate::open_error::new_ledger_id;

const CACHE: &str = "cache/bundles";
const BUNDLE: &str = "bundle";
/// Begins the name of a folder that is not complete.
const UNDONE: &str = ".part-";
/// Bundles of other homes that are kept; the one that was fetched first goes first.
const MOST_CACHED: usize = 64;

/// A bundle could not be handed in or fetched.
#[derive(Debug, thiserror::Error)]
pub enum ShareBundleError {
    #[error(transparent)]
    Store(#[from] UseObjectError),
    #[error("the bundle of {run} in {store} is not what was handed in: {why}")]
    Damaged {
        run: RunId,
        store: String,
        #[source]
        why: UnpackBundleError,
    },
    /// An object of the bundle's name is there, with another content.
    #[error("{store} has something else in the place of the bundle of {run}")]
    Another { run: RunId, store: String },
    #[error("the bundle of {run} cannot be read: {error}")]
    Read {
        run: RunId,
        #[source]
        error: io::Error,
    },
    #[error("the bundle of {run} cannot be kept: {error}")]
    Write {
        run: RunId,
        #[source]
        error: io::Error,
    },
}

/// The object store's copy of a bundle, compared with the digest that the ledger has of its seal.
#[derive(Debug)]
pub enum HandedIn {
    Absent,
    /// Every file is as the list of the object says, and the seal is that of the ledger.
    Whole,
    Wrong(ShareBundleError),
}

impl Bundles {
    /// Reads the bundle of a run from the object store and compares it; without a store it is absent. Nothing is kept.
    pub fn check_handed_in(&self, run: &RunId, attestation: Digest) -> Result<HandedIn, UseObjectError> {
        let Some(store) = &self.store else { return Ok(HandedIn::Absent) };
        let Some(packed) = store.read_object(&object_name(attestation), LARGEST_PACKED)? else {
            return Ok(HandedIn::Absent);
        };
        let (run, name) = (run.clone(), store.place().to_string());
        Ok(match PackedBundle::parse_bundle(&packed) {
            Ok(bundle) if bundle.list.has_digest(attestation) => HandedIn::Whole,
            Ok(_) => HandedIn::Wrong(ShareBundleError::Another { run, store: name }),
            Err(why) => HandedIn::Wrong(ShareBundleError::Damaged { run, store: name, why }),
        })
    }

    /// Puts the bundle of a run of this home into the object store, where there is one. Doing it again changes nothing.
    pub fn hand_in(&self, run: &RunId, attestation: Digest) -> Result<(), ShareBundleError> {
        let Some(store) = &self.store else { return Ok(()) };
        let packed = pack_folder(&self.bundle_dir(run));
        let packed = packed.map_err(|error| ShareBundleError::Read { run: run.clone(), error })?;
        let name = object_name(attestation);
        if store.create_object(&name, &packed)? == Creation::Created {
            return Ok(());
        }
        // An answer that was lost, or a run that was killed after it had handed in.
        match store.read_object(&name, LARGEST_PACKED)?.is_some_and(|there| there == packed) {
            true => Ok(()),
            false => Err(ShareBundleError::Another { run: run.clone(), store: store.place().to_string() }),
        }
    }

    /// The bundle of a run of any home on the ledger, in a local folder with the bytes that were handed in; none where the store has none.
    /// `attestation` is the digest that the ledger has of its seal.
    pub fn fetch_bundle(&self, run: &RunId, attestation: Digest) -> Result<Option<KeptBundle>, ShareBundleError> {
        let Some(store) = &self.store else { return Ok(None) };
        let place = self.cached_dir(run);
        if let Some(kept) = find_cached(&place, attestation) {
            return Ok(Some(kept));
        }
        let Some(packed) = store.read_object(&object_name(attestation), LARGEST_PACKED)? else { return Ok(None) };
        let damaged = |why| ShareBundleError::Damaged { run: run.clone(), store: store.place().to_string(), why };
        let bundle = PackedBundle::parse_bundle(&packed).map_err(damaged)?;
        if !bundle.list.has_digest(attestation) {
            return Err(ShareBundleError::Another { run: run.clone(), store: store.place().to_string() });
        }
        let kept = self.keep_fetched(&bundle, &place, attestation).map(|()| find_cached(&place, attestation));
        kept.map_err(|error| ShareBundleError::Write { run: run.clone(), error })
    }

    fn cached_dir(&self, run: &RunId) -> PathBuf {
        self.home.join(CACHE).join(run.as_str())
    }

    /// Lays a bundle out beside and renames it, so that nobody sees a part of one.
    fn keep_fetched(&self, bundle: &PackedBundle<'_>, place: &Path, attestation: Digest) -> io::Result<()> {
        let cache = self.home.join(CACHE);
        evict_oldest(&cache)?;
        let part = cache.join(format!("{UNDONE}{}", new_ledger_id()?));
        DirBuilder::new().mode(0o700).recursive(true).create(&part)?;
        let held = own_files::open_folder(&part)?;
        held.lock()?;
        bundle.lay_out(&part.join(BUNDLE))?;
        own_files::write_file(part.join(LIST_FILE), bundle.list.to_text()?)?;
        // Another process fetched it just now, and may be reading it.
        if find_cached(place, attestation).is_some() {
            return untrusted_fs::remove_tree(&part);
        }
        if let Err(error) = remove_damaged(place) {
            let _ = untrusted_fs::remove_tree(&part);
            return Err(error);
        }
        match fs::rename(&part, place) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => untrusted_fs::remove_tree(&part),
            renamed => renamed,
        }
    }
}

/// Removes what is no bundle as it was fetched, unless another process reads it.
fn remove_damaged(place: &Path) -> io::Result<()> {
    // Held until the folder is gone.
    let damaged = own_files::open_folder(place.join(BUNDLE)).ok();
    if damaged.as_ref().is_some_and(|folder| folder.try_lock().is_err()) {
        return Err(io::Error::other("another process reads a damaged copy of it; try again"));
    }
    let _ = untrusted_fs::remove_tree(place);
    Ok(())
}

/// A cached bundle that is as it was fetched, held.
fn find_cached(place: &Path, attestation: Digest) -> Option<KeptBundle> {
    let list = untrusted_fs::read_plain(place, LIST_FILE.as_bytes(), LARGEST_LIST)?;
    let list = PackedList::parse_list(&list).ok().filter(|list| list.has_digest(attestation))?;
    let kept = KeptBundle::hold(place.join(BUNDLE), BundleOrigin::Shared)?;
    list.matches_folder(&kept.dir).then_some(kept)
}

/// Makes room for one more bundle. What is looked at just now stays.
fn evict_oldest(cache: &Path) -> io::Result<()> {
    let is_undone = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNDONE));
    let (undone, mut whole): (Vec<_>, Vec<_>) = list_folder(cache)?.into_iter().partition(is_undone);
    whole.sort_by_key(|path| own_files::metadata(path).and_then(|stat| stat.modified()).ok());
    let over = (whole.len() + 1).saturating_sub(MOST_CACHED);
    let oldest = whole.into_iter().take(over).map(|path| (path.join(BUNDLE), path));
    for (locked, path) in oldest.chain(undone.into_iter().map(|path| (path.clone(), path))) {
        let is_free = own_files::open_folder(&locked).map_or(true, |folder| folder.try_lock().is_ok());
        if is_free {
            let _ = untrusted_fs::remove_tree(&path);
        }
    }
    Ok(())
}

/// The name says what the content must be signed as.
fn object_name(attestation: Digest) -> String {
    format!("bundles/{attestation}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use untrusted_fs::own_files::OwnPath as _;

    use super::*;
    use crate::objects::{EvidencePlace, ObjectStore};

    const SEAL: &[u8] = b"signed";

    struct Homes {
        folder: tempfile::TempDir,
    }

    impl Homes {
        fn bundles(&self, home: &str) -> Bundles {
            let place = EvidencePlace::Folder(self.folder.path().join("store"));
            Bundles::in_home(&self.folder.path().join(home)).sharing_store(Some(ObjectStore::at_place(place, || None)))
        }

        fn seal(&self, bundles: &Bundles, end: &str) -> RunId {
            let run = run_id(end);
            fs::create_dir_all(bundles.bundle_dir(&run)).unwrap();
            own_files::write_file(bundles.bundle_dir(&run).join("seal"), [SEAL, end.as_bytes()].concat()).unwrap();
            run
        }
    }

    fn run_id(end: &str) -> RunId {
        format!("20260101T000000Z-t-{end}").try_into().unwrap()
    }

    fn digest(end: &str) -> Digest {
        Digest::of_bytes(&[SEAL, end.as_bytes()].concat())
    }

    #[test]
    fn a_bundle_of_one_home_is_seen_from_another_and_checked_at_every_look() {
        let homes = Homes { folder: tempfile::tempdir().unwrap() };
        let (ours, theirs) = (homes.bundles("ours"), homes.bundles("theirs"));
        let run = homes.seal(&ours, "aaaa");
        assert!(theirs.fetch_bundle(&run, digest("aaaa")).unwrap().is_none(), "nobody has handed it in");
        ours.hand_in(&run, digest("aaaa")).unwrap();
        ours.hand_in(&run, digest("aaaa")).unwrap();
        let look = || {
            let kept = theirs.fetch_bundle(&run, digest("aaaa")).unwrap().unwrap();
            assert_eq!((kept.origin, kept.held.is_some()), (BundleOrigin::Shared, true));
            (own_files::read_file(kept.dir.join("seal")).unwrap(), kept.dir)
        };
        let (seal, dir) = look();
        assert_eq!(seal, b"signedaaaa");
        own_files::write_file(dir.join("seal"), "other").unwrap();
        assert_eq!(look().0, b"signedaaaa", "a cached file that was changed is fetched again");
        own_files::write_file(dir.join("more"), "x").unwrap();
        assert!(!look().1.join("more").own_exists(), "and so is a folder with a file more");
    }

    #[test]
    fn an_object_that_is_not_the_bundle_is_said() {
        let homes = Homes { folder: tempfile::tempdir().unwrap() };
        let (ours, theirs) = (homes.bundles("ours"), homes.bundles("theirs"));
        let (one, two) = (homes.seal(&ours, "aaaa"), homes.seal(&ours, "bbbb"));
        ours.hand_in(&one, digest("aaaa")).unwrap();
        ours.hand_in(&two, digest("bbbb")).unwrap();
        let object = |end: &str| homes.folder.path().join("store/bundles").join(digest(end).to_string());
        own_files::write_file(object("aaaa"), own_files::read_file(object("bbbb")).unwrap()).unwrap();
        let said = theirs.fetch_bundle(&one, digest("aaaa")).unwrap_err().to_string();
        assert!(said.contains("something else in the place of the bundle"), "{said}");
        let said = ours.hand_in(&one, digest("aaaa")).unwrap_err().to_string();
        assert!(said.contains("something else in the place of the bundle"), "{said}");
        own_files::write_file(object("aaaa"), "x").unwrap();
        let said = theirs.fetch_bundle(&one, digest("aaaa")).unwrap_err().to_string();
        assert!(said.contains("not what was handed in"), "{said}");
        assert!(matches!(theirs.check_handed_in(&one, digest("aaaa")).unwrap(), HandedIn::Wrong(_)));
        assert!(theirs.fetch_bundle(&two, digest("bbbb")).unwrap().is_some(), "the control");
        assert!(matches!(theirs.check_handed_in(&two, digest("bbbb")).unwrap(), HandedIn::Whole));
        assert!(matches!(theirs.check_handed_in(&two, digest("cccc")).unwrap(), HandedIn::Absent));
    }

    /// Two processes that fetch at once: the second removes nothing that the first one reads.
    #[test]
    fn a_cached_bundle_that_is_read_stays() {
        let homes = Homes { folder: tempfile::tempdir().unwrap() };
        let (ours, theirs) = (homes.bundles("ours"), homes.bundles("theirs"));
        let run = homes.seal(&ours, "aaaa");
        ours.hand_in(&run, digest("aaaa")).unwrap();
        let read = theirs.fetch_bundle(&run, digest("aaaa")).unwrap().unwrap();
        let packed = pack_folder(&ours.bundle_dir(&run)).unwrap();
        let bundle = PackedBundle::parse_bundle(&packed).unwrap();
        let place = theirs.cached_dir(&run);
        let number = |dir: &Path| own_files::metadata(dir).unwrap().ino();
        let before = number(&read.dir);
        theirs.keep_fetched(&bundle, &place, digest("aaaa")).unwrap();
        assert_eq!(number(&read.dir), before, "a whole copy stays");
        own_files::write_file(read.dir.join("seal"), "other").unwrap();
        let said = theirs.keep_fetched(&bundle, &place, digest("aaaa")).unwrap_err().to_string();
        assert!(said.contains("another process reads"), "{said}");
        assert_eq!(number(&read.dir), before, "a damaged copy stays while it is read");
        drop(read);
        theirs.keep_fetched(&bundle, &place, digest("aaaa")).expect("control: nobody reads it");
        assert_eq!(own_files::read_file(place.join(BUNDLE).join("seal")).unwrap(), b"signedaaaa");
    }

    #[test]
    fn the_cache_is_bounded_and_leaves_what_is_looked_at() {
        let homes = Homes { folder: tempfile::tempdir().unwrap() };
        let (ours, theirs) = (homes.bundles("ours"), homes.bundles("theirs"));
        let names: Vec<String> = (0..MOST_CACHED + 3).map(|number| format!("{number:04}")).collect();
        let mut first = None;
        for name in &names {
            let run = homes.seal(&ours, name);
            ours.hand_in(&run, digest(name)).unwrap();
            let kept = theirs.fetch_bundle(&run, digest(name)).unwrap().unwrap();
            first.get_or_insert(kept);
        }
        let cached = list_folder(&homes.folder.path().join("theirs").join(CACHE)).unwrap();
        assert!(cached.len() <= MOST_CACHED + 1, "{}", cached.len());
        assert!(first.unwrap().dir.join("seal").own_exists(), "it is held");
        assert!(!theirs.cached_dir(&run_id("0001")).own_exists(), "the oldest that nobody holds is gone");
    }
}
