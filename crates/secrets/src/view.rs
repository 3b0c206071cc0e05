//! Encoded text, decoded around a literal, with the place of each byte in the text it came
//! from.

use std::ops::Range;

use crate::literal::{Form, characters_before};
use crate::marker;
use crate::read::{Escape, EscapeMode, hex_pair, unit, wrapped, wrapped_before};
use crate::{Encoding, SPAN};

/// Situation beyond the first or last byte of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The text ends there.
    Ended,
    /// The text goes on, but is not examined.
    More,
    /// A marker, where there was more of it.
    Marker,
}

/// Decoded text around a literal.
#[derive(Debug)]
pub(crate) struct DecodedView {
    pub(crate) bytes: Vec<u8>,
    /// Beginning and end of each byte in the text.
    places: Vec<(usize, usize)>,
    /// The byte that the literal begins with.
    pub(crate) at: usize,
    pub(crate) start: Edge,
    pub(crate) end: Edge,
    pub(crate) encoding: Encoding,
}

/// Some of an encoding's characters, as they follow each other in the text or, read
/// backward, the other way round.
#[derive(Debug)]
struct Run {
    /// Decoded value of each character.
    values: Vec<u8>,
    places: Vec<(usize, usize)>,
    edge: Edge,
    encoding: Encoding,
}

/// Character: its value, its beginning, its end.
type Character = (u8, usize, usize);

impl Run {
    fn new(count: usize, encoding: Encoding) -> Run {
        let places = Vec::with_capacity(count.min(512));
        Run { values: Vec::with_capacity(count.min(512)), places, edge: Edge::More, encoding }
    }

    fn push(&mut self, (value, start, end): Character) {
        self.values.push(value);
        self.places.push((start, end));
    }
}

impl DecodedView {
    /// `back` bytes before the literal at `at`, as far as there are any, and `ahead` bytes
    /// from it on.
    pub(crate) fn new(text: &[u8], at: usize, form: Form, back: usize, ahead: usize) -> Option<DecodedView> {
        let text = &text[..text.len().min(at + SPAN)];
        match form {
            Form::Base64 { shift } => base64(text, at, shift, back, ahead),
            Form::Hex => Some(DecodedView::joined(
                backward(text, at, back, hex_before, Encoding::Hex),
                forward(text, at, ahead, hex_at, Encoding::Hex),
            )),
            Form::Plain | Form::Escaped => {
                Some(DecodedView::joined(escaped_before(text, at, back), escaped(text, at, ahead)))
            }
        }
    }

    /// Joins two runs, for encodings with a character for each byte.
    fn joined(mut before: Run, after: Run) -> DecodedView {
        before.values.reverse();
        before.places.reverse();
        let at = before.values.len();
        before.values.extend_from_slice(&after.values);
        before.places.extend_from_slice(&after.places);
        let (bytes, places) = (before.values, before.places);
        DecodedView { bytes, places, at, start: before.edge, end: after.edge, encoding: after.encoding }
    }

    /// The place of some of its bytes in the text.
    pub(crate) fn place_of(&self, bytes: &Range<usize>) -> Option<Range<usize>> {
        let (start, _) = self.places.get(bytes.start)?;
        let (_, end) = self.places.get(bytes.end.checked_sub(1)?)?;
        Some(*start..*end)
    }
}

fn base64(text: &[u8], at: usize, shift: usize, back: usize, ahead: usize) -> Option<DecodedView> {
    let own = characters_before(shift);
    let mut before = backward(text, at, own + back.div_ceil(3) * 4, sextet_before, Encoding::Base64);
    let groups = before.values.len().checked_sub(own)? / 4;
    before.values.truncate(own + groups * 4);
    before.places.truncate(own + groups * 4);
    let after = forward(text, at, ahead.div_ceil(3) * 4, sextet_at, Encoding::Base64);
    let sextets = DecodedView::joined(before, after);
    let len = sextets.bytes.len() * 3 / 4 + 3;
    let (mut bytes, mut places) = (Vec::with_capacity(len), Vec::with_capacity(len));
    for (group, place) in sextets.bytes.chunks(4).zip(sextets.places.chunks(4)) {
        for (number, (pair, place)) in group.windows(2).zip(place.windows(2)).enumerate() {
            bytes.push(pair[0] << (2 * number + 2) | pair[1] >> (4 - 2 * number));
            places.push((place[0].0, place[1].1));
        }
    }
    Some(DecodedView { bytes, places, at: groups * 3 + shift, ..sextets })
}

/// Distance before a literal that is read.
const BACK: usize = 1024;

type Read = fn(&[u8], usize) -> Option<Character>;

/// Up to `count` characters before `at`, the nearest first, across wrapped lines.
fn backward(text: &[u8], at: usize, count: usize, read: Read, encoding: Encoding) -> Run {
    let mut run = Run::new(count, encoding);
    let mut now = at;
    while run.values.len() < count && now + BACK >= at {
        // A line that begins with the literal begins a text of its own; the one before it
        // may be anything.
        let broken = || wrapped_before(text, now).filter(|_| !run.values.is_empty());
        match read(text, now).or_else(|| read(text, broken()?)) {
            Some(character) => {
                now = character.1;
                run.push(character);
            }
            None => {
                let ends = [Some(now), broken()].into_iter().flatten();
                let beside = ends.map(|at| at - half_before(text, at, encoding)).any(|at| marker::ends_at(text, at));
                run.edge = if beside { Edge::Marker } else { Edge::Ended };
                break;
            }
        }
    }
    run
}

/// Up to `count` characters from `at` on, across wrapped lines.
fn forward(text: &[u8], at: usize, count: usize, read: Read, encoding: Encoding) -> Run {
    let mut run = Run::new(count, encoding);
    let mut now = at;
    while run.values.len() < count {
        let broken = || wrapped(text, now).into_iter().flat_map(|(indented, marked)| [indented, marked]);
        match read(text, now).or_else(|| broken().find_map(|at| read(text, at))) {
            Some(character) => {
                now = character.2;
                run.push(character);
            }
            None => {
                let starts = broken().chain([now]);
                let beside =
                    starts.map(|at| at + half_at(text, at, encoding)).any(|at| marker::end_of(text, at).is_some());
                run.edge = if beside { Edge::Marker } else { Edge::Ended };
                break;
            }
        }
    }
    run
}

fn escaped_before(text: &[u8], at: usize, count: usize) -> Run {
    let mut run = Run::new(count, Encoding::Plain);
    let mut now = at;
    while run.values.len() < count {
        if now == 0 || marker::ends_at(text, now) {
            run.edge = if now == 0 { Edge::Ended } else { Edge::Marker };
            break;
        }
        let escape = [6, 3].into_iter().filter_map(|width| now.checked_sub(width)).find_map(|start| {
            let unit = unit(text, start, EscapeMode::Any).filter(|unit| unit.end == now)?;
            (unit.bytes().len() == 1).then(|| (unit.bytes()[0], start, now))
        });
        run.push(escape.unwrap_or((text[now - 1], now - 1, now)));
        now = escape.map_or(now - 1, |escape| escape.1);
    }
    run
}

fn escaped(text: &[u8], at: usize, count: usize) -> Run {
    let mut run = Run::new(count, Encoding::Plain);
    let mut now = at;
    while run.values.len() < count {
        let Some(unit) = unit(text, now, EscapeMode::Any).filter(|_| marker::end_of(text, now).is_none()) else {
            run.edge = if now < text.len() { Edge::Marker } else { Edge::Ended };
            break;
        };
        unit.bytes().iter().for_each(|byte| run.push((*byte, now, unit.end)));
        run.encoding = match unit.escape {
            Escape::None => run.encoding,
            Escape::Url => Encoding::Url,
            Escape::Json => Encoding::Json,
        };
        now = unit.end;
    }
    run
}

fn hex_at(text: &[u8], at: usize) -> Option<Character> {
    Some((hex_pair(text.get(at..at + 2)?)?, at, at + 2))
}

/// Bytes that only half of a character takes here: redacting may have taken the other
/// hexadecimal digit.
fn half_at(text: &[u8], at: usize, encoding: Encoding) -> usize {
    usize::from(encoding == Encoding::Hex && text.get(at).is_some_and(u8::is_ascii_hexdigit))
}

fn half_before(text: &[u8], at: usize, encoding: Encoding) -> usize {
    at.checked_sub(1).map_or(0, |before| half_at(text, before, encoding))
}

fn hex_before(text: &[u8], at: usize) -> Option<Character> {
    hex_at(text, at.checked_sub(2)?)
}

fn sextet_at(text: &[u8], at: usize) -> Option<Character> {
    let value = match *text.get(at)? {
        byte @ b'A'..=b'Z' => byte - b'A',
        byte @ b'a'..=b'z' => byte - b'a' + 26,
        byte @ b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        // Within JSON and URLs the two characters that are no letters or digits may be escaped.
        b'\\' | b'%' => {
            let unit = unit(text, at, EscapeMode::Any)?;
            let value = match unit.bytes() {
                b"+" => 62,
                b"/" => 63,
                _ => return None,
            };
            return Some((value, at, unit.end));
        }
        _ => return None,
    };
    Some((value, at, at + 1))
}

fn sextet_before(text: &[u8], at: usize) -> Option<Character> {
    // An escaped character ends like a plain one, so the longer spelling is tried first.
    let starts = [3, 2, 1].into_iter().filter_map(|width| at.checked_sub(width));
    starts.into_iter().find_map(|start| sextet_at(text, start).filter(|(_, _, end)| *end == at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, at: usize, form: Form, back: usize, ahead: usize, expected: (&str, usize, Edge, Edge)) {
        let view = DecodedView::new(text.as_bytes(), at, form, back, ahead).unwrap();
        let found = (str::from_utf8(&view.bytes).unwrap(), view.at, view.start, view.end);
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn what_stands_around_a_literal_is_decoded() {
        use Edge::{Ended, Marker, More};
        let shifted = Form::Base64 { shift: 1 };
        for (text, at, form, back, ahead, expected) in [
            // "xAKIAyz", with the literal's own characters from the third on.
            ("eEFLSUF5eg==", 2, shifted, 8, 20, ("xAKIAyz", 1, Ended, Ended)),
            ("eEFL\n  SUF5eg==", 2, shifted, 8, 20, ("xAKIAyz", 1, Ended, Ended)),
            ("eEFLSUF5eg==", 2, shifted, 0, 3, ("xAKI", 1, More, More)),
            ("[redacted:a]eEFLSUF5eg[redacted:b]", 14, shifted, 8, 20, ("xAKIAyz", 1, Marker, Marker)),
            ("7841 414b4941", 5, Form::Hex, 4, 9, ("AKIA", 0, Ended, Ended)),
            ("%78%41%4B%49%41!", 3, Form::Escaped, 4, 9, ("xAKIA!", 1, Ended, Ended)),
            (r"\u0078\u0041KIA", 6, Form::Escaped, 1, 4, ("xAKIA", 1, More, More)),
            ("[redacted:a]x%41%4B%49%41[redacted:b]", 13, Form::Escaped, 4, 9, ("xAKIA", 1, Marker, Marker)),
            ("[redacted:a]278417[redacted:b]", 13, Form::Hex, 4, 9, ("xA", 0, Marker, Marker)),
            ("[redacted:a]\n  78[redacted:b]", 15, Form::Hex, 4, 9, ("x", 0, Ended, Marker)),
            ("[redacted:a]7841\n[redacted:b]", 14, Form::Hex, 4, 9, ("xA", 1, Marker, Marker)),
        ] {
            check(text, at, form, back, ahead, expected);
        }
    }

    #[test]
    fn a_byte_is_traced_to_its_place() {
        let view = DecodedView::new(b"eEFL\n SUF5eg==", 2, Form::Base64 { shift: 1 }, 8, 20).unwrap();
        assert_eq!(
            (view.place_of(&(1..5)), view.place_of(&(0..1)), view.place_of(&(0..99))),
            (Some(1..9), Some(0..2), None)
        );
    }
}
