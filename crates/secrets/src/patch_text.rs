//! The texts that a patch is made of, each with the place of its bytes in the patch.

use std::ops::Range;

/// A text that is searched by itself: one side of a hunk without the marks of its lines, or
/// a line outside of hunks. No value reaches from one into another.
#[derive(Debug, Default)]
pub(crate) struct PatchText {
    pub(crate) text: Vec<u8>,
    /// Beginning of each line, in the text and in the patch.
    lines: Vec<(usize, usize)>,
    /// The file that a hunk is of.
    pub(crate) path: Option<String>,
}

impl PatchText {
    fn push_line(&mut self, line: &[u8], at: usize) {
        self.lines.push((self.text.len(), at));
        self.text.extend_from_slice(line);
    }

    /// Position in the patch of a byte of the text.
    pub(crate) fn place_at(&self, at: usize) -> usize {
        let line = self.lines.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.lines.get(line).map_or(0, |(start, place)| place + (at - start))
    }

    /// Parts of the patch that a stretch of the text covers, line by line, without blanks
    /// at either end.
    pub(crate) fn lines_of(&self, stretch: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = self.lines.partition_point(|(start, _)| *start <= stretch.start).saturating_sub(1);
        let lines = self.lines[first..].iter().take_while(move |(start, _)| *start < stretch.end).enumerate();
        lines.filter_map(move |(number, (start, place))| {
            let end = self.lines.get(first + number + 1).map_or(self.text.len(), |(next, _)| *next);
            let (from, to) = (stretch.start.max(*start), stretch.end.min(end));
            let part = &self.text[from..to];
            let from = from + (part.len() - part.trim_ascii_start().len());
            let len = part.trim_ascii().len();
            (len > 0).then(|| place + from - start..place + from - start + len)
        })
    }
}

/// All texts of a patch.
pub(crate) fn split_texts(patch: &[u8]) -> Vec<PatchText> {
    let mut reader = PatchReader::default();
    let mut at = 0;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        reader.line(line, at);
        at += line.len();
    }
    reader.end_hunk();
    reader.texts
}

/// Reads a patch line by line. What is no hunk, or no hunk any more, is taken line by line,
/// so that nothing is ever lost.
#[derive(Debug, Default)]
struct PatchReader {
    texts: Vec<PatchText>,
    path: Option<String>,
    hunk: Option<Hunk>,
}

/// A hunk that is being read: how many lines of each side are to come, and what came.
#[derive(Debug, Default)]
struct Hunk {
    old_left: usize,
    new_left: usize,
    old: PatchText,
    new: PatchText,
    has_removed: bool,
    has_added: bool,
}

impl PatchReader {
    fn line(&mut self, line: &[u8], at: usize) {
        let taken = self.hunk.as_mut().is_some_and(|hunk| hunk.take(line, at));
        if !taken || self.hunk.as_ref().is_some_and(Hunk::is_whole) {
            self.end_hunk();
        }
        if !taken {
            self.outside(line, at);
        }
    }

    fn outside(&mut self, line: &[u8], at: usize) {
        if line.starts_with(b"diff --git ") {
            self.path = None;
        }
        for opening in [&b"--- "[..], b"+++ "] {
            if let Some(name) = line.strip_prefix(opening).and_then(file_name) {
                self.path = Some(name);
            }
        }
        self.hunk = hunk_sizes(line).map(|(old_left, new_left)| Hunk { old_left, new_left, ..Hunk::default() });
        let mut part = PatchText::default();
        part.push_line(line, at);
        self.texts.push(part);
    }

    fn end_hunk(&mut self) {
        let Some(hunk) = self.hunk.take() else { return };
        let path = &self.path;
        let sides = [(hunk.new, hunk.has_added || !hunk.has_removed), (hunk.old, hunk.has_removed)];
        let searched = sides.into_iter().filter(|(_, is_searched)| *is_searched);
        self.texts.extend(searched.map(|(side, _)| PatchText { path: path.clone(), ..side }));
    }
}

impl Hunk {
    fn is_whole(&self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }

    /// Takes a line of the hunk; false for one that cannot be.
    fn take(&mut self, line: &[u8], at: usize) -> bool {
        let Some((mark, text)) = line.split_first() else { return false };
        match mark {
            b'+' if self.new_left > 0 => {
                self.new_left -= 1;
                self.has_added = true;
                self.new.push_line(text, at + 1);
            }
            b'-' if self.old_left > 0 => {
                self.old_left -= 1;
                self.has_removed = true;
                self.old.push_line(text, at + 1);
            }
            b' ' if self.old_left > 0 && self.new_left > 0 => {
                (self.old_left, self.new_left) = (self.old_left - 1, self.new_left - 1);
                self.old.push_line(text, at + 1);
                self.new.push_line(text, at + 1);
            }
            // `\ No newline at end of file`.
            b'\\' => {}
            _ => return false,
        }
        true
    }
}

/// The lines of the old and of the new side that a hunk's first line announces.
fn hunk_sizes(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line.get(..line.len().min(80))?).unwrap_or_default();
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let size = |range: &str| range.split_once(',').map_or(Some(1), |(_, size)| size.parse().ok());
    Some((size(old)?, size(new)?)).filter(|sizes| *sizes != (0, 0))
}

/// The path in a `---` or `+++` line; None for `/dev/null`.
fn file_name(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii_end();
    let name = match line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")) {
        Some(quoted) => unquoted(quoted),
        None => line.to_vec(),
    };
    let name = name.strip_prefix(b"a/").or(name.strip_prefix(b"b/"))?;
    String::from_utf8(name.to_vec()).ok()
}

/// A name as git quotes it: escapes of C, bytes in octal.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let (mut plain, mut at) = (Vec::with_capacity(name.len()), 0);
    while let Some(byte) = name.get(at) {
        let octal = || {
            let digits = str::from_utf8(name.get(at + 1..at + 4)?).ok()?;
            u8::from_str_radix(digits, 8).ok()
        };
        match (byte, name.get(at + 1)) {
            (b'\\', Some(next)) => match octal() {
                Some(value) => {
                    plain.push(value);
                    at += 4;
                }
                None => {
                    plain.push(match next {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        other => *other,
                    });
                    at += 2;
                }
            },
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_a_hunk_is_a_text_and_headers_are_lines() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn f()\n a\n-b\n+c\n\\ No newline at end of file\ndiff --git a/y b/y\n";
        let texts: Vec<_> =
            split_texts(patch).into_iter().map(|part| (String::from_utf8(part.text).unwrap(), part.path)).collect();
        let line = |text: &str| (text.to_owned(), None);
        let side = |text: &str| (text.to_owned(), Some("x".to_owned()));
        assert_eq!(
            texts,
            [
                line("diff --git a/x b/x\n"),
                line("--- a/x\n"),
                line("+++ b/x\n"),
                line("@@ -1,2 +1,2 @@ fn f()\n"),
                side("a\nc\n"),
                side("a\nb\n"),
                line("\\ No newline at end of file\n"),
                line("diff --git a/y b/y\n"),
            ]
        );
    }

    #[test]
    fn a_name_is_read_as_git_writes_it() {
        for (line, name) in [
            ("b/a b.txt\n", Some("a b.txt")),
            ("\"b/\\303\\244 \\\"q\\\".txt\"\n", Some("ä \"q\".txt")),
            ("/dev/null\n", None),
        ] {
            assert_eq!(file_name(line.as_bytes()).as_deref(), name, "{line}");
        }
    }
}
