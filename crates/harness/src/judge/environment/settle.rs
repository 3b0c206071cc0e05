//! Turns setup's files into a layer: only files that the tree itself does not have, and
//! older than every file of a tree.
//!
//! The layer lies over the baseline and over patched trees alike. A file of the tree in it
//! would hide the patch's own, and the repository's `.git` would be taken for the engine's
//! doing. And a laid-out tree has fixed times: products compiled from the baseline would
//! pass for newer than the patch, and the old code would be tested.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Timespec, Timestamps, fremovexattr, futimens, utimensat};
use rustix::io::Errno;
use untrusted_fs::{
    Bounds, Met, Next, WalkEntry, grant_owner, kind, lstat, open_dir, open_root, remove_tree, remove_tree_at, walk,
};

/// Before the time of every file in a laid-out tree, its oldest products included.
const TIME: Timespec = Timespec { tv_sec: tree::TREE_TIME - 2, tv_nsec: 0 };
const TIMES: Timestamps = Timestamps { last_access: TIME, last_modification: TIME };

/// Attributes by which an overlay marks a directory that hides everything beneath it.
const OPAQUE: [&str; 2] = ["user.overlay.opaque", "trusted.overlay.opaque"];

/// Time limit for one layer; a larger one is not kept.
const SETTLING: Duration = Duration::from_secs(600);

/// Files that show through a layer, beside those of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownFiles {
    Nothing,
    /// Another layer, from which setup may have removed something.
    Layer,
}

/// Makes a layer of what setup wrote over `tree`. Nothing else may be at work in either;
/// links are not followed.
pub(super) fn settle_layer(layer: &Path, tree: &Path, beneath: ShownFiles) -> io::Result<()> {
    grant_owner(layer)?;
    let root = open_root(layer)?;
    remove_tree_at(root.as_fd(), b".git")?;
    let mut settling = Settling { tree: vec![Some(open_root(tree)?)], beneath };
    match walk(root, &Bounds::within(SETTLING), |met| settling.settle_entry(met))? {
        None => Ok(()),
        Some(cut) => Err(io::Error::other(cut.in_words())),
    }
}

struct Settling {
    /// The directories of the tree at the same paths as those of the layer that are being
    /// walked; none where the tree has no such directory.
    tree: Vec<Option<OwnedFd>>,
    beneath: ShownFiles,
}

impl Settling {
    fn settle_entry(&mut self, met: Met<'_>) -> io::Result<Next> {
        match met {
            Met::Shut { why, .. } => return Err(why.into()),
            Met::TooDeep { .. } => return Err(io::Error::other("directories too deep")),
            // A directory gets a new time with each name that comes or goes in it.
            Met::Left { dir, .. } => {
                if self.tree.pop().flatten().is_some() {
                    uncover_folder(dir)?;
                }
                futimens(dir, &TIMES)?;
            }
            Met::Entry(entry) => return self.settle_name(entry),
        }
        Ok(Next::Pass)
    }

    fn settle_name(&mut self, entry: WalkEntry<'_>) -> io::Result<Next> {
        let found = kind(entry.stat);
        let tree = self.tree.last().and_then(Option::as_ref);
        let of_tree = tree.and_then(|tree| Some((tree, kind(&lstat(tree, entry.name).ok()?))));
        match (found, of_tree) {
            (FileType::Directory, Some((tree, FileType::Directory))) => {
                let below = open_dir(tree, entry.name)?;
                self.tree.push(Some(below));
                return Ok(Next::Enter);
            }
            (FileType::Directory, None) => {
                self.tree.push(None);
                return Ok(Next::Enter);
            }
            (FileType::CharacterDevice, None) if self.beneath == ShownFiles::Layer => {}
            (_, Some(_)) | (FileType::CharacterDevice, None) => remove_tree_at(entry.dir, entry.name)?,
            (_, None) => utimensat(entry.dir, entry.name, &TIMES, AtFlags::SYMLINK_NOFOLLOW)?,
        }
        Ok(Next::Pass)
    }
}

/// Removes what setup wrote, also where it made folders that not even their owner may write to.
pub(super) fn discard_layer(dir: &Path) {
    let _ = remove_tree(dir);
}

/// Takes the marks away by which a folder hides what lies beneath it.
pub(crate) fn uncover_folder(dir: BorrowedFd<'_>) -> io::Result<()> {
    OPAQUE.iter().try_for_each(|name| match fremovexattr(dir, *name) {
        // Marks of the privileged kind are not there where they may not be touched.
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::PERM) => Ok(()),
        Err(errno) => Err(errno.into()),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::PathBuf;

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
        settle_layer(&layer, &tree, ShownFiles::Nothing).unwrap();
        let mut found = BTreeSet::new();
        names(&layer, &layer, &mut found);
        let expected = ["d/", "d/new", "empty/", "out/", "out/deep/", "out/deep/er", "out/link", "out/tree"];
        assert_eq!(found, expected.iter().map(ToString::to_string).collect());
        assert_ne!(fs::metadata(tree.join("a")).unwrap().mtime(), TIME.tv_sec, "the tree is as it was");
    }

    /// A hole hides what lies beneath it: a layer beneath has something there, a tree never does.
    #[test]
    fn a_hole_stays_only_above_another_layer() {
        for (beneath, is_there) in [(ShownFiles::Nothing, false), (ShownFiles::Layer, true)] {
            let scratch = Scratch::new();
            let (tree, layer) = (scratch.0.join("tree"), scratch.0.join("layer"));
            make(&tree, &["gone"]);
            make(&layer, &["new"]);
            let hole = |name: &str| {
                let (kind, mode) = (FileType::CharacterDevice, rustix::fs::Mode::empty());
                rustix::fs::mknodat(rustix::fs::CWD, layer.join(name), kind, mode, 0).unwrap();
            };
            hole("gone");
            hole("hole");
            settle_layer(&layer, &tree, beneath).unwrap();
            assert_eq!(fs::symlink_metadata(layer.join("hole")).is_ok(), is_there, "{beneath:?}");
            assert!(fs::symlink_metadata(layer.join("gone")).is_err(), "{beneath:?}: the tree's own shows again");
        }
    }

    #[test]
    fn what_setup_wrote_is_removed_whatever_its_modes() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new();
        let layer = scratch.0.join("layer");
        make(&layer, &["shut/file"]);
        fs::set_permissions(layer.join("shut"), fs::Permissions::from_mode(0o500)).unwrap();
        discard_layer(&layer);
        assert!(fs::symlink_metadata(&layer).is_err());
    }

    /// Gone with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("cto-settle-{}-{}", std::process::id(), crate::home::token::random_suffix().unwrap());
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
