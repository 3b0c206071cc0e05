//! Rules for changed paths: allowed, forbidden and protected globs.
//!
//! Globs match bytes and are case-sensitive. `*` does not cross `/`, `**` does, dotfiles
//! match, nothing negates.

mod pattern;

use std::collections::BTreeSet;
use std::fmt;

use pattern::GlobPattern;

use crate::exam::{is_configuration, is_test_data};

/// A glob that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a glob: {problem}", crate::text::show_controls(.glob))]
pub struct ParseGlobError {
    pub glob: String,
    pub problem: String,
}

/// Meaning of a glob without a slash: the root only, or any depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Root,
    AnyDepth,
}

/// A list of globs. There is no automaton of them all: for the few paths of most runs,
/// making one would cost more.
#[derive(Debug, Clone)]
pub struct PathSet {
    globs: Vec<String>,
    /// Each with the number of its glob.
    patterns: Vec<(usize, GlobPattern)>,
    /// Another list that must match too.
    narrowed_by: Option<Box<PathSet>>,
}

impl PathSet {
    /// Globs relative to the root: a name without a slash is that name in the root.
    pub fn rooted(globs: &[String]) -> Result<Self, ParseGlobError> {
        Self::read(globs, Anchor::Root)
    }

    /// Globs that match at any depth unless they begin with `/`.
    pub fn any_depth(globs: &[String]) -> Result<Self, ParseGlobError> {
        Self::read(globs, Anchor::AnyDepth)
    }

    fn read(globs: &[String], anchor: Anchor) -> Result<Self, ParseGlobError> {
        let read = globs.iter().map(|glob| patterns(glob, anchor)).collect::<Result<Vec<_>, _>>()?;
        let of_glob =
            |(number, patterns): (usize, Vec<GlobPattern>)| patterns.into_iter().map(move |one| (number, one));
        let patterns = read.into_iter().enumerate().flat_map(of_glob).collect();
        Ok(Self { globs: globs.to_vec(), patterns, narrowed_by: None })
    }

    /// Restricts the set to paths that `other` matches too.
    #[must_use]
    pub fn narrowed_by(self, other: Self) -> Self {
        let other = match self.narrowed_by {
            None => other,
            Some(before) => before.narrowed_by(other),
        };
        Self { narrowed_by: Some(Box::new(other)), ..self }
    }

    /// True if a glob of the set matches, and the narrowing set matches too.
    pub fn is_match(&self, path: &[u8]) -> bool {
        self.matching_glob(path).is_some()
    }

    /// First glob of the set that matches, if the narrowing set matches too.
    pub fn matching_glob(&self, path: &[u8]) -> Option<&str> {
        let mut parts = None;
        let (number, _) = self.patterns.iter().find(|(_, pattern)| pattern.is_match(path, &mut parts))?;
        let is_within = self.narrowed_by.as_ref().is_none_or(|other| other.is_match(path));
        self.globs.get(*number).filter(|_| is_within).map(String::as_str)
    }

    /// Globs as written, for reports and the contract's digest.
    pub fn globs(&self) -> &[String] {
        &self.globs
    }

    /// True if the set has no glob and therefore matches no path.
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }
}

impl fmt::Display for PathSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.globs.join(", "))?;
        self.narrowed_by.as_ref().map_or(Ok(()), |other| write!(f, ", narrowed to {other}"))
    }
}

/// Brackets and braces that are never closed, or a backslash with nothing after it, match
/// nothing: surely not what is meant.
fn unbalanced(glob: &str) -> bool {
    let mut bytes = glob.bytes();
    let (mut class, mut braces) = (false, 0_u32);
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if bytes.next().is_none() => return true,
            b']' => class = false,
            b'[' => class = true,
            b'{' if !class => braces += 1,
            b'}' if !class && braces == 0 => return true,
            b'}' if !class => braces -= 1,
            _ => {}
        }
    }
    class || braces > 0
}

/// True if a glob that means any depth matches one of these paths, as
/// [`PathSet::any_depth`] does. Nothing is allocated, so that for a few paths it costs less
/// than to read the glob.
pub(crate) fn matches_some(glob: &str, paths: &[&[u8]]) -> bool {
    let (body, from_root) = glob.strip_prefix('/').map_or((glob, false), |body| (body, true));
    paths.iter().any(|path| pattern::matches_once(body, path, from_root))
}

/// True if a glob names one path and no other.
pub(crate) fn is_plain(glob: &str) -> bool {
    !glob.ends_with('/') && !glob.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// A person-written glob in the form it is matched in.
fn patterns(glob: &str, anchor: Anchor) -> Result<Vec<GlobPattern>, ParseGlobError> {
    let refuse = |problem: &str| Err(ParseGlobError { glob: glob.to_owned(), problem: problem.to_owned() });
    let absolute = glob.starts_with('/');
    let body = glob.strip_prefix('/').unwrap_or(glob);
    if body.trim_matches('/').is_empty() {
        return refuse("it is empty");
    }
    if glob.starts_with('!') {
        return refuse("there is no negation");
    }
    if glob.contains('\0') || body.split('/').any(|part| part == "." || part == "..") {
        return refuse("`.`, `..` and NUL are not allowed");
    }
    if body.trim_end_matches('/').split('/').any(str::is_empty) {
        return refuse("it has an empty part");
    }
    if absolute && anchor == Anchor::Root {
        return refuse("paths are relative to the repository root");
    }
    if unbalanced(glob) {
        return refuse("a bracket, brace or backslash is left open");
    }
    Ok(match anchor {
        Anchor::Root if body.ends_with('/') => vec![GlobPattern::Path(format!("{}/**", body.trim_end_matches('/')))],
        Anchor::Root => vec![GlobPattern::Path(body.to_owned())],
        Anchor::AnyDepth => GlobPattern::named(body, absolute),
    })
}

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

    fn set(globs: &[&str], anchor: Anchor) -> Result<PathSet, ParseGlobError> {
        PathSet::read(&globs.iter().map(ToString::to_string).collect::<Vec<_>>(), anchor)
    }

    #[test]
    fn a_set_knows_what_it_was_made_of() {
        let none = set(&[], Anchor::Root).unwrap();
        assert!(none.is_empty() && none.globs().is_empty());
        let two = set(&["a", "b/"], Anchor::Root).unwrap();
        assert!(!two.is_empty());
        assert_eq!(two.globs(), ["a", "b/"]);
    }

    #[test]
    fn a_brace_in_a_class_is_a_letter() {
        for glob in ["a[{]b", "a[}]b", "{a,[}]b}"] {
            assert!(set(&[glob], Anchor::Root).is_ok(), "{glob}");
        }
        for glob in ["a{b", "a}b", "a[b", "a\\"] {
            let problem = set(&[glob], Anchor::Root).unwrap_err().to_string();
            assert!(problem.contains(glob), "{problem}");
        }
    }

    #[test]
    fn globs_mean_what_the_contract_says() {
        let rows: &[(&str, Anchor, &str, bool)] = &[
            ("strings.py", Anchor::Root, "strings.py", true),
            ("strings.py", Anchor::Root, "src/strings.py", false),
            ("strings.py", Anchor::Root, "Strings.py", false),
            ("*.py", Anchor::Root, "a.py", true),
            ("*.py", Anchor::Root, "src/a.py", false),
            ("*", Anchor::Root, ".env", true),
            ("src/*.py", Anchor::Root, "src/a/b.py", false),
            ("src/**", Anchor::Root, "src/a/b.py", true),
            ("src/**/b.py", Anchor::Root, "src/b.py", true),
            ("src/", Anchor::Root, "src/a/.b", true),
            ("src/", Anchor::Root, "src", false),
            ("src/", Anchor::Root, "lib/src/a", false),
            ("**/x", Anchor::Root, "a/b/x", true),
            ("a?c", Anchor::Root, "a/c", false),
            ("secrets/", Anchor::AnyDepth, "a/secrets/k", true),
            ("secrets/", Anchor::AnyDepth, "secrets/k", true),
            ("/secrets/", Anchor::AnyDepth, "a/secrets/k", false),
            ("*.pem", Anchor::AnyDepth, "deep/er/k.pem", true),
            ("/a.txt", Anchor::AnyDepth, "b/a.txt", false),
            ("/a.txt", Anchor::AnyDepth, "a.txt", true),
            ("[ab].py", Anchor::Root, "b.py", true),
            ("[!ab].py", Anchor::Root, "b.py", false),
            ("*.{py,rs}", Anchor::Root, "b.rs", true),
            ("\\*.py", Anchor::Root, "b.py", false),
            ("\\*.py", Anchor::Root, "*.py", true),
            ("a/**", Anchor::Root, "ab/c", false),
            ("test/", Anchor::AnyDepth, "latest/x", false),
            ("test/", Anchor::AnyDepth, "a/test/b/x", true),
            ("test/", Anchor::AnyDepth, "a/test", true),
            ("*.egg/", Anchor::AnyDepth, "a/b.egg/c/d", true),
            ("*.egg/", Anchor::AnyDepth, "a/b.egg", true),
            ("*.egg/", Anchor::AnyDepth, "a/b.eggs/c", false),
            ("/test/", Anchor::AnyDepth, "test", true),
            ("/test/", Anchor::AnyDepth, "test/a/b", true),
            ("/test/", Anchor::AnyDepth, "a/test", false),
            (".github/workflows/", Anchor::AnyDepth, "a/.github/workflows", true),
            (".github/workflows/", Anchor::AnyDepth, ".github/workflows/a.yml", true),
            (".github/workflows/", Anchor::AnyDepth, ".github/a.yml", false),
            ("a.py", Anchor::AnyDepth, "a.py/b", false),
            ("a**", Anchor::AnyDepth, "b/ac", true),
            ("**", Anchor::AnyDepth, "a/b", true),
            ("{a/b,c}", Anchor::AnyDepth, "x/a/b", true),
            ("{a/b,c}", Anchor::AnyDepth, "x/a", false),
            ("\\[a]", Anchor::AnyDepth, "x/[a]", true),
            ("tests//", Anchor::AnyDepth, "x/tests/a", true),
            ("/tests//", Anchor::AnyDepth, "tests/a", true),
            ("src//", Anchor::Root, "src/a", true),
        ];
        for (glob, anchor, path, expected) in rows {
            assert_eq!(set(&[glob], *anchor).unwrap().is_match(path.as_bytes()), *expected, "{glob} {anchor:?} {path}");
        }
        assert!(set(&["a\u{e9}*"], Anchor::Root).unwrap().is_match("aéb".as_bytes()));
        assert!(set(&["*"], Anchor::Root).unwrap().is_match(b"a\xff"), "bytes, not characters");
    }

    #[test]
    fn globs_that_cannot_be_meant_are_refused() {
        for glob in ["", "/", "../a", "a/../b", "./a", "!a", "a//b", "[", "a\0", "{a,b", "a}", "a\\"] {
            assert!(set(&[glob], Anchor::Root).is_err(), "{glob:?}");
        }
        assert!(set(&["/a"], Anchor::Root).is_err());
    }

    #[test]
    fn forbidden_wins_and_allowed_releases_protected() {
        let rules = PathRules {
            allowed: set(&["src/", "test_a.py"], Anchor::Root).unwrap(),
            forbidden: set(&["*.lock"], Anchor::AnyDepth).unwrap(),
            exam: Vec::new(),
            protected: set(&["test_*.py"], Anchor::AnyDepth).unwrap(),
            released: set(&["test_c.py"], Anchor::AnyDepth).unwrap(),
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
            allowed: set(&["src/", "tests/test_a.py", "docs/a.md"], Anchor::Root).unwrap(),
            forbidden: set(&["*.lock"], Anchor::AnyDepth).unwrap(),
            exam: crate::exam::exam_sets(crate::Ecosystem::ALL).unwrap(),
            protected: set(&[], Anchor::AnyDepth).unwrap(),
            released: set(&[], Anchor::AnyDepth).unwrap(),
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
        let any = |globs: &[&str]| set(globs, Anchor::AnyDepth).unwrap();
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
            allowed: set(&["tests/helpers.py", "golden/a.txt", "conftest.py", "src/a.py", "lib/*.py"], Anchor::Root)
                .unwrap(),
            forbidden: set(&[], Anchor::AnyDepth).unwrap(),
            exam: crate::exam::exam_sets(crate::Ecosystem::ALL).unwrap(),
            protected: set(&[], Anchor::AnyDepth).unwrap(),
            released: set(&[], Anchor::AnyDepth).unwrap(),
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
