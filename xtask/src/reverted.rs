//! `cargo xtask reverted`: takes out one defence at a time and expects that its tests fail.
//! A test that passes without the line it is there for proves nothing.
//!
//! The rows stand in `xtask/reverted/*.toml`. Everything happens in a clone of HEAD with a
//! target folder of its own, below `target/reverted/`: the work tree and what is built
//! there stay as they are. The output of the tests is kept in its folder `said`, by the
//! name of the row. The attacks then meet no defence, so run this on a machine that may be
//! lost.

mod row;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{command_output, program, repository_root, run_command, target};
use crate::{ChoreResult, tools};
use row::{BINARY, Row, TestProgramName, read_file, read_rows};
use verdict::{RowVerdict, TestOutput};

/// Seconds for each test that is held; without its defence a test may well hang.
const PATIENCE: usize = 300;

/// Reverts the wanted rows one by one and fails if a row's tests pass without its defence.
pub(crate) fn run_reverted(wanted: &[&str]) -> ChoreResult {
    let mut rows = read_rows(&repository_root().join("xtask/reverted"))?;
    let tables: BTreeSet<String> = rows.iter().map(|row| row.table.clone()).collect();
    let is_meant = |row: &Row, word: &str| match tables.contains(word) {
        true => row.table == word,
        false => row.name.contains(word),
    };
    rows.retain(|row| wanted.is_empty() || wanted.iter().any(|word| is_meant(row, word)));
    if rows.is_empty() {
        return Err(format!("no table is called {0}, and no row's name contains it", wanted.join(" or ")));
    }
    let scratch = Scratch::prepare()?;
    scratch.check_untouched(&rows)?;
    let mut kept: Vec<String> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let place = format!("{}/{} {}", number + 1, rows.len(), row.name);
        match scratch.check(row) {
            Ok(verdict) => {
                println!("{place}: {verdict}");
                kept.extend(row.complaints(&verdict));
            }
            Err(error) => {
                println!("{place}: NOT TRIED");
                kept.push(error);
            }
        }
    }
    if !kept.is_empty() {
        return Err(kept.join("\n"));
    }
    println!("{} defences taken out, one at a time; each was missed by every test named", rows.len());
    Ok(())
}

/// A clone in which lines may be taken out.
struct Scratch {
    tree: PathBuf,
    target: PathBuf,
    tools: Vec<(&'static str, PathBuf)>,
}

impl Scratch {
    fn prepare() -> ChoreResult<Self> {
        let home = target().join("reverted");
        let tree = home.join("tree");
        fs::create_dir_all(home.join("said")).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
        let head = command_output(git(&repository_root()).args(["rev-parse", "HEAD"]))?;
        if !tree.join(".git").exists() {
            run_command(
                program("git", ["clone", "--quiet", "--no-checkout", "--shared"]).arg(repository_root()).arg(&tree),
            )?;
        }
        run_command(git(&tree).args(["fetch", "--quiet", "origin", head.trim()]))?;
        // Only what differs is written anew, so that little is built anew.
        run_command(git(&tree).args(["checkout", "--quiet", "--force", "--detach", head.trim()]))?;
        let mut made = Vec::new();
        for (variable, make) in tools::TOOLS {
            made.push((*variable, make()?));
        }
        Ok(Self { tree, target: home.join("target"), tools: made })
    }

    /// With every defence in place all of these tests pass.
    fn check_untouched(&self, rows: &[Row]) -> ChoreResult {
        let mut suites: BTreeMap<&TestProgramName, BTreeSet<&str>> = BTreeMap::new();
        for row in rows {
            suites.entry(&row.suite).or_default().extend(row.fails.iter().map(String::as_str));
        }
        for (suite, tests) in suites {
            let tests: Vec<&str> = tests.into_iter().collect();
            let said = self.hold(suite, &tests)?;
            let failing: Vec<&str> = tests.iter().copied().filter(|test| !said.passed(test)).collect();
            if !failing.is_empty() {
                return Err(format!("these fail with nothing taken out: {}\n{}", failing.join(", "), said.0));
            }
        }
        if rows.iter().any(Row::needs_only_a_new_binary) {
            self.keep_tests()?;
        }
        println!("with nothing taken out they all pass");
        Ok(())
    }

    /// Puts aside the tests that run our binary, as they are with nothing taken out.
    fn keep_tests(&self) -> ChoreResult {
        let selected = ["test", "--quiet", "--package", BINARY, "--test", "it", "--no-run", "--message-format=json"];
        let told = command_output(&mut self.cargo(&selected))?;
        let artifacts = told.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut tests = artifacts.filter(|artifact| artifact["target"]["name"] == "it");
        let test = tests.find_map(|artifact| artifact["executable"].as_str().map(PathBuf::from));
        let test = test.ok_or("cargo does not say where the tests are")?;
        fs::copy(&test, self.kept_tests()).map_err(|error| format!("cannot copy {}: {error}", test.display()))?;
        Ok(())
    }

    fn kept_tests(&self) -> PathBuf {
        self.target.with_file_name("kept-tests")
    }

    fn check(&self, row: &Row) -> ChoreResult<RowVerdict> {
        let edited = row.edited(&self.tree)?;
        let mut untouched = BTreeMap::new();
        for file in edited.keys() {
            untouched.insert(file.clone(), read_file(&self.tree.join(file))?);
        }
        self.write(&edited)?;
        let verdict = self.check_edited(row);
        self.write(&untouched)?;
        verdict.map_err(|error| format!("{}: {error}", row.name))
    }

    /// The tests that run our binary are held as they were built before: most rows change
    /// nothing else, and building the binary alone takes a third of the time. A test that
    /// passes may be one that calls the changed code itself.
    fn check_edited(&self, row: &Row) -> ChoreResult<RowVerdict> {
        let tests: Vec<&str> = row.fails.iter().map(String::as_str).collect();
        let judge = |said: TestOutput| {
            let file = self.target.with_file_name("said").join(format!("{}.txt", row.name));
            fs::write(&file, &said.0).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            Ok(RowVerdict::of_output(&row.fails, &said))
        };
        if row.needs_only_a_new_binary() {
            let verdict = judge(self.hold_with_new_binary(&row.suite, &tests)?)?;
            if verdict.passing.is_empty() {
                return Ok(verdict);
            }
        }
        self.hold(&row.suite, &tests).and_then(judge)
    }

    fn write(&self, texts: &BTreeMap<PathBuf, String>) -> ChoreResult {
        for (file, text) in texts {
            fs::write(self.tree.join(file), text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    }

    /// Builds and runs the tests; what does not build is an error, what ends in any way is not.
    fn hold(&self, suite: &TestProgramName, tests: &[&str]) -> ChoreResult<TestOutput> {
        let package = suite.package.as_str();
        if self.tree.join("crates").join(package).join("examples").exists() {
            run_command(&mut self.cargo(&["build", "--quiet", "--package", package, "--examples"]))?;
        }
        let mut selected = vec!["test", "--quiet", "--package", package];
        match suite.test.as_str() {
            "lib" => selected.push("--lib"),
            // Built with the feature of its name alone.
            "fleet" => selected.extend(["--features", "fleet", "--test", "fleet"]),
            test => selected.extend(["--test", test]),
        }
        run_command(self.cargo(&selected).arg("--no-run"))?;
        let mut command = patiently(self.cargo(&[]).get_program(), tests.len());
        command.args(["test", "--package", package]).args(&selected[4..]).arg("--").current_dir(&self.tree);
        self.finish(command, suite, tests)
    }

    /// Builds the binary, and runs the tests against it that were built when nothing was
    /// taken out.
    fn hold_with_new_binary(&self, suite: &TestProgramName, tests: &[&str]) -> ChoreResult<TestOutput> {
        run_command(&mut self.cargo(&["build", "--quiet", "--package", &suite.package, "--bins"]))?;
        let mut command = patiently(self.kept_tests().as_os_str(), tests.len());
        command.current_dir(self.tree.join("crates").join(&suite.package));
        self.finish(command, suite, tests)
    }

    fn finish(&self, mut command: Command, suite: &TestProgramName, tests: &[&str]) -> ChoreResult<TestOutput> {
        command.arg("--exact").args(tests);
        self.set_variables(&mut command);
        command.envs(suite.variables.iter().filter_map(|pair| pair.split_once('=')));
        let output = command.output().map_err(|error| format!("cannot start timeout: {error}"))?;
        Ok(TestOutput(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = crate::process::cargo(arguments);
        command.current_dir(&self.tree);
        self.set_variables(&mut command);
        command
    }

    fn set_variables(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", &self.target).env_remove("CARGO_MANIFEST_DIR");
        command.envs(self.tools.iter().map(|(variable, path)| (variable, path)));
    }
}

fn patiently(name: &OsStr, tests: usize) -> Command {
    let mut command = program("timeout", ["--kill-after=10"]);
    command.arg((PATIENCE * tests).to_string()).arg(name);
    command
}

fn git(tree: &Path) -> Command {
    let mut command = program("git", ["-C"]);
    command.arg(tree);
    command
}
