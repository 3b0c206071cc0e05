//! Reading text one character at a time through the escapes of URLs and JSON, and across
//! wrapped lines.

/// Escapes that are decoded. A value that contains a `%` or a backslash of its own occurs
/// raw in one text and escaped in another, and no single reading finds both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeMode {
    Raw,
    Url,
    Json,
    /// JSON within JSON: several backslashes are one.
    Nested,
    /// URL and nested JSON.
    Any,
}

/// Escapes in their order.
pub(crate) const MODES: [EscapeMode; 5] =
    [EscapeMode::Raw, EscapeMode::Url, EscapeMode::Json, EscapeMode::Nested, EscapeMode::Any];

/// Escape in which a character was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    None,
    Url,
    Json,
}

/// One character as it is written: what it means, in UTF-8, and where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    bytes: [u8; 4],
    len: u8,
    pub(crate) end: usize,
    pub(crate) escape: Escape,
}

impl Unit {
    /// Bytes of the character.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn byte(byte: u8, end: usize, escape: Escape) -> Unit {
        Unit { bytes: [byte, 0, 0, 0], len: 1, end, escape }
    }

    fn character(character: char, end: usize) -> Unit {
        let mut bytes = [0; 4];
        let len = character.encode_utf8(&mut bytes).len();
        Unit { bytes, len: len as u8, end, escape: Escape::Json }
    }
}

/// The character that begins at `at`.
pub(crate) fn unit(text: &[u8], at: usize, mode: EscapeMode) -> Option<Unit> {
    let first = *text.get(at)?;
    let escaped = match first {
        b'%' if matches!(mode, EscapeMode::Url | EscapeMode::Any) => percent(text, at),
        b'\\' if mode == EscapeMode::Json => backslash(text, at, 1),
        b'\\' if matches!(mode, EscapeMode::Nested | EscapeMode::Any) => backslash(text, at, SLASHES_MAX),
        _ => None,
    };
    Some(escaped.unwrap_or_else(|| Unit::byte(first, at + 1, Escape::None)))
}

fn percent(text: &[u8], at: usize) -> Option<Unit> {
    let byte = hex_pair(text.get(at + 1..at + 3)?)?;
    Some(Unit::byte(byte, at + 3, Escape::Url))
}

/// Number of successive backslashes that are read as one.
const SLASHES_MAX: usize = 4;

/// A JSON escape with up to `most` backslashes. Any punctuation may be escaped, as shells
/// and Markdown do.
fn backslash(text: &[u8], at: usize, most: usize) -> Option<Unit> {
    let slashes = text[at..].iter().take(most).take_while(|byte| **byte == b'\\').count();
    let at = at + slashes;
    let byte = match text.get(at) {
        Some(b'u') => return code_unit(text, at),
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'x') => return Some(Unit::byte(hex_pair(text.get(at + 1..at + 3)?)?, at + 3, Escape::Json)),
        Some(other) if other.is_ascii_punctuation() && slashes % 2 == 1 => *other,
        _ if slashes >= 2 => return Some(Unit::byte(b'\\', at - slashes + 2, Escape::Json)),
        _ => return None,
    };
    Some(Unit::byte(byte, at + 1, Escape::Json))
}

fn code_unit(text: &[u8], at: usize) -> Option<Unit> {
    let first = hex_quad(text.get(at + 1..at + 5)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some(Unit::character(character, at + 5));
    }
    let rest = text.get(at + 5..at + 11)?.strip_prefix(b"\\u")?;
    let pair = [first as u16, hex_quad(rest)? as u16];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some(Unit::character(character, at + 11))
}

/// Value of a hexadecimal digit.
pub(crate) fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Byte of two hexadecimal digits.
pub(crate) fn hex_pair(digits: &[u8]) -> Option<u8> {
    match digits {
        [high, low] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

fn hex_quad(digits: &[u8]) -> Option<u32> {
    let (high, low) = digits.split_at_checked(2)?;
    Some(u32::from(hex_pair(high)?) << 8 | u32::from(hex_pair(low)?))
}

/// The most blanks that a wrapped line is indented by.
const INDENT_MAX: usize = 128;

/// Positions at which a value continues after a line break at `at`: after the indentation,
/// and after a mark such as a diff's `+` or a quoted mail's `>`. None without a line break.
pub(crate) fn wrapped(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let at = line_break(text, at)?;
    let indented = blanks(text, at);
    let marked = match text.get(indented) {
        Some(b'+' | b'-' | b'>' | b'|' | b'#' | b'*') => blanks(text, indented + 1),
        _ => indented,
    };
    Some((indented, marked))
}

fn line_break(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with(b"\n") {
        return Some(at + 1);
    }
    if rest.starts_with(b"\r\n") || rest.starts_with(b"\\\n") {
        return Some(at + 2);
    }
    let escaped = |at: usize, letter: u8| {
        let slashes = text[at..].iter().take(SLASHES_MAX).take_while(|byte| **byte == b'\\').count();
        (slashes > 0 && text.get(at + slashes) == Some(&letter)).then(|| at + slashes + 1)
    };
    match escaped(at, b'r') {
        Some(at) => escaped(at, b'n'),
        None => escaped(at, b'n'),
    }
}

fn blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take(INDENT_MAX).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Start of the line break that ends, with its indentation and mark, exactly at `at`.
pub(crate) fn wrapped_before(text: &[u8], at: usize) -> Option<usize> {
    /// The longest way to write a line break.
    const BREAK_MAX: usize = 10;
    let reach = at.saturating_sub(2 * INDENT_MAX + 1 + BREAK_MAX);
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'+' | b'-' | b'>' | b'|' | b'#' | b'*');
    let content = text.get(reach..at)?.iter().rposition(|byte| !blank(byte)).map(|last| reach + last + 1)?;
    // A break never begins inside another one, so the earliest that fits is the whole of it.
    let starts = content.saturating_sub(BREAK_MAX)..content;
    starts
        .into_iter()
        .find(|start| wrapped(text, *start).is_some_and(|(indented, marked)| [indented, marked].contains(&at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_where_the_mode_says() {
        let check = |text: &str, mode, expected: &str, end| {
            let unit = unit(text.as_bytes(), 0, mode).unwrap();
            assert_eq!((unit.bytes(), unit.end), (expected.as_bytes(), end), "{text} {mode:?}");
        };
        for (text, mode, expected, end) in [
            ("%2fx", EscapeMode::Url, "/", 3),
            ("%2Fx", EscapeMode::Any, "/", 3),
            ("%2Fx", EscapeMode::Raw, "%", 1),
            ("%zz", EscapeMode::Url, "%", 1),
            (r"\/", EscapeMode::Json, "/", 2),
            (r"\/", EscapeMode::Url, "\\", 1),
            (r"\\/", EscapeMode::Json, "\\", 2),
            (r"\\\/", EscapeMode::Json, "\\", 2),
            (r"\\\/", EscapeMode::Nested, "/", 4),
            (r"\\n", EscapeMode::Json, "\\", 2),
            (r"\\n", EscapeMode::Any, "\n", 3),
            (r"\u0041", EscapeMode::Json, "A", 6),
            (r"\u00e9", EscapeMode::Json, "é", 6),
            (r"\ud83d\ude00!", EscapeMode::Json, "😀", 12),
            (r"\ud83d", EscapeMode::Json, "\\", 1),
            (r"\x41", EscapeMode::Json, "A", 4),
            (r"\q", EscapeMode::Json, "\\", 1),
        ] {
            check(text, mode, expected, end);
        }
    }

    #[test]
    fn line_breaks_are_crossed_both_ways() {
        for (text, indented, marked) in [
            ("\nx", 1, 1),
            ("\r\n  x", 4, 4),
            ("\\n    x", 6, 6),
            ("\\r\\n\tx", 5, 5),
            ("\\\\n x", 4, 4),
            ("\\\n  x", 4, 4),
            ("\n+  x", 1, 4),
            ("\n > x", 2, 4),
        ] {
            assert_eq!(wrapped(text.as_bytes(), 0), Some((indented, marked)), "{text:?}");
            for end in [indented, marked] {
                let before = format!("ab{text}");
                let found = wrapped_before(before.as_bytes(), end + 2);
                assert!(found == Some(2) || end != marked, "{text:?} {found:?}");
            }
        }
        assert_eq!((wrapped(b"x", 0), wrapped(b"", 0), wrapped_before(b"ab", 2)), (None, None, None));
    }
}
