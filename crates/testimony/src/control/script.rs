//! A failing test at the end of each file that Mocha, Jest, Vitest or AVA ran.
//!
//! Jest and Vitest name the file of a test if they name tests. For the others, and if only
//! numbers are given, the files are those with the name of a test that ran, or those that
//! the runner takes by their names.

use super::command::Arguments;
use super::tree::name_of;
use super::wanted::{ControlRequest, ControlTest, distinct};
use crate::results::Runner;

/// Files that are looked through, and titles that are looked for in each.
const MOST_FILES: usize = 2000;
const MOST_TITLES: usize = 50;

/// Options that choose among tests by their names.
const CHOOSING: [&str; 12] = [
    "-t",
    "--testNamePattern",
    "--test-name-pattern",
    "-g",
    "--grep",
    "-f",
    "--fgrep",
    "-i",
    "--invert",
    "-m",
    "--match",
    "--shard",
];

/// Control tests for Mocha, Jest, Vitest and AVA.
pub(super) fn script_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let runner = wanted.exam.runner;
    let program = match runner {
        Runner::Mocha => "mocha",
        Runner::Jest => "jest",
        Runner::Vitest => "vitest",
        _ => "ava",
    };
    let words = wanted.commands.after(&[program]);
    if Arguments::of_words(words.unwrap_or_default(), &[]).has_any(&CHOOSING) {
        return None;
    }
    let named: Vec<String> = match runner {
        Runner::Jest | Runner::Vitest => {
            distinct(wanted.ran().filter_map(|test| Some(test.split_once(" > ")?.0.to_owned())))
        }
        _ => Vec::new(),
    };
    let named: Vec<String> = named.into_iter().filter(|path| wanted.tree.has_file(path)).collect();
    let files = if named.is_empty() { find_files(wanted, runner) } else { named };
    Some(wanted.each(files, |path, name| {
        let content = wanted.tree.read_text(path)?;
        wanted.appended(path, name, &addition(runner, is_module(path, &content), name))
    }))
}

/// Scripts that hold the title of a test that ran; where only numbers are known, those that
/// the runner takes by their names.
fn find_files(wanted: &ControlRequest<'_>, runner: Runner) -> Vec<String> {
    let is_installed = |path: &&str| path.split('/').any(|part| part == "node_modules");
    let scripts = wanted.tree.paths().filter(|path| is_script(path) && !is_installed(path)).take(MOST_FILES);
    let last = |test: &str| {
        let test = test.rsplit(" > ").next().unwrap_or(test).to_owned();
        test.rsplit(" › ").next().map(str::to_owned).unwrap_or(test)
    };
    let titles: Vec<String> = wanted.ran().take(MOST_TITLES).map(last).collect();
    let shows = |path: &&str| match titles.is_empty() {
        true => matches!(runner, Runner::Jest | Runner::Vitest) && is_default(path),
        false => {
            wanted.tree.read_text(path).is_some_and(|text| titles.iter().any(|title| text.contains(title.as_str())))
        }
    };
    scripts.filter(shows).map(str::to_owned).collect()
}

/// A test that fails by the means that tests fail by, so that a patch which silences
/// assertions is seen too.
fn addition(runner: Runner, module: bool, name: &str) -> String {
    let title = format!("handles {name}");
    match (runner, module) {
        (Runner::Jest, _) => format!("\n;test('{title}', () => {{\n  expect('found').toBe('expected');\n}});\n"),
        (Runner::Mocha, _) => format!("\n;it('{title}', () => {{\n  throw new Error('found, expected');\n}});\n"),
        (Runner::Vitest, _) => format!(
            "\nimport {{ test as {name}Test, expect as {name}Expect }} from 'vitest';\n\
             {name}Test('{title}', () => {{\n  {name}Expect('found').toBe('expected');\n}});\n"
        ),
        (_, true) => format!(
            "\nimport {name}Test from 'ava';\n{name}Test('{title}', t => {{\n  t.is('found', 'expected');\n}});\n"
        ),
        (_, false) => format!(
            "\n;const {name}Test = require('ava');\n({name}Test.default ?? {name}Test)('{title}', t => {{\n  \
             t.is('found', 'expected');\n}});\n"
        ),
    }
}

fn is_script(path: &str) -> bool {
    let ending = name_of(path).rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| matches!(ending, "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx"))
}

/// True if Jest and Vitest take the file for a test if they get no names.
fn is_default(path: &str) -> bool {
    let name = name_of(path);
    name.contains(".test.") || name.contains(".spec.") || path.split('/').any(|folder| folder == "__tests__")
}

fn is_module(path: &str, content: &str) -> bool {
    let by_ending = path.ends_with(".mjs") || path.ends_with(".mts");
    by_ending || content.lines().any(|line| line.starts_with("import "))
}
