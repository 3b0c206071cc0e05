//! Values that a program puts together from several string literals, or that go on after a
//! continued line.

use std::ops::Range;

/// The most bytes between two literals.
const GAP: usize = 160;

/// Bytes before and after a joint that are examined. A value is found by its first joint.
const BEFORE: usize = 512;
const AFTER: usize = 2048;

/// The stretch between two pieces of one value that begins at `at`: quotes and operator, or
/// backslash and line break. None where the text does not go on.
pub(crate) fn joint_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_value =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/=_.-:@".contains(byte));
    if !is_value(at.checked_sub(1).and_then(|before| text.get(before))) {
        return None;
    }
    let end = match *text.get(at)? {
        b'\\' => blanks(text, line_break(text, at + 1)?),
        quote @ (b'"' | b'\'' | b'`') => {
            let operator = blanks_and_breaks(text, at + 1);
            let next = match text.get(operator..operator + 2)? {
                [b'+' | b'&' | b'~', _] => operator + 1,
                b".." | b"||" | b"<>" => operator + 2,
                [b'.', _] => operator + 1,
                [b'\\', _] => line_break(text, operator + 1)?,
                _ => operator,
            };
            let opening = blanks_and_breaks(text, next);
            // `r"`, `b"` and the like.
            let opening =
                opening + usize::from(matches!(text.get(opening), Some(b'r' | b'b' | b'f' | b'u' | b'@' | b'L')));
            (*text.get(opening)? == quote).then_some(opening + 1)?
        }
        _ => return None,
    };
    (end - at <= GAP && is_value(text.get(end))).then_some(at..end)
}

fn line_break(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'\n' => Some(at + 1),
        b'\r' if text.get(at + 1) == Some(&b'\n') => Some(at + 2),
        _ => None,
    }
}

fn blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take(GAP).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn blanks_and_breaks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take(GAP).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Calls `found` with each joint that begins in `from..to`.
pub(crate) fn each_joint(text: &[u8], from: usize, to: usize, mut found: impl FnMut(Range<usize>)) {
    let quotes = memchr::memchr3_iter(b'"', b'\'', b'`', &text[from..to]).map(|at| from + at);
    let may_go_on = |at: &usize| {
        let next = text.get(at + 1).copied().unwrap_or_default();
        next.is_ascii_whitespace() || b"+&~.|<\\\"'`".contains(&next)
    };
    quotes.filter(may_go_on).filter_map(|at| joint_at(text, at)).for_each(&mut found);
    let slashes = memchr::memchr_iter(b'\\', &text[from..to]).map(|at| from + at);
    slashes.filter_map(|at| joint_at(text, at)).for_each(&mut found);
}

/// The text around a joint without it and those near by, with the place of each piece.
#[derive(Debug)]
pub(crate) struct JoinedText {
    pub(crate) bytes: Vec<u8>,
    /// Beginning of each piece, here and in the text.
    pieces: Vec<(usize, usize)>,
    /// Position of the joint.
    at: usize,
}

impl JoinedText {
    /// Joins the pieces around a joint, with the positions that they came from.
    pub(crate) fn around(text: &[u8], joint: &Range<usize>) -> JoinedText {
        let low = joint.start.saturating_sub(BEFORE);
        let high = text.len().min(joint.end + AFTER);
        let mut joined = JoinedText { bytes: Vec::with_capacity(high - low), pieces: vec![(0, low)], at: 0 };
        let mut now = low;
        while now < high {
            // Of what stands before it only this joint counts: an earlier one finds the
            // whole of a longer value.
            let next = if now < joint.start { Some(joint.clone()) } else { next_joint(text, now, high) };
            let end = next.as_ref().map_or(high, |next| next.start);
            joined.bytes.extend_from_slice(&text[now..end]);
            let Some(next) = next else { break };
            if next == *joint {
                joined.at = joined.bytes.len();
            }
            joined.pieces.push((joined.bytes.len(), next.end));
            now = next.end;
        }
        joined
    }

    /// True if a stretch of it lies on both sides of the joint.
    pub(crate) fn spans(&self, stretch: &Range<usize>) -> bool {
        stretch.start < self.at && self.at < stretch.end
    }

    /// Parts of the original text that a stretch of the joined text covers.
    pub(crate) fn places(&self, stretch: &Range<usize>) -> Vec<Range<usize>> {
        let ends = self.pieces.iter().skip(1).map(|(start, _)| *start).chain([self.bytes.len()]);
        let parts = self.pieces.iter().zip(ends).filter_map(|((start, place), end)| {
            let (from, to) = (stretch.start.max(*start), stretch.end.min(end));
            (from < to).then(|| place + from - start..place + to - start)
        });
        parts.collect()
    }
}

fn next_joint(text: &[u8], from: usize, to: usize) -> Option<Range<usize>> {
    let mut now = from;
    while now < to {
        let at = now + text[now..to].iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'))?;
        if let Some(joint) = joint_at(text, at) {
            return Some(joint);
        }
        now = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_is_what_lies_between_two_pieces_of_a_value() {
        for (text, joint) in [
            ("\"ab\" + \"cd\"", Some(" + ")),
            ("'ab'\n    'cd'", Some("\n    ")),
            ("\"ab\" \\\n  \"cd\"", Some(" \\\n  ")),
            ("\"ab\" . \"cd\"", Some(" . ")),
            ("\"ab\" .. \"cd\"", Some(" .. ")),
            ("'ab' || 'cd'", Some(" || ")),
            ("\"ab\" +\r\n  b\"cd\"", Some(" +\r\n  b")),
            ("\"ab\", \"cd\"", None),
            ("\"ab\": \"cd\"", None),
            ("\"ab\" + name", None),
            ("\"\" + \"cd\"", None),
        ] {
            let at =
                text.char_indices().skip(1).find(|(_, letter)| matches!(letter, '"' | '\'')).map_or(0, |(at, _)| at);
            let found = joint_at(text.as_bytes(), at).map(|found| &text[found.start + 1..found.end - 1]);
            assert_eq!(found, joint, "{text:?}");
        }
        assert_eq!(joint_at(b"ab\\\n  cd", 2), Some(2..6));
        assert_eq!(joint_at(b"ab\\ncd", 2), None);
    }
}
