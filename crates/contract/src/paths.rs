//! Rules for changed paths: allowed, forbidden and protected globs.

use std::collections::BTreeSet;

use crate::exam::{is_configuration, is_test_data};
pub use crate::path_set::{ParseGlobError, PathSet};
pub(crate) use crate::path_set::{is_plain, matches_some};

/// Judgement of the contract on one changed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathVerdict {
    Allowed,
    Forbidden,
    Protected,
    Outside,
}

/// The sets of a contract together.
#[derive(Debug, Clone)]
pub struct PathRules {
    pub allowed: PathSet,
    pub forbidden: PathSet,
    /// Defaults of the exam set. There are few, and every contract shares them.
    pub exam: Vec<&'static PathSet>,
    /// Globs that the contract adds to the exam set.
    pub protected: PathSet,
    /// Globs that the contract releases from the exam set.
    pub released: PathSet,
    /// Paths that the contract names one by one and from which no test of the baseline ran.
    /// Known once the baseline's exam was held.
    pub released_by_name: BTreeSet<Vec<u8>>,
}

impl PathRules {
    /// True if the path belongs to the exam set, and neither a glob nor a name releases it.
    pub fn is_protected(&self, path: &[u8]) -> bool {
        let mut sets = self.exam.iter().copied().chain([&self.protected]);
        let is_exam = sets.any(|set| set.is_match(path)) || is_test_data(path);
        is_exam && !self.released.is_match(path) && !self.released_by_name.contains(path)
    }

    /// True if naming a path among the allowed ones may release it: it belongs to the exam,
    /// and configures no runner, build or continuous integration.
    pub fn may_be_released_by_name(&self, path: &[u8]) -> bool {
        self.names_literally(path) && self.is_protected(path) && !is_configuration(path)
    }

    /// True if the exam has a path as the baseline has it, and not at all where it has
    /// none. A new test file inside `src/` of a Rust crate is source like any other: the
    /// module that names it does not build without it.
    pub fn is_restored(&self, path: &[u8], is_new: bool) -> bool {
        let is_unit_test = || is_rust_source(path) && !self.protected.is_match(path);
        self.is_protected(path) && !(is_new && is_unit_test())
    }

    /// True if the contract names this very path among those that may change, and not by a
    /// glob, and nothing narrows it away.
    pub fn names_literally(&self, path: &[u8]) -> bool {
        let is_named = self.allowed.globs().iter().any(|glob| is_plain(glob) && glob.as_bytes() == path);
        is_named && self.allowed.is_match(path)
    }

    /// These rules where a target's admission has lists of its own: allowed is what both
    /// allow, forbidden what either forbids.
    pub fn narrowed_by(self, allowed: &[String], forbidden: &[String]) -> Result<Self, ParseGlobError> {
        let forbidden = [self.forbidden.globs(), forbidden].concat();
        Ok(Self {
            allowed: self.allowed.narrowed_by(PathSet::rooted(allowed)?),
            forbidden: PathSet::any_depth(&forbidden)?,
            ..self
        })
    }

    /// Forbidden wins over all; a protected path may change only where it is also allowed.
    pub fn judge_path(&self, path: &[u8]) -> PathVerdict {
        if self.forbidden.is_match(path) {
            PathVerdict::Forbidden
        } else if self.allowed.is_match(path) {
            PathVerdict::Allowed
        } else if self.is_protected(path) {
            PathVerdict::Protected
        } else {
            PathVerdict::Outside
        }
    }

    /// Glob by which a path got its verdict; none where no glob decided.
    pub fn deciding_glob(&self, path: &[u8]) -> Option<&str> {
        match self.judge_path(path) {
            PathVerdict::Forbidden => self.forbidden.matching_glob(path),
            PathVerdict::Allowed => self.allowed.matching_glob(path),
            PathVerdict::Protected => {
                let mut sets = [&self.protected].into_iter().chain(self.exam.iter().copied());
                sets.find_map(|set| set.matching_glob(path))
            }
            PathVerdict::Outside => None,
        }
    }
}

/// A source file of Rust below a folder `src`, and no build script.
fn is_rust_source(path: &[u8]) -> bool {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    name.ends_with(b".rs") && name != b"build.rs" && parts.any(|part| part == b"src")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_set::GlobAnchor;

    fn set(globs: &[&str], anchor: GlobAnchor) -> Result<PathSet, ParseGlobError> {
        PathSet::read_globs(&globs.iter().map(ToString::to_string).collect::<Vec<_>>(), anchor)
    }

    #[test]
    fn forbidden_wins_and_allowed_releases_protected() {
        let rules = PathRules {
            allowed: set(&["src/", "test_a.py"], GlobAnchor::Root).unwrap(),
            forbidden: set(&["*.lock"], GlobAnchor::AnyDepth).unwrap(),
            exam: Vec::new(),
            protected: set(&["test_*.py"], GlobAnchor::AnyDepth).unwrap(),
            released: set(&["test_c.py"], GlobAnchor::AnyDepth).unwrap(),
            released_by_name: BTreeSet::from([b"test_d.py".to_vec()]),
        };
        for (path, verdict) in [
            ("src/a.py", PathVerdict::Allowed),
            ("src/a.lock", PathVerdict::Forbidden),
            ("test_a.py", PathVerdict::Allowed),
            ("test_b.py", PathVerdict::Protected),
            ("test_c.py", PathVerdict::Outside),
            ("test_d.py", PathVerdict::Outside),
            ("README", PathVerdict::Outside),
        ] {
            assert_eq!(rules.judge_path(path.as_bytes()), verdict, "{path}");
        }
    }

    #[test]
    fn an_admission_narrows_what_is_allowed_and_adds_to_what_is_forbidden() {
        let rules = PathRules {
            allowed: set(&["src/", "tests/test_a.py", "docs/a.md"], GlobAnchor::Root).unwrap(),
            forbidden: set(&["*.lock"], GlobAnchor::AnyDepth).unwrap(),
            exam: crate::exam::exam_sets(crate::Ecosystem::ALL).unwrap(),
            protected: set(&[], GlobAnchor::AnyDepth).unwrap(),
            released: set(&[], GlobAnchor::AnyDepth).unwrap(),
            released_by_name: BTreeSet::new(),
        };
        let globs = |list: &[&str]| list.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
        let narrowed = rules.clone().narrowed_by(&globs(&["src/web/", "README"]), &globs(&["keys/"])).unwrap();
        for (path, before, after) in [
            ("src/web/a.py", PathVerdict::Allowed, PathVerdict::Allowed),
            ("src/web/A.py", PathVerdict::Allowed, PathVerdict::Allowed),
            ("src/Web/a.py", PathVerdict::Allowed, PathVerdict::Outside),
            ("src/a.py", PathVerdict::Allowed, PathVerdict::Outside),
            ("README", PathVerdict::Outside, PathVerdict::Outside),
            ("src/web/keys/a", PathVerdict::Allowed, PathVerdict::Forbidden),
            ("src/web/a.lock", PathVerdict::Forbidden, PathVerdict::Forbidden),
            ("tests/test_a.py", PathVerdict::Allowed, PathVerdict::Protected),
        ] {
            assert_eq!(
                (rules.judge_path(path.as_bytes()), narrowed.judge_path(path.as_bytes())),
                (before, after),
                "{path}"
            );
        }
        assert_eq!(narrowed.allowed.to_string(), "src/, tests/test_a.py, docs/a.md, narrowed to src/web/, README");
        assert!(rules.may_be_released_by_name(b"tests/test_a.py"), "control");
        assert!(!narrowed.may_be_released_by_name(b"tests/test_a.py"));
        let twice = narrowed.narrowed_by(&globs(&["src/"]), &[]).unwrap();
        assert_eq!(twice.judge_path(b"src/a.py"), PathVerdict::Outside, "the first list still narrows");
        assert!(rules.narrowed_by(&globs(&["../a"]), &[]).is_err());
    }

    #[test]
    fn a_new_test_file_among_sources_of_rust_is_source() {
        let any = |globs: &[&str]| set(globs, GlobAnchor::AnyDepth).unwrap();
        let rules = PathRules {
            allowed: any(&["src/"]),
            forbidden: any(&[]),
            exam: crate::exam::exam_sets(crate::Ecosystem::ALL).unwrap(),
            protected: any(&["src/kept/tests.rs"]),
            released: any(&["released.json"]),
            released_by_name: BTreeSet::new(),
        };
        for (path, is_new, restored) in [
            ("src/x/tests.rs", true, false),
            ("src/x/tests.rs", false, true),
            ("crates/a/src/x/tests/mod.rs", true, false),
            ("src/parse_test.rs", true, false),
            ("src/kept/tests.rs", true, true),
            ("src/build.rs", true, true),
            ("tests/x.rs", true, true),
            ("src/x/tests/data.txt", true, true),
            ("src/fixtures/users.json", true, true),
            ("src/fixtures/users.json", false, true),
            ("src/fixtures/users.py", false, false),
            ("src/golden/released.json", false, false),
            ("src/x/test_a.py", true, true),
            ("src/x.rs", true, false),
        ] {
            assert_eq!(rules.is_restored(path.as_bytes(), is_new), restored, "{path} {is_new}");
        }
    }

    #[test]
    fn a_path_by_name_may_release_tests_and_data_and_no_configuration() {
        let rules = PathRules {
            allowed: set(
                &["tests/helpers.py", "golden/a.txt", "conftest.py", "src/a.py", "lib/*.py"],
                GlobAnchor::Root,
            )
            .unwrap(),
            forbidden: set(&[], GlobAnchor::AnyDepth).unwrap(),
            exam: crate::exam::exam_sets(crate::Ecosystem::ALL).unwrap(),
            protected: set(&[], GlobAnchor::AnyDepth).unwrap(),
            released: set(&[], GlobAnchor::AnyDepth).unwrap(),
            released_by_name: BTreeSet::new(),
        };
        for (path, expected) in [
            ("tests/helpers.py", true),
            ("golden/a.txt", true),
            ("conftest.py", false),
            ("src/a.py", false),
            ("lib/test_a.py", false),
        ] {
            assert_eq!(rules.may_be_released_by_name(path.as_bytes()), expected, "{path}");
        }
    }
}
