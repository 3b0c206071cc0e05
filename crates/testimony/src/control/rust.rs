//! A failing test in the root of each Rust test binary that ran.

use super::command::{Arguments, Filter};
use super::rust_packages::{BinaryKind, Package, announced, packages};
use super::tree::{ExamView, folder_of, name_of};
use super::wanted::{ControlRequest, ControlTest, distinct};

const WITH_VALUE: [&str; 28] = [
    "-p",
    "--package",
    "--exclude",
    "--test",
    "--bin",
    "--example",
    "--bench",
    "-F",
    "--features",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--profile",
    "-P",
    "--cargo-profile",
    "-j",
    "--jobs",
    "--build-jobs",
    "--color",
    "--message-format",
    "--config",
    "-Z",
    "--test-threads",
    "--retries",
    "-E",
    "--filterset",
    "--filter-expr",
    "--skip",
];

/// Control tests for `cargo test`, found by the binaries that ran.
pub(super) fn controls_of_cargo(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["cargo", "test"]).or_else(|| wanted.commands.after(&["cargo", "t"]));
    let arguments = Arguments::of_words(words.unwrap_or_default(), &WITH_VALUE);
    let packages = packages(wanted.tree);
    let mut sources: Vec<String> =
        wanted.ran_in(binary).filter_map(|identity| source_of_cargo(wanted.tree, &packages, identity)).collect();
    if sources.is_empty() && words.is_some() {
        sources.extend(sources_unnamed(wanted.tree, &packages, &arguments).unwrap_or_default());
    }
    added(wanted, &arguments, sources)
}

/// Control tests for nextest; `None` if an expression or partition selects tests.
pub(super) fn controls_of_nextest(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["nextest", "run"]).or_else(|| wanted.commands.after(&["nextest", "r"]));
    let arguments = Arguments::of_words(words.unwrap_or_default(), &WITH_VALUE);
    if arguments.has_any(&["-E", "--filterset", "--filter-expr", "--run-ignored", "--partition"]) {
        return None;
    }
    let packages = packages(wanted.tree);
    let sources =
        wanted.ran_in(binary).filter_map(|identity| source_of_nextest(wanted.tree, &packages, identity)).collect();
    added(wanted, &arguments, sources)
}

/// Binary at the beginning of an identity.
fn binary(identity: &str) -> &str {
    identity.split(" > ").next().unwrap_or(identity)
}

/// A test in the root of each binary, those under `tests/` first: nothing but tests stands
/// there.
fn added(wanted: &ControlRequest<'_>, arguments: &Arguments<'_>, sources: Vec<String>) -> Option<Vec<ControlTest>> {
    let inner = Arguments::of_words(arguments.rest, &WITH_VALUE);
    if inner.has_any(&["--ignored", "--exact"]) {
        return None;
    }
    let suffix = Filter::of_filters(arguments.plain.iter().chain(&inner.plain).copied()).suffix("_")?;
    let mut sources = distinct(sources);
    sources.sort_by_key(|source| !is_integration(source));
    Some(wanted.each(sources, |path, name| {
        let function = format!("test_{name}{suffix}");
        if inner.values(&["--skip"]).any(|skipped| format!("{function}::{function}").contains(skipped)) {
            return None;
        }
        wanted.appended(path, name, &addition(path, &function))
    }))
}

fn addition(path: &str, function: &str) -> String {
    let test = |indent: &str| {
        format!(
            "{indent}#[test]\n{indent}fn {function}() {{\n{indent}    assert_eq!(\"found\", \"expected\");\n{indent}}}\n"
        )
    };
    match is_integration(path) {
        true => format!("\n\n{}", test("")),
        false => format!("\n\n#[cfg(test)]\nmod {function} {{\n{}}}\n", test("    ")),
    }
}

fn is_integration(source: &str) -> bool {
    name_of(folder_of(source)) == "tests" || name_of(folder_of(folder_of(source))) == "tests"
}

/// The source of `target (source) > test`.
pub(super) fn source_of_cargo(tree: &ExamView<'_>, packages: &[Package], identity: &str) -> Option<String> {
    let (target, rest) = identity.split_once(" (")?;
    let (source, _) = rest.split_once(") > ")?;
    announced(tree, packages, target, source).filter(|_| source.ends_with(".rs"))
}

/// The source of `package::binary > test`.
pub(super) fn source_of_nextest(tree: &ExamView<'_>, packages: &[Package], identity: &str) -> Option<String> {
    let (binary, _) = identity.split_once(" > ")?;
    let (package, target) = binary.split_once("::").map_or((binary, None), |(package, target)| (package, Some(target)));
    let kind = match target.map(|target| target.split_once('/').unwrap_or(("test", target))) {
        None => BinaryKind::Library,
        Some(("test", name)) => BinaryKind::Test(name),
        Some(("bin", name)) => BinaryKind::Binary(name),
        Some(_) => return None,
    };
    let mut named = packages.iter().filter(|candidate| candidate.name == package);
    let found = named.next()?;
    named.next().is_none().then(|| found.source(tree, kind)).flatten()
}

/// Without names, as with `--quiet`: what the command is sure to build and run, where there
/// are tests in it.
fn sources_unnamed(tree: &ExamView<'_>, packages: &[Package], arguments: &Arguments<'_>) -> Option<Vec<String>> {
    let chosen =
        ["--doc", "--bins", "--bin", "--examples", "--example", "--benches", "--bench", "--exclude", "--manifest-path"];
    if arguments.has_any(&chosen) {
        return None;
    }
    let package = match arguments.values(&["-p", "--package"]).next() {
        Some(name) => packages.iter().find(|package| package.name == name)?,
        None => tree.upwards().find_map(|folder| packages.iter().find(|package| package.folder == folder))?,
    };
    let manifest = tree.read_text(&package.source_path("Cargo.toml")?)?;
    if ["harness", "autotests", "autobins", "test = false"].iter().any(|setting| manifest.contains(setting)) {
        return None;
    }
    let tested = |path: &String| tree.read_text(path).is_some_and(|content| content.contains("#[test]"));
    if let Some(test) = arguments.values(&["--test"]).next() {
        return Some(package.source(tree, BinaryKind::Test(test)).filter(tested).into_iter().collect());
    }
    let library = package.source(tree, BinaryKind::Library);
    let main = package.source_path("src/main.rs");
    let own = library.into_iter().chain(main.filter(|_| !arguments.has_option("--lib")));
    let integration = integration_tests(tree, package).filter(|_| !arguments.has_option("--lib"));
    Some(integration.chain(own).filter(tested).collect())
}

fn integration_tests<'t>(tree: &'t ExamView<'_>, package: &Package) -> impl Iterator<Item = String> + use<'t> {
    let folder = package.source_path("tests").unwrap_or_default();
    tree.paths().filter(move |path| folder_of(path) == folder && path.ends_with(".rs")).map(str::to_owned)
}
