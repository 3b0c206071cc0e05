//! A failing class at the end of each module that unittest ran.

use super::command::{Arguments, Filter};
use super::python::{has_line, module};
use super::tree::{joined, name_of};
use super::wanted::{ControlRequest, ControlTest, capital, distinct};

const WITH_VALUE: [&str; 8] =
    ["-k", "-s", "--start-directory", "-p", "--pattern", "-t", "--top-level-directory", "--durations"];

/// Control tests for unittest; `None` if its filter cannot be satisfied.
pub(super) fn unittest_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["-m", "unittest"]).unwrap_or_default();
    let arguments = Arguments::of_words(words, &WITH_VALUE);
    let suffix = Filter::of_filters(arguments.values(&["-k"])).suffix("_")?;
    let class = |name: &str| {
        format!(
            "\n\nclass Test{}(__import__(\"unittest\").TestCase):\n    def test_{name}{suffix}(self):\n        self.assertEqual(\"found\", \"expected\")\n",
            capital(name)
        )
    };
    if wanted.ran().any(|identity| identity.starts_with("__main__.")) {
        let name = wanted.name_of(0);
        return of_script(wanted, &name, &class(&name)).map(|control| vec![control]);
    }
    let paths = match wanted.exam.tests.is_empty() {
        true => unnamed(wanted, &arguments)?,
        false => named(wanted, &arguments),
    };
    Some(wanted.each(paths, |path, name| wanted.appended(path, name, &class(name))))
}

/// The modules of tests that ran.
fn named(wanted: &ControlRequest<'_>, arguments: &Arguments<'_>) -> Vec<String> {
    let folders = start_folders(arguments);
    let discovers = discovers(arguments);
    let classes = wanted.ran_in(|identity| identity.rsplit_once('.').map_or(identity, |(class, _)| class));
    let places = classes.filter_map(|identity| module(wanted.tree, identity, &folders));
    // A command that names modules runs all of each; one that names a class runs nothing
    // that is added beside it.
    let whole = |module: &str| discovers || arguments.plain.iter().any(|plain| dotted(plain) == module);
    let found = places.filter(|(path, module)| whole(module) && is_suitable(wanted, path));
    distinct(found.map(|(path, _)| path))
}

/// Without names: the modules that the command names, or files that are sure to be discovered.
fn unnamed(wanted: &ControlRequest<'_>, arguments: &Arguments<'_>) -> Option<Vec<String>> {
    wanted.commands.after(&["-m", "unittest"])?;
    if !discovers(arguments) {
        let named = arguments
            .plain
            .iter()
            .filter_map(|plain| wanted.tree.path_from_root(&format!("{}.py", dotted(plain).replace('.', "/"))));
        return Some(named.filter(|path| is_suitable(wanted, path)).collect());
    }
    if arguments.has_any(&["-p", "--pattern"]) {
        return None;
    }
    let start = start_folders(arguments).first().copied().unwrap_or_default();
    let start = wanted.tree.path_from_root(start)?;
    let below = wanted.tree.paths().filter(|path| joined(&start, name_of(path)).as_deref() == Some(path));
    let tests = below.filter(|path| name_of(path).starts_with("test") && path.ends_with(".py"));
    Some(tests.filter(|path| is_suitable(wanted, path)).map(str::to_owned).collect())
}

fn discovers(arguments: &Arguments<'_>) -> bool {
    arguments.plain.first().is_none_or(|first| *first == "discover")
}

fn start_folders<'a>(arguments: &Arguments<'a>) -> Vec<&'a str> {
    let options = ["-s", "--start-directory", "-t", "--top-level-directory"];
    let given = arguments.values(&options);
    let plain = arguments.plain.iter().skip(1).copied().filter(|_| discovers(arguments));
    given.chain(plain).collect()
}

/// A file given by its path is a module too.
fn dotted(name: &str) -> String {
    match name.strip_suffix(".py") {
        Some(path) => path.trim_start_matches("./").replace('/', "."),
        None => name.to_owned(),
    }
}

/// A module that decides itself what is loaded from it may leave out what is added.
fn is_suitable(wanted: &ControlRequest<'_>, path: &str) -> bool {
    wanted.tree.read_text(path).is_some_and(|content| {
        content.contains("TestCase") && content.contains("def test") && !has_line(&content, "def load_tests")
    })
}

/// A script calls the runner in its last lines: the class must be there before.
fn of_script(wanted: &ControlRequest<'_>, name: &str, class: &str) -> Option<ControlTest> {
    let scripts = wanted.commands.words().filter(|word| word.ends_with(".py"));
    let path =
        scripts.filter_map(|script| wanted.tree.path_from_root(script)).find(|path| is_suitable(wanted, path))?;
    let content = wanted.tree.read_file(&path)?;
    let call = last_line(&content, &[b"if __name__", b"unittest.main("])?;
    let (before, after) = content.split_at(call);
    let content = [before, class.as_bytes(), b"\n\n", after].concat();
    Some(ControlTest { path, content, name: name.to_owned() })
}

/// Start of the last line that begins with one of these.
fn last_line(content: &[u8], begins: &[&[u8]]) -> Option<usize> {
    let newlines = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut lines = std::iter::once(0).chain(newlines);
    lines.rfind(|at| begins.iter().any(|begin| content[*at..].starts_with(begin)))
}
