//! Rust source as tokens: identifiers and punctuation with their lines. Comments and
//! literals are no tokens; comment lines, doc comments and strings are noted on the way.

/// A token and the line it stands on, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// A source file, split up.
#[derive(Debug, Default)]
pub(super) struct Lexed<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// First lines of doc comments, without their slashes.
    pub(super) docs: Vec<(usize, &'a str)>,
    /// Strings as the source spells them, without their quotes; raw ones and bytes are left out.
    pub(super) strings: Vec<Token<'a>>,
    /// Lines that hold nothing but a comment.
    pub(super) comment_lines: usize,
    /// Lines with code, and the characters on them without indentation.
    pub(super) code_lines: usize,
    pub(super) code_chars: usize,
}

/// Splits a source file into tokens. It never fails: text that is no Rust gives useless
/// tokens.
pub(super) fn lex(text: &str) -> Lexed<'_> {
    let mut lexed = Lexed::default();
    count_lines(text, &mut lexed);
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => line_end(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => block_end(bytes, at),
            b'"' => {
                let end = string_end(bytes, at + 1);
                let inner = text.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                lexed.strings.push(Token { text: inner, line });
                end
            }
            b'r' | b'b' | b'c' => match raw_or_prefixed(bytes, at) {
                Some(end) => end,
                None => word(text, at, line, &mut lexed),
            },
            b'\'' => char_or_lifetime(bytes, at),
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => word(text, at, line, &mut lexed),
            byte if byte.is_ascii_punctuation() => {
                lexed.tokens.push(Token { text: &text[at..=at], line });
                at + 1
            }
            _ => at + 1,
        };
        line += bytes[at..end.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count();
        at = end;
    }
    lexed
}

fn count_lines<'a>(text: &'a str, lexed: &mut Lexed<'a>) {
    let mut before = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(doc) = doc
            && !before
        {
            lexed.docs.push((index + 1, doc.trim()));
        }
        before = doc.is_some();
        if line.starts_with("//") {
            lexed.comment_lines += 1;
        } else if !line.is_empty() {
            lexed.code_lines += 1;
            lexed.code_chars += line.chars().count();
        }
    }
}

fn word<'a>(text: &'a str, at: usize, line: usize, lexed: &mut Lexed<'a>) -> usize {
    let rest = &text[at..];
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    lexed.tokens.push(Token { text: &rest[..length], line });
    at + length
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn block_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (0_usize, at);
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// The end of `r"…"`, `r#"…"#`, `b"…"`, `b'…'`, `br"…"` and `c"…"`; none where a word begins.
fn raw_or_prefixed(bytes: &[u8], at: usize) -> Option<usize> {
    let letters = bytes[at..].iter().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let hashes = bytes[at + letters..].iter().take_while(|byte| **byte == b'#').count();
    let raw = bytes[at..at + letters].contains(&b'r');
    let open = at + letters + hashes;
    match bytes.get(open)? {
        b'"' if raw => {
            let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            let found = bytes[open + 1..].windows(close.len()).position(|window| window == close);
            Some(found.map_or(bytes.len(), |found| open + 1 + found + close.len()))
        }
        b'"' if hashes == 0 && letters == 1 => Some(string_end(bytes, open + 1)),
        b'\'' if &bytes[at..open] == b"b" => Some(char_or_lifetime(bytes, open)),
        _ => None,
    }
}

fn char_or_lifetime(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        let closed = bytes[at + 3..].iter().position(|byte| *byte == b'\'');
        return closed.map_or(bytes.len(), |length| at + 3 + length + 1);
    }
    // A character of several bytes closes within a few of them; a lifetime does not.
    let closed = bytes[at + 1..].iter().take(5).position(|byte| *byte == b'\'');
    match closed {
        Some(length) if length == 1 || (length > 1 && !bytes[at + 1].is_ascii()) => at + 1 + length + 1,
        _ => at + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_passed_over() {
        let text = "/// Doc one.\n/// more\nfn a<'x>() { // fn b\n let c = \"fn d \\\" fn e\"; let f = r#\"fn \"g\"#; 'h'; '\\''; b'i'; /* fn /* j */ k */ }\n";
        let lexed = lex(text);
        let words: Vec<&str> =
            lexed.tokens.iter().map(|token| token.text).filter(|text| text.len() > 1 || text.is_empty()).collect();
        assert_eq!(words, ["fn", "let", "let"]);
        assert_eq!((lexed.docs, lexed.comment_lines, lexed.code_lines), (vec![(1, "Doc one.")], 2, 2));
        assert_eq!(lexed.strings, [Token { text: r#"fn d \" fn e"#, line: 4 }]);
        assert_eq!(lexed.tokens.last().map(|token| (token.text, token.line)), Some(("}", 4)));
    }
}
