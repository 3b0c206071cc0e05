//! The check that bytes are canonical JSON (RFC 8785), made in one pass and without
//! building the value.
//!
//! Every byte of a bundle is asked this, so it must cost little. Its meaning is the plain
//! one: read the value, write it again, compare; and no number in it is a float or an
//! integer beyond 2^53 - 1, because other readers write those differently. Tests hold the
//! two together.

mod writer;

use std::cmp::Ordering;
use std::ops::Range;
use std::str;

use serde::de::DeserializeOwned;

pub(crate) use writer::write_canonical;

/// Deepest nesting of any document that this program reads.
const DEEPEST: usize = 127;

/// The largest integer that is written the same way whatever reads it.
const LARGEST: &[u8] = b"9007199254740991";

/// True if these are the RFC 8785 bytes of a value that holds neither a float nor an
/// integer beyond 2^53 - 1.
pub fn is_canonical(bytes: &[u8]) -> bool {
    let mut scan = Scan { bytes, at: 0 };
    str::from_utf8(bytes).is_ok() && scan.value(0).is_some() && scan.at == bytes.len()
}

/// Byte range of one member's value in a canonical object; none if the member is missing or
/// any byte of the document is not canonical.
pub(crate) fn canonical_member(bytes: &[u8], name: &str) -> Option<Range<usize>> {
    let mut scan = Scan { bytes, at: 0 };
    let mut found = None;
    str::from_utf8(bytes).ok().filter(|_| bytes.first() == Some(&b'{'))?;
    scan.object(1, |key, value| {
        if key.is_plain && key.inner() == name.as_bytes() {
            found = Some(value);
        }
    })?;
    found.filter(|_| scan.at == bytes.len())
}

/// Every method moves past what it names, and gives none where that is not canonical.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, expected: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(expected).then(|| self.at += expected.len())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string().map(drop),
            b'{' | b'[' if depth >= DEEPEST => None,
            b'{' => self.object(depth + 1, |_, _| {}),
            b'[' => self.array(depth + 1),
            b't' => self.take(b"true"),
            b'f' => self.take(b"false"),
            b'n' => self.take(b"null"),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        if self.peek()? == b']' {
            return self.take(b"]");
        }
        loop {
            self.value(depth)?;
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b"]"),
            }
        }
    }

    /// Each member is handed over.
    fn object(&mut self, depth: usize, mut each: impl FnMut(Text<'a>, Range<usize>)) -> Option<()> {
        self.at += 1;
        if self.peek()? == b'}' {
            return self.take(b"}");
        }
        let mut before: Option<Text<'a>> = None;
        loop {
            let key = self.string()?;
            if before.is_some_and(|before| before.order(&key) != Some(Ordering::Less)) {
                return None;
            }
            before = Some(key);
            self.take(b":")?;
            let start = self.at;
            self.value(depth)?;
            each(key, start..self.at);
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b"}"),
            }
        }
    }

    fn string(&mut self) -> Option<Text<'a>> {
        let start = self.at;
        let is_plain = self.skip_string()?;
        Some(Text { quoted: &self.bytes[start..self.at], is_plain })
    }

    /// Skips a string and returns true if it is plain, as defined at [`Text`].
    fn skip_string(&mut self) -> Option<bool> {
        self.take(b"\"")?;
        let mut is_plain = true;
        loop {
            let (length, is_ascii) = plain_run(&self.bytes[self.at..])?;
            self.at += length + 1;
            is_plain &= is_ascii;
            match self.bytes[self.at - 1] {
                b'"' => return Some(is_plain),
                b'\\' => {
                    is_plain = false;
                    self.escape()?;
                }
                _ => return None,
            }
        }
    }

    /// Checks an escape. Canonical JSON escapes only characters that must be escaped, each
    /// in exactly one form.
    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                self.take(b"00")?;
                let digits = self.bytes.get(self.at..self.at + 2)?;
                self.at += 2;
                let short = [b"08", b"09", b"0a", b"0c", b"0d"].iter().any(|it| *it == digits);
                let lower = matches!(digits[1], b'0'..=b'9' | b'a'..=b'f');
                (matches!(digits[0], b'0' | b'1') && lower && !short).then_some(())
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let token = &self.bytes[start..self.at];
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        let small = digits.len() < LARGEST.len() || digits.len() == LARGEST.len() && digits <= LARGEST;
        let integer = matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit);
        (token == b"0" || integer && small).then_some(())
    }
}

/// Number of bytes before the first quote, backslash or control character, and true if all
/// of them are ASCII. Reads eight bytes per step, because every byte of a bundle passes
/// through here.
fn plain_run(bytes: &[u8]) -> Option<(usize, bool)> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The high bit of each byte that is below `limit`; a borrow can only spoil bytes above
    // the first that is.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut seen = 0;
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quotes, slashes) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        let ends = (below(quotes, 1) | below(slashes, 1) | below(word, 0x20)) & HIGH;
        if ends != 0 {
            let before = ends.trailing_zeros() / 8;
            seen |= word & ((1 << (before * 8)) - 1);
            return Some((index * 8 + before as usize, seen & HIGH == 0));
        }
        seen |= word;
    }
    let before = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
    Some((words.len() * 8 + before, seen & HIGH == 0 && rest[..before].is_ascii()))
}

/// Reads a JSON document. Same result as reading it from its bytes, without a UTF-8 check
/// for each of its strings.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    match str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// A string with its quotes.
#[derive(Clone, Copy)]
struct Text<'a> {
    quoted: &'a [u8],
    /// The text needs no escape, and its bytes sort as its UTF-16 units do.
    is_plain: bool,
}

impl<'a> Text<'a> {
    /// Keys are sorted by their UTF-16 units.
    fn order(&self, other: &Self) -> Option<Ordering> {
        if self.is_plain && other.is_plain {
            let (one, two) = (self.inner(), other.inner());
            // Most keys that follow each other differ at once.
            return Some(match (one.first(), two.first()) {
                (Some(one), Some(two)) if one != two => one.cmp(two),
                _ => one.cmp(two),
            });
        }
        let (one, two) = (self.read()?, other.read()?);
        Some(one.encode_utf16().cmp(two.encode_utf16()))
    }

    fn inner(&self) -> &'a [u8] {
        &self.quoted[1..self.quoted.len() - 1]
    }

    fn read(&self) -> Option<String> {
        serde_json::from_slice(self.quoted).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::canonical_bytes;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Meaning of the whole question.
    fn is_written_the_same(bytes: &[u8]) -> bool {
        let value: Result<Value, _> = serde_json::from_slice(bytes);
        value.is_ok_and(|value| is_exact(&value) && canonical_bytes(&value).is_ok_and(|again| again == bytes))
    }

    fn is_exact(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_i64().is_some_and(|number| number.unsigned_abs() < 1 << 53),
            Value::Array(items) => items.iter().all(is_exact),
            Value::Object(entries) => entries.values().all(is_exact),
            Value::Null | Value::Bool(_) | Value::String(_) => true,
        }
    }

    fn check(bytes: &[u8]) {
        assert_eq!(is_canonical(bytes), is_written_the_same(bytes), "{}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn documents_that_are_and_that_are_not() {
        for text in [
            "",
            " ",
            "null",
            "true",
            "falsé",
            "tru",
            "nul",
            "0",
            "-0",
            "00",
            "01",
            "-1",
            "1.0",
            "1.5",
            "1e3",
            "1E3",
            "1e21",
            "1e+21",
            "123456789012345",
            "1234567890123456",
            "9007199254740991",
            "-9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "-",
            "+1",
            "1-1",
            "1.",
            ".5",
            "0.1",
            "1e400",
            "\"\"",
            "\"a\"",
            "\"\\\"\"",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\\u0000\"",
            "\"\\u001f\"",
            "\"\\u001F\"",
            "\"\\u0008\"",
            "\"\\b\"",
            "\"\\u000b\"",
            "\"\\u007f\"",
            "\"\u{7f}\"",
            "\"\\ud83d\\ude00\"",
            "\"😀\"",
            "\"\\x\"",
            "\"\\",
            "\"",
            "\"\n\"",
            "[]",
            "[ ]",
            "[1,2]",
            "[1,]",
            "[,1]",
            "[1 ,2]",
            "[1",
            "{}",
            "{ }",
            "{\"a\":1}",
            "{\"a\" :1}",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"b\":2}",
            "{\"b\":1,\"a\":2}",
            "{\"a\"}",
            "{\"a\":}",
            "{1:2}",
            "{\"é\":1,\"z\":2}",
            "{\"z\":1,\"é\":2}",
            "{\"\\n\":1,\"a\":2}",
            "{\"a\":1,\"\\n\":2}",
            "{\"😀\":1,\"\u{ffff}\":2}",
            "{\"\u{ffff}\":1,\"😀\":2}",
            "{\"\":1,\"a\":2}",
            "{\"a\":1,\"aa\":2}",
            "{\"A\":1,\"a\":2}",
            "1 ",
            " 1",
            "1 2",
            "{}{}",
        ] {
            check(text.as_bytes());
        }
        check(b"\"\xff\"");
        check(b"\xef\xbb\xbf{}");
        for depth in [1, 126, 127, 128, 129, 5000] {
            check(&["[".repeat(depth), "]".repeat(depth)].concat().into_bytes());
            check(&["{\"a\":".repeat(depth), "1".to_owned(), "}".repeat(depth)].concat().into_bytes());
            check("[".repeat(depth).as_bytes());
        }
    }

    pub(super) fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![".{0,12}", "[a-c\\\\\"\\n\\x00-\\x1f\u{7f}é\u{ffff}😀]{0,6}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1000_i32..1000).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn a_member_is_found_in_a_canonical_object_only() {
        for (text, expected) in [
            ("{\"a\":1,\"b\":[{\"b\":2}],\"c\":3}", Some("[{\"b\":2}]")),
            ("{\"b\":{}}", Some("{}")),
            ("{\"a\":{\"b\":2}}", None),
            ("{\"b\":1, \"c\":3}", None),
            ("{\"b\":1,\"b\":2}", None),
            ("{\"b\":1}x", None),
            ("{\"b\":1", None),
            ("[\"b\"]", None),
            ("", None),
        ] {
            assert_eq!(canonical_member(text.as_bytes(), "b").map(|place| &text[place]), expected, "{text}");
        }
    }

    #[test]
    fn a_plain_run_ends_where_a_look_at_each_byte_ends_it() {
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255 {
                    let mut bytes = vec![(0xff - byte) | 0x21; length];
                    bytes[at] = byte;
                    let expected = bytes.iter().position(ends).map(|end| (end, bytes[..end].is_ascii()));
                    assert_eq!(plain_run(&bytes), expected, "{bytes:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn it_means_written_again_the_same(value in any_value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = canonical_bytes(&value).unwrap();
            prop_assert_eq!(is_canonical(&bytes), is_written_the_same(&bytes));
            prop_assert!(is_canonical(&bytes) || !is_exact(&value));
            let plain = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(is_canonical(&plain), is_written_the_same(&plain));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            prop_assert_eq!(is_canonical(&bytes), is_written_the_same(&bytes));
            bytes.truncate(at);
            prop_assert_eq!(is_canonical(&bytes), is_written_the_same(&bytes));
            bytes.insert(0, b'[');
            bytes.extend(b",1]");
            prop_assert_eq!(is_canonical(&bytes), is_written_the_same(&bytes));
        }
    }

    #[test]
    fn a_document_of_ours_is() {
        assert!(is_canonical(&canonical_bytes(&json!({"z": [1, {"b": "é\n"}], "a": null})).unwrap()));
    }
}
