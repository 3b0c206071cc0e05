//! Globs in the form in which they are matched.
//!
//! An exam set has hundreds of globs, and a repository may have a hundred thousand paths.
//! Nearly all of these globs are about names, so paths are compared part by part, and most
//! names differ in their beginning or end.

use fast_glob::glob_match;

/// Number of alternatives in one glob above which it is matched without being expanded.
const MOST_CHOICES: usize = 64;

/// One choice of a glob.
#[derive(Debug, Clone)]
pub(super) enum GlobPattern {
    /// Parts that follow each other in a path.
    Parts { parts: Vec<Part>, place: PartPosition, from_root: bool },
    /// A whole path from the root.
    Path(String),
    /// The one path that a glob without wildcards names.
    Exact(String),
}

/// Required position of the parts in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartPosition {
    /// At the end: a file.
    File,
    /// Anywhere: a folder with everything beneath it, or a link in its place, since the
    /// link would lead to everything beneath it.
    Folder,
}

/// One part of a path.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Literal text before the first wildcard, and after the last.
    head: String,
    tail: String,
    /// None without a wildcard; then `head` is the whole part.
    glob: Option<String>,
}

impl GlobPattern {
    /// The choices of a glob that matches at any depth, or from the root.
    pub(super) fn named(body: &str, from_root: bool) -> Vec<Self> {
        let place = if body.ends_with('/') { PartPosition::Folder } else { PartPosition::File };
        let glob = body.trim_end_matches('/');
        let parts_of = |choice: &String| -> Option<Self> {
            let parts = choice.split('/').map(Part::read).collect::<Option<_>>()?;
            Some(Self::Parts { parts, place, from_root })
        };
        let choices = expand(glob).and_then(|choices| choices.iter().map(parts_of).collect());
        choices.unwrap_or_else(|| {
            let itself = if from_root { glob.to_owned() } else { format!("**/{glob}") };
            let beneath = (place == PartPosition::Folder).then(|| format!("{itself}/**"));
            [itself].into_iter().chain(beneath).map(Self::Path).collect()
        })
    }

    /// Matches a path. `split` passes the parts of the path from one pattern to the next
    /// that needs them.
    pub(super) fn is_match<'p>(&self, path: &'p [u8], split: &mut Option<Vec<&'p [u8]>>) -> bool {
        match self {
            Self::Path(glob) => glob_match(glob, path),
            Self::Exact(name) => name.as_bytes() == path,
            Self::Parts { parts, place, from_root } => {
                let split = split.get_or_insert_with(|| path.split(|byte| *byte == b'/').collect());
                let Some(last) = split.len().checked_sub(parts.len()) else { return false };
                let starts = match (from_root, place) {
                    (true, PartPosition::Folder) => 0..=0,
                    (true, PartPosition::File) if last > 0 => return false,
                    (true, PartPosition::File) => 0..=0,
                    (false, PartPosition::Folder) => 0..=last,
                    (false, PartPosition::File) => last..=last,
                };
                starts
                    .into_iter()
                    .any(|start| parts.iter().zip(&split[start..]).all(|(part, name)| part.is_match(name)))
            }
        }
    }
}

/// Matches a glob that is used once: what [`Pattern::named`] and [`Pattern::is_match`] do
/// together.
pub(super) fn matches_once(body: &str, path: &[u8], from_root: bool) -> bool {
    let glob = body.trim_end_matches('/');
    let is_folder = body.ends_with('/');
    let (first, last) = (first_letter(glob), last_letter(glob));
    // A file's name ends the path. Most globs end in another letter.
    if !is_folder && last.is_some() && path.last().copied() != last {
        return false;
    }
    let is_slash = |at: &usize| path[*at] == b'/';
    let starts = std::iter::once(0).chain((0..path.len()).filter(is_slash).map(|at| at + 1));
    let mut starts = starts.take(if from_root { 1 } else { usize::MAX });
    starts.any(|start| {
        if first.is_some() && path.get(start).copied() != first {
            return false;
        }
        let mut ends = (start..path.len()).filter(is_slash).chain([path.len()]);
        match is_folder {
            true => ends.any(|end| glob_match(glob, &path[start..end])),
            false => glob_match(glob, &path[start..]),
        }
    })
}

/// The byte that whatever a glob matches begins with; none if the glob leaves it open.
fn first_letter(glob: &str) -> Option<u8> {
    glob.bytes().next().filter(|byte| !b"*?[{\\!".contains(byte))
}

/// The byte that whatever a glob matches ends in; none if the glob leaves it open.
fn last_letter(glob: &str) -> Option<u8> {
    // A letter behind a backslash may stand for another.
    glob.bytes().next_back().filter(|byte| !b"*?]}".contains(byte) && !glob.contains('\\'))
}

impl Part {
    /// None if the name alone does not decide.
    fn read(glob: &str) -> Option<Self> {
        if glob.is_empty() || glob.contains("**") {
            return None;
        }
        let Some(first) = glob.find(['*', '?', '[']) else {
            return Some(Self { head: glob.to_owned(), tail: String::new(), glob: None });
        };
        let last = glob.rfind(['*', '?', ']'])?;
        Some(Self { head: glob[..first].to_owned(), tail: glob[last + 1..].to_owned(), glob: Some(glob.to_owned()) })
    }

    fn is_match(&self, name: &[u8]) -> bool {
        match &self.glob {
            None => name == self.head.as_bytes(),
            Some(glob) => {
                name.starts_with(self.head.as_bytes()) && name.ends_with(self.tail.as_bytes()) && glob_match(glob, name)
            }
        }
    }
}

/// A glob as globs without braces. None where that would be many, or where a brace may not
/// mean a choice.
fn expand(glob: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut rest = glob;
    while let Some(open) = rest.find(['{', '[', '\\']) {
        let (before, from) = rest.split_at(open);
        let close = open + from.find(if from.starts_with('{') { '}' } else { ']' })?;
        let inner = &rest[open + 1..close];
        if from.starts_with('\\') || inner.is_empty() || inner.contains(['{', '[', '\\']) {
            return None;
        }
        all = match from.starts_with('{') {
            true => with_each(&all, before, inner.split(',')),
            false if inner.contains(['}', ',', '/']) => return None,
            false => with_each(&all, "", [&rest[..=close]].into_iter()),
        };
        if all.len() > MOST_CHOICES {
            return None;
        }
        rest = &rest[close + 1..];
    }
    Some(with_each(&all, rest, [""].into_iter()))
}

fn with_each<'a>(all: &[String], before: &str, choices: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    all.iter().flat_map(|start| choices.clone().map(move |choice| format!("{start}{before}{choice}"))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn braces_become_choices() {
        for (glob, expected) in [
            ("a", Some("a")),
            ("{a,b}.{c,d}", Some("a.c a.d b.c b.d")),
            ("x{a/b,c}y", Some("xa/by xcy")),
            ("*[._-]{a,b}", Some("*[._-]a *[._-]b")),
            ("{,a}b", Some("b ab")),
            ("a[{]b,c}", None),
            ("{a,{b,c}}", None),
            ("\\{a,b}", None),
            ("\\ab]", None),
            ("{}", None),
            ("a[]b]", None),
            ("a[,]b", None),
            ("a[/]b", None),
            ("a[}]b", None),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", None),
        ] {
            assert_eq!(expand(glob).map(|all| all.join(" ")).as_deref(), expected, "{glob}");
        }
    }

    #[test]
    fn as_many_choices_as_are_allowed() {
        assert_eq!(expand(&"{a,b}".repeat(6)).map(|all| all.len()), Some(MOST_CHOICES));
        assert_eq!(expand(&format!("{{a,b,c}}{}", "{a,b}".repeat(5))), None);
    }

    fn is_match(patterns: &[GlobPattern], path: &str) -> bool {
        let mut split = None;
        patterns.iter().any(|pattern| pattern.is_match(path.as_bytes(), &mut split))
    }

    #[test]
    fn any_number_of_folders_is_more_than_one() {
        for (glob, path, expected) in [
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/x/y/c", false),
            ("**/b", "b", true),
            ("**/b", "x/y/b", true),
        ] {
            assert_eq!(is_match(&GlobPattern::named(glob, true), path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn a_glob_says_what_its_paths_begin_and_end_with() {
        for (glob, first, last) in [
            ("go.sum", Some(b'g'), Some(b'm')),
            ("*.lock", None, Some(b'k')),
            ("conf[ab]", Some(b'c'), None),
            ("{a,b}/**", None, None),
            ("a?", Some(b'a'), None),
            ("\\*.py", None, None),
            ("a\\n", Some(b'a'), None),
            ("", None, None),
        ] {
            assert_eq!((first_letter(glob), last_letter(glob)), (first, last), "{glob}");
        }
        assert!(matches_once("a\\n", b"x/a\n", false) && !matches_once("a\\n", b"x/an", false));
        assert!(matches_once("b/", b"a/b/c", false) && !matches_once("b/", b"a/c", false));
        assert!(!matches_once("b", b"", false));
    }

    /// One part of a glob; braces hold plain text.
    const GLOB_PART: &str = r"([abx.]|\*|\?|\[ab\]|\[!a\]|\{a,b\}|\{ab,x,\*\}){1,4}";

    proptest! {
        /// Part by part is the same as all at once.
        #[test]
        fn parts_mean_what_the_whole_glob_means(
            glob in prop::collection::vec(GLOB_PART, 1..=3),
            path in "[abx.]{1,4}(/[abx.]{1,4}){0,4}",
            from_root: bool,
        ) {
            let mut glob = glob.join("/");
            while glob.contains("**") {
                glob = glob.replace("**", "*");
            }
            let start = if from_root { "" } else { "**/" };
            let whole = glob_match(format!("{start}{glob}"), &path);
            prop_assert_eq!(is_match(&GlobPattern::named(&glob, from_root), &path), whole, "{} {}", glob, path);
            let beneath = whole || glob_match(format!("{start}{glob}/**"), &path);
            prop_assert_eq!(is_match(&GlobPattern::named(&format!("{glob}/"), from_root), &path), beneath, "{}/ {}", glob, path);
            prop_assert_eq!(matches_once(&glob, path.as_bytes(), from_root), whole, "{} once {}", glob, path);
            prop_assert_eq!(matches_once(&format!("{glob}/"), path.as_bytes(), from_root), beneath, "{}/ once {}", glob, path);
        }
    }
}
