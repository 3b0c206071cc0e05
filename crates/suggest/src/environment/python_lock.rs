//! Exact versions in lock files of Python, and the wheels of this machine that have them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::python_marker::{MarkerPlace, is_excluded};
use crate::machine::beginning_with;

/// More packages than these make no readable command.
const MOST_PINS: usize = 400;

/// Packages of a lock file that are for this machine, as `name==version`. The project itself is in none of them.
/// `manifest` names what the project asks for where the lock file does not say so.
pub(super) fn read_pins(lock: &str, text: &str, manifest: &str, place: MarkerPlace) -> Vec<String> {
    let pins =
        if lock == "Pipfile.lock" { read_pipfile(text, place) } else { read_package_tables(text, manifest, place) };
    if pins.len() > MOST_PINS { Vec::new() } else { pins }
}

/// One `[[package]]` table of uv, poetry or pdm.
struct LockedPackage<'t> {
    name: &'t str,
    version: &'t str,
    /// The project itself, or another part of its workspace.
    is_local: bool,
    /// True if its own markers leave it out.
    is_excluded: bool,
    edges: Vec<LockEdge<'t>>,
}

/// A package that another one asks for.
struct LockEdge<'t> {
    name: &'t str,
    version: Option<&'t str>,
    is_excluded: bool,
}

/// Packages that the project reaches on this machine, each in one version.
fn read_package_tables(text: &str, manifest: &str, place: MarkerPlace) -> Vec<String> {
    let tables = text.split("[[package]]").skip(1);
    let packages: Vec<LockedPackage<'_>> = tables.filter_map(|table| read_table(table, place)).collect();
    let mut newest: BTreeMap<String, &LockedPackage<'_>> = BTreeMap::new();
    for at in find_reached(&packages, manifest) {
        let package = &packages[at];
        let best = newest.entry(plain_name(package.name)).or_insert(package);
        if version_parts(package.version) > version_parts(best.version) {
            *best = package;
        }
    }
    newest.values().filter(|package| !package.is_local).filter_map(|it| pin(it.name, it.version)).collect()
}

/// Places of the packages that are asked for here, over edges that markers do not cut.
fn find_reached(packages: &[LockedPackage<'_>], manifest: &str) -> BTreeSet<usize> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, package) in packages.iter().enumerate() {
        places.entry(plain_name(package.name)).or_default().push(at);
    }
    let edges = packages.iter().flat_map(|package| &package.edges);
    let asked: BTreeSet<String> = edges.map(|edge| plain_name(edge.name)).collect();
    let knows_project = packages.iter().any(|package| package.is_local);
    let manifest = if knows_project { String::new() } else { plain_name(manifest) };
    let is_root = |package: &LockedPackage<'_>| {
        let name = plain_name(package.name);
        package.is_local || !asked.contains(&name) || manifest.contains(&name)
    };
    let mut open: Vec<usize> = (0..packages.len()).filter(|at| is_root(&packages[*at])).collect();
    let mut reached = BTreeSet::new();
    while let Some(at) = open.pop() {
        if packages[at].is_excluded || !reached.insert(at) {
            continue;
        }
        for edge in packages[at].edges.iter().filter(|edge| !edge.is_excluded) {
            let named = places.get(&plain_name(edge.name)).into_iter().flatten().copied();
            open.extend(named.filter(|to| edge.version.is_none_or(|version| version == packages[*to].version)));
        }
    }
    reached
}

fn read_table(table: &str, place: MarkerPlace) -> Option<LockedPackage<'_>> {
    let end = table.match_indices("\n[").find(|(at, _)| !table[*at..].starts_with("\n[package."));
    let table = end.map_or(table, |(at, _)| &table[..at]);
    let head = table.split("\n[").next()?;
    let line_of = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    let value = |key: &str| line_of(key)?.trim().strip_prefix('"')?.strip_suffix('"');
    let is_local = line_of("source").is_some_and(|source| LOCAL_SOURCES.iter().any(|kind| source.contains(kind)));
    let mut own: Vec<String> = ["marker", "markers"].into_iter().filter_map(value).map(unescaped).collect();
    own.extend(array_of(head, "resolution-markers").map(unescaped));
    let is_excluded = !own.is_empty() && own.iter().all(|marker| is_excluded(marker, place));
    let edges = read_edges(table, place);
    Some(LockedPackage {
        name: value("name")?,
        version: value("version").unwrap_or_default(),
        is_local,
        is_excluded,
        edges,
    })
}

/// Kinds of source that are a part of the repository.
const LOCAL_SOURCES: [&str; 4] = ["virtual", "editable", "directory", "path"];

/// Texts of an array that has one of them on each line, or all on its first.
fn array_of<'t>(table: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    let start =
        table.lines().position(|line| line.strip_prefix(key).is_some_and(|it| it.trim_start().starts_with('=')));
    let lines = table.lines().skip(start.unwrap_or(usize::MAX));
    let mut is_over = false;
    let lines = lines.take_while(move |line| !std::mem::replace(&mut is_over, line.trim_end().ends_with(']')));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// Packages that a table asks for.
fn read_edges(table: &str, place: MarkerPlace) -> Vec<LockEdge<'_>> {
    let (mut edges, mut section, mut key) = (Vec::new(), "", None);
    for line in table.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('[') {
            section = line.trim_end();
        } else if section.starts_with("[package.metadata") {
            // The same edges once more, before they were resolved.
        } else if section == "[package.dependencies]" {
            key = key_of(line).or(key);
            edges.extend(key.filter(|_| !is_bracket(line)).map(|name| read_edge(name, None, line, place)));
        } else {
            edges.extend(read_braced(line, place));
        }
    }
    edges
}

/// Edges in a line of uv, such as `{ name = "a", version = "1", marker = "m" },`.
fn read_braced(line: &str, place: MarkerPlace) -> Vec<LockEdge<'_>> {
    let names: Vec<&str> = line.split('{').skip(1).filter_map(|part| text_after(part, "name")).collect();
    match names[..] {
        [name] => vec![read_edge(name, text_after(line, "version"), line, place)],
        _ => names.into_iter().map(|name| LockEdge { name, version: None, is_excluded: false }).collect(),
    }
}

fn read_edge<'t>(name: &'t str, version: Option<&'t str>, line: &str, place: MarkerPlace) -> LockEdge<'t> {
    let mut markers = ["marker", "markers"].into_iter().filter_map(|key| text_after(line, key));
    let is_excluded = markers.any(|marker| is_excluded(&unescaped(marker), place));
    LockEdge { name, version, is_excluded }
}

/// Name in a line of poetry, such as `a = ">=1"`, `a = {markers = "m"}` or `a = [`.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(" = ")?;
    (!key.starts_with([' ', '{'])).then(|| key.trim_matches('"'))
}

/// True for the first and the last line of a list.
fn is_bracket(line: &str) -> bool {
    line.trim_end().ends_with('[') || line.trim() == "]"
}

/// Text of `key = "text"` somewhere in a line, still escaped.
fn text_after<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let begin = format!("{key} = \"");
    let at =
        line.match_indices(&begin).map(|(at, _)| at).find(|at| line[..*at].ends_with([' ', '{', ',']) || *at == 0)?;
    let rest = &line[at + begin.len()..];
    let end = rest.match_indices('"').map(|(at, _)| at).find(|at| !rest[..*at].ends_with('\\'))?;
    Some(&rest[..end])
}

fn unescaped(text: &str) -> String {
    text.replace("\\\"", "\"")
}

/// Numbers of a version, for the newest of several.
fn version_parts(version: &str) -> Vec<u64> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn read_pipfile(text: &str, place: MarkerPlace) -> Vec<String> {
    let Ok(lock) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let groups = ["default", "develop"].into_iter().filter_map(|group| lock.get(group)?.as_object());
    let is_meant = |package: &serde_json::Value| {
        let marker = package.get("markers").and_then(serde_json::Value::as_str);
        !marker.is_some_and(|marker| is_excluded(marker, place))
    };
    let packages = groups.flatten().filter(|(_, package)| is_meant(package));
    let pins = packages.filter_map(|(name, package)| pin(name, package.get("version")?.as_str()?.strip_prefix("==")?));
    pins.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A pin of plain letters: nothing in it can be an option of pip.
fn pin(name: &str, version: &str) -> Option<String> {
    let is_plain = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte);
        text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(plain)
    };
    (is_plain(name) && is_plain(version)).then(|| format!("{name}=={version}"))
}

/// The pins that a folder has a wheel of, and those that it has none of.
pub(super) fn split_by_wheels(pins: &[String], folder: &Path) -> (Vec<String>, Vec<String>) {
    let wheels: Vec<String> = beginning_with_any(folder);
    pins.iter().cloned().partition(|pin| {
        let (name, version) = pin.split_once("==").unwrap_or((pin, ""));
        let begin = format!("{}-{}-", plain_name(name), version.to_ascii_lowercase());
        wheels.iter().any(|wheel| wheel.starts_with(&begin))
    })
}

/// Names of a folder's wheels, each with its package as pip compares it.
fn beginning_with_any(folder: &Path) -> Vec<String> {
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9');
    let names = letters.flat_map(|letter| beginning_with(&folder.join(letter.to_string())));
    let wheels = names.filter(|name| name.ends_with(".whl"));
    let plain = wheels.filter_map(|name| {
        let (package, rest) = name.split_once('-')?;
        Some(format!("{}-{}", plain_name(package), rest.to_ascii_lowercase()))
    });
    plain.collect()
}

fn plain_name(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use untrusted_fs::own_files;

    use super::*;

    #[test]
    fn exact_versions_are_read_from_each_lock() {
        let uv = "version = 1\n\n[[package]]\nname = \"own\"\nversion = \"1.0\"\nsource = { editable = \".\" }\n\n\
                  [[package]]\nname = \"a-b\"\nversion = \"2.0\"\nsource = { registry = \"https://x\" }\ndependencies = [\n    { name = \"c\" },\n]\n";
        let poetry = "[[package]]\nname = \"a\"\nversion = \"0.5\"\noptional = false\n\n[package.extras]\nname = \"no\"\n\n[metadata]\nlock-version = \"2.0\"\n";
        let pipfile =
            r#"{"default": {"a": {"version": "==1.0"}, "b": {"git": "x"}}, "develop": {"c": {"version": "==2"}}}"#;
        let option = "[[package]]\nname = \"--index-url\"\nversion = \"1\"\n";
        let rows = [
            ("uv.lock", uv, &["a-b==2.0"][..]),
            ("poetry.lock", poetry, &["a==0.5"]),
            ("Pipfile.lock", pipfile, &["a==1.0", "c==2"]),
            ("uv.lock", option, &[]),
            ("uv.lock", "", &[]),
            ("Pipfile.lock", "no json", &[]),
        ];
        for (lock, text, pins) in rows {
            assert_eq!(read_pins(lock, text, "", HERE), pins, "{lock}: {text}");
        }
    }

    const HERE: MarkerPlace = MarkerPlace { python: Some((3, 11)) };

    /// Head of a table of uv.
    fn uv_table(name: &str, version: &str, more: &str) -> String {
        let source = "source = { registry = \"https://pypi.org/simple\" }";
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}\n{more}\n")
    }

    #[test]
    fn a_universal_lock_gives_what_is_for_this_machine() {
        let own = "version = 1\nresolution-markers = [\n    \"python_full_version >= '3.12'\",\n]\n\n[[package]]\nname = \"own\"\n\
                   version = \"1.0\"\nsource = { editable = \".\" }\ndependencies = [\n    { name = \"click\" },\n    \
                   { name = \"numpy\", version = \"1.26.4\", source = { registry = \"x\" }, marker = \"python_full_version < '3.12'\" },\n    \
                   { name = \"numpy\", version = \"2.1.0\", source = { registry = \"x\" }, marker = \"python_full_version >= '3.12'\" },\n]\n\n\
                   [package.dev-dependencies]\ndev = [\n    { name = \"pytest\" },\n]\n\n";
        let text = [
            own.to_owned(),
            uv_table(
                "click",
                "8.1.7",
                "dependencies = [\n    { name = \"colorama\", marker = \"sys_platform == 'win32'\" },\n    { name = \"pywin32\", marker = \"os_name == 'nt'\" },\n]",
            ),
            uv_table("colorama", "0.4.6", ""),
            uv_table("numpy", "1.26.4", "resolution-markers = [\n    \"python_full_version < '3.12'\",\n]"),
            uv_table("numpy", "2.1.0", "resolution-markers = [\n    \"python_full_version >= '3.12'\",\n]"),
            uv_table("pytest", "8.0.0", ""),
            uv_table("pywin32", "306", ""),
        ];
        let pins = read_pins("uv.lock", &text.concat(), "", HERE);
        assert_eq!(pins, ["click==8.1.7", "numpy==1.26.4", "pytest==8.0.0"]);
        // The same lock where another fork is meant, and where the interpreter is not known: the newest of each.
        for python in [Some((3, 13)), None] {
            let pins = read_pins("uv.lock", &text.concat(), "", MarkerPlace { python });
            assert_eq!(pins, ["click==8.1.7", "numpy==2.1.0", "pytest==8.0.0"], "{python:?}");
        }
    }

    #[test]
    fn packages_of_other_platforms_are_not_pinned() {
        let table = |name: &str, version: &str, more: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n\n")
        };
        let asks = "optional = false\n\n[package.dependencies]\ncolorama = {version = \"*\", markers = \"sys_platform == \\\"win32\\\"\"}\nidna = \">=2\"\n\
                    numpy = [\n    {version = \">=1.22\", markers = \"python_version < \\\"3.11\\\"\"},\n    {version = \">=1.23\", markers = \"python_version >= \\\"3.11\\\"\"},\n]";
        let poetry = [
            table("click", "8.0", asks),
            table("colorama", "0.4.6", ""),
            table("idna", "3.0", ""),
            table("numpy", "1.22.0", ""),
            table("numpy", "1.23.10", ""),
            table("numpy", "1.23.9", ""),
            table("pywin32", "306", "markers = \"sys_platform == \\\"win32\\\"\""),
            "[metadata]\nlock-version = \"2.0\"\n".to_owned(),
        ]
        .concat();
        let expected = ["click==8.0", "idna==3.0", "numpy==1.23.10"];
        assert_eq!(read_pins("poetry.lock", &poetry, "", HERE), expected);
        // Control: a package that the project itself asks for is installed.
        let manifest = "[tool.poetry.dependencies]\nColorama = \"*\"\n";
        assert!(read_pins("poetry.lock", &poetry, manifest, HERE).contains(&"colorama==0.4.6".to_owned()));

        let pdm = [
            table("colorama", "0.4.6", "marker = \"sys_platform == \\\"win32\\\"\""),
            table("idna", "3.0", "dependencies = [\n    \"x>=1\",\n]"),
        ]
        .concat();
        assert_eq!(read_pins("pdm.lock", &pdm, "", HERE), ["idna==3.0"]);
        let pipfile = r#"{"default": {"a": {"version": "==1", "markers": "sys_platform == 'win32'"}, "b": {"version": "==2", "markers": "python_version >= '3.8'"}}}"#;
        assert_eq!(read_pins("Pipfile.lock", pipfile, "", HERE), ["b==2"]);
    }

    #[test]
    fn a_wheel_is_found_by_name_and_version() {
        let folder = tempfile::tempdir().unwrap();
        for wheel in ["a_b-2.0-py3-none-any.whl", "a_b-2.1-py3-none-any.whl", "C-1.0-py3-none-any.whl"] {
            own_files::write_file(folder.path().join(wheel), b"").unwrap();
        }
        let pins = ["A-b==2.0", "c==1.0", "c==1.0.1"].map(str::to_owned);
        let (here, missing) = split_by_wheels(&pins, folder.path());
        assert_eq!((here, missing), (vec!["A-b==2.0".to_owned(), "c==1.0".to_owned()], vec!["c==1.0.1".to_owned()]));
    }
}
