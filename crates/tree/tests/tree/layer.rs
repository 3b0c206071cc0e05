//! A layer gives the same changes as the whole workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tree::{
    Capture, CaptureLimits, Checkout, Listing, ListingEntry, LowerLayers, Manifest, Oid, PathMode, RefusedPath,
    capture_layer, changes,
};

use crate::deeds::{Deed, Kind, deed, kind_of, node, plain_path, setup_deed};
use crate::overlay::Overlay;
use crate::support::{AUTHOR, Node, Nodes, World};

/// A baseline laid out twice: as a copy of its own and as a checkout beneath layers.
pub(crate) struct PairedWorkspaces {
    pub(crate) world: World,
    pub(crate) base: Listing,
    pub(crate) checkout: Checkout,
    pub(crate) copy: PathBuf,
    manifest: Manifest,
}

impl PairedWorkspaces {
    pub(crate) fn new(nodes: &Nodes, gitlinks: &[&[u8]]) -> PairedWorkspaces {
        let world = World::new();
        let mut base = world.put(nodes);
        for path in gitlinks {
            base.0.insert(path.to_vec(), ListingEntry { mode: PathMode::Gitlink, oid: Oid([7; 20]) });
        }
        let commit = world.commit(&base, &[]);
        let (copy, manifest) = world.workspace("copy", &base);
        tree::work_repository(&copy, &world.store, commit, &base, AUTHOR).unwrap();
        let checkout = tree::checkout(&world.path("cache"), &world.store, &base, commit, AUTHOR).unwrap();
        PairedWorkspaces { world, base, checkout, copy, manifest }
    }

    /// Does something in an overlay over the checkout and these layers; the layer that has it then.
    pub(crate) fn layer(&self, name: &str, layers: &[PathBuf], act: impl FnOnce(&mut Overlay)) -> PathBuf {
        let upper = self.world.path(name);
        let lower: Vec<&Path> = layers.iter().map(PathBuf::as_path).chain([self.checkout.root.as_path()]).collect();
        act(&mut Overlay::mount(&lower, &upper));
        upper
    }

    pub(crate) fn capture_layer(&self, upper: &Path, layers: &[PathBuf]) -> Capture {
        let upper = OwnedFd::from(fs::File::open(upper).unwrap());
        let beneath = LowerLayers { baseline: &self.base, layers };
        let found = capture_layer(upper.as_fd(), &beneath, &self.world.store, &CaptureLimits::default()).unwrap();
        let new: Vec<Oid> = changes(&self.base, &found.listing)
            .iter()
            .filter_map(|change| change.after)
            .filter(|entry| entry.mode != PathMode::Gitlink)
            .map(|entry| entry.oid)
            .collect();
        assert!(self.world.store.reader().blobs(&new).unwrap().iter().all(Option::is_some), "everything new is stored");
        // Refuses a tree in which a path is a file and a directory.
        self.world.store.put_listing(&found.listing).unwrap();
        found
    }

    pub(crate) fn capture_copy(&self) -> Capture {
        self.world.capture(&self.copy, &self.manifest)
    }

    fn apply(&self, layer: &str, layers: &[PathBuf], deeds: &[Deed]) -> PathBuf {
        let upper = self.layer(layer, layers, |overlay| deeds.iter().for_each(|deed| deed.apply(overlay.root())));
        deeds.iter().for_each(|deed| deed.apply(&self.copy));
        self.checkout.check_files(&self.base).unwrap();
        upper
    }
}

fn baseline(links: bool) -> impl Strategy<Value = Nodes> {
    prop::collection::vec((plain_path(), node()), 0..12).prop_map(move |rows| {
        let mut nodes = Nodes::new();
        for (path, node) in rows {
            let within = |a: &[u8], b: &[u8]| a.starts_with(&[b, b"/"].concat());
            let clash = nodes.keys().any(|other| within(other, &path) || within(&path, other));
            if !clash && (links || !matches!(node, Node::Link(_))) {
                nodes.insert(path, node);
            }
        }
        nodes
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 300, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn a_layer_over_a_checkout_says_what_a_copy_says(
        nodes in baseline(true), deeds in prop::collection::vec(deed(), 0..12)
    ) {
        let twice = PairedWorkspaces::new(&nodes, &[b"mod"]);
        let upper = twice.apply("upper", &[], &deeds);
        // The layer first: what the other capture stores would hide what this one does not.
        let by_layer = twice.capture_layer(&upper, &[]);
        prop_assert_eq!(by_layer, twice.capture_copy());
    }
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn a_layer_over_setup_layers_says_what_the_program_did(
        nodes in baseline(false),
        first in prop::collection::vec(setup_deed(), 0..8),
        second in prop::collection::vec(setup_deed(), 0..5),
        deeds in prop::collection::vec(deed(), 0..12),
    ) {
        let twice = PairedWorkspaces::new(&nodes, &[b"mod"]);
        let lower = twice.apply("setup-1", &[], &first);
        let layers = [twice.apply("setup-2", std::slice::from_ref(&lower), &second), lower];
        let before = (inventory(&twice.copy), twice.capture_copy());
        let upper = twice.apply("upper", &layers, &deeds);
        let by_layer = twice.capture_layer(&upper, &layers);
        let after = (inventory(&twice.copy), twice.capture_copy());
        prop_assert_eq!(by_layer, expected(&twice.base, &layers, &before, &after));
    }
}

type Tree = BTreeMap<Vec<u8>, Kind>;
type State = (Tree, Capture);

/// Everything in a directory but its repository.
fn inventory(root: &Path) -> Tree {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let kind = kind_of(&path);
            let key = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if key == b".git" {
                continue;
            }
            if kind == Kind::Directory {
                directories.push(path);
            }
            found.insert(key, kind);
        }
    }
    found
}

/// Expected capture for the workspace before and after the program worked in it.
fn expected(base: &Listing, layers: &[PathBuf], before: &State, after: &State) -> Capture {
    let new = |path: &Vec<u8>| before.1.listing.0.get(path) != after.1.listing.0.get(path);
    let kept = |had: &[Vec<u8>], have: &[Vec<u8>]| have.iter().filter(|path| !had.contains(path)).cloned().collect();
    let refused = |refused: &&RefusedPath| !before.1.refused.contains(refused) || new(&refused.path);
    let listing = patched(base, before, after);
    Capture {
        refused: after.1.refused.iter().filter(refused).cloned().collect(),
        nested_repositories: kept(&before.1.nested_repositories, &after.1.nested_repositories),
        special_files: kept(&before.1.special_files, &after.1.special_files),
        empty_directories: empty(&listing, base, layers, &before.0, after),
        unfinished: after.1.unfinished.clone(),
        listing,
    }
}

/// The baseline with what the program changed, and nothing that the setup changed.
fn patched(base: &Listing, before: &State, after: &State) -> Listing {
    let within = |path: &[u8], above: &[u8]| path.starts_with(above) && path.get(above.len()) == Some(&b'/');
    let mut listing = base.clone();
    for (path, kind) in &before.0 {
        let now = after.0.get(path).copied().unwrap_or(Kind::Nothing);
        if now == Kind::Nothing || (now == Kind::Directory) != (*kind == Kind::Directory) {
            listing.0.retain(|other, _| other != path && !within(other, path));
        }
    }
    // Also where the setup had left nothing, and what stands there now is not carried.
    for (path, _) in after.0.iter().filter(|(path, kind)| **kind == Kind::Other && before.0.get(*path) != Some(kind)) {
        let refused = path.ends_with(b".gitmodules");
        listing.0.retain(|other, _| other != path && !within(other, path) && !(refused && within(path, other)));
    }
    for change in changes(&before.1.listing, &after.1.listing) {
        listing.0.remove(&change.path);
        if let Some(entry) = change.after {
            listing.0.retain(|other, _| !within(other, &change.path) && !within(&change.path, other));
            listing.0.insert(change.path, entry);
        }
    }
    listing
}

/// Topmost directories that hold nothing of the result and that no setup layer showed.
fn empty(listing: &Listing, base: &Listing, layers: &[PathBuf], before: &Tree, after: &State) -> Vec<Vec<u8>> {
    let setup: BTreeSet<Vec<u8>> = layers
        .iter()
        .flat_map(|layer| inventory(layer))
        .filter(|(path, kind)| *kind == Kind::Directory && before.get(path) == Some(kind))
        .map(|(path, _)| path)
        .collect();
    let within = |path: &[u8], above: &[u8]| path.starts_with(above) && path.get(above.len()) == Some(&b'/');
    // A refused link of git's own is taken out of the tree, but it was there.
    let refused = after.1.refused.iter().map(|refused| &refused.path).filter(|path| path.ends_with(b".gitmodules"));
    let held: Vec<&Vec<u8>> = listing.0.keys().chain(refused).collect();
    let holds_none = |path: &Vec<u8>| !held.iter().any(|other| within(other, path));
    let gitlinks: Vec<_> =
        base.0.iter().filter(|(_, entry)| entry.mode == PathMode::Gitlink).map(|(path, _)| path).collect();
    let in_gitlink = |path: &Vec<u8>| gitlinks.iter().any(|link| *link == path || within(path, link));
    let hidden = |path: &Vec<u8>| path.split(|b| *b == b'/').any(tree::folds_to_git) || in_gitlink(path);
    let all: Vec<Vec<u8>> = after
        .0
        .iter()
        .filter(|(path, kind)| **kind == Kind::Directory && !setup.contains(*path) && !hidden(path) && holds_none(path))
        .map(|(path, _)| path.clone())
        .collect();
    all.iter().filter(|path| !all.iter().any(|above| within(path, above))).cloned().collect()
}
