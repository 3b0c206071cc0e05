//! Pieces of HTML and Markdown that a reader does not see: tags, comments, targets of links; and references to characters.

use crate::rendered::LinkLabels;

/// Longest tag or target that is read; a longer one counts as text, which hides nothing.
const LONGEST: usize = 4096;
/// Elements that leave their text in the line where it stands.
const INLINE: [&str; 33] = [
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "var", "wbr",
];
/// References by name to characters that matter for words and their edges.
const NAMED: [(&str, char); 34] = [
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("hairsp", ' '),
    ("numsp", ' '),
    ("puncsp", ' '),
    ("NonBreakingSpace", ' '),
    ("Tab", ' '),
    ("NewLine", ' '),
    ("shy", '\u{ad}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("ZeroWidthSpace", '\u{200b}'),
    ("NoBreak", '\u{2060}'),
    ("lrm", '\u{200e}'),
    ("rlm", '\u{200f}'),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hyphen", '-'),
    ("period", '.'),
    ("comma", ','),
    ("colon", ':'),
    ("semi", ';'),
    ("lowbar", '_'),
];

/// Space that a tag leaves in the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapKind {
    Nothing,
    Space,
}

/// Length of the tag, comment or declaration that a text begins with, and the space it leaves; none for a plain `<`.
pub(crate) fn tag_at(text: &str) -> Option<(usize, GapKind)> {
    let up_to = |end: &str, from: usize| Some(text.get(from..)?.find(end)? + from + end.len());
    if text.starts_with("<!--") {
        let is_empty = text.starts_with("<!-->") || text.starts_with("<!--->");
        return up_to(if is_empty { ">" } else { "-->" }, 4).map(|length| (length, GapKind::Nothing));
    }
    let text = head_of(text);
    let closing = text.starts_with("</");
    let name_from = 1 + usize::from(closing);
    let name_to = name_from + span_of(text, name_from, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let name = text.get(name_from..name_to)?;
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut at = name_to;
    while let Some(next) = (!closing).then(|| attribute_end(text, at)).flatten() {
        at = next;
    }
    at += blanks(text, at);
    at += usize::from(!closing && text[at..].starts_with('/'));
    let is_inline = INLINE.contains(&name.to_ascii_lowercase().as_str());
    let gap = if is_inline { GapKind::Nothing } else { GapKind::Space };
    text[at..].starts_with('>').then_some((at + 1, gap))
}

/// Beginning of a text, as long as anything that is read in one piece.
fn head_of(text: &str) -> &str {
    let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn span_of(text: &str, from: usize, is_in: impl Fn(u8) -> bool) -> usize {
    text.as_bytes().get(from..).map_or(0, |rest| rest.iter().take_while(|byte| is_in(**byte)).count())
}

fn blanks(text: &str, from: usize) -> usize {
    span_of(text, from, |byte| byte.is_ascii_whitespace())
}

/// End of an attribute of a tag behind white space, by the grammar of CommonMark.
fn attribute_end(text: &str, from: usize) -> Option<usize> {
    let space = blanks(text, from);
    let start = from + space;
    let length = span_of(text, start, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'-'));
    let first = *text.as_bytes().get(start)?;
    let is_name = length > 0 && (first.is_ascii_alphabetic() || matches!(first, b'_' | b':'));
    if space == 0 || !is_name {
        return None;
    }
    let name_end = start + length;
    let equals = name_end + blanks(text, name_end);
    if text.as_bytes().get(equals) != Some(&b'=') {
        return Some(name_end);
    }
    let value = equals + 1 + blanks(text, equals + 1);
    match text.as_bytes().get(value)? {
        quote @ (b'"' | b'\'') => text[value + 1..].find(char::from(*quote)).map(|end| value + 1 + end + 1),
        _ => {
            let is_plain = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'=<>`".contains(&byte);
            Some(span_of(text, value, is_plain)).filter(|length| *length > 0).map(|length| value + length)
        }
    }
}

/// Length of what follows the text of a link: `(target "title")`, or `[label]` of a definition; 0 where a reader sees it.
pub(crate) fn target_length(text: &str, labels: &LinkLabels) -> usize {
    let text = head_of(text);
    let length = match text.as_bytes().first() {
        Some(b'(') => inline_target(text),
        Some(b'[') => {
            text[1..].find(']').map(|end| end + 2).filter(|end| labels.contains(&label_of(&text[1..end - 1])))
        }
        _ => None,
    };
    length.unwrap_or(0)
}

/// Label of a definition or a reference, as the two are compared.
pub(crate) fn label_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn inline_target(text: &str) -> Option<usize> {
    let from = 1 + blanks(text, 1);
    let target_end = match text.as_bytes().get(from)? {
        b'<' => from + text[from..].find('>')? + 1,
        _ => from + plain_target(&text[from..]),
    };
    let space = blanks(text, target_end);
    let at = target_end + space;
    let closing = match text.as_bytes().get(at)? {
        b')' => return Some(at + 1),
        _ if space == 0 => return None,
        b'"' => '"',
        b'\'' => '\'',
        b'(' => ')',
        _ => return None,
    };
    let title_end = at + 1 + text[at + 1..].find(closing)? + 1;
    let end = title_end + blanks(text, title_end);
    text[end..].starts_with(')').then_some(end + 1)
}

/// Length of a target without white space, whose parentheses are in pairs.
fn plain_target(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return at,
            b')' => depth -= 1,
            byte if byte.is_ascii_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// Character of the reference that a text begins with, and its length.
pub(crate) fn decode_reference(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(34).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let number = match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        },
        None => NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| u32::from(*c)),
    };
    number.and_then(char::from_u32).map(|c| (c, end + 1))
}
