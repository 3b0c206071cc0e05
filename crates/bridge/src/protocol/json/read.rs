//! The strict reader: RFC 8259 and no more, bounded depth and count, and for requests no
//! key twice.

use std::borrow::Cow;

use super::{Entry, JsonKind, decode, plain};

/// Deeper than any request of an agent; a frame of the reader is small, so this is far from
/// the stack's end.
const MAX_DEPTH: u32 = 96;
/// A spans entry is 16 bytes: at most 32 MiB for one document.
const MAX_ENTRIES: usize = 2 << 20;

/// Strictness beyond the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// A key that stands twice is refused: the parser behind us could take the other one.
    Request,
    /// The sender gains nothing by a key that stands twice, and frames are many.
    Answer,
}

/// Bytes that are not one JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}: {what}")]
pub(crate) struct ReadJsonError {
    /// Offset of the first byte that is wrong.
    pub(crate) at: usize,
    /// Fault in a few words.
    pub(crate) what: &'static str,
}

/// Reads a document onto the spans, which is reused between documents.
pub(super) fn read_entries(bytes: &[u8], spans: &mut Vec<Entry>, strictness: Strictness) -> Result<(), ReadJsonError> {
    spans.clear();
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(ReadJsonError { at: error.valid_up_to(), what: "not UTF-8" });
    }
    if u32::try_from(bytes.len()).is_err() {
        return Err(ReadJsonError { at: 0, what: "too long" });
    }
    let mut reader = Reader { bytes, at: 0, spans, strictness };
    reader.skip_space();
    reader.value(0)?;
    reader.skip_space();
    if reader.at < bytes.len() { reader.fail("something follows the document") } else { Ok(()) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    spans: &'a mut Vec<Entry>,
    strictness: Strictness,
}

impl Reader<'_> {
    fn fail<T>(&self, what: &'static str) -> Result<T, ReadJsonError> {
        Err(ReadJsonError { at: self.at, what })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: u32) -> Result<(), ReadJsonError> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.text().map(drop),
            Some(b't') => self.word(b"true", JsonKind::True),
            Some(b'f') => self.word(b"false", JsonKind::False),
            Some(b'n') => self.word(b"null", JsonKind::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.fail("a value is expected"),
            None => self.fail("it ends early"),
        }
    }

    /// Puts a value on the spans; its end is set by [`Self::close`].
    fn open(&mut self, kind: JsonKind) -> Result<usize, ReadJsonError> {
        if self.spans.len() >= MAX_ENTRIES {
            return self.fail("too many values");
        }
        // The length was checked to fit.
        self.spans.push(Entry { kind, escaped: false, start: self.at as u32, end: 0, next: 0 });
        Ok(self.spans.len() - 1)
    }

    fn close(&mut self, index: usize) {
        let next = self.spans.len() as u32;
        let entry = &mut self.spans[index];
        entry.end = self.at as u32;
        entry.next = next;
    }

    fn object(&mut self, depth: u32) -> Result<(), ReadJsonError> {
        let index = self.enter(JsonKind::Object, depth)?;
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            while self.member(depth)? {}
        }
        self.close(index);
        match self.strictness {
            Strictness::Request => self.no_key_twice(index),
            Strictness::Answer => Ok(()),
        }
    }

    fn enter(&mut self, kind: JsonKind, depth: u32) -> Result<usize, ReadJsonError> {
        if depth >= MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        let index = self.open(kind)?;
        self.at += 1;
        self.skip_space();
        Ok(index)
    }

    /// One key with its value; whether another follows.
    fn member(&mut self, depth: u32) -> Result<bool, ReadJsonError> {
        if self.peek() != Some(b'"') {
            return self.fail("a key is expected");
        }
        let key = self.text()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.fail("a colon is expected");
        }
        self.at += 1;
        self.skip_space();
        self.value(depth + 1)?;
        self.spans[key].next = self.spans.len() as u32;
        self.more(b'}')
    }

    fn list(&mut self, depth: u32) -> Result<(), ReadJsonError> {
        let index = self.enter(JsonKind::List, depth)?;
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                self.value(depth + 1)?;
                if !self.more(b']')? {
                    break;
                }
            }
        }
        self.close(index);
        Ok(())
    }

    fn more(&mut self, end: u8) -> Result<bool, ReadJsonError> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fail("a comma or an end is expected"),
        }
    }

    fn word(&mut self, word: &[u8], kind: JsonKind) -> Result<(), ReadJsonError> {
        let index = self.open(kind)?;
        if !self.bytes[self.at..].starts_with(word) {
            return self.fail("an unknown word");
        }
        self.at += word.len();
        self.close(index);
        Ok(())
    }

    fn number(&mut self) -> Result<(), ReadJsonError> {
        let index = self.open(JsonKind::Number)?;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.close(index);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ReadJsonError> {
        let before = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == before { self.fail("a digit is expected") } else { Ok(()) }
    }

    fn text(&mut self) -> Result<usize, ReadJsonError> {
        let index = self.open(JsonKind::Text)?;
        self.at += 1;
        loop {
            self.at += plain::plain_prefix(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.spans[index].escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fail("a control character inside text"),
                None => return self.fail("text without an end"),
            }
        }
        self.at += 1;
        self.close(index);
        Ok(index)
    }

    fn escape(&mut self) -> Result<(), ReadJsonError> {
        let length = match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if self.hex_follows() => 6,
            _ => return self.fail("an unknown escape"),
        };
        self.at += length;
        Ok(())
    }

    fn hex_follows(&self) -> bool {
        self.bytes.get(self.at + 2..self.at + 6).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    fn no_key_twice(&self, object: usize) -> Result<(), ReadJsonError> {
        /// Up to so many keys, comparing each with each is quicker than sorting.
        const FEW: usize = 12;
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        for (count, (key, escaped)) in self.keys(object).enumerate() {
            if count == FEW || escaped {
                return self.no_key_twice_sorted(object);
            }
            if few[..count].iter().any(|other| other.len() == key.len() && *other == key) {
                return self.fail("a key stands twice");
            }
            few[count] = key;
        }
        Ok(())
    }

    fn no_key_twice_sorted(&self, object: usize) -> Result<(), ReadJsonError> {
        let mut keys: Vec<Cow<'_, str>> = self.keys(object).map(|(key, _)| decode(key)).collect();
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) { self.fail("a key stands twice") } else { Ok(()) }
    }

    /// The keys of an object, as they stand between their quotes, and whether there is an
    /// escape in them.
    fn keys(&self, object: usize) -> impl Iterator<Item = (&[u8], bool)> {
        let (mut at, end) = (object + 1, self.spans[object].next as usize);
        std::iter::from_fn(move || {
            let key = (at < end).then(|| self.spans[at])?;
            at = key.next as usize;
            Some((&self.bytes[key.start as usize + 1..key.end as usize - 1], key.escaped))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::JsonSpans;
    use super::*;

    fn check(text: &str) -> Result<(), &'static str> {
        JsonSpans::default().read_document(text.as_bytes(), Strictness::Request).map(drop).map_err(|error| error.what)
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(200);
        let rows: &[(&str, &str)] = &[
            ("", "it ends early"),
            ("{}x", "something follows the document"),
            (r#"{"a":1,"a":2}"#, "a key stands twice"),
            (r#"{"model":1,"mod\u0065l":2}"#, "a key stands twice"),
            (r#"{"a":{"b":1,"b":1}}"#, "a key stands twice"),
            (
                r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"a":1}"#,
                "a key stands twice",
            ),
            ("{'a':1}", "a key is expected"),
            (r#"{"a" 1}"#, "a colon is expected"),
            (r#"{"a":1,}"#, "a key is expected"),
            ("[1 2]", "a comma or an end is expected"),
            ("[1,]", "a value is expected"),
            ("01", "something follows the document"),
            ("-", "a digit is expected"),
            ("1.", "a digit is expected"),
            ("1e+", "a digit is expected"),
            ("NaN", "a value is expected"),
            ("tru", "an unknown word"),
            (r#""\x""#, "an unknown escape"),
            (r#""\u12g4""#, "an unknown escape"),
            ("\"a\nb\"", "a control character inside text"),
            (r#""abc"#, "text without an end"),
            (&deep, "nested too deeply"),
        ];
        for (text, what) in rows {
            assert_eq!(check(text), Err(*what), "{text}");
        }
        let mut spans = JsonSpans::default();
        assert_eq!(spans.read_document(b"\"\xff\"", Strictness::Request).map(drop).unwrap_err().what, "not UTF-8");
    }

    proptest::proptest! {
        /// Reads what the other reader reads, and nothing else (it allows keys twice and lone surrogates differently).
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}",:0-9a-z\\ .eE+-]{0,24}"#) {
            let other = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            let ours = JsonSpans::default().read_document(text.as_bytes(), Strictness::Answer).is_ok();
            // serde_json refuses numbers beyond f64, which are JSON all the same.
            proptest::prop_assert!(ours == other || (ours && text.contains(['e', 'E'])), "{}: {} {}", text, ours, other);
        }
    }
}
