//! Layers beneath an engine's workspace, where a layer lies over the baseline's checkout.
//!
//! A setup that sees only its inputs may write where the rest of the tree has something.
//! Those files of the tree are laid on top of the layer again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;
use tree::{Listing, ObjectDatabase, PathMode};
use untrusted_fs::{Bounds, Met, Next, kind, open_root, walk};

use super::layer::Layer;
use crate::run::file::Stopped;

/// Time for one layer; only folders that the tree has too are entered.
const FITTING: Duration = Duration::from_secs(60);

/// Layers to put over a checkout of `listing`, the first on top.
pub(super) fn fit_layer(
    store: &ObjectDatabase,
    listing: &Listing,
    layer: &Layer,
    folder: PathBuf,
) -> Result<Vec<PathBuf>, Stopped> {
    let covered = covered_paths(&layer.files, listing).map_err(|error| Stopped::Io(layer.files.clone(), error))?;
    if covered.is_empty() {
        return Ok(vec![layer.files.clone()]);
    }
    let is_covered = |path: &[u8]| {
        covered
            .iter()
            .any(|covered| path.strip_prefix(covered.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'/', ..])))
    };
    let restored = listing.0.iter().filter(|(path, _)| is_covered(path));
    let restored = Listing(restored.map(|(path, entry)| (path.clone(), *entry)).collect());
    tree::materialise(store, &restored, &folder)?;
    Ok(vec![folder, layer.files.clone()])
}

/// Paths at which a layer has something and the tree has another thing.
fn covered_paths(layer: &Path, listing: &Listing) -> io::Result<Vec<Vec<u8>>> {
    let mut covered = Vec::new();
    let cut = walk(open_root(layer)?, &Bounds::within(FITTING), |met| {
        let entry = match met {
            Met::Entry(entry) => entry,
            Met::Left { .. } => return Ok(Next::Pass),
            Met::Shut { why, .. } => return Err(why.into()),
            Met::TooDeep { .. } => return Err(io::Error::other("directories too deep")),
        };
        let is_folder = kind(entry.stat) == FileType::Directory;
        let submodule = listing.0.get(entry.path).is_some_and(|known| known.mode == PathMode::Gitlink);
        match (listing.has_below(entry.path), listing.0.contains_key(entry.path)) {
            (true, _) if is_folder => return Ok(Next::Enter),
            (false, true) if is_folder && submodule => {}
            (false, false) => {}
            _ => covered.push(entry.path.to_vec()),
        }
        Ok::<_, io::Error>(Next::Pass)
    })?;
    match cut {
        None => Ok(covered),
        Some(cut) => Err(io::Error::other(cut.in_words())),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::fs;

    use tree::ListingEntry;

    use super::*;
    use crate::run::tests::Trial;

    fn make(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
            if !name.ends_with('/') {
                fs::write(path, "layer").unwrap();
            }
        }
    }

    /// A layer covers files of a tree only where the tree has another kind of file.
    #[test]
    fn files_of_the_tree_that_a_layer_covers_lie_on_top_of_it() {
        let trial = Trial::new();
        let store = ObjectDatabase::create_store(&trial.folder().join("store"), trial.harness.git.clone()).unwrap();
        let entry = |mode| ListingEntry { mode, oid: store.put_blob(b"tree").unwrap() };
        let files = ["a", "d/x", "d/y", "folder/f", "folders", "turned"]
            .map(|path| (path.as_bytes().to_vec(), entry(PathMode::File)));
        let mut listing = Listing(files.into());
        listing.0.insert(b"sub".to_vec(), entry(PathMode::Gitlink));
        let fit = |names: &[&str]| {
            let (files, on_top) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            make(files.path(), names);
            let layer = Layer::of_files(files.path().to_owned());
            let layers = fit_layer(&store, &listing, &layer, on_top.path().to_owned()).unwrap();
            assert_eq!(layers.last(), Some(&layer.files));
            let restored = ["a", "d/x", "d/y", "folder/f", "folders", "turned"];
            let restored = restored.into_iter().filter(|path| on_top.path().join(path).exists());
            (layers.len(), restored.collect::<Vec<_>>())
        };
        for (layer, restored) in [
            (&["new/deep/f", "d/new", "sub/"][..], &[][..]),
            (&["d/x"], &["d/x"]),
            (&["folder"], &["folder/f"]),
            (&["turned/y"], &["turned"]),
            (&["a", "d/y"], &["a", "d/y"]),
        ] {
            let layers = if restored.is_empty() { 1 } else { 2 };
            assert_eq!(fit(layer), (layers, restored.to_vec()), "{layer:?}");
        }
        let odd = tempfile::tempdir().unwrap();
        make(odd.path(), &["sub"]);
        assert_eq!(covered_paths(odd.path(), &listing).unwrap(), [b"sub".to_vec()], "a file where a submodule belongs");
    }
}
