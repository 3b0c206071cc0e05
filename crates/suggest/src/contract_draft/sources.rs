//! Folders and files of a repository's root that hold its sources, as globs of `allowed_paths`.

use crate::repository::ProjectFolder;

const FOLDERS: [&str; 12] =
    ["src", "lib", "app", "apps", "cmd", "internal", "pkg", "crates", "packages", "include", "server", "client"];
/// Endings of source files that may lie in the root itself.
const ENDINGS: [&str; 14] = ["py", "go", "js", "mjs", "cjs", "ts", "rb", "php", "c", "h", "cc", "cpp", "rs", "sh"];

/// The usual folders and Python packages; where there are none, the kinds of source files
/// in the root.
pub(super) fn find_sources(root: &ProjectFolder<'_>) -> Vec<String> {
    let usual = FOLDERS.iter().filter(|name| root.has_folder(name)).map(|name| format!("{name}/"));
    let is_package = |name: &&str| root.read_text(&format!("{name}/__init__.py")).is_some();
    let packages =
        root.project_names().filter(|name| !FOLDERS.contains(name)).filter(is_package).map(|name| format!("{name}/"));
    let mut found: Vec<String> = usual.chain(packages).collect();
    if found.is_empty() {
        let is_test = |name: &str| {
            name.starts_with("test") || name == "setup.py" || name == "conftest.py" || name == "noxfile.py"
        };
        let has = |ending: &&&str| {
            root.files().any(|name| !is_test(name) && name.rsplit_once('.').is_some_and(|(_, found)| found == **ending))
        };
        found.extend(ENDINGS.iter().filter(has).map(|ending| format!("*.{ending}")));
    }
    found
}
