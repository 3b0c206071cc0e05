//! What setup wrote becomes a layer: only what the tree itself does not have, and older than every file of a tree.
//!
//! The layer lies over the baseline and over patched trees alike. A file of the tree in it would hide the patch's own,
//! and the repository's `.git` would be taken for the engine's doing. And a laid-out tree has fixed times: what a build tool
//! compiled from the baseline would pass for newer than the patch, and the old code would be tested.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, lremovexattr, utimensat};
use rustix::io::Errno;

/// Before the time of every file in a laid-out tree, its oldest products included.
const TIME: Timespec = Timespec { tv_sec: tree::TREE_TIME - 2, tv_nsec: 0 };
const TIMES: Timestamps = Timestamps { last_access: TIME, last_modification: TIME };

/// By which an overlay says that nothing beneath a directory shows through it.
const OPAQUE: [&str; 2] = ["user.overlay.opaque", "trusted.overlay.opaque"];

/// A directory of the layer, and of the tree where that has it too.
struct Place {
    layer: PathBuf,
    tree: Option<PathBuf>,
}

/// Makes a layer of what setup wrote over `tree`. Nothing else may be at work in either; links are not followed.
pub(super) fn settle(layer: &Path, tree: &Path) -> io::Result<()> {
    remove(&layer.join(".git"))?;
    let mut found = vec![Place { layer: layer.to_owned(), tree: Some(tree.to_owned()) }];
    let mut at = 0;
    while let Some(place) = found.get(at) {
        let below = settle_directory(place)?;
        found.extend(below);
        at += 1;
    }
    // A directory gets a new time with each name that comes or goes in it.
    found.iter().rev().try_for_each(|place| date(&place.layer))
}

/// Settles what lies in a directory; gives the directories among it.
fn settle_directory(place: &Place) -> io::Result<Vec<Place>> {
    if place.tree.is_some() {
        uncover(&place.layer)?;
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(&place.layer)? {
        let entry = entry?;
        let (layer, is_dir) = (entry.path(), entry.file_type()?.is_dir());
        let of_tree = place.tree.as_ref().map(|tree| tree.join(entry.file_name()));
        let tree = of_tree.and_then(|path| fs::symlink_metadata(&path).ok().map(|stat| (path, stat)));
        match tree {
            Some((path, stat)) if is_dir && stat.is_dir() => below.push(Place { layer, tree: Some(path) }),
            Some(_) => remove(&layer)?,
            None if is_dir => below.push(Place { layer, tree: None }),
            None if entry.file_type()?.is_char_device() => remove(&layer)?,
            None => date(&layer)?,
        }
    }
    Ok(below)
}

/// Removes what setup wrote, also where it made folders that not even their owner may write to.
pub(super) fn discard(dir: &Path) {
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700));
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders
            .extend(below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    let _ = fs::remove_dir_all(dir);
}

fn uncover(dir: &Path) -> io::Result<()> {
    OPAQUE.iter().try_for_each(|name| match lremovexattr(dir, *name) {
        // Marks of the privileged kind are not there where they may not be touched.
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::PERM) => Ok(()),
        Err(errno) => Err(errno.into()),
    })
}

fn date(path: &Path) -> io::Result<()> {
    Ok(utimensat(CWD, path, &TIMES, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path).as_ref().map(Metadata::is_dir) {
        Ok(true) => fs::remove_dir_all(path),
        Ok(false) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    /// Makes folders for names that end in a slash, else files.
    fn make(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
            if !name.ends_with('/') {
                fs::write(path, name).unwrap();
            }
        }
    }

    fn names(root: &Path, dir: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            assert_eq!(fs::symlink_metadata(&path).unwrap().mtime(), TIME.tv_sec, "{}", path.display());
            let slash = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
            found.insert(format!("{}{slash}", path.strip_prefix(root).unwrap().display()));
            if !slash.is_empty() {
                names(root, &path, found);
            }
        }
    }

    #[test]
    fn a_layer_holds_only_what_the_tree_does_not_have() {
        let scratch = Scratch::new();
        let (tree, layer) = (scratch.0.join("tree"), scratch.0.join("layer"));
        make(&tree, &["a", "d/e", "d/f", "turned/x", "file", ".git/config"]);
        make(
            &layer,
            &["a", "d/e", "d/new", "turned", "file/y", ".git/config", ".git/hooks/h", "out/deep/er", "empty/"],
        );
        symlink("/nonexistent", layer.join("out/link")).unwrap();
        symlink(&tree, layer.join("out/tree")).unwrap();
        settle(&layer, &tree).unwrap();
        let mut found = BTreeSet::new();
        names(&layer, &layer, &mut found);
        let expected = ["d/", "d/new", "empty/", "out/", "out/deep/", "out/deep/er", "out/link", "out/tree"];
        assert_eq!(found, expected.iter().map(ToString::to_string).collect());
        assert_ne!(fs::metadata(tree.join("a")).unwrap().mtime(), TIME.tv_sec, "the tree is as it was");
    }

    /// Gone with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("cto-settle-{}-{}", std::process::id(), crate::run::suffix().unwrap());
            let dir = std::env::temp_dir().join(name);
            fs::create_dir(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
