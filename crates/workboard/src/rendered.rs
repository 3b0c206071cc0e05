//! Text as a reader of the rendered page sees it: markup taken off, references decoded, with the place of each byte in the source.

use std::collections::HashSet;
use std::ops::Range;

use crate::markup::{GapKind, decode_reference, tag_at, target_length};

/// Labels of link definitions of a document, in lower case.
pub(crate) type LinkLabels = HashSet<String>;

/// Rendered text of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedText {
    pub(crate) text: String,
    /// Code of several words, which may quote a sentence.
    pub(crate) phrases: Vec<Range<usize>>,
    /// Byte in the text and byte in the source, wherever their distance changes.
    origins: Vec<(usize, usize)>,
}

impl RenderedText {
    /// Byte of the source that a byte of the text comes from.
    pub(crate) fn origin_of(&self, byte: usize) -> usize {
        let index = self.origins.partition_point(|(from, _)| *from <= byte).saturating_sub(1);
        self.origins.get(index).map_or(byte, |(from, at)| at + (byte - from))
    }

    fn push(&mut self, c: char, at: usize) {
        let to = self.text.len();
        if self.origins.last().is_none_or(|(from, origin)| origin + (to - from) != at) {
            self.origins.push((to, at));
        }
        self.text.push(c);
    }

    /// Adds a character as it is seen: spaces of any width as one, and nothing that has no width.
    fn push_seen(&mut self, c: char, at: usize) {
        match c {
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => {}
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' => {}
            '\n' => self.push('\n', at),
            '‘' | '’' | 'ʼ' => self.push('\'', at),
            '‐' | '‑' => self.push('-', at),
            'ſ' => self.push('s', at),
            '\u{212a}' => self.push('K', at),
            '\u{ff01}'..='\u{ff5e}' => self.push(char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c), at),
            c if c.is_whitespace() => self.push(' ', at),
            c => self.push(c, at),
        }
    }
}

/// Renders a block of Markdown, in time linear in its length but for code that does not end.
pub(crate) fn render_text(source: &str, labels: &LinkLabels) -> RenderedText {
    let mut renderer =
        Renderer { source, at: 0, open: 0, labels, unclosed: HashSet::new(), out: RenderedText::default() };
    while let Some(c) = renderer.source[renderer.at..].chars().next() {
        renderer.take_char(c);
    }
    renderer.out
}

struct Renderer<'s> {
    source: &'s str,
    at: usize,
    /// Brackets that are open.
    open: usize,
    labels: &'s LinkLabels,
    /// Lengths of runs of backticks that nothing closes any more; 0 for a comment.
    unclosed: HashSet<usize>,
    out: RenderedText,
}

impl Renderer<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn take_char(&mut self, c: char) {
        let next = self.rest()[c.len_utf8()..].chars().next();
        match c {
            '`' => self.take_code(),
            '<' => self.take_tag(),
            '&' => self.take_reference(),
            '*' | '~' => self.at += 1,
            '_' => self.take_underscores(),
            '!' if next == Some('[') => self.at += 1,
            '[' => self.take_opening(),
            ']' => self.take_closing(),
            '\\' => self.take_escape(next),
            c => {
                self.out.push_seen(c, self.at);
                self.at += c.len_utf8();
            }
        }
    }

    /// Underscores are emphasis at the edge of a word, and a part of it inside.
    fn take_underscores(&mut self) {
        let (before, rest) = self.source.split_at(self.at);
        let bare = rest.trim_start_matches('_');
        let is_inner = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let length = rest.len() - bare.len();
        if is_inner(before.chars().next_back()) && is_inner(bare.chars().next()) {
            (0..length).for_each(|offset| self.out.push('_', self.at + offset));
        }
        self.at += length;
    }

    /// A character that is no markup here. Marks of emphasis and brackets are passed over as if they were some: a reader does too.
    fn take_escape(&mut self, next: Option<char>) {
        let before = self.source[..self.at].chars().next_back();
        self.at += 1;
        match next {
            Some('_') => {
                let after = self.rest().chars().nth(1);
                if [before, after].iter().all(|c| c.is_some_and(char::is_alphanumeric)) {
                    self.out.push('_', self.at);
                }
                self.at += 1;
            }
            Some('*' | '~' | '[' | ']' | '`') => self.at += 1,
            Some(c) if c.is_ascii_punctuation() => {
                self.out.push(c, self.at);
                self.at += 1;
            }
            Some(c) if !c.is_whitespace() => self.out.push('\\', self.at - 1),
            // A backslash at the end of a line breaks it.
            Some(_) | None => {}
        }
    }

    /// A span of code, whose content is no markup. One of several words may quote a sentence.
    fn take_code(&mut self) {
        let rest = self.rest();
        let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
        let Some(length) = (!self.unclosed.contains(&ticks)).then(|| code_length(&rest[ticks..], ticks)).flatten()
        else {
            self.unclosed.insert(ticks);
            self.at += ticks;
            return;
        };
        let inner = self.at + ticks..self.at + ticks + length;
        let from = self.out.text.len();
        for (at, c) in self.source[inner.clone()].char_indices() {
            self.out.push_seen(c, inner.start + at);
        }
        if self.source[inner.clone()].trim().contains(' ') {
            self.out.phrases.push(from..self.out.text.len());
        }
        self.at = inner.end + ticks;
    }

    fn take_tag(&mut self) {
        let is_comment = self.rest().starts_with("<!--");
        let found = if is_comment && self.unclosed.contains(&0) { None } else { tag_at(self.rest()) };
        match found {
            Some((length, gap)) => {
                if gap == GapKind::Space {
                    self.out.push(' ', self.at);
                }
                self.at += length;
            }
            None => {
                if is_comment {
                    self.unclosed.insert(0);
                }
                self.out.push('<', self.at);
                self.at += 1;
            }
        }
    }

    fn take_reference(&mut self) {
        match decode_reference(self.rest()) {
            Some((c, length)) => {
                self.out.push_seen(c, self.at);
                self.at += length;
            }
            None => {
                self.out.push('&', self.at);
                self.at += 1;
            }
        }
    }

    /// An opening bracket; a mark of a footnote is passed over whole.
    fn take_opening(&mut self) {
        let footnote = self.rest().strip_prefix("[^").and_then(|rest| {
            let length = rest.find([']', ' ', '[']).filter(|end| (1..64).contains(end))?;
            rest[length..].starts_with(']').then_some(length + 3)
        });
        match footnote {
            Some(length) => self.at += length,
            None => {
                if self.source[..self.at].ends_with(']') {
                    self.out.push(' ', self.at);
                }
                self.open += 1;
                self.at += 1;
            }
        }
    }

    fn take_closing(&mut self) {
        self.at += 1;
        if self.open == 0 {
            return;
        }
        self.open -= 1;
        self.at += target_length(self.rest(), self.labels);
    }
}

/// Bytes up to a run of so many backticks.
fn code_length(text: &str, ticks: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'`') {
        let from = at + found;
        let run = bytes[from..].iter().take_while(|byte| **byte == b'`').count();
        if run == ticks {
            return Some(from);
        }
        at = from + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_taken_off_and_the_text_stays() {
        let labels = LinkLabels::from(["d".to_owned()]);
        for (source, expected) in [
            ("a **b** _c_ __d__ ~~e~~ de*fault*", "a b c d e default"),
            ("snake_case_word and _a_b_", "snake_case_word and a_b"),
            ("the [default](x.md) [backend](<x y> \"a title\")", "the default backend"),
            ("the [default][d] and [default][e]", "the default and default e"),
            ("![Case](x.png) is[^1] here", "Case is here"),
            ("a](x) [b](not a target) c", "a(x) b(not a target) c"),
            ("a\u{a0}b\u{200b}c\u{2009}d\u{ad}e", "a bc de"),
            ("a&nbsp;b &#100;&#x65;f &amp; &nothing; &#42;x", "a b def & &nothing; *x"),
            ("a<b>b</b> <br/>c<!-- not. seen -->d <i class='x y' id=z>e</i>", "ab  cd e"),
            ("a < b, <b, seen> <Case, is> <!-- no end", "a < b, <b, seen> <Case, is> <!-- no end"),
            ("`code` and `a \\* phrase` ``b ` c`` `", "code and a \\* phrase b ` c "),
            ("\\*a\\_ b\\\\ c\\_d \\_e\\_ f\\", "a b\\ c_d e f"),
            ("ｄｅｆａｕｌｔ can’t", "default can't"),
        ] {
            assert_eq!(render_text(source, &labels).text, expected, "{source}");
        }
    }

    #[test]
    fn each_byte_knows_where_it_comes_from() {
        let source = "the **[default](x.md)** &#98;ackend";
        let rendered = render_text(source, &LinkLabels::new());
        for word in ["the", "default", "ackend"] {
            let (at, origin) = (rendered.text.find(word), source.find(word));
            assert_eq!(at.map(|at| rendered.origin_of(at)), origin, "{word}");
        }
        let phrases = render_text("a `b c` `d`", &LinkLabels::new());
        assert_eq!(phrases.phrases.iter().map(|range| &phrases.text[range.clone()]).collect::<Vec<_>>(), ["b c"]);
    }
}
