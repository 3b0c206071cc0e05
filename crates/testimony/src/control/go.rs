//! A new file with a failing test beside the tests of a Go package that ran.

use super::command::{Arguments, Filter};
use super::tree::{Tree, folder_of, joined, name_of};
use super::{ControlTest, Wanted};

const WITH_VALUE: [&str; 14] = [
    "-run",
    "-skip",
    "-bench",
    "-count",
    "-timeout",
    "-tags",
    "-cpu",
    "-parallel",
    "-p",
    "-coverprofile",
    "-o",
    "-exec",
    "-mod",
    "-C",
];

pub(super) fn control(wanted: &Wanted<'_>) -> Option<ControlTest> {
    let words = wanted.commands.after(&["go", "test"]).unwrap_or_default();
    let arguments = Arguments::of(words, &WITH_VALUE);
    if arguments.has_any(&["-skip", "-list", "-C"]) {
        return None;
    }
    let filter = Filter::of(arguments.values(&["-run"]));
    let name = match &filter {
        Filter::None => format!("Test{}", wanted.capital()),
        // A filter is a pattern that may fit anywhere in a name.
        Filter::Word(word) if word.starts_with("Test") => format!("{word}{}", wanted.capital()),
        Filter::Word(word) => format!("Test{}{word}", wanted.capital()),
        Filter::Unknown => return None,
    };
    let modules = modules(wanted.tree);
    let mut functions = wanted.ran_in(function);
    let sibling = functions.find_map(|identity| sibling(wanted.tree, &modules, identity))?;
    let package = package_clause(&wanted.tree.text(&sibling)?)?;
    let path = joined(folder_of(&sibling), &format!("{}_test.go", wanted.name))?;
    let content = format!(
        "package {package}\n\nimport \"testing\"\n\nfunc {name}(t *testing.T) {{\n\tt.Fatal(\"unexpected value\")\n}}\n"
    );
    (!wanted.tree.has(&path)).then(|| wanted.control(&path, content.into_bytes()))
}

/// Each module's path with its folder, the longest first.
fn modules(tree: &Tree<'_>) -> Vec<(String, String)> {
    let files = tree.paths().filter(|path| name_of(path) == "go.mod");
    let module = |text: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("module ").map(str::to_owned))?;
        Some(line.split("//").next()?.trim().trim_matches('"').to_owned())
    };
    let mut modules: Vec<(String, String)> =
        files.filter_map(|path| Some((module(&tree.text(path)?)?, folder_of(path).to_owned()))).collect();
    modules.sort_by_key(|(module, _)| std::cmp::Reverse(module.len()));
    modules
}

/// A test without its subtests.
fn function(identity: &str) -> &str {
    let package = identity.find("::").unwrap_or(identity.len());
    let end = identity[package..].find('/').map_or(identity.len(), |slash| package + slash);
    &identity[..end]
}

/// The file in which a test that ran stands.
fn sibling(tree: &Tree<'_>, modules: &[(String, String)], identity: &str) -> Option<String> {
    let (package, function) = function(identity).split_once("::")?;
    let folder = modules.iter().find_map(|(module, folder)| {
        let rest = package.strip_prefix(module.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        joined(folder, rest.trim_start_matches('/'))
    })?;
    let declaration = format!("func {function}(");
    let mut tests = tree.paths().filter(|path| folder_of(path) == folder && path.ends_with("_test.go"));
    tests.find(|path| tree.text(path).is_some_and(|text| text.contains(&declaration))).map(str::to_owned)
}

/// The name in the clause that a file begins with, behind its comments.
fn package_clause(text: &str) -> Option<String> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = match rest {
            _ if rest.starts_with("//") => rest.split_once('\n')?.1,
            _ if rest.starts_with("/*") => rest.split_once("*/")?.1,
            _ => break,
        }
        .trim_start();
    }
    let name = rest.strip_prefix("package ")?.trim_start();
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(name.len());
    (end > 0).then(|| name[..end].to_owned())
}
