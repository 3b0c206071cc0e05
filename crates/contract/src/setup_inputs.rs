//! Files of a tree that setup may see: those that the contract's `setup_inputs` name, and
//! the manifests and tool configuration that belong to a lock file among them.

use std::collections::BTreeSet;

use crate::paths::{ParseGlobError, PathSet};

/// Lock files of one package manager or of a few that share manifests, and what belongs to
/// them.
struct LockFamily {
    locks: &'static [&'static str],
    /// Files in the lock file's folder, or below it by a literal path.
    beside: &'static [&'static str],
    /// A file in the lock file's folder that makes it a workspace, and the text by which it
    /// does; any text where it is empty.
    workspace: &'static [(&'static str, &'static str)],
    /// Names of the manifests of a workspace's members, anywhere beneath.
    members: &'static [&'static str],
}

const FAMILIES: &[LockFamily] = &[
    LockFamily {
        locks: &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
            "deno.lock",
        ],
        beside: &[
            "package.json",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            "pnpm-workspace.yaml",
            ".pnpmfile.cjs",
            "lerna.json",
            "bunfig.toml",
            "deno.json",
            "deno.jsonc",
        ],
        workspace: &[("package.json", "\"workspaces\""), ("pnpm-workspace.yaml", ""), ("lerna.json", "")],
        members: &["package.json"],
    },
    LockFamily {
        locks: &["Cargo.lock"],
        beside: &["Cargo.toml", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"],
        workspace: &[("Cargo.toml", "[workspace")],
        members: &["Cargo.toml"],
    },
    LockFamily {
        locks: &["go.sum", "go.mod", "go.work", "go.work.sum"],
        beside: &["go.mod", "go.sum", "go.work", "go.work.sum"],
        workspace: &[("go.work", "")],
        members: &["go.mod", "go.sum"],
    },
    LockFamily {
        locks: &["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml"],
        beside: &["pyproject.toml", "Pipfile", "uv.toml", "poetry.toml", "pdm.toml", ".python-version"],
        workspace: &[("pyproject.toml", "[tool.uv.workspace")],
        members: &["pyproject.toml"],
    },
    LockFamily { locks: &["Gemfile.lock"], beside: &["Gemfile", ".ruby-version"], workspace: &[], members: &[] },
    LockFamily { locks: &["composer.lock"], beside: &["composer.json"], workspace: &[], members: &[] },
    LockFamily { locks: &["mix.lock"], beside: &["mix.exs"], workspace: &[], members: &[] },
];

/// Folders of installed packages; a manifest in one belongs to no workspace.
const INSTALLED: &[&[u8]] = &[b"node_modules", b"vendor", b"target", b".venv"];

/// The contract's `setup_inputs`.
#[derive(Debug, Clone)]
pub struct SetupInputs(PathSet);

impl SetupInputs {
    /// Reads the contract's globs, all of them relative to the root of the tree. Fails on
    /// the first glob that is not valid.
    pub fn read_globs(globs: &[String]) -> Result<Self, ParseGlobError> {
        PathSet::rooted(globs).map(Self)
    }

    /// True if a glob names this path.
    pub fn names_path(&self, path: &[u8]) -> bool {
        self.0.is_match(path)
    }

    /// Picks the paths of a tree that setup may see. `content` reads a file of the tree.
    pub fn visible_paths<'p>(
        &self,
        paths: &BTreeSet<&'p [u8]>,
        content: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> BTreeSet<&'p [u8]> {
        let named: Vec<&'p [u8]> = paths.iter().copied().filter(|path| self.0.is_match(path)).collect();
        let mut visible: BTreeSet<&'p [u8]> = named.iter().copied().collect();
        for lock in named {
            let (folder, name) = split_name(lock);
            for family in FAMILIES.iter().filter(|family| holds(family.locks, name)) {
                let beside = family.beside.iter().map(|name| joined(folder, name));
                visible.extend(beside.filter_map(|path| paths.get(path.as_slice()).copied()));
                if family.is_workspace(folder, paths, content) {
                    visible.extend(paths.iter().copied().filter(|path| family.is_member(folder, path)));
                }
            }
        }
        visible
    }
}

impl LockFamily {
    fn is_workspace(&self, folder: &[u8], paths: &BTreeSet<&[u8]>, content: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> bool {
        self.workspace.iter().any(|(name, text)| {
            let path = joined(folder, name);
            let says = || content(&path).is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains(text));
            paths.contains(path.as_slice()) && (text.is_empty() || says())
        })
    }

    fn is_member(&self, folder: &[u8], path: &[u8]) -> bool {
        let (own, name) = split_name(path);
        let below = folder.is_empty() || own.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"));
        let installed = own.split(|byte| *byte == b'/').any(|part| INSTALLED.contains(&part));
        below && !installed && holds(self.members, name)
    }
}

fn holds(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

/// Folder and name of a path; the folder of a name in the root is empty.
fn split_name(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

fn joined(folder: &[u8], name: &str) -> Vec<u8> {
    let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    [folder, slash, name.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(inputs: &[&str], tree: &[(&str, &str)], visible: &[&str]) {
        let globs: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        let paths: BTreeSet<&[u8]> = tree.iter().map(|(path, _)| path.as_bytes()).collect();
        let content = |path: &[u8]| {
            tree.iter().find(|(known, _)| known.as_bytes() == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let found = SetupInputs::read_globs(&globs).unwrap().visible_paths(&paths, &content);
        let found: Vec<&str> = found.iter().map(|path| std::str::from_utf8(path).unwrap()).collect();
        assert_eq!(found, visible, "{inputs:?}");
    }

    #[test]
    fn a_lock_file_brings_its_manifests_and_nothing_else() {
        let tree = [
            (".npmrc", ""),
            ("package-lock.json", "{}"),
            ("package.json", "{}"),
            ("src/index.js", ""),
            ("sub/package.json", "{}"),
        ];
        check(&["package-lock.json"], &tree, &[".npmrc", "package-lock.json", "package.json"]);
        check(&["src/**"], &tree, &["src/index.js"]);
        check(&["sub/package-lock.json"], &tree, &[]);
        let requirements = [("pyproject.toml", ""), ("requirements.txt", "")];
        check(&["requirements.txt"], &requirements, &["requirements.txt"]);
    }

    #[test]
    fn a_lock_file_of_a_workspace_brings_the_manifests_of_its_members() {
        let node = [
            ("a/package-lock.json", "{}"),
            ("a/package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("a/packages/b/index.js", ""),
            ("a/packages/b/package.json", "{}"),
            ("ab/package.json", "{}"),
            ("a/node_modules/c/package.json", "{}"),
        ];
        check(&["a/package-lock.json"], &node, &["a/package-lock.json", "a/package.json", "a/packages/b/package.json"]);
        let rust = [
            (".cargo/config.toml", ""),
            ("Cargo.lock", ""),
            ("Cargo.toml", "[workspace]\nmembers = ['crates/*']"),
            ("crates/b/Cargo.toml", ""),
            ("crates/b/src/lib.rs", ""),
        ];
        check(&["Cargo.lock"], &rust, &[".cargo/config.toml", "Cargo.lock", "Cargo.toml", "crates/b/Cargo.toml"]);
        let alone = [("Cargo.lock", ""), ("Cargo.toml", "[package]"), ("fixture/Cargo.toml", "")];
        check(&["Cargo.lock"], &alone, &["Cargo.lock", "Cargo.toml"]);
        let go = [("go.mod", ""), ("go.work", ""), ("main.go", ""), ("sub/go.mod", "")];
        check(&["go.mod"], &go, &["go.mod", "go.work", "sub/go.mod"]);
    }
}
