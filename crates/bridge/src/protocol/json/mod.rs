//! JSON read in place: a flat spans of spans over the bytes, nothing decoded that is not
//! needed.
//!
//! Bodies cross the bridge as the bytes they came in, so reading must give spans, and
//! changing means replacing spans ([`edit`]). The reader ([`read`]) is as strict as the
//! strictest parser behind us: a document that two parsers could understand differently is
//! refused.

mod edit;
mod plain;
mod read;

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::Range;

pub(crate) use edit::Edits;
pub(crate) use read::{ReadJsonError, Strictness};

/// Type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    List,
    Text,
    Number,
    True,
    False,
    Null,
}

/// One value (or key) on the spans; `next` is the index behind it and all it holds.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: JsonKind,
    /// Text with an escape in it.
    escaped: bool,
    start: u32,
    end: u32,
    next: u32,
}

/// The spans of one document. Kept and used again, so that a stream of small documents
/// allocates once.
#[derive(Debug, Default)]
pub(crate) struct JsonSpans {
    entries: Vec<Entry>,
}

thread_local! {
    /// JsonSpans for documents that are read completely before the next await.
    static SHARED: RefCell<JsonSpans> = RefCell::default();
}

impl JsonSpans {
    /// A shared spans that has grown beyond this is not kept.
    const MOST_KEPT: usize = 4096;

    /// Calls `use_it` with a spans that all documents of the thread share.
    pub(crate) fn with_shared<T>(use_it: impl FnOnce(&mut JsonSpans) -> T) -> T {
        let mut spans = SHARED.take();
        let used = use_it(&mut spans);
        if spans.entries.capacity() <= Self::MOST_KEPT {
            SHARED.set(spans);
        }
        used
    }

    /// Reads a whole document.
    pub(crate) fn read_document<'a>(
        &'a mut self,
        bytes: &'a [u8],
        strictness: Strictness,
    ) -> Result<JsonNode<'a>, ReadJsonError> {
        read::read_entries(bytes, &mut self.entries, strictness)?;
        Ok(JsonNode { bytes, spans: &self.entries, at: 0 })
    }
}

/// A value inside a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonNode<'a> {
    bytes: &'a [u8],
    spans: &'a [Entry],
    at: usize,
}

impl<'a> JsonNode<'a> {
    fn entry(&self) -> Entry {
        self.spans[self.at]
    }

    /// Type of the value.
    pub(crate) fn kind(&self) -> JsonKind {
        self.entry().kind
    }

    /// Byte range of the value, quotes and brackets included.
    pub(crate) fn span(&self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
    }

    /// Bytes of the value as they came.
    pub(crate) fn raw(&self) -> &'a [u8] {
        &self.bytes[self.span()]
    }

    /// True for `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// True for an object.
    pub(crate) fn is_object(&self) -> bool {
        self.kind() == JsonKind::Object
    }

    /// Decoded text; a lone surrogate becomes U+FFFD.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        (self.kind() == JsonKind::Text).then(|| decode(self.inner()))
    }

    /// A number that is a whole one and not negative.
    pub(crate) fn integer(&self) -> Option<u64> {
        match self.kind() {
            JsonKind::Number => std::str::from_utf8(self.raw()).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// True if this is exactly the text `wanted`. A key is compared with whole tables, so
    /// nearly all comparisons end at the length.
    #[inline]
    pub(crate) fn is_text(&self, wanted: &str) -> bool {
        let entry = self.entry();
        // Quotes and all. An escape is always longer than what it stands for.
        let (length, plain) = ((entry.end - entry.start) as usize, wanted.len() + 2);
        entry.kind == JsonKind::Text
            && match length.cmp(&plain) {
                Ordering::Less => false,
                Ordering::Equal => self.inner() == wanted.as_bytes(),
                Ordering::Greater => entry.escaped && decode(self.inner()) == wanted,
            }
    }

    /// The keys and values of an object; nothing for any other value.
    pub(crate) fn members(self) -> impl Iterator<Item = (JsonNode<'a>, JsonNode<'a>)> {
        let children = self.children(JsonKind::Object);
        children.filter_map(move |key| {
            let value = JsonNode { at: key.at + 1, ..key };
            (key.at < value.at).then_some((key, value))
        })
    }

    /// The elements of a list; nothing for any other value.
    pub(crate) fn items(self) -> impl Iterator<Item = JsonNode<'a>> {
        self.children(JsonKind::List)
    }

    /// Member of an object by name; none if it is missing or the value is no object.
    pub(crate) fn get_member(self, name: &str) -> Option<JsonNode<'a>> {
        self.members().find(|(key, _)| key.is_text(name)).map(|(_, value)| value)
    }

    /// A path of object members.
    pub(crate) fn find_path(self, path: &[&str]) -> Option<JsonNode<'a>> {
        path.iter().try_fold(self, |node, name| node.get_member(name))
    }

    fn inner(&self) -> &'a [u8] {
        let span = self.span();
        &self.bytes[span.start + 1..span.end - 1]
    }

    /// Elements of a list, or keys of an object: a key's `next` lies behind its value.
    fn children(self, kind: JsonKind) -> impl Iterator<Item = JsonNode<'a>> {
        let end = if self.kind() == kind { self.entry().next as usize } else { self.at };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let child = (at < end).then_some(JsonNode { at, ..self })?;
            at = child.entry().next as usize;
            Some(child)
        })
    }
}

/// Text between its quotes, with escapes resolved. The reader has checked the escapes.
fn decode(inner: &[u8]) -> Cow<'_, str> {
    if !inner.contains(&b'\\') {
        return String::from_utf8_lossy(inner);
    }
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'\\' {
            rest = decode_escape(rest, &mut out);
        } else {
            out.push(byte);
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn decode_escape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((&escape, tail)) = rest.split_first() else { return rest };
    let plain = match escape {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' => return decode_unicode(tail, out),
        other => other,
    };
    out.push(plain);
    tail
}

fn decode_unicode<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let (unit, mut rest) = code_unit(rest);
    let mut code = unit;
    if (0xd800..0xdc00).contains(&unit)
        && let Some(tail) = rest.strip_prefix(b"\\u")
    {
        let (low, behind) = code_unit(tail);
        if (0xdc00..0xe000).contains(&low) {
            code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            rest = behind;
        }
    }
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn code_unit(rest: &[u8]) -> (u32, &[u8]) {
    let (digits, tail) = rest.split_at(rest.len().min(4));
    let unit = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    (unit.unwrap_or(0xfffd), tail)
}

/// `text` as a JSON string, quotes included.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let bytes = br#" {"a":[1,{"b":"x\u0041\ud83d\ude00\n"}],"mod\u0065l":"m","n":-1.5e3,"t":true,"z":null} "#;
        let mut spans = JsonSpans::default();
        let root = spans.read_document(bytes, Strictness::Request).unwrap();
        let list: Vec<_> = root.get_member("a").unwrap().items().collect();
        assert_eq!(list[0].integer(), Some(1));
        assert_eq!(list[1].get_member("b").unwrap().text().unwrap(), "xA😀\n");
        assert!(root.get_member("model").unwrap().is_text("m"));
        assert_eq!(root.get_member("n").unwrap().integer(), None);
        assert!(root.get_member("z").unwrap().is_null());
        assert_eq!(root.members().count(), 5);
        assert!(root.get_member("missing").is_none());
        assert_eq!(root.find_path(&["a", "b"]).map(|node| node.kind()), None);
    }

    #[test]
    fn a_lone_surrogate_is_replaced() {
        let mut spans = JsonSpans::default();
        let root = spans.read_document(br#"["\ud83d","\ud83dx","\ude00"]"#, Strictness::Request).unwrap();
        let texts: Vec<_> = root.items().filter_map(|item| item.text()).collect();
        assert_eq!(texts, ["\u{fffd}", "\u{fffd}x", "\u{fffd}"]);
    }

    #[test]
    fn quoting_survives_reading() {
        let text = "a\"\\\n\u{1}é😀";
        let quoted = quoted(text);
        let mut spans = JsonSpans::default();
        assert_eq!(spans.read_document(quoted.as_bytes(), Strictness::Request).unwrap().text().unwrap(), text);
    }
}
