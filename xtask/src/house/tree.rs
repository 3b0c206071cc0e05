//! The figures of a tree of Rust packages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::cycles::{Cycle, folder_cycles, module_cycles};
use super::items::items;
use super::lexer::lex;
use super::modules::PackageModules;
use super::names::find_metaphors;
use crate::ChoreResult;

/// Words that a doc comment should not begin with.
const QUESTIONS: &[&str] = &["What", "Where", "Whether", "Who", "Which", "How", "Why", "When"];

/// All counts, without tests by default.
#[derive(Debug, Default)]
pub(super) struct MeasuredTree {
    /// Lines of each file.
    pub(super) files: Vec<usize>,
    pub(super) code_lines: usize,
    pub(super) unwraps: usize,
    /// Packages of others; crates of the workspace have no source.
    pub(super) locked: usize,
    pub(super) packages: Packages,
    functions: Vec<usize>,
    one_word: usize,
    visible_functions: usize,
    types: BTreeMap<String, usize>,
    /// Names of all types, and the files without tests.
    type_names: BTreeSet<String>,
    /// Names of all functions without those of tests.
    function_names: BTreeSet<String>,
    module_files: Vec<PathBuf>,
    documented: usize,
    visible: usize,
    docs: usize,
    questions: usize,
    comment_lines: usize,
    code_chars: usize,
    clones: usize,
    test_lines: usize,
}

/// Measures every Rust file below `root`, except those in `target` and hidden folders.
pub(super) fn measure_tree(root: &Path) -> ChoreResult<MeasuredTree> {
    let mut measured = MeasuredTree::default();
    let mut sources = Vec::new();
    collect_sources(root, &mut sources)?;
    sources.sort();
    for path in &sources {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let inner = path.strip_prefix(root).unwrap_or(path);
        let (code, tests) = split_tests(&text, is_test(inner));
        measured.test_lines += tests;
        if !code.is_empty() {
            measured.add(code);
            measured.module_files.push(inner.to_owned());
        }
        measured.packages.add_file(inner, &text);
    }
    measured.packages.drop_tests();
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    measured.locked = lock.lines().filter(|line| line.starts_with("source = ")).count();
    Ok(measured)
}

/// Adds every source file below a folder, without build products and hidden folders.
pub(crate) fn collect_sources(folder: &Path, found: &mut Vec<PathBuf>) -> ChoreResult {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect_sources(&path, found)?;
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// True for files of tests, and for crates that are there for tests alone.
pub(super) fn is_test(path: &Path) -> bool {
    let part = |part: std::path::Component<'_>| {
        matches!(
            part.as_os_str().to_str(),
            Some("tests" | "tests.rs" | "testkit" | "benches" | "examples" | "fixtures")
        )
    };
    path.components().any(part)
}

/// The code of a file, and how many lines of tests it has. Tests stand at its end.
pub(super) fn split_tests(text: &str, is_test: bool) -> (&str, usize) {
    if is_test {
        return ("", text.lines().count());
    }
    let begins = ["mod ", "pub(super) mod ", "pub(crate) mod ", "#[expect"];
    let at = begins.iter().filter_map(|begin| text.find(&format!("#[cfg(test)]\n{begin}"))).min();
    at.map_or((text, 0), |at| (&text[..at], text[at..].lines().count()))
}

/// The package of a file and its path below `src`.
fn place(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let at = path.iter().position(|part| part == "src")?;
    Some((path.iter().take(at).collect(), path.iter().skip(at + 1).collect()))
}

/// The modules of every package of a tree, by the folder of the package.
#[derive(Debug, Default)]
pub(super) struct Packages(pub(super) BTreeMap<String, PackageModules>);

impl Packages {
    fn add_file(&mut self, path: &Path, text: &str) {
        if let Some((package, inner)) = place(path) {
            let modules = self.0.entry(package.display().to_string()).or_default();
            modules.add_file(&inner, &path.display().to_string(), text);
        }
    }

    fn drop_tests(&mut self) {
        self.0.values_mut().for_each(PackageModules::drop_tests);
    }

    /// Circles of modules of all packages, the largest first.
    pub(super) fn module_cycles(&self) -> Vec<Cycle> {
        self.cycles(module_cycles)
    }

    /// Circles of folders of all packages, the largest first.
    pub(super) fn folder_cycles(&self) -> Vec<Cycle> {
        self.cycles(folder_cycles)
    }

    fn cycles(&self, of: fn(&str, &PackageModules) -> Vec<Cycle>) -> Vec<Cycle> {
        let mut found: Vec<Cycle> = self.0.iter().flat_map(|(package, modules)| of(package, modules)).collect();
        found.sort_by_key(|cycle| std::cmp::Reverse(cycle.modules.len()));
        found
    }
}

impl MeasuredTree {
    fn add(&mut self, code: &str) {
        let lexed = lex(code);
        let found = items(&lexed);
        self.files.push(code.lines().count());
        self.code_lines += lexed.code_lines;
        self.code_chars += lexed.code_chars;
        self.comment_lines += lexed.comment_lines;
        self.docs += lexed.docs.len();
        let asks = |doc: &&(usize, &str)| QUESTIONS.iter().any(|word| doc.1.split(' ').next() == Some(word));
        self.questions += lexed.docs.iter().filter(asks).count();
        self.unwraps += found.unwraps;
        self.clones += found.clones;
        self.functions.extend(found.functions.iter().map(|function| function.lines));
        self.function_names.extend(found.functions.iter().map(|item| item.name.to_owned()));
        for item in found.functions.iter().filter(|item| item.is_visible) {
            self.visible_functions += 1;
            self.one_word += usize::from(!item.name.contains('_'));
        }
        self.type_names.extend(found.types.iter().map(|item| item.name.to_owned()));
        for item in found.types.iter().filter(|item| item.is_visible) {
            *self.types.entry(item.name.to_owned()).or_default() += 1;
        }
        for item in found.functions.iter().chain(&found.types).filter(|item| item.is_visible) {
            self.visible += 1;
            self.documented += usize::from(item.is_documented);
        }
    }

    /// Percentile of the lines of a file.
    pub(super) fn file_lines(&self, percent: usize) -> f64 {
        percentile(&self.files, percent)
    }

    /// Percentile of the lines of a function.
    pub(super) fn function_lines(&self, percent: usize) -> f64 {
        percentile(&self.functions, percent)
    }

    /// Names that are metaphors.
    pub(super) fn metaphors(&self) -> Vec<String> {
        let types = self.type_names.iter().map(String::as_str);
        let functions = self.function_names.iter().map(String::as_str);
        find_metaphors(types, functions, self.module_files.iter().map(PathBuf::as_path))
    }

    /// Share of visible types whose name occurs once.
    pub(super) fn unique_types(&self) -> f64 {
        let once = self.types.values().filter(|count| **count == 1).count();
        percent(once, self.types.values().sum())
    }

    /// Share of visible functions whose name has no underscore.
    pub(super) fn one_word_functions(&self) -> f64 {
        percent(self.one_word, self.visible_functions)
    }

    /// Share of visible functions and types with a doc comment.
    pub(super) fn documented(&self) -> f64 {
        percent(self.documented, self.visible)
    }

    /// Share of doc comments that begin with a question word.
    pub(super) fn questions(&self) -> f64 {
        percent(self.questions, self.docs)
    }

    /// Share of comment lines among all lines with text.
    pub(super) fn comments(&self) -> f64 {
        percent(self.comment_lines, self.comment_lines + self.code_lines)
    }

    /// Average number of characters in a line of code, without indentation.
    pub(super) fn line_chars(&self) -> f64 {
        self.code_chars as f64 / self.code_lines.max(1) as f64
    }

    /// Calls of `clone` in a thousand lines of code.
    pub(super) fn clones(&self) -> f64 {
        percent(self.clones, self.code_lines) * 10.0
    }

    /// Lines of tests for a hundred lines of code.
    pub(super) fn tests(&self) -> f64 {
        percent(self.test_lines, self.code_lines)
    }

    /// Names of types that stand for several things, most frequent first.
    pub(super) fn commonest_types(&self, most: usize) -> Vec<String> {
        let mut types: Vec<(&String, &usize)> = self.types.iter().collect();
        types.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        types.into_iter().take(most).map(|(name, count)| format!("{name} {count}")).collect()
    }
}

fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn percentile(values: &[usize], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default() as f64
}
