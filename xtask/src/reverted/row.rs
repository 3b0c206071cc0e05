//! The rows of `xtask/reverted/*.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::verdict::RowVerdict;
use crate::ChoreResult;

/// The package whose tests run our binary.
pub(super) const BINARY: &str = "cto";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Rows of tests that must fall at least without any one of its defences.
    #[serde(default)]
    least_rows: usize,
    row: Vec<Row>,
}

/// A defence, the edit that takes it out, and the tests that must then fail.
// No `deny_unknown_fields`: serde cannot have it beside `flatten`.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    /// The file it stands in, without its ending.
    #[serde(skip)]
    pub(super) table: String,
    /// As its table has it.
    #[serde(skip)]
    least_rows: usize,
    pub(super) name: String,
    #[serde(flatten)]
    edit: Edit,
    /// Further edits, where one line alone does not take it out.
    #[serde(default)]
    also: Vec<Edit>,
    #[serde(flatten)]
    pub(super) suite: TestProgramName,
    pub(super) fails: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Edit {
    /// Below the repository.
    file: PathBuf,
    /// Occurs exactly once in the file.
    find: String,
    replace: String,
}

impl Edit {
    fn is_of_tests(&self) -> bool {
        self.file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "testkit")
    }
}

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct TestProgramName {
    pub(super) package: String,
    /// The name of a test target, or `lib`.
    pub(super) test: String,
    /// Variables of its environment, as `NAME=VALUE`.
    #[serde(default)]
    pub(super) variables: Vec<String>,
}

/// Reads the rows of all tables, in the order of their files.
pub(super) fn read_rows(folder: &Path) -> ChoreResult<Vec<Row>> {
    let fail = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entries = fs::read_dir(folder).map_err(|error| fail(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let text = read_file(&path)?;
        let table: Table = toml::from_str(&text).map_err(|error| fail(&path, &error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let Table { least_rows, row } = table;
        rows.extend(row.into_iter().map(|row| Row { table: name.clone().into_owned(), least_rows, ..row }));
    }
    Ok(rows)
}

impl Row {
    /// Tests that pass without the defence, and too few rows that fall.
    pub(super) fn complaints(&self, verdict: &RowVerdict) -> Vec<String> {
        let passing = verdict.passing.iter().map(|test| format!("{}: {test} passes without it", self.name));
        let few = (verdict.fallen() < self.least_rows)
            .then(|| format!("{}: {} rows fall of at least {}", self.name, verdict.fallen(), self.least_rows));
        passing.chain(few).collect()
    }

    /// Its tests run our binary, and it is no test that is edited.
    pub(super) fn needs_only_a_new_binary(&self) -> bool {
        let edits = std::iter::once(&self.edit).chain(&self.also);
        self.suite.package == BINARY && self.suite.test == "it" && !edits.into_iter().any(Edit::is_of_tests)
    }

    /// The texts of the files that are edited, without the defence.
    pub(super) fn edited(&self, tree: &Path) -> ChoreResult<BTreeMap<PathBuf, String>> {
        let mut texts = BTreeMap::new();
        for Edit { file, find, replace } in std::iter::once(&self.edit).chain(&self.also) {
            let text = match texts.remove(file) {
                Some(text) => text,
                None => read_file(&tree.join(file)).map_err(|error| format!("{}: {error}", self.name))?,
            };
            let edited = match text.matches(find.as_str()).count() {
                1 => text.replacen(find.as_str(), replace, 1),
                times => return Err(format!("{}: `{find}` occurs {times} times in {}", self.name, file.display())),
            };
            texts.insert(file.clone(), edited);
        }
        Ok(texts)
    }
}

/// Text of a file; the error names it.
pub(super) fn read_file(path: &Path) -> ChoreResult<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::verdict::TestOutput;
    use super::*;

    /// An edit that no longer fits would be found only by who runs the chore.
    #[test]
    fn every_row_fits_the_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let rows = read_rows(&root.join("xtask/reverted")).unwrap();
        let mut names = BTreeSet::new();
        for row in &rows {
            assert!(row.edited(&root).is_ok_and(|texts| !texts.is_empty()), "{:?}", row.edited(&root).err());
            assert!(!row.fails.is_empty() && names.insert(&row.name), "{}: names tests, once", row.name);
            assert!(row.table != "exam" || row.least_rows == 2, "two rows hold each rule of the verification");
        }
    }

    /// The source of the module of a test, and the rest of its path in that file; none if there is no such module.
    fn find_module<'a>(root: &Path, suite: &TestProgramName, test: &'a str) -> Option<(String, Vec<&'a str>)> {
        let folder = match suite.test.as_str() {
            "lib" => root.join("crates").join(&suite.package).join("src"),
            name => root.join("crates").join(&suite.package).join("tests").join(name),
        };
        let parts: Vec<&str> = test.split("::").collect();
        let modules = &parts[..parts.len() - 1];
        (0..=modules.len()).rev().find_map(|depth| {
            let below = modules[..depth].iter().fold(folder.clone(), |path, part| path.join(part));
            let mut files = vec![below.with_extension("rs"), below.join("mod.rs"), below.join("main.rs")];
            files.push(below.join("lib.rs"));
            let text = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
            Some((text, parts[depth..].to_vec()))
        })
    }

    /// A test that was renamed or moved would fail no more when its defence is gone, and be taken for one that passes.
    #[test]
    fn every_row_names_tests_that_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let is_there = |row: &Row, test: &str| {
            find_module(&root, &row.suite, test).is_some_and(|(text, rest)| {
                let (name, modules) = rest.split_last().unwrap();
                // Some tests are rows of a macro; some modules of a test program are files of another.
                let is_shared = text.contains("#[path");
                let stands = text.contains(&format!("fn {name}(")) || text.contains(&format!(" {name}: "));
                let holds = modules.iter().all(|module| text.contains(&format!("mod {module}")));
                holds && (stands || is_shared && !modules.is_empty())
            })
        };
        let rows = read_rows(&root.join("xtask/reverted")).unwrap();
        let tests = rows.iter().flat_map(|row| row.fails.iter().map(move |test| (row, test)));
        let gone: Vec<String> = tests
            .filter(|(row, test)| !is_there(row, test))
            .map(|(row, test)| format!("{}: {}: {} has no {test}", row.table, row.name, row.suite.test))
            .collect();
        assert!(gone.is_empty(), "{}", gone.join("\n"));
        let moved = Row {
            fails: Vec::new(),
            ..toml::from_str("name='a'\nfile='f'\nfind=''\nreplace=''\npackage='hermes'\ntest='lib'\nfails=[]").unwrap()
        };
        assert!(!is_there(&moved, "live::feed::tests::a_slow_viewer_takes_little_at_a_time"), "the control");
        assert!(is_there(&moved, "feeds::feed::tests::a_slow_viewer_takes_little_at_a_time"));
    }

    #[test]
    fn too_few_rows_are_complained_about() {
        let row = "name = 'a'\nfile = 'f'\nfind = ''\nreplace = ''\npackage = 'p'\ntest = 'lib'\nfails = ['t']";
        let row = |least_rows| Row { least_rows, ..toml::from_str(row).unwrap() };
        let verdict = |said: &str| RowVerdict::of_output(&["t".to_owned()], &TestOutput(said.to_owned()));
        assert_eq!(row(2).complaints(&verdict("test t ... FAILED")), ["a: 1 rows fall of at least 2"]);
        assert_eq!(row(1).complaints(&verdict("test t ... FAILED")), [""; 0]);
        assert_eq!(row(0).complaints(&verdict("test t ... ok")), ["a: t passes without it"]);
    }
}
