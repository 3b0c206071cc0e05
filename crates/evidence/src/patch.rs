//! Paths that a patch touches, read from the patch itself.
//!
//! Used only to judge a bundle again: a run's own changed paths come from comparing trees.
//! Content lines of a patch always begin with a space, `+`, `-` or `\`, and lines of a
//! binary hunk hold no spaces, so a line that begins with `diff --git ` is always a header.

/// A header that our own writer would not have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a readable patch header")]
pub struct ReadPatchError {
    /// Line of the header, from 1.
    pub line: usize,
}

/// The paths of a patch in its order, each once.
pub fn changed_paths(patch: &[u8]) -> Result<Vec<Vec<u8>>, ReadPatchError> {
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for (index, line) in patch.split(|byte| *byte == b'\n').enumerate() {
        if !line.starts_with(HEADER) {
            if index == 0 && !patch.is_empty() {
                return Err(ReadPatchError { line: 1 });
            }
            continue;
        }
        let path = changed_path(line, index + 1)?;
        // A file that becomes a link is a deletion and a creation of the same path.
        if paths.last() != Some(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// First words of the part about one file.
const HEADER: &[u8] = b"diff --git ";

/// The path that a header of this line number names.
pub(crate) fn changed_path(header: &[u8], line: usize) -> Result<Vec<u8>, ReadPatchError> {
    header.strip_prefix(HEADER).and_then(header_path).ok_or(ReadPatchError { line })
}

/// `a/P b/P`, each side quoted where it has odd bytes.
fn header_path(names: &[u8]) -> Option<Vec<u8>> {
    let (old, new) = if names.first() == Some(&b'"') {
        let (old, rest) = unquote(names)?;
        let (new, rest) = unquote(rest.strip_prefix(b" ")?)?;
        rest.is_empty().then_some(())?;
        (old, new)
    } else {
        let middle = names.len() / 2;
        (names.get(middle) == Some(&b' ')).then_some(())?;
        (names[..middle].to_vec(), names[middle + 1..].to_vec())
    };
    let (old, new) = (old.strip_prefix(b"a/")?, new.strip_prefix(b"b/")?);
    (old == new && !old.is_empty()).then(|| old.to_vec())
}

/// A C-quoted name as git writes it; gives the bytes and what follows the closing quote.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                match escape {
                    b'0'..=b'3' => {
                        out.push(octal([*escape, *rest.first()?, *rest.get(1)?])?);
                        rest = &rest[2..];
                    }
                    _ => out.push(plain_escape(*escape)?),
                }
            }
            other => out.push(*other),
        }
    }
}

fn octal(digits: [u8; 3]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |value, digit| {
        let digit = matches!(digit, b'0'..=b'7').then(|| digit - b'0')?;
        value.checked_mul(8)?.checked_add(digit)
    })
}

fn plain_escape(escape: u8) -> Option<u8> {
    Some(match escape {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => escape,
        _ => return None,
    })
}

/// Lines that a patch adds to and takes from one file, and what it does to the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchStat {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    /// True if the file is binary, so that no lines are counted.
    pub is_binary: bool,
    pub mark: Option<ChangeMark>,
}

/// Change of a file that its lines do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeMark {
    Deleted,
    Executable,
    NotExecutable,
    Link,
    NotLink,
}

impl ChangeMark {
    /// Words for a person.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Executable => "executable now",
            Self::NotExecutable => "not executable any more",
            Self::Link => "a symbolic link now",
            Self::NotLink => "not a symbolic link any more",
        }
    }

    fn of(modes: &FileModes<'_>) -> Option<Self> {
        const EXECUTABLE: &[u8] = b"100755";
        const LINK: &[u8] = b"120000";
        match (modes.before, modes.after) {
            (Some(_), None) => Some(Self::Deleted),
            (before, Some(LINK)) if before != Some(LINK) => Some(Self::Link),
            (Some(LINK), Some(after)) if after != LINK => Some(Self::NotLink),
            (before, Some(EXECUTABLE)) if before != Some(EXECUTABLE) => Some(Self::Executable),
            (Some(EXECUTABLE), Some(after)) if after != EXECUTABLE => Some(Self::NotExecutable),
            _ => None,
        }
    }
}

/// Modes that the headers of a file's parts name.
#[derive(Default)]
struct FileModes<'p> {
    before: Option<&'p [u8]>,
    after: Option<&'p [u8]>,
}

impl<'p> FileModes<'p> {
    /// Reads a line that no hunk has. Only such a line can begin with one of these words.
    fn read(&mut self, line: &'p [u8]) {
        let mode = |words: &str| line.strip_prefix(words.as_bytes());
        let before = mode("deleted file mode ").or_else(|| mode("old mode "));
        let after = mode("new file mode ").or_else(|| mode("new mode "));
        (self.before, self.after) = (before.or(self.before), after.or(self.after));
    }
}

/// A line for each file of a patch. A file whose header cannot be read is left out: the
/// patch itself has it.
pub fn patch_stats(patch: &[u8]) -> Vec<PatchStat> {
    let mut stats: Vec<PatchStat> = Vec::new();
    // Lines of a hunk that are still to come: outside of one, `---` and `+++` name files.
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut is_known = false;
    let mut modes = FileModes::default();
    for line in patch.split(|byte| *byte == b'\n') {
        if line.starts_with(HEADER) {
            (old, new, is_known) = (0, 0, false);
            if let Ok(path) = changed_path(line, 1) {
                let path = contract::text::path_text(&path);
                // A file that becomes a link is a deletion and a creation of the same path.
                if stats.last().is_none_or(|last| last.path != path) {
                    modes = FileModes::default();
                    stats.push(PatchStat { path, added: 0, removed: 0, is_binary: false, mark: None });
                }
                is_known = true;
            }
            continue;
        }
        let Some(stat) = stats.last_mut().filter(|_| is_known) else { continue };
        match line.first() {
            Some(b'@') if old == 0 && new == 0 => (old, new) = hunk_lengths(line).unwrap_or((0, 0)),
            Some(b'+') if new > 0 => (stat.added, new) = (stat.added + 1, new - 1),
            Some(b'-') if old > 0 => (stat.removed, old) = (stat.removed + 1, old - 1),
            Some(b' ') if old > 0 && new > 0 => (old, new) = (old - 1, new - 1),
            Some(b'G') if line == b"GIT binary patch" => stat.is_binary = true,
            Some(b'd' | b'o' | b'n') => {
                modes.read(line);
                stat.mark = ChangeMark::of(&modes);
            }
            _ => {}
        }
    }
    stats
}

/// `@@ -1,5 +1,6 @@`: lines of the old file and of the new one.
fn hunk_lengths(line: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut parts = text.strip_prefix("@@ -")?.split(' ');
    let length = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((length(parts.next()?)?, length(parts.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lines_do_not_show_is_marked() {
        let part = |modes: &str| format!("diff --git a/x b/x\n{modes}");
        let rows = [
            (
                part("deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"),
                Some(ChangeMark::Deleted),
            ),
            (part("old mode 100644\nnew mode 100755\n"), Some(ChangeMark::Executable)),
            (part("old mode 100755\nnew mode 100644\n"), Some(ChangeMark::NotExecutable)),
            (part("new file mode 100755\n"), Some(ChangeMark::Executable)),
            (part("new file mode 120000\n"), Some(ChangeMark::Link)),
            (part("deleted file mode 100644\n") + &part("new file mode 120000\n"), Some(ChangeMark::Link)),
            (part("deleted file mode 120000\n") + &part("new file mode 100644\n"), Some(ChangeMark::NotLink)),
            (part("new file mode 100644\n"), None),
            (part("index 1..2 100755\n"), None),
            (part("index 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-deleted file mode 1\n+new mode 100755\n"), None),
        ];
        for (patch, expected) in rows {
            let stats = patch_stats(patch.as_bytes());
            assert_eq!((stats.len(), stats[0].mark), (1, expected), "{patch}");
        }
    }

    #[test]
    fn lines_of_each_file_are_counted() {
        let patch = b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n--- two\n+++ two\n+three\ndiff --git a/y b/y\nGIT binary patch\nliteral 1\ndiff --git a/z b/z\nnew file mode 100644\n--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+z\n";
        let stats = patch_stats(patch);
        let told: Vec<_> = stats.iter().map(|it| (it.path.as_str(), it.added, it.removed, it.is_binary)).collect();
        assert_eq!(told, [("x", 2, 1, false), ("y", 0, 0, true), ("z", 1, 0, false)]);
        assert!(patch_stats(b"").is_empty());
    }

    #[test]
    fn headers_are_read() {
        let patch = b"diff --git a/x y b/x y\nnew file mode 100644\n--- /dev/null\n+++ b/x y\n@@ -0,0 +1 @@\n+diff --git a/no b/no\ndiff --git \"a/t\\tq\\\"\\303\\251\" \"b/t\\tq\\\"\\303\\251\"\n";
        assert_eq!(changed_paths(patch).unwrap(), vec![b"x y".to_vec(), "t\tq\"é".as_bytes().to_vec()]);
        assert_eq!(changed_paths(b"").unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn other_headers_are_refused() {
        for patch in [
            &b"diff --git a/x b/y\n"[..],
            b"diff --git x x\n",
            b"garbage\n",
            b"diff --git \"a/\\9\" \"b/\\9\"\n",
            b"diff --git \"a/x\n",
        ] {
            assert!(changed_paths(patch).is_err(), "{}", String::from_utf8_lossy(patch));
        }
    }
}
