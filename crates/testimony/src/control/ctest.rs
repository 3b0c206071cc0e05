//! A failing test in each CMakeLists.txt that adds tests.

use super::command::Arguments;
use super::wanted::{ControlRequest, ControlTest};

const LIST: &str = "CMakeLists.txt";
/// Options that choose among tests.
const CHOOSING: [&str; 11] = [
    "-R",
    "--tests-regex",
    "-E",
    "--exclude-regex",
    "-L",
    "--label-regex",
    "-LE",
    "--label-exclude",
    "-I",
    "--tests-information",
    "--rerun-failed",
];

/// Control tests for CTest; `None` if options select tests by name or label.
pub(super) fn ctest_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let arguments = Arguments::of_words(wanted.commands.after(&["ctest"]).unwrap_or_default(), &[]);
    if arguments.has_any(&CHOOSING) {
        return None;
    }
    let is_list = |path: &&str| *path == LIST || path.ends_with(&format!("/{LIST}"));
    let adds = |path: &&str| wanted.tree.read_text(path).is_some_and(|text| text.contains("add_test"));
    let lists: Vec<String> = wanted.tree.paths().filter(is_list).filter(adds).map(str::to_owned).collect();
    let addition = |name: &str| format!("\nadd_test(NAME handles_{name} COMMAND ${{CMAKE_COMMAND}} -E false)\n");
    Some(wanted.each(lists, |path, name| wanted.appended(path, name, &addition(name))))
}
