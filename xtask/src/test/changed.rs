//! Tests that a change can touch: those of the packages that its files belong to, and of
//! all packages that need these.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::ChoreResult;
use crate::process::{command_output, program, repository_root};

use super::programs::CargoPackages;
use super::select::Scope;

/// The package of the chores: its tests read sources of all others.
const CHORES: &str = "xtask";

/// Tests that read pages, by package and beginning of the name.
const PAGE_READERS: [(&str, &str); 20] = [
    ("bridge", "recording::meaning::"),
    ("contract", "record::"),
    // Tests of the example that prints the exam set.
    ("contract", "tests::"),
    ("cortex", "check::"),
    ("cto", "agents::quickstart::"),
    ("cto", "args::tests::"),
    ("cto", "cheats::surface::"),
    ("cto", "climb::page::"),
    ("cto", "commands::health::plan::"),
    ("cto", "console::open_api::"),
    ("cto", "documented::"),
    ("cto", "ladder::shown::"),
    ("cto", "strict::page::"),
    ("cto", "targets::documents::"),
    ("cto", "trust::records::"),
    ("cto", "workspace_records::"),
    ("gate", "conduct::tests::page::"),
    ("secrets", "page::"),
    ("testimony", "claims::tests::patterns::"),
    (CHORES, "tests::"),
];

/// The second verifier, which is a page and a program.
const VERIFIER: &str = "docs/formats/verify.py";
const VERIFIER_USERS: [(&str, &str); 11] = [
    ("cto", "bound::"),
    ("cto", "climb::"),
    ("cto", "collected::"),
    ("cto", "documented::"),
    ("cto", "formats::"),
    ("cto", "interrupted::"),
    ("cto", "lanes::"),
    ("cto", "model::runs::"),
    ("cto", "refreshed::"),
    ("cto", "tamper::edits::"),
    ("cto", "targets::documents::"),
];

/// Files of one package that tests of another read by their path.
const FOREIGN_READERS: [(&str, &[&str]); 4] = [
    ("crates/cto/tests/golden/", &["evidence", "views"]),
    ("crates/evidence/tests/sshsig/", &["cortex"]),
    ("crates/ledger/tests/golden/", &["cto"]),
    ("crates/sandbox/src/strict/seccomp/", &["gate"]),
];

/// The scope of everything that differs between a commit and the work tree.
pub(super) fn find_scope(workspace: &CargoPackages, base: &str) -> ChoreResult<Scope> {
    let git = |words: &[&str]| command_output(program("git", words).current_dir(repository_root()));
    let tracked = git(&["diff", "--name-only", "-z", "--no-renames", base, "--"])?;
    let untracked = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    let files: Vec<&str> = tracked.split('\0').chain(untracked.split('\0')).filter(|file| !file.is_empty()).collect();
    Ok(scope_of(workspace, &repository_root(), &files))
}

/// Paths below the root of the repository.
fn scope_of(workspace: &CargoPackages, root: &Path, files: &[&str]) -> Scope {
    let (mut changed, mut tests) = (BTreeSet::new(), BTreeSet::new());
    // Nothing depends on the tests of a package, but some read files of others.
    let mut alone = BTreeSet::new();
    for file in files {
        alone.extend(foreign_readers_of(file).map(str::to_owned));
        match (owner_of(workspace, root, file), readers_of(file)) {
            (Some((owner, below)), _) if below.starts_with("tests") => drop(alone.insert(owner)),
            (Some((owner, _)), _) => drop(changed.insert(owner)),
            (None, Some(readers)) => {
                tests.extend(readers.iter().map(|(package, prefix)| ((*package).to_owned(), (*prefix).to_owned())));
            }
            (None, None) => return Scope::Everything,
        }
    }
    let mut packages = workspace.dependents(changed);
    packages.append(&mut alone);
    if !packages.is_empty() {
        packages.insert(CHORES.to_owned());
    }
    Scope::Some { packages, tests }
}

/// The package that a file belongs to, and the file's path in it. The chores belong to
/// nobody: they run the tests themselves.
fn owner_of(workspace: &CargoPackages, root: &Path, file: &str) -> Option<(String, PathBuf)> {
    let path = root.join(file);
    let owners = workspace.packages.iter().filter(|(name, _)| *name != CHORES);
    let mut found = owners.filter_map(|(name, package)| {
        let below = path.strip_prefix(package.manifest.parent()?).ok()?;
        Some((name.clone(), below.to_owned()))
    });
    found.next()
}

/// Packages whose tests read a file of another package.
fn foreign_readers_of(file: &str) -> impl Iterator<Item = &'static str> {
    let rows = FOREIGN_READERS.iter().filter(move |(place, _)| format!("{file}/").starts_with(place));
    rows.flat_map(|(_, readers)| readers.iter().copied())
}

/// Readers of a page; none where the file is no page.
fn readers_of(file: &str) -> Option<Vec<(&'static str, &'static str)>> {
    let is_page = file.starts_with("docs/") || (file.ends_with(".md") && !file.contains('/'));
    match file {
        VERIFIER => Some(VERIFIER_USERS.to_vec()),
        _ if is_page => Some(PAGE_READERS.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::super::programs::WorkspacePackage;
    use super::*;

    fn workspace() -> CargoPackages {
        let package = |name: &str, folder: &str, needs: &[&str]| {
            let manifest = format!("/w/{folder}/Cargo.toml").into();
            let needs = needs.iter().map(|name| (*name).to_owned()).collect();
            (name.to_owned(), WorkspacePackage { manifest, needs })
        };
        let packages = [
            package("contract", "crates/contract", &[]),
            package("gate", "crates/gate", &["contract"]),
            package("cto", "crates/cto", &["gate"]),
            package("xtask", "xtask", &[]),
        ];
        CargoPackages { packages: packages.into() }
    }

    #[test]
    fn a_change_touches_its_package_and_those_that_need_it() {
        let readers = PAGE_READERS.len();
        for (files, packages, tests) in [
            (&["crates/contract/src/lib.rs"] as &[&str], Some("contract cto gate xtask"), 0),
            (&["crates/gate/Cargo.toml"], Some("cto gate xtask"), 0),
            (&["crates/gate/tests/it/main.rs"], Some("gate xtask"), 0),
            (&["crates/cto/tests/it/main.rs", "docs/a.md"], Some("cto xtask"), readers),
            (&["README.md"], Some(""), readers),
            (&["crates/cto/tests/golden/a.json"], Some("cto evidence views xtask"), 0),
            (&["docs/formats/verify.py"], Some(""), VERIFIER_USERS.len()),
            (&[], Some(""), 0),
            (&["Cargo.lock"], None, 0),
            (&["docs/a.md", "xtask/src/main.rs"], None, 0),
            (&[".ci/run"], None, 0),
            (&["crates/unknown/src/lib.rs"], None, 0),
        ] {
            let expected = packages.map_or(Scope::Everything, |packages| {
                let Scope::Some { tests: found, .. } = scope_of(&workspace(), Path::new("/w"), files) else {
                    panic!("{files:?} touch everything");
                };
                assert_eq!(found.len(), tests, "{files:?}");
                Scope::Some { packages: packages.split_whitespace().map(str::to_owned).collect(), tests: found }
            });
            assert_eq!(scope_of(&workspace(), Path::new("/w"), files), expected, "{files:?}");
        }
    }

    /// Sources that name a page by a path from where they stand, with the page.
    fn sources_that_read_pages(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<String>>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                sources_that_read_pages(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let pages = text.split("../docs/").skip(1).filter_map(|rest| rest.split('"').next());
                let pages: Vec<String> = pages.map(|page| format!("docs/{page}")).collect();
                if !pages.is_empty() {
                    found.insert(path, pages);
                }
            }
        }
    }

    /// Texts in quotes that lead from a package's source into another package: what follows `../`, from the other's name on.
    fn foreign_files(text: &str, names: &BTreeSet<String>) -> Vec<String> {
        let leads = |rest: &str| {
            let path = rest.split('"').next()?;
            let (name, below) = path.split_once('/')?;
            (names.contains(name) && below.contains('/')).then(|| format!("crates/{path}"))
        };
        text.split("../").skip(1).filter_map(leads).collect()
    }

    fn check_foreign_files(folder: &Path, package: &str, names: &BTreeSet<String>, found: &mut usize) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                check_foreign_files(&path, package, names, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                for file in foreign_files(&fs::read_to_string(&path).unwrap(), names) {
                    let is_known = foreign_readers_of(&file).any(|reader| reader == package);
                    let is_own = file.starts_with(&format!("crates/{package}/"));
                    assert!(is_known || is_own, "{} reads {file}", path.display());
                    *found += usize::from(is_known);
                }
            }
        }
    }

    #[test]
    fn every_test_that_reads_files_of_another_package_is_known() {
        let crates = repository_root().join("crates");
        let folders: Vec<PathBuf> = fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path()).collect();
        let name = |folder: &PathBuf| folder.file_name().unwrap().to_str().unwrap().to_owned();
        let names: BTreeSet<String> = folders.iter().map(name).collect();
        let mut found = 0;
        folders.iter().for_each(|folder| check_foreign_files(folder, &name(folder), &names, &mut found));
        assert!(found >= FOREIGN_READERS.len(), "control: {found}");
        let text = "include_str!(\"../../cortex/src/a.rs\") join(\"../x\")";
        assert_eq!(foreign_files(text, &names), ["crates/cortex/src/a.rs"]);
    }

    /// The name that a test in this file begins with, as `mod a; mod b` make it of `src/a/b.rs` or `tests/it/a/b.rs`.
    fn module_of(below: &Path) -> String {
        let parts: Vec<&str> = below.iter().map(|part| part.to_str().unwrap()).collect();
        let parts = if parts[0] == "tests" { &parts[2..] } else { &parts[1..] };
        let name = parts.join("::");
        let name = name.trim_end_matches(".rs").trim_end_matches("::mod").trim_end_matches("::tests");
        if parts.len() == 1 && below.starts_with("examples") { "tests".to_owned() } else { name.to_owned() }
    }

    #[test]
    fn every_test_that_reads_a_page_is_known() {
        let crates = repository_root().join("crates");
        let mut found = BTreeMap::new();
        sources_that_read_pages(&crates, &mut found);
        assert!(found.len() >= PAGE_READERS.len(), "{found:?}");
        for (path, pages) in found {
            let below = path.strip_prefix(&crates).unwrap();
            let package = below.iter().next().unwrap();
            let module = module_of(below.strip_prefix(package).unwrap());
            for page in pages {
                let readers = readers_of(&page).unwrap();
                let knows =
                    |(owner, prefix): &(&str, &str)| package == *owner && format!("{module}::").starts_with(prefix);
                assert!(readers.iter().any(knows), "{} reads {page} as {module}", path.display());
            }
        }
    }
}
