//! A failing function at the end of each file that pytest ran.

use super::command::{Arguments, Filter};
use super::python::{has_line, is_identifier, module};
use super::tree::{ExamView, joined, name_of};
use super::wanted::{ControlRequest, ControlTest};

/// Options whose value is the next word.
const WITH_VALUE: [&str; 20] = [
    "-k",
    "-m",
    "-p",
    "-c",
    "-o",
    "-r",
    "-n",
    "-W",
    "--junitxml",
    "--junit-xml",
    "--maxfail",
    "--durations",
    "--tb",
    "--rootdir",
    "--confcutdir",
    "--ignore",
    "--deselect",
    "--basetemp",
    "--cov",
    "--log-level",
];

/// Files that may hold options of their own.
const SETTINGS: [&str; 6] = ["pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"];

/// Control tests for pytest; `None` if marks, names or settings select tests.
pub(super) fn pytest_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let words = wanted.commands.after(&["pytest"]).or_else(|| wanted.commands.after(&["py.test"]));
    let arguments = Arguments::of_words(words.unwrap_or_default(), &WITH_VALUE);
    let picks_by_mark = arguments.values(&["-m"]).any(|marks| !marks.starts_with("not "));
    let picks_by_name = arguments.plain.iter().any(|name| name.contains("::"));
    if picks_by_mark || picks_by_name || settings_pick(wanted.tree) {
        return None;
    }
    let suffix = Filter::of_filters(arguments.values(&["-k"])).suffix("_")?;
    Some(wanted.each(places(wanted), |(path, prefix), name| {
        let function = format!("{prefix}_{name}{suffix}");
        wanted.appended(path, name, &format!("\n\ndef {function}():\n    assert \"found\" == \"expected\"\n"))
    }))
}

/// Files with a test that ran, each with what names of tests begin with in it. Those that
/// are named as test files are come first.
fn places(wanted: &ControlRequest<'_>) -> Vec<(String, String)> {
    let files = wanted.ran_in(|identity| identity.split("::").next().unwrap_or(identity));
    let found = files.filter_map(|identity| place_of(wanted.tree, identity));
    let mut places: Vec<(String, String)> = found.filter(|(path, _)| is_suitable(wanted.tree, path)).collect();
    let is_usual = |path: &str| name_of(path).starts_with("test_") || name_of(path).ends_with("_test.py");
    places.sort_by_key(|(path, _)| !is_usual(path));
    places
}

/// File of a test that ran, and the prefix that its project gives to test functions.
pub(super) fn place_of(tree: &ExamView<'_>, identity: &str) -> Option<(String, String)> {
    let (file, names) = identity.split_once("::")?;
    // The parameters may hold anything.
    let names = names.split('[').next().unwrap_or(names);
    let function = names.rsplit("::").next().filter(|function| is_identifier(function))?;
    let prefix = match function.starts_with("test") {
        true => "test",
        // The settings say how tests are named; what this one begins with is allowed.
        false => function.split_once('_')?.0,
    };
    let path = match file.ends_with(".py") {
        true => tree.find_file(file)?,
        // Without the file, the class: its beginning is the module.
        false => module(tree, file, &[])?.0,
    };
    Some((path, prefix.to_owned()))
}

/// A mark for the whole file may expect every test to fail.
fn is_suitable(tree: &ExamView<'_>, path: &str) -> bool {
    tree.read_text(path).is_some_and(|content| !has_line(&content, "pytestmark"))
}

/// True if options in the repository's settings select tests.
fn settings_pick(tree: &ExamView<'_>) -> bool {
    let files = tree.upwards().flat_map(|folder| SETTINGS.iter().filter_map(move |file| joined(folder, file)));
    files.filter_map(|path| tree.read_text(&path)).any(|text| options(&text).is_some_and(picks))
}

/// Text after `addopts`, as far as its options can reach.
fn options(settings: &str) -> Option<&str> {
    let at = settings.find("addopts")?;
    let rest = &settings[at..];
    let end = ["\n\n", "\n["].iter().filter_map(|end| rest.find(end)).min();
    Some(&rest[..end.unwrap_or(rest.len())])
}

fn picks(options: &str) -> bool {
    let between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '=' | '[' | ']');
    let words: Vec<&str> = options.split(between).filter(|word| !word.is_empty()).collect();
    words.iter().zip(words.iter().skip(1)).any(|(word, next)| match *word {
        "-k" => true,
        "-m" => *next != "not",
        _ => false,
    })
}
