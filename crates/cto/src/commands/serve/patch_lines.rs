//! A patch as lines for a page, each file with the contract's word about its path.

use contract::paths::{PathRules, PathVerdict};
use contract::text::path_text;
use evidence::patch::changed_paths;
use hermes::{PatchFile, PatchLine, PatchLineKind};

use crate::commands::diff::sections;

/// Files and lines of a page; the rest is in the patch itself.
const MOST_FILES: usize = 200;
const MOST_LINES: usize = 6000;
const LONGEST_LINE: usize = 2000;

/// Files of a patch, and true if something was left out.
pub(super) fn read_patch(patch: &[u8], rules: Option<&PathRules>) -> (Vec<PatchFile>, bool) {
    let (mut files, mut left, mut is_cut) = (Vec::new(), MOST_LINES, false);
    for section in sections(patch) {
        if files.len() == MOST_FILES {
            return (files, true);
        }
        let path = changed_paths(section).ok().and_then(|paths| paths.last().cloned()).unwrap_or_default();
        // Without the contract's rules nothing is known to be allowed.
        let verdict = rules.map_or(PathVerdict::Outside, |rules| rules.judge_path(&path));
        let (lines, was_cut) = read_lines(section, left);
        left -= lines.len();
        is_cut |= was_cut;
        let glob = rules.and_then(|rules| rules.deciding_glob(&path)).map(str::to_owned);
        let count = |kind| lines.iter().filter(|line| line.kind == kind).count() as u64;
        let (added, removed) = (count(PatchLineKind::Added), count(PatchLineKind::Removed));
        files.push(PatchFile { path: path_text(&path), verdict, glob, added, removed, lines });
    }
    (files, is_cut)
}

fn read_lines(section: &[u8], most: usize) -> (Vec<PatchLine>, bool) {
    let (mut lines, mut numbers) = (Vec::new(), None);
    for line in section.split(|byte| *byte == b'\n') {
        if lines.len() == most {
            return (lines, true);
        }
        if let Some(line) = read_line(line, &mut numbers) {
            lines.push(line);
        }
    }
    (lines, false)
}

/// One line. Before the first hunk only the words that say what became of the file are shown.
fn read_line(line: &[u8], numbers: &mut Option<(u64, u64)>) -> Option<PatchLine> {
    let text = cut(line);
    let make = |kind, old, new, text: String| Some(PatchLine { kind, old, new, text });
    if line.starts_with(b"@@ ") {
        *numbers = Some(read_hunk(line).unwrap_or((0, 0)));
        return make(PatchLineKind::Hunk, None, None, text);
    }
    let Some((old, new)) = numbers.as_mut() else {
        let is_told =
            [&b"new file"[..], b"deleted file", b"old mode", b"new mode", b"rename ", b"similarity", b"Binary"];
        return is_told
            .iter()
            .any(|start| line.starts_with(start))
            .then_some(())
            .and_then(|()| make(PatchLineKind::Header, None, None, text));
    };
    let rest = || text.chars().skip(1).collect::<String>();
    match line.first() {
        Some(b'+') => {
            *new += 1;
            make(PatchLineKind::Added, None, Some(*new - 1), rest())
        }
        Some(b'-') => {
            *old += 1;
            make(PatchLineKind::Removed, Some(*old - 1), None, rest())
        }
        Some(b' ') => {
            (*old, *new) = (*old + 1, *new + 1);
            make(PatchLineKind::Context, Some(*old - 1), Some(*new - 1), rest())
        }
        Some(_) => make(PatchLineKind::Header, None, None, text),
        None => None,
    }
}

/// First line numbers of a hunk: `@@ -OLD,COUNT +NEW,COUNT @@`.
fn read_hunk(line: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split(' ').skip(1);
    let mut number = |sign: char| words.next()?.strip_prefix(sign)?.split(',').next()?.parse().ok();
    Some((number('-')?, number('+')?))
}

fn cut(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE * 4)]).into_owned();
    match text.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use contract::paths::PathSet;

    use super::*;

    const PATCH: &[u8] = b"diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -3,2 +3,3 @@ def f\n a\n-b\n+<script>\n+c\n\\ No newline at end of file\n";

    #[test]
    fn lines_have_their_numbers() {
        let (files, is_cut) = read_patch(PATCH, None);
        assert!(!is_cut);
        let [file] = files.as_slice() else { panic!("one file") };
        assert_eq!((file.path.as_str(), file.added, file.removed), ("x.py", 2, 1));
        assert_eq!(file.verdict, PathVerdict::Outside, "without rules nothing is allowed");
        let told: Vec<_> = file.lines.iter().map(|line| (line.old, line.new, line.text.as_str())).collect();
        assert_eq!(told[1..4], [(Some(3), Some(3), "a"), (Some(4), None, "b"), (None, Some(4), "<script>")]);
    }

    #[test]
    fn the_glob_that_decided_is_named() {
        let set = |globs: &[&str]| PathSet::rooted(&globs.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        let rules = PathRules {
            allowed: set(&["*.py", "src/{a,b}/**"]),
            forbidden: set(&["src/b/keys/**"]),
            exam: Vec::new(),
            protected: set(&["*.toml"]),
            released: set(&[]),
            released_by_name: BTreeSet::new(),
        };
        for (path, verdict, glob) in [
            ("x.py", PathVerdict::Allowed, Some("*.py")),
            ("src/b/x.c", PathVerdict::Allowed, Some("src/{a,b}/**")),
            ("src/b/keys/k", PathVerdict::Forbidden, Some("src/b/keys/**")),
            ("x.toml", PathVerdict::Protected, Some("*.toml")),
            ("x.c", PathVerdict::Outside, None),
        ] {
            let patch = String::from_utf8_lossy(PATCH).replace("x.py", path);
            let (files, _) = read_patch(patch.as_bytes(), Some(&rules));
            assert_eq!((files[0].verdict, files[0].glob.as_deref()), (verdict, glob), "{path}");
        }
    }

    #[test]
    fn a_patch_without_end_is_cut() {
        let mut patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,99999 @@\n".to_vec();
        patch.extend(b"+x\n".repeat(MOST_LINES * 2));
        let (files, is_cut) = read_patch(&patch, None);
        assert_eq!((files[0].lines.len(), is_cut), (MOST_LINES, true));
    }
}
