//! Canonical JSON (RFC 8785) written straight from a value: members are sorted where they
//! stand, and no tree of the value is built.
//!
//! It writes what nearly every document of ours holds. Floats, large integers, and keys
//! that need an escape or sort in another way as UTF-16 are left to the full canonicaliser.

mod serializer;

use std::fmt::{self, Display};
use std::io::Write as _;

use serde::ser::{self, Serialize};

use super::plain_run;

/// The largest integer that is written the same way whatever reads it.
const LARGEST: u64 = (1 << 53) - 1;

/// First byte of the characters that UTF-8 and UTF-16 sort in different ways.
const FIRST_UNLIKE: u8 = 0xee;

/// The canonical bytes of a value; none if a part of it needs the full canonicaliser.
pub(crate) fn write_canonical<T: Serialize + ?Sized>(value: &T) -> Option<Vec<u8>> {
    let mut writer = CanonicalWriter::default();
    value.serialize(&mut writer).ok().map(|()| writer.out)
}

/// Part of a value that this writer leaves to the full canonicaliser.
#[derive(Debug)]
struct UnusualValue;

impl Display for UnusualValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the full canonicaliser must write this")
    }
}

impl std::error::Error for UnusualValue {}

impl ser::Error for UnusualValue {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Written = Result<(), UnusualValue>;

#[derive(Debug, Default)]
struct CanonicalWriter {
    out: Vec<u8>,
    /// Members of the objects that are open, the outermost first.
    members: Vec<Member>,
    /// Place in which members are put in order.
    sorted: Vec<u8>,
}

/// Place of a member in the output: key with its quotes, colon and value.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Member {
    fn key(self, out: &[u8]) -> &[u8] {
        &out[self.start + 1..self.key_end - 1]
    }
}

impl CanonicalWriter {
    fn push_text(&mut self, text: &str) -> Written {
        if plain_run(text.as_bytes()).is_some() {
            return serde_json::to_writer(&mut self.out, text).map_err(|_| UnusualValue);
        }
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        Ok(())
    }

    fn push_number(&mut self, number: impl Display, size: u64) -> Written {
        if size > LARGEST {
            return Err(UnusualValue);
        }
        write!(self.out, "{number}").map_err(|_| UnusualValue)
    }

    /// Writes a key and gives its place.
    fn push_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(usize, usize), UnusualValue> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        let written = &self.out[start..];
        let is_usual =
            written.first() == Some(&b'"') && written.iter().all(|byte| *byte < FIRST_UNLIKE && *byte != b'\\');
        let place = (start, self.out.len());
        self.out.push(b':');
        is_usual.then_some(place).ok_or(UnusualValue)
    }

    /// Writes the value of a key, and a comma behind it.
    fn push_value<V: Serialize + ?Sized>(&mut self, (start, key_end): (usize, usize), value: &V) -> Written {
        value.serialize(&mut *self)?;
        self.members.push(Member { start, key_end, end: self.out.len() });
        self.out.push(b',');
        Ok(())
    }

    /// Puts the members from `first` on in the order of their keys; the first stands at
    /// `start`. A key that is there twice is for the full canonicaliser.
    fn sort_members(&mut self, first: usize, start: usize) -> Written {
        let Self { out, members, sorted } = self;
        let own = &mut members[first..];
        if !own.is_empty() {
            out.pop();
        }
        if !own.is_sorted_by(|one, next| one.key(out) < next.key(out)) {
            own.sort_unstable_by(|one, other| one.key(out).cmp(other.key(out)));
            if own.windows(2).any(|pair| pair[0].key(out) == pair[1].key(out)) {
                return Err(UnusualValue);
            }
            sorted.clear();
            for member in own {
                sorted.extend_from_slice(&out[member.start..member.end]);
                sorted.push(b',');
            }
            sorted.pop();
            out.truncate(start);
            out.append(sorted);
        }
        members.truncate(first);
        Ok(())
    }

    /// Begins the one member of a variant with content.
    fn begin_variant(&mut self, variant: &str) -> Written {
        self.out.push(b'{');
        self.push_key(variant).map(drop)
    }

    fn begin_list(&mut self, closing: &'static str) -> CanonicalList<'_> {
        self.out.push(b'[');
        CanonicalList { is_empty: true, writer: self, closing }
    }

    fn begin_object(&mut self, closing: &'static str) -> CanonicalObject<'_> {
        self.out.push(b'{');
        let (first, start) = (self.members.len(), self.out.len());
        CanonicalObject { writer: self, first, start, key: None, closing }
    }
}

/// An array that is being written.
struct CanonicalList<'w> {
    writer: &'w mut CanonicalWriter,
    is_empty: bool,
    closing: &'static str,
}

impl CanonicalList<'_> {
    fn push_item<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        if !std::mem::take(&mut self.is_empty) {
            self.writer.out.push(b',');
        }
        item.serialize(&mut *self.writer)
    }

    fn close(self) -> Written {
        self.writer.out.extend_from_slice(self.closing.as_bytes());
        Ok(())
    }
}

/// An object that is being written.
struct CanonicalObject<'w> {
    writer: &'w mut CanonicalWriter,
    /// Number of its first member.
    first: usize,
    /// Place of its first member.
    start: usize,
    /// The key whose value comes next.
    key: Option<(usize, usize)>,
    closing: &'static str,
}

impl CanonicalObject<'_> {
    fn push_field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Written {
        let key = self.writer.push_key(name)?;
        self.writer.push_value(key, value)
    }

    fn close(self) -> Written {
        self.writer.sort_members(self.first, self.start)?;
        self.writer.out.extend_from_slice(self.closing.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
