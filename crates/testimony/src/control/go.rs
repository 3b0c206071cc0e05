//! A new file with a failing test beside the tests of each Go package that ran.

use std::collections::BTreeSet;

use super::command::{Arguments, Filter};
use super::tree::{ExamView, folder_of, joined, name_of};
use super::wanted::{ControlRequest, ControlTest, capital};

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

/// Control tests for `go test`; `None` if the command's filters cannot be satisfied.
pub(super) fn go_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["go", "test"]).unwrap_or_default();
    let arguments = Arguments::of_words(words, &WITH_VALUE);
    if arguments.has_any(&["-skip", "-list", "-C"]) {
        return None;
    }
    let filter = Filter::of_filters(arguments.values(&["-run"]));
    if filter == Filter::Unknown {
        return None;
    }
    let modules = modules(wanted.tree);
    let siblings = wanted.ran_in(function).filter_map(|identity| sibling(wanted.tree, &modules, identity));
    let mut folders = BTreeSet::new();
    let siblings: Vec<String> = siblings.filter(|sibling| folders.insert(folder_of(sibling).to_owned())).collect();
    Some(wanted.each(siblings, |sibling, name| beside(wanted.tree, sibling, name, &filter)))
}

/// A new file in the package of a test file.
fn beside(tree: &ExamView<'_>, sibling: &str, name: &str, filter: &Filter<'_>) -> Option<ControlTest> {
    let function = match filter {
        // A filter is a pattern that may fit anywhere in a name.
        Filter::Word(word) if word.starts_with("Test") => format!("{word}{}", capital(name)),
        Filter::Word(word) => format!("Test{}{word}", capital(name)),
        Filter::None | Filter::Unknown => format!("Test{}", capital(name)),
    };
    let package = package_clause(&tree.read_text(sibling)?)?;
    let path = joined(folder_of(sibling), &format!("{name}_test.go"))?;
    let content = format!(
        "package {package}\n\nimport \"testing\"\n\nfunc {function}(t *testing.T) {{\n\tt.Fatal(\"unexpected value\")\n}}\n"
    );
    (!tree.has_file(&path)).then(|| ControlTest { path, content: content.into_bytes(), name: name.to_owned() })
}

/// Each module's path with its folder, the longest first.
pub(super) fn modules(tree: &ExamView<'_>) -> Vec<(String, String)> {
    let files = tree.paths().filter(|path| name_of(path) == "go.mod");
    let module = |text: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("module ").map(str::to_owned))?;
        Some(line.split("//").next()?.trim().trim_matches('"').to_owned())
    };
    let mut modules: Vec<(String, String)> =
        files.filter_map(|path| Some((module(&tree.read_text(path)?)?, folder_of(path).to_owned()))).collect();
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
pub(super) fn sibling(tree: &ExamView<'_>, modules: &[(String, String)], identity: &str) -> Option<String> {
    let (package, function) = function(identity).split_once("::")?;
    let folder = modules.iter().find_map(|(module, folder)| {
        let rest = package.strip_prefix(module.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        joined(folder, rest.trim_start_matches('/'))
    })?;
    let declaration = format!("func {function}(");
    let mut tests = tree.paths().filter(|path| folder_of(path) == folder && path.ends_with("_test.go"));
    tests.find(|path| tree.read_text(path).is_some_and(|text| text.contains(&declaration))).map(str::to_owned)
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
