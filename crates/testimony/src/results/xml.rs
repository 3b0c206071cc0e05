//! The tags of an XML document, and nothing else of it.
//!
//! Made for reports that the code under judgement may have written: it goes over the bytes
//! once, keeps nothing, knows the five entities that every document has and numbers, and
//! never looks at what a document type declares.

use std::borrow::Cow;

use super::text::byte_position;

/// Upper bound on the decoded bytes of one value.
const LONGEST_VALUE: usize = 16 << 10;

/// Tag of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XmlTag<'a> {
    Open { name: &'a [u8], attributes: &'a [u8], empty: bool },
    Close { name: &'a [u8] },
}

/// Goes through a document up to its end, or to where it is no document any more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Tags<'a> {
    /// Starts at the beginning of a document.
    pub(super) fn of_document(document: &'a [u8]) -> Self {
        Self { rest: document }
    }

    /// Moves behind the next place where `end` stands.
    fn skip(&mut self, end: &[u8]) -> Option<()> {
        let found = find_bytes(self.rest, end)?;
        self.rest = &self.rest[found + end.len()..];
        Some(())
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = XmlTag<'a>;

    fn next(&mut self) -> Option<XmlTag<'a>> {
        loop {
            self.skip(b"<")?;
            match self.rest {
                [b'?', ..] => self.skip(b"?>")?,
                rest if rest.starts_with(b"!--") => self.skip(b"-->")?,
                rest if rest.starts_with(b"![CDATA[") => self.skip(b"]]>")?,
                [b'!', ..] => drop(self.take(declaration(self.rest)?)),
                rest => {
                    let inner = self.take(tag_length(rest)?);
                    let inner = inner.strip_suffix(b">").unwrap_or(inner);
                    if let Some(tag) = tag(inner) {
                        return Some(tag);
                    }
                }
            }
        }
    }
}

fn tag(inner: &[u8]) -> Option<XmlTag<'_>> {
    if let Some(name) = inner.strip_prefix(b"/") {
        return Some(XmlTag::Close { name: name.trim_ascii() });
    }
    let empty = inner.ends_with(b"/");
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    let end = inner.iter().position(u8::is_ascii_whitespace).unwrap_or(inner.len());
    let (name, attributes) = inner.split_at(end);
    (!name.is_empty()).then_some(XmlTag::Open { name, attributes, empty })
}

/// Up to and with the sign that closes a tag; one inside a value does not.
fn tag_length(bytes: &[u8]) -> Option<usize> {
    let mut quote = None;
    let end = bytes.iter().position(|byte| match (quote, byte) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(*byte);
            false
        }
        (Some(open), byte) if open == *byte => {
            quote = None;
            false
        }
        _ => false,
    });
    end.map(|end| end + 1)
}

/// The same for a declaration, which may have others in brackets.
fn declaration(bytes: &[u8]) -> Option<usize> {
    let mut quote = None;
    let mut brackets = 0_u32;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'[') => brackets = brackets.saturating_add(1),
            (None, b']') => brackets = brackets.saturating_sub(1),
            (None, b'>') if brackets == 0 => return Some(at + 1),
            (None, _) => {}
        }
    }
    None
}

/// The value of an attribute, decoded.
pub(super) fn attribute(attributes: &[u8], wanted: &str) -> Option<String> {
    let mut rest = attributes.trim_ascii_start();
    while let Some(equals) = rest.iter().position(|byte| *byte == b'=') {
        let name = rest[..equals].trim_ascii();
        let value = rest[equals + 1..].trim_ascii_start();
        let (quote, value) = value.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
        let end = value.iter().position(|byte| byte == quote)?;
        if name == wanted.as_bytes() {
            return Some(decoded(&value[..end.min(LONGEST_VALUE)]));
        }
        rest = value[end + 1..].trim_ascii_start();
    }
    None
}

fn decoded(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // An entity of ours is short; anything else stays as it is.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let (entity, after) = rest.split_at(end.map_or(1, |end| end + 1));
        out.push_str(&entity_text(entity));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn entity_text(entity: &str) -> Cow<'_, str> {
    let numeric = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let inner = entity.trim_start_matches('&').trim_end_matches(';');
    let character = match inner {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        inner => match inner.strip_prefix("#x").or_else(|| inner.strip_prefix("#X")) {
            Some(digits) => numeric(digits, 16),
            None => inner.strip_prefix('#').and_then(|digits| numeric(digits, 10)),
        },
    };
    character.filter(|_| entity.ends_with(';')).map_or(Cow::Borrowed(entity), |character| character.to_string().into())
}

/// First position of `wanted`.
pub(super) fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = byte_position(bytes.get(from..)?, first) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}
