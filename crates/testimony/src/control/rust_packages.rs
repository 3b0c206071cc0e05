//! The Rust packages of a tree, and which file a test binary is made from.

use std::collections::BTreeMap;

use super::tree::{ExamView, folder_of, joined, name_of};

/// Beyond this many manifests a tree is not looked through.
const MOST_PACKAGES: usize = 2000;

/// A manifest as far as it says where sources are.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) folder: String,
    pub(super) name: String,
    /// Tables with plain strings in them: `lib`, `[test]` and so on.
    tables: Vec<(String, BTreeMap<String, String>)>,
}

/// Packages of the tree, bounded in number; unreadable manifests are left out.
pub(super) fn packages(tree: &ExamView<'_>) -> Vec<Package> {
    let manifests = tree.paths().filter(|path| name_of(path) == "Cargo.toml").take(MOST_PACKAGES);
    manifests.filter_map(|path| Package::of(folder_of(path), &tree.read_text(path)?)).collect()
}

impl Package {
    fn of(folder: &str, manifest: &str) -> Option<Self> {
        let tables = tables(manifest);
        let package = tables.iter().find(|(header, _)| header == "package");
        let name = package.and_then(|(_, table)| table.get("name"))?.clone();
        Some(Self { folder: folder.to_owned(), name, tables })
    }

    /// Path of a source file of the package from the repository's root.
    pub(super) fn source_path(&self, source: &str) -> Option<String> {
        joined(&self.folder, source)
    }

    fn table(&self, header: &str, name: Option<&str>) -> Option<&BTreeMap<String, String>> {
        let is_it =
            |table: &BTreeMap<String, String>| name.is_none_or(|name| table.get("name").is_some_and(|n| n == name));
        self.tables.iter().find(|(found, table)| found == header && is_it(table)).map(|(_, table)| table)
    }

    /// True if the package or one of its targets has this name.
    fn has_target(&self, target: &str) -> bool {
        let crate_name = |name: &str| name.replace('-', "_");
        crate_name(&self.name) == target
            || self.tables.iter().any(|(_, table)| table.get("name").is_some_and(|name| crate_name(name) == target))
    }

    /// The root of a library, of the test or binary of this name.
    pub(super) fn source(&self, tree: &ExamView<'_>, kind: BinaryKind<'_>) -> Option<String> {
        let (header, name) = match kind {
            BinaryKind::Library => ("lib", None),
            BinaryKind::Test(name) => ("[test]", Some(name)),
            BinaryKind::Binary(name) => ("[bin]", Some(name)),
        };
        let given = self.table(header, name).and_then(|table| table.get("path")).cloned();
        let usual = match kind {
            BinaryKind::Library => vec!["src/lib.rs".to_owned()],
            BinaryKind::Test(name) => vec![format!("tests/{name}.rs"), format!("tests/{name}/main.rs")],
            BinaryKind::Binary(name) => {
                let main = (name == self.name).then(|| "src/main.rs".to_owned());
                main.into_iter().chain([format!("src/bin/{name}.rs"), format!("src/bin/{name}/main.rs")]).collect()
            }
        };
        given.into_iter().chain(usual).filter_map(|source| self.source_path(&source)).find(|path| tree.has_file(path))
    }
}

/// Kind of a test binary, and with it the place of its root file.
#[derive(Debug, Clone, Copy)]
pub(super) enum BinaryKind<'a> {
    Library,
    Test(&'a str),
    Binary(&'a str),
}

/// The file that cargo announces as `source` of `target`, if only one can be meant.
pub(super) fn announced(tree: &ExamView<'_>, packages: &[Package], target: &str, source: &str) -> Option<String> {
    let holding: Vec<&Package> = packages
        .iter()
        .filter(|package| package.source_path(source).is_some_and(|path| tree.has_file(&path)))
        .collect();
    let stem = source.trim_end_matches("/main.rs").trim_end_matches(".rs");
    let by_name = |package: &&Package| package.has_target(target) || name_of(stem).replace('-', "_") == target;
    let named: Vec<&Package> = holding.iter().copied().filter(by_name).collect();
    match (holding.as_slice(), named.as_slice()) {
        ([package], _) | (_, [package]) => package.source_path(source),
        _ => None,
    }
}

/// The tables of a manifest with those of their values that are plain strings.
fn tables(manifest: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut tables: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
            tables.push((header.0.trim().to_owned(), BTreeMap::new()));
        } else if let Some((key, value)) = line.split_once('=')
            && let Some((_, table)) = tables.last_mut()
            && let Some(value) = string(value.trim())
        {
            table.insert(key.trim().to_owned(), value.to_owned());
        }
    }
    tables
}

fn string(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split_once(quote).map(|(string, _)| string)
}
