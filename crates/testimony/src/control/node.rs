//! A failing test at the end of each file that Node's test runner ran.
//!
//! Node does not name the file of a test. The files are those that the command runs, first
//! those with the name of a test that ran in them.

use super::command::{Arguments, Filter};
use super::tree::{ExamView, folder_of, joined, name_of};
use super::wanted::{ControlRequest, ControlTest};

const WITH_VALUE: [&str; 15] = [
    "--test-name-pattern",
    "--test-skip-pattern",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-timeout",
    "--test-concurrency",
    "--test-shard",
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-C",
    "--conditions",
    "--env-file",
];

/// Beyond this many files that the command may run none is looked for.
const MOST_FILES: usize = 2000;

/// Upper bound on the test titles that are searched for in each file.
const MOST_TITLES: usize = 50;

/// Control tests for Node's runner; `None` if options select tests or no file is run.
pub(super) fn node_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["node"]);
    let arguments = Arguments::of_words(words.unwrap_or_default(), &WITH_VALUE);
    if arguments.has_any(&["--test-only", "--test-shard", "--test-skip-pattern", "-e", "--eval", "-p", "--print"]) {
        return None;
    }
    let suffix = Filter::of_filters(arguments.values(&["--test-name-pattern"])).suffix(" ")?;
    let files = files(wanted.tree, words.is_some(), &arguments);
    let files: Vec<String> =
        files.into_iter().take(MOST_FILES).filter(|path| is_test_file(wanted.tree, path)).collect();
    // What the command is known to run needs no more proof than that; the name of a test
    // that ran shows it first.
    let (shown, others): (Vec<String>, Vec<String>) = files.into_iter().partition(|path| shows_test(wanted, path));
    let others = if words.is_some() { others } else { Vec::new() };
    let files = shown.into_iter().chain(others).collect();
    Some(wanted.each(files, |path, name| {
        let content = wanted.tree.read_text(path)?;
        wanted.appended(path, name, &addition(is_module(wanted.tree, path, &content), name, &suffix))
    }))
}

/// A test that fails by the means that tests fail by, so that a patch which silences
/// assertions is seen too.
fn addition(module: bool, name: &str, suffix: &str) -> String {
    let title = format!("handles {name}{suffix}");
    let test = |assert: &str| format!("('{title}', () => {{\n  {assert}.strictEqual('found', 'expected');\n}});\n");
    match module {
        true => format!(
            "\nimport {{ test as {name}Test }} from 'node:test';\nimport {name}Assert from 'node:assert';\n\n{name}Test{}",
            test(&format!("{name}Assert"))
        ),
        // What stands before may end without a semicolon.
        false => format!("\n;require('node:test').test{}", test("require('node:assert')")),
    }
}

fn is_test_file(tree: &ExamView<'_>, path: &str) -> bool {
    tree.read_text(path).is_some_and(|content| content.contains("node:test"))
}

/// True if the file contains the name of a test that ran.
fn shows_test(wanted: &ControlRequest<'_>, path: &str) -> bool {
    let Some(content) = wanted.tree.read_text(path) else { return false };
    let mut titles = wanted.ran().take(MOST_TITLES).map(|identity| identity.rsplit(" > ").next().unwrap_or(identity));
    titles.any(|title| !title.is_empty() && content.contains(title))
}

/// Files that the command runs.
fn files(tree: &ExamView<'_>, known: bool, arguments: &Arguments<'_>) -> Vec<String> {
    let plain = match known && !arguments.has_option("--test") {
        // What follows the script is for the script.
        true => arguments.plain.iter().take(1).copied().collect(),
        false => arguments.plain.clone(),
    };
    if plain.is_empty() {
        return below(tree, tree.cwd()).filter(|path| is_default(from(tree.cwd(), path))).map(str::to_owned).collect();
    }
    plain.into_iter().filter_map(|given| tree.path_from_root(given)).flat_map(|given| matching(tree, &given)).collect()
}

/// The file, what a pattern matches, or what Node finds in a folder.
fn matching(tree: &ExamView<'_>, given: &str) -> Vec<String> {
    if tree.has_file(given) {
        return vec![given.to_owned()];
    }
    let is_pattern = given.contains(['*', '?', '[', '{']);
    let found = below(tree, if is_pattern { "" } else { given });
    let fits = |path: &&str| match is_pattern {
        true => fast_glob::glob_match(given, path),
        false => is_default(path),
    };
    found.filter(fits).map(str::to_owned).collect()
}

fn below<'t>(tree: &'t ExamView<'_>, folder: &str) -> impl Iterator<Item = &'t str> + use<'t> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let installed = |path: &&str| path.split('/').any(|part| part == "node_modules");
    tree.paths().filter(move |path| path.starts_with(&prefix)).filter(move |path| !installed(path))
}

fn from<'p>(folder: &str, path: &'p str) -> &'p str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// True if Node takes the file for a test without being given names.
fn is_default(path: &str) -> bool {
    let Some((stem, extension)) = name_of(path).rsplit_once('.') else { return false };
    let script = matches!(extension, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts");
    let named = stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end));
    script && (named || folder_of(path).split('/').any(|folder| folder == "test"))
}

/// True for an ES module: by its ending, by the nearest package, or by its own statements.
fn is_module(tree: &ExamView<'_>, path: &str, content: &str) -> bool {
    match path.rsplit('.').next() {
        Some("mjs" | "mts") => return true,
        Some("cjs" | "cts") => return false,
        _ => {}
    }
    let folders =
        std::iter::successors(Some(folder_of(path)), |folder| (!folder.is_empty()).then(|| folder_of(folder)));
    let mut packages = folders.filter_map(|folder| tree.read_file(&joined(folder, "package.json")?));
    let package = packages.next().and_then(|package| serde_json::from_slice::<serde_json::Value>(&package).ok());
    match package.as_ref().and_then(|package| package.get("type")?.as_str()) {
        Some("module") => true,
        Some("commonjs") => false,
        _ => {
            !content.contains("require(")
                && content.lines().any(|line| line.starts_with("import ") || line.starts_with("export "))
        }
    }
}
