//! The lines of base64 of a key block, whatever they are wrapped in: the marks of a diff or
//! of a quoted mail, comments, the prefixes of a log, string literals that a program puts
//! together, or no line break at all.

use std::ops::Range;

use crate::confirm::SecretSpan;
use crate::marker;
use crate::view::Edge;

/// The shortest stretch of base64 that is taken for a line of a key by itself. The last
/// line may be shorter.
const LINE: usize = 16;

/// Upper bound on the bytes before the base64 on its line.
const PREFIX: usize = 120;

/// Least length of a key that is followed by something other than its closing line: shorter
/// ones are what documentation leaves of a key. At the end of the text, more of the key may
/// come.
const UNCLOSED: usize = 128;

/// Lines without base64 that may stand before it: headers of the block, and empty ones.
const HEADERS: usize = 8;

/// The base64 after `from`, where a block's opening line ends that begins at `opening`.
/// None where there are fewer than `shortest` characters of it. `end` is what stands beyond
/// the last byte: a marker is as much something else than the closing line as the text was
/// that it replaced.
pub(crate) fn key_block(bytes: &[u8], opening: usize, from: usize, end: Edge, shortest: usize) -> Option<SecretSpan> {
    let mark = line_mark(bytes, opening);
    let (mut parts, mut value, mut empty) = (Vec::new(), Vec::new(), 0);
    let mut is_closed = end != Edge::Marker;
    let mut at = from;
    while at < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |len| at + len);
        let start = if at > from && mark.is_some() && bytes.get(at).copied() == mark { at + 1 } else { at };
        let is_last = !value.is_empty() && closes_block(bytes, end + 1);
        let line = read_line(bytes, start..end, !value.is_empty(), is_last);
        match line.body {
            Some(body) => {
                line.tokens.iter().for_each(|token| value.extend_from_slice(&bytes[token.clone()]));
                parts.push(body);
            }
            None if line.is_header && parts.is_empty() && empty < HEADERS => empty += 1,
            None => {
                is_closed = line.end == LineEnd::Closing;
                break;
            }
        }
        if line.end != LineEnd::Open {
            is_closed = line.end == LineEnd::Closing;
            break;
        }
        at = end + 1;
    }
    let shortest = if is_closed { shortest } else { shortest.max(UNCLOSED) };
    (value.len() >= shortest).then_some(SecretSpan { parts, value })
}

/// Mark at the beginning of the block's opening line, if it is one that every line of the
/// block has.
fn line_mark(bytes: &[u8], opening: usize) -> Option<u8> {
    let line = memchr::memrchr(b'\n', &bytes[..opening]).map_or(0, |at| at + 1);
    bytes.get(line).copied().filter(|byte| line < opening && b"+->|#*;%".contains(byte))
}

/// One line of a block.
#[derive(Debug, Default)]
struct BlockLine {
    /// From its first character of base64 to its last.
    body: Option<Range<usize>>,
    tokens: Vec<Range<usize>>,
    /// No base64, and nothing that ends the block.
    is_header: bool,
    end: LineEnd,
}

/// Way in which a line leaves its block.
#[derive(Debug, Default, PartialEq, Eq)]
enum LineEnd {
    #[default]
    Open,
    /// The block's closing line.
    Closing,
    /// A marker of an earlier redaction.
    Marker,
}

/// True if the line that begins here is the closing line of a block.
fn closes_block(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    line.windows(7).take(PREFIX).any(|window| window == b"--- END" || window == b"----END")
}

fn read_line(bytes: &[u8], line: Range<usize>, is_within: bool, is_last: bool) -> BlockLine {
    let mut read = BlockLine { is_header: true, ..BlockLine::default() };
    let header = header_end(&bytes[line.clone()]);
    let mut at = line.start + header;
    let (mut words, mut short) = (0, Vec::new());
    while let Some(token) = next_token(bytes, at..line.end) {
        at = token.end;
        let text = &bytes[token.clone()];
        let is_marker = marker::end_of(bytes, token.start).is_some();
        if is_marker || text.starts_with(b"---") || text.starts_with(b"Private-") {
            read.end = if is_marker { LineEnd::Marker } else { LineEnd::Closing };
            read.is_header = false;
            break;
        }
        let is_word = text.iter().any(u8::is_ascii_alphanumeric);
        let is_base64 = is_word && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
        let is_body = is_base64 && (text.len() >= LINE || !read.tokens.is_empty());
        let is_near = token.start < line.start + header + PREFIX || !read.tokens.is_empty();
        if is_body && is_near {
            read.tokens.push(token);
        } else if is_word {
            words += 1;
            if is_base64 {
                short.push(token);
            }
        }
    }
    // The last line of a key may hold a few characters alone.
    if read.tokens.is_empty() && (is_within && words == 1 || is_last) {
        read.tokens.extend(short.pop());
    }
    read.is_header &= read.tokens.is_empty() && (header > 0 || words == 0);
    read.body = read.tokens.first().zip(read.tokens.last()).map(|(first, last)| first.start..last.end);
    read
}

/// End of a header of the block, as in `Proc-Type: 4,ENCRYPTED`; 0 if the line is none.
fn header_end(line: &[u8]) -> usize {
    const NAMES: [&[u8]; 8] =
        [b"Proc-Type", b"DEK-Info", b"Version", b"Comment", b"Charset", b"Hash", b"Subject", b"X-"];
    let is_header = |name: &[u8]| {
        let found = line.windows(name.len()).take(PREFIX).position(|window| window == name)?;
        let rest = &line[found + name.len()..];
        let colon = rest.iter().take(24).position(|byte| *byte == b':')?;
        let named = rest[..colon].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        // In a string literal the header ends at the escaped line break.
        let end = rest.windows(2).position(|pair| matches!(pair, b"\\n" | b"\\r")).unwrap_or(rest.len());
        named.then_some(found + name.len() + end)
    };
    let mut end = 0;
    while let Some(next) = NAMES.iter().filter_map(|name| is_header(name)).max().filter(|next| *next > end) {
        end = next;
        if end >= line.len() {
            break;
        }
    }
    end.min(line.len())
}

/// The next run of characters that are no blank, quote, comma, bracket or escaped line break.
fn next_token(bytes: &[u8], within: Range<usize>) -> Option<Range<usize>> {
    let mut start = within.start;
    while start < within.end {
        match separator(bytes, start, within.end) {
            0 => break,
            len => start += len,
        }
    }
    let mut end = start;
    while end < within.end && separator(bytes, end, within.end) == 0 {
        end += 1;
    }
    (start < end).then_some(start..end)
}

/// Number of bytes at this place that only separate tokens.
fn separator(bytes: &[u8], at: usize, end: usize) -> usize {
    match bytes[at] {
        byte if byte.is_ascii_whitespace() => 1,
        b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' | b'<' | b'>' | b'|' | b'{' | b'}' | b'&' => 1,
        b'\\' => {
            let slashes = bytes[at..end].iter().take_while(|byte| **byte == b'\\').count();
            slashes + usize::from(matches!(bytes.get(at + slashes), Some(b'n' | b'r' | b't')))
        }
        _ => 0,
    }
}
