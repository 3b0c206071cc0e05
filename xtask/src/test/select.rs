//! Selection of tests: filters as libtest has them, packages, targets, and the scope of a
//! change.

use std::collections::BTreeSet;
use std::fmt;

use crate::ChoreResult;

use super::programs::TestProgram;

/// Wanted tests, from the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    filters: Vec<String>,
    skipped: Vec<String>,
    is_exact: bool,
    packages: Vec<String>,
    targets: Vec<String>,
    /// Prints what passing tests print.
    pub(super) show_output: bool,
    /// Prints the slowest tests, and writes the committed table of them.
    pub(super) durations: bool,
    /// The commit that the work tree is compared with; then `scope` follows.
    pub(super) changed_since: Option<String>,
    pub(super) scope: Scope,
}

/// Tests that a change can touch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    #[default]
    Everything,
    /// Whole packages, and single tests of others by package and beginning of the name.
    Some { packages: BTreeSet<String>, tests: BTreeSet<(String, String)> },
}

impl Scope {
    fn includes(&self, package: &str, test: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Some { packages, tests } => {
                packages.contains(package)
                    || tests.iter().any(|(owner, prefix)| owner == package && test.starts_with(prefix.as_str()))
            }
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Some { packages, tests } = self else { return f.write_str("all tests") };
        let tests = tests.iter().map(|(package, prefix)| format!("{package} {prefix}"));
        let words: Vec<String> = packages.iter().cloned().chain(tests).collect();
        f.write_str(if words.is_empty() { "no tests" } else { "tests of " })?;
        f.write_str(&words.join(", "))
    }
}

impl Selection {
    /// Reads the arguments of `cargo xtask test`.
    pub(super) fn read_selection(arguments: &[&str]) -> ChoreResult<Self> {
        let mut selection = Self::default();
        let mut words = arguments.iter().copied().peekable();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(value)),
                _ => (word, None),
            };
            let mut value =
                || joined.or_else(|| words.next()).map(str::to_owned).ok_or(format!("{name} needs a value"));
            match name {
                "--" => {}
                "--durations" => selection.durations = true,
                "--changed" => {
                    let base = joined.or_else(|| words.next_if(|word| !word.starts_with('-')));
                    selection.changed_since = Some(base.unwrap_or("HEAD").to_owned());
                }
                "--exact" => selection.is_exact = true,
                "--nocapture" | "--no-capture" | "--show-output" => selection.show_output = true,
                "--skip" => selection.skipped.push(value()?),
                "-p" | "--package" => selection.packages.push(value()?),
                "--test" => selection.targets.push(value()?),
                _ if word.starts_with('-') => return Err(format!("cargo xtask test has no option {word}")),
                _ => selection.filters.push(word.to_owned()),
            }
        }
        Ok(selection)
    }

    /// True if the test is selected.
    pub(super) fn includes(&self, program: &TestProgram, test: &str) -> bool {
        let matches = |filter: &String| if self.is_exact { test == filter } else { test.contains(filter.as_str()) };
        let is_named = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        is_named(&self.packages, &program.package)
            && is_named(&self.targets, &program.target)
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skipped.iter().any(matches)
            && self.scope.includes(&program.package, test)
    }

    /// No test is left out.
    pub(super) fn is_everything(&self) -> bool {
        let lists = [&self.filters, &self.skipped, &self.packages, &self.targets];
        lists.iter().all(|list| list.is_empty()) && self.scope == Scope::Everything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(arguments: &[&str], scope: Scope) -> Vec<String> {
        let program = |package: &str, target: &str| TestProgram {
            package: package.to_owned(),
            target: target.to_owned(),
            executable: "/x".into(),
            folder: "/".into(),
        };
        let selection = Selection { scope, ..Selection::read_selection(arguments).unwrap() };
        let programs = [program("cto", "it"), program("cto", "cto"), program("gate", "gate")];
        let tests = ["cli::help", "cli::help_of_run", "gc::help"];
        let all = programs.iter().flat_map(|program| tests.map(|test| (program, test)));
        let chosen = all.filter(|(program, test)| selection.includes(program, test));
        chosen.map(|(program, test)| format!("{} {} {test}", program.package, program.target)).collect()
    }

    #[test]
    fn tests_are_chosen_as_libtest_does() {
        let everywhere = |tests: &[&str]| {
            ["cto it", "cto cto", "gate gate"]
                .iter()
                .flat_map(|at| tests.iter().map(move |test| format!("{at} {test}")))
                .collect()
        };
        for (arguments, expected) in [
            (&[] as &[&str], everywhere(&["cli::help", "cli::help_of_run", "gc::help"])),
            (&["cli"], everywhere(&["cli::help", "cli::help_of_run"])),
            (&["--", "of_run", "gc::"], everywhere(&["cli::help_of_run", "gc::help"])),
            (&["--", "--exact", "cli::help"], everywhere(&["cli::help"])),
            (&["help", "--", "--skip", "cli"], everywhere(&["gc::help"])),
            (&["--skip=gc", "--", "--exact", "--skip", "cli::help"], everywhere(&["cli::help_of_run", "gc::help"])),
            (&["-p", "cto", "--test", "it", "gc"], vec!["cto it gc::help".to_owned()]),
        ] {
            assert_eq!(chosen(arguments, Scope::Everything), expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_scope_narrows_what_is_chosen() {
        let scope = Scope::Some {
            packages: BTreeSet::from(["gate".to_owned()]),
            tests: BTreeSet::from([("cto".to_owned(), "gc::".to_owned())]),
        };
        assert_eq!(chosen(&["help"], scope.clone())[..2], ["cto it gc::help", "cto cto gc::help"]);
        assert_eq!(chosen(&["help"], scope).len(), 5);
    }

    #[test]
    fn a_base_is_optional_and_unknown_options_are_refused() {
        let base = |arguments: &[&str]| Selection::read_selection(arguments).unwrap().changed_since;
        assert_eq!(base(&["--changed"]), Some("HEAD".to_owned()));
        assert_eq!(base(&["--changed", "main"]), Some("main".to_owned()));
        assert_eq!(base(&["--changed", "--durations"]), Some("HEAD".to_owned()));
        assert_eq!(base(&[]), None);
        assert!(Selection::read_selection(&["--release"]).is_err());
        assert!(Selection::read_selection(&["--skip"]).is_err());
    }
}
