//! Sets of globs.
//!
//! Globs match bytes and are case-sensitive. `*` does not cross `/`, `**` does, dotfiles
//! match, nothing negates.

mod pattern;

use std::fmt;

use pattern::GlobPattern;

/// A glob that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a glob: {problem}", crate::text::show_controls(.glob))]
pub struct ParseGlobError {
    pub glob: String,
    pub problem: String,
}

/// Meaning of a glob without a slash: the root only, or any depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobAnchor {
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
        Self::read_globs(globs, GlobAnchor::Root)
    }

    /// Globs that match at any depth unless they begin with `/`.
    pub fn any_depth(globs: &[String]) -> Result<Self, ParseGlobError> {
        Self::read_globs(globs, GlobAnchor::AnyDepth)
    }

    /// Globs with this meaning of a name without a slash.
    pub(crate) fn read_globs(globs: &[String], anchor: GlobAnchor) -> Result<Self, ParseGlobError> {
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
fn patterns(glob: &str, anchor: GlobAnchor) -> Result<Vec<GlobPattern>, ParseGlobError> {
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
    if absolute && anchor == GlobAnchor::Root {
        return refuse("paths are relative to the repository root");
    }
    if unbalanced(glob) {
        return refuse("a bracket, brace or backslash is left open");
    }
    Ok(match anchor {
        GlobAnchor::Root if body.ends_with('/') => {
            vec![GlobPattern::Path(format!("{}/**", body.trim_end_matches('/')))]
        }
        GlobAnchor::Root if is_plain(body) => vec![GlobPattern::Exact(body.to_owned())],
        GlobAnchor::Root => vec![GlobPattern::Path(body.to_owned())],
        GlobAnchor::AnyDepth => GlobPattern::named(body, absolute),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(globs: &[&str], anchor: GlobAnchor) -> Result<PathSet, ParseGlobError> {
        PathSet::read_globs(&globs.iter().map(ToString::to_string).collect::<Vec<_>>(), anchor)
    }

    #[test]
    fn a_set_knows_what_it_was_made_of() {
        let none = set(&[], GlobAnchor::Root).unwrap();
        assert!(none.is_empty() && none.globs().is_empty());
        let two = set(&["a", "b/"], GlobAnchor::Root).unwrap();
        assert!(!two.is_empty());
        assert_eq!(two.globs(), ["a", "b/"]);
    }

    #[test]
    fn a_brace_in_a_class_is_a_letter() {
        for glob in ["a[{]b", "a[}]b", "{a,[}]b}"] {
            assert!(set(&[glob], GlobAnchor::Root).is_ok(), "{glob}");
        }
        for glob in ["a{b", "a}b", "a[b", "a\\"] {
            let problem = set(&[glob], GlobAnchor::Root).unwrap_err().to_string();
            assert!(problem.contains(glob), "{problem}");
        }
    }

    #[test]
    fn globs_mean_what_the_contract_says() {
        let rows: &[(&str, GlobAnchor, &str, bool)] = &[
            ("strings.py", GlobAnchor::Root, "strings.py", true),
            ("strings.py", GlobAnchor::Root, "src/strings.py", false),
            ("strings.py", GlobAnchor::Root, "Strings.py", false),
            ("*.py", GlobAnchor::Root, "a.py", true),
            ("*.py", GlobAnchor::Root, "src/a.py", false),
            ("*", GlobAnchor::Root, ".env", true),
            ("src/*.py", GlobAnchor::Root, "src/a/b.py", false),
            ("src/**", GlobAnchor::Root, "src/a/b.py", true),
            ("src/**/b.py", GlobAnchor::Root, "src/b.py", true),
            ("src/", GlobAnchor::Root, "src/a/.b", true),
            ("src/", GlobAnchor::Root, "src", false),
            ("src/", GlobAnchor::Root, "lib/src/a", false),
            ("**/x", GlobAnchor::Root, "a/b/x", true),
            ("a?c", GlobAnchor::Root, "a/c", false),
            ("secrets/", GlobAnchor::AnyDepth, "a/secrets/k", true),
            ("secrets/", GlobAnchor::AnyDepth, "secrets/k", true),
            ("/secrets/", GlobAnchor::AnyDepth, "a/secrets/k", false),
            ("*.pem", GlobAnchor::AnyDepth, "deep/er/k.pem", true),
            ("/a.txt", GlobAnchor::AnyDepth, "b/a.txt", false),
            ("/a.txt", GlobAnchor::AnyDepth, "a.txt", true),
            ("[ab].py", GlobAnchor::Root, "b.py", true),
            ("[!ab].py", GlobAnchor::Root, "b.py", false),
            ("*.{py,rs}", GlobAnchor::Root, "b.rs", true),
            ("\\*.py", GlobAnchor::Root, "b.py", false),
            ("\\*.py", GlobAnchor::Root, "*.py", true),
            ("a/**", GlobAnchor::Root, "ab/c", false),
            ("test/", GlobAnchor::AnyDepth, "latest/x", false),
            ("test/", GlobAnchor::AnyDepth, "a/test/b/x", true),
            ("test/", GlobAnchor::AnyDepth, "a/test", true),
            ("*.egg/", GlobAnchor::AnyDepth, "a/b.egg/c/d", true),
            ("*.egg/", GlobAnchor::AnyDepth, "a/b.egg", true),
            ("*.egg/", GlobAnchor::AnyDepth, "a/b.eggs/c", false),
            ("/test/", GlobAnchor::AnyDepth, "test", true),
            ("/test/", GlobAnchor::AnyDepth, "test/a/b", true),
            ("/test/", GlobAnchor::AnyDepth, "a/test", false),
            (".github/workflows/", GlobAnchor::AnyDepth, "a/.github/workflows", true),
            (".github/workflows/", GlobAnchor::AnyDepth, ".github/workflows/a.yml", true),
            (".github/workflows/", GlobAnchor::AnyDepth, ".github/a.yml", false),
            ("a.py", GlobAnchor::AnyDepth, "a.py/b", false),
            ("a**", GlobAnchor::AnyDepth, "b/ac", true),
            ("**", GlobAnchor::AnyDepth, "a/b", true),
            ("{a/b,c}", GlobAnchor::AnyDepth, "x/a/b", true),
            ("{a/b,c}", GlobAnchor::AnyDepth, "x/a", false),
            ("\\[a]", GlobAnchor::AnyDepth, "x/[a]", true),
            ("tests//", GlobAnchor::AnyDepth, "x/tests/a", true),
            ("/tests//", GlobAnchor::AnyDepth, "tests/a", true),
            ("src//", GlobAnchor::Root, "src/a", true),
        ];
        for (glob, anchor, path, expected) in rows {
            assert_eq!(set(&[glob], *anchor).unwrap().is_match(path.as_bytes()), *expected, "{glob} {anchor:?} {path}");
        }
        assert!(set(&["a\u{e9}*"], GlobAnchor::Root).unwrap().is_match("aéb".as_bytes()));
        assert!(set(&["*"], GlobAnchor::Root).unwrap().is_match(b"a\xff"), "bytes, not characters");
    }

    #[test]
    fn globs_that_cannot_be_meant_are_refused() {
        for glob in ["", "/", "../a", "a/../b", "./a", "!a", "a//b", "[", "a\0", "{a,b", "a}", "a\\"] {
            assert!(set(&[glob], GlobAnchor::Root).is_err(), "{glob:?}");
        }
        assert!(set(&["/a"], GlobAnchor::Root).is_err());
    }
}
