//! Trees that no admission lets a run change: those of `protected_roots`, the harness's
//! home, and the workspace itself.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use contract::decision::OffLimitsTree;
use tree::SourceRepository;
use untrusted_fs::own_files;

use crate::run::harness::Harness;

/// Tree that forbids changing a repository. A linked work tree is also checked by the git
/// directory that it shares, since that is where a commit goes.
pub(crate) fn find_off_limits(harness: &Harness, source: &SourceRepository) -> Option<OffLimitsTree> {
    let trees = OffLimitsTrees {
        protected_roots: &harness.named_repositories.protected_roots,
        home: harness.home.root(),
        workspace: harness.records.workspace(),
    };
    trees.find(source.root(), source.common_path())
}

struct OffLimitsTrees<'a> {
    protected_roots: &'a [PathBuf],
    home: &'a Path,
    workspace: Option<&'a Path>,
}

impl OffLimitsTrees<'_> {
    fn find(&self, root: &Path, common: &Path) -> Option<OffLimitsTree> {
        let written = [resolve(root), resolve(common)];
        let lies_in = |tree: &Path| written.iter().any(|place| is_beneath(place, tree));
        let text = |path: &Path| path.display().to_string();
        let protected = self.protected_roots.iter().find(|tree| lies_in(tree));
        let home = Some(self.home).filter(|home| lies_in(home));
        let workspace = self.workspace.filter(|workspace| is_beneath(&resolve(workspace), &written[0]));
        let protected = protected.map(|tree| OffLimitsTree::ProtectedRoot(text(tree)));
        let home = home.map(|tree| OffLimitsTree::Home(text(tree)));
        protected.or(home).or_else(|| workspace.map(|tree| OffLimitsTree::Workspace(text(tree))))
    }
}

/// True if a resolved place is a tree or lies in it, by their paths or by the numbers of
/// their folders: a second mount of the tree has another path, and the same folders.
fn is_beneath(place: &Path, tree: &Path) -> bool {
    let number = number_of(tree);
    let is_tree = |folder: &Path| number.is_some() && number_of(folder) == number;
    place.starts_with(resolve(tree)) || place.ancestors().any(is_tree)
}

/// File system of a folder, and its number there.
fn number_of(folder: &Path) -> Option<(u64, u64)> {
    own_files::metadata(folder).ok().map(|data| (data.dev(), data.ino()))
}

/// Path as the file system resolves it; unchanged if it does not exist.
fn resolve(path: &Path) -> PathBuf {
    own_files::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_repository_in_a_protected_tree_is_found_by_every_name_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| own_files::canonicalize(folder.path()).unwrap().join(name);
        for name in ["core/part/.git", "site/.git", "site/space", "home", "core-2/.git"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        symlink(at("core"), at("link")).unwrap();
        let find = |roots: &[&str], workspace: &str, root: &str, common: &str| {
            let protected_roots: Vec<PathBuf> = roots.iter().map(|root| at(root)).collect();
            let (home, workspace) = (at("home"), at(workspace));
            let trees = OffLimitsTrees { protected_roots: &protected_roots, home: &home, workspace: Some(&workspace) };
            trees.find(&at(root), &at(common))
        };
        let protected = |name: &str| Some(OffLimitsTree::ProtectedRoot(at(name).display().to_string()));
        for (roots, workspace, root, common, expected) in [
            (&["core"][..], "space", "core", "core/.git", protected("core")),
            (&["core"], "space", "core/part", "core/part/.git", protected("core")),
            (&["link"], "space", "core", "core/.git", protected("link")),
            (&["core"], "space", "link/part", "link/part/.git", protected("core")),
            (&["core"], "space", "site", "core/part/.git", protected("core")),
            (&["core"], "space", "core-2", "core-2/.git", None),
            (&["site/space"], "space", "site", "site/.git", None),
            (&[], "space", "home/r", "home/r/.git", Some(OffLimitsTree::Home(at("home").display().to_string()))),
            (&[], "site", "site", "site/.git", Some(OffLimitsTree::Workspace(at("site").display().to_string()))),
            (
                &[],
                "site/space",
                "site",
                "site/.git",
                Some(OffLimitsTree::Workspace(at("site/space").display().to_string())),
            ),
            (&[], "space", "site", "site/.git", None),
        ] {
            assert_eq!(find(roots, workspace, root, common), expected, "{roots:?} {workspace} {root} {common}");
        }
    }
}
