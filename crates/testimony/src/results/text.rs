//! Bytes of an output as lines that can be compared: without escapes, of bounded length,
//! one character set.

use std::borrow::Cow;
use std::io::BufRead as _;

use contract::text::show_controls;

/// Upper bound on the bytes of a line that are read.
const LONGEST_LINE: usize = 64 << 10;

/// An identity in bytes.
pub(super) const LONGEST_IDENTITY: usize = 1000;

/// The lines of an output. A carriage return ends one too: progress is overwritten with it.
pub(super) fn output_lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let lines = split(bytes, b'\n').flat_map(|line| split(line.strip_suffix(b"\r").unwrap_or(line), b'\r'));
    lines.map(|line| plain(&line[..line.len().min(LONGEST_LINE)]))
}

fn split(bytes: &[u8], byte: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let at = byte_position(bytes, byte);
        rest = at.map(|at| &bytes[at + 1..]);
        Some(&bytes[..at.unwrap_or(bytes.len())])
    })
}

/// First position of a byte. The standard library searches many bytes at a time only behind
/// this call.
pub(super) fn byte_position(bytes: &[u8], byte: u8) -> Option<usize> {
    let mut rest = bytes;
    let read = rest.skip_until(byte).ok()?;
    let at = read.checked_sub(1)?;
    (bytes[at] == byte).then_some(at)
}

/// Text without terminal escapes.
fn plain(line: &[u8]) -> Cow<'_, str> {
    match line.contains(&ESCAPE) {
        false => String::from_utf8_lossy(line),
        true => Cow::Owned(String::from_utf8_lossy(&without_escapes(line)).into_owned()),
    }
}

const ESCAPE: u8 = 0x1b;

fn without_escapes(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rest.len());
    while let Some(at) = rest.iter().position(|byte| *byte == ESCAPE) {
        out.extend_from_slice(&rest[..at]);
        let sequence = &rest[at..];
        rest = &sequence[escape_length(sequence)..];
    }
    out.extend_from_slice(rest);
    out
}

/// Length of the escape sequence at the beginning: at least the escape character itself.
fn escape_length(sequence: &[u8]) -> usize {
    let until = |from: usize, ends: fn(u8) -> bool| {
        let found = sequence.iter().skip(from).position(|byte| ends(*byte));
        found.map_or(sequence.len(), |found| from + found + 1)
    };
    match sequence.get(1) {
        None => 1,
        Some(b'[') => until(2, |byte| !(0x20..0x40).contains(&byte)),
        // An operating system command ends with a bell or with another escape and a backslash.
        Some(b']' | b'P' | b'_' | b'^') => match until(2, |byte| matches!(byte, 0x07 | ESCAPE)) {
            end if sequence.get(end - 1) == Some(&ESCAPE) => (end + 1).min(sequence.len()),
            end => end,
        },
        Some(b'(' | b')' | b'#' | b' ') => sequence.len().min(3),
        Some(byte) if (0x30..0x7f).contains(byte) => 2,
        Some(_) => 1,
    }
}

/// Identity of a test: the runner's name for it, bounded and safe to show. The bracket that
/// numbers equal names is reserved for this program.
pub(super) fn identity(name: &str) -> String {
    let mut text = show_controls(&name[..boundary(name, LONGEST_IDENTITY)]).replace('⟨', "<");
    text.truncate(boundary(&text, LONGEST_IDENTITY));
    text
}

fn boundary(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Part of a path that does not depend on the location of the tree.
pub(super) fn stable_path(path: &str) -> &str {
    match path.starts_with('/') {
        true => path.rsplit('/').next().unwrap_or(path),
        false => path,
    }
}

/// A number and what follows it.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// The number behind `Word: ` in a list such as `Failures: 1, Errors: 0`.
pub(super) fn labelled_number(list: &str, word: &str) -> Option<u64> {
    let mut parts = list.split(',').map(str::trim);
    parts.find_map(|part| leading_number(part.strip_prefix(word)?.strip_prefix(": ")?).map(|(number, _)| number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_plain() {
        let check = |bytes: &[u8], expected: &[&str]| {
            assert_eq!(output_lines(bytes).collect::<Vec<_>>(), expected, "{}", bytes.escape_ascii());
        };
        check(b"a\r\nb\rc\n", &["a", "b", "c", ""]);
        check(b"\x1b[32mok\x1b[0m \x1b[1;31mno\x1b[m", &["ok no"]);
        check(b"\x1b]0;title\x07a\x1b]8;;u\x1b\\b\x1b(Bc\x1b=d\x1bMe", &["abcde"]);
        check(b"a\x1b[", &["a"]);
        check(b"a\x1b", &["a"]);
        check(b"a\x1b]never ends", &["a"]);
        check(b"\x1b[31\xffm", &["m"]);
        check(b"\xff", &["\u{fffd}"]);
    }

    #[test]
    fn identities_are_bounded_and_visible() {
        assert_eq!(identity("a\u{7}b\u{202e}"), "a␇b\\u{202e}");
        assert_eq!(identity("a ⟨2⟩"), "a <2⟩");
        let long = identity(&"é".repeat(2000));
        assert_eq!(long.len(), LONGEST_IDENTITY);
        assert_eq!(identity(&"\u{1}".repeat(2000)).len(), 999);
    }

    #[test]
    fn paths_without_their_place() {
        assert_eq!(stable_path("/x/verify/tree/a.test.js"), "a.test.js");
        assert_eq!(stable_path("test/a.test.js"), "test/a.test.js");
    }
}
