//! The exam set: files that judge an engine's work and that it may not change unless the
//! contract allows it.
//!
//! One table for each ecosystem, and one that always applies. The tables are part of the
//! rules (`rules_version`), because verdicts rely on them; the list in
//! docs/formats/exam-set.md is made from them.

use std::fmt;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path_set::{ParseGlobError, PathSet};

/// Rows of `role glob why`, with paths that the glob must match and paths it must not.
macro_rules! rules {
    ($($role:ident $glob:literal $why:literal is [$($is:literal),+] not [$($not:literal),*])*) => {
        &[$($crate::exam::Rule {
            role: $crate::exam::Role::$role,
            glob: $glob,
            why: $why,
            matches: &[$($is),+],
            leaves: &[$($not),*],
        },)*]
    };
}

mod always;
mod data;
mod find;
mod go;
mod node;
mod python;
mod rust;
mod shell;
#[cfg(test)]
mod tests;

pub use data::{DATA_FOLDERS, is_source_name, is_test_data};
pub use find::ecosystems_of;

/// Ecosystem: the tools with which a repository is built and tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(title = "ecosystem")]
pub enum Ecosystem {
    Python,
    Rust,
    Node,
    Go,
    Shell,
}

impl Ecosystem {
    /// Every value, in order.
    pub const ALL: &'static [Self] = &[Self::Python, Self::Rust, Self::Node, Self::Go, Self::Shell];

    /// Name in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Node => "node",
            Self::Go => "go",
            Self::Shell => "shell",
        }
    }

    /// As a heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Node => "Node",
            Self::Go => "Go",
            Self::Shell => "Shell, Make and CMake",
        }
    }

    /// Signs by which the ecosystem is found.
    pub const fn signs(self) -> &'static Signs {
        match self {
            Self::Python => &python::SIGNS,
            Self::Rust => &rust::SIGNS,
            Self::Node => &node::SIGNS,
            Self::Go => &go::SIGNS,
            Self::Shell => &shell::SIGNS,
        }
    }

    /// Rules that the ecosystem adds to the exam set.
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::Python => python::RULES,
            Self::Rust => rust::RULES,
            Self::Node => node::RULES,
            Self::Go => go::RULES,
            Self::Shell => shell::RULES,
        }
    }
}

impl fmt::Display for Ecosystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Signs that a repository uses an ecosystem.
#[derive(Debug)]
pub struct Signs {
    /// Names of files in the baseline.
    pub names: &'static [&'static str],
    /// Endings of files in the baseline.
    pub endings: &'static [&'static str],
    /// Programs that a verification command names; a version at the end is left aside.
    pub programs: &'static [&'static str],
}

/// Role of a protected path in the exam.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Tests,
    Runner,
    BuildHook,
    Integration,
}

impl Role {
    /// Every value, in order.
    pub const ALL: &'static [Self] = &[Self::Tests, Self::Runner, Self::BuildHook, Self::Integration];

    /// Name of the role in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tests => "test files",
            Self::Runner => "runner configuration",
            Self::BuildHook => "build hooks",
            Self::Integration => "continuous integration",
        }
    }
}

/// One glob of the exam set, with its reason and its own examples.
#[derive(Debug)]
pub struct Rule {
    pub role: Role,
    /// Matches at any depth, unless it begins with `/`.
    pub glob: &'static str,
    pub why: &'static str,
    /// Paths it must match; at least one of them is matched by no other rule.
    pub matches: &'static [&'static str],
    /// Paths it must leave alone.
    pub leaves: &'static [&'static str],
}

/// Rules for every repository.
pub const ALWAYS: &[Rule] = always::RULES;

/// The default rules of a repository in which these ecosystems were found.
pub fn rules(ecosystems: &[Ecosystem]) -> impl Iterator<Item = &'static Rule> {
    ALWAYS.iter().chain(ecosystems.iter().flat_map(|ecosystem| ecosystem.rules()))
}

/// True if a path configures a runner, a build or continuous integration in some ecosystem; a file that pytest runs before its tests
/// does too. Such a file decides what all other tests mean, so that naming it among the allowed paths is not enough to release it.
pub fn is_configuration(path: &[u8]) -> bool {
    static READ: OnceLock<Option<PathSet>> = OnceLock::new();
    let globs = || {
        let configuring = rules(Ecosystem::ALL).filter(|rule| rule.role != Role::Tests || rule.glob == "conftest.py");
        PathSet::any_depth(&configuring.map(|rule| rule.glob.to_owned()).collect::<Vec<_>>()).ok()
    };
    READ.get_or_init(globs).as_ref().is_none_or(|set| set.is_match(path))
}

/// Their globs, ready to be matched: read once in a process.
pub fn exam_sets(ecosystems: &[Ecosystem]) -> Result<Vec<&'static PathSet>, ParseGlobError> {
    static READ: [OnceLock<Result<PathSet, ParseGlobError>>; 1 + Ecosystem::ALL.len()] =
        [const { OnceLock::new() }; 1 + Ecosystem::ALL.len()];
    let read = |rules: &[Rule]| PathSet::any_depth(&rules.iter().map(|rule| rule.glob.to_owned()).collect::<Vec<_>>());
    let tables = [(0, ALWAYS)].into_iter().chain(ecosystems.iter().map(|one| (1 + *one as usize, one.rules())));
    tables.map(|(place, rules)| READ[place].get_or_init(|| read(rules)).as_ref().map_err(Clone::clone)).collect()
}
