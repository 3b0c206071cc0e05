//! The usual ways to write a known value, and which part of it to look for.

use std::ops::Range;

use crate::filter::commonness;

/// Number of bytes of a value that lead to it.
pub(crate) const COVERED: usize = 4;

/// Distance into the value at which they may begin.
const REACH: usize = 16;

/// Two parts of the value, so that one line break or stray escape can only spoil one of
/// them; those that are met least by chance and, before that, are written in the fewest
/// ways.
pub(crate) fn covered(characters: &[u8]) -> Vec<Range<usize>> {
    let is_whole = |at: usize| !matches!(characters.get(at), Some(0x80..0xc0));
    let ends = |start: usize| (start + COVERED..=characters.len()).find(|end| is_whole(*end));
    let starts = (0..=REACH).filter(|start| is_whole(*start));
    let all: Vec<Range<usize>> = starts.filter_map(|start| Some(start..ends(start)?)).collect();
    let cost = |range: &&Range<usize>| {
        let escapable = |byte: u8| if byte.is_ascii_alphanumeric() { 0 } else { 100 };
        characters[(*range).clone()].iter().map(|byte| commonness(*byte) + escapable(*byte)).sum::<u32>()
    };
    let Some(first) = all.iter().min_by_key(cost) else { return Vec::new() };
    let second = all.iter().filter(|other| other.end <= first.start || other.start >= first.end).min_by_key(cost);
    std::iter::once(first).chain(second).cloned().collect()
}

/// A usual way to write text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    Raw,
    /// Base64's other alphabet.
    UrlSafe,
    /// Usual JSON: quotes and backslashes escaped, ASCII only.
    JsonAscii,
    /// JSON with the slash escaped too.
    JsonSlash,
    /// Every character as `\\u00XX`.
    JsonFull,
    /// Everything escaped that a URL reserves.
    UrlReserved,
    /// The same but for `!'()*`, which JavaScript leaves.
    UrlComponent,
    /// Every byte as `%XX`.
    UrlFull,
}

impl Spelling {
    /// Spellings of a text.
    pub(crate) const OF_TEXT: [Spelling; 7] = [
        Spelling::Raw,
        Spelling::JsonAscii,
        Spelling::JsonSlash,
        Spelling::JsonFull,
        Spelling::UrlReserved,
        Spelling::UrlComponent,
        Spelling::UrlFull,
    ];

    /// Spellings of base64.
    pub(crate) const OF_BASE64: [Spelling; 4] =
        [Spelling::Raw, Spelling::UrlSafe, Spelling::JsonSlash, Spelling::UrlReserved];

    /// Writes the value in this spelling.
    pub(crate) fn write_spelled(self, text: &[u8]) -> Vec<u8> {
        match (self, str::from_utf8(text)) {
            (Spelling::JsonFull, Ok(text)) => text.encode_utf16().flat_map(code_unit).collect(),
            (Spelling::JsonAscii, Ok(text)) => text.chars().flat_map(ascii).collect(),
            _ => text.iter().flat_map(|byte| self.write_byte(*byte)).collect(),
        }
    }

    fn write_byte(self, byte: u8) -> Vec<u8> {
        let is_reserved = !byte.is_ascii_alphanumeric() && !b"-_.~".contains(&byte);
        match (self, byte) {
            (Spelling::UrlSafe, b'+') => b"-".to_vec(),
            (Spelling::UrlSafe, b'/') => b"_".to_vec(),
            (Spelling::JsonSlash, b'/') => b"\\/".to_vec(),
            (Spelling::JsonAscii | Spelling::JsonSlash, b'"' | b'\\') => vec![b'\\', byte],
            (Spelling::UrlComponent, b'!' | b'\'' | b'(' | b')' | b'*') => vec![byte],
            (Spelling::UrlReserved | Spelling::UrlComponent, _) if is_reserved => percent(byte),
            (Spelling::UrlFull, _) => percent(byte),
            _ => vec![byte],
        }
    }
}

fn ascii(character: char) -> Vec<u8> {
    match character.is_ascii() {
        true => Spelling::JsonAscii.write_byte(character as u8),
        false => character.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| code_unit(*unit)).collect(),
    }
}

fn code_unit(unit: u16) -> Vec<u8> {
    format!("\\u{unit:04x}").into_bytes()
}

fn percent(byte: u8) -> Vec<u8> {
    format!("%{byte:02x}").into_bytes()
}
