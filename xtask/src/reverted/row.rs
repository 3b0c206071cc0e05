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
