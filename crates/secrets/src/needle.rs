//! One known value in one encoding: the characters to expect, the short literals that lead
//! to them, and the check that they are really there, whatever escapes and line breaks lie
//! between.

use crate::filter::Literal;
use crate::literal::base64_core;
use crate::read::{Escape, EscapeMode, MODES, Unit, unit, wrapped, wrapped_before};
use crate::spelling::{COVERED, Spelling, covered};
use crate::{Encoding, SPAN};

/// A longer value is looked for in pieces, so that even its longest spelling fits the span.
const PIECE: usize = 1024;

/// Distance before a literal at which its needle may begin.
const BACK: usize = 1024;

/// Number of characters that are tried on the way back from a literal to the beginning of
/// its needle.
const STEPS: usize = 256;

/// Numbers of bytes that a character may take. The last digit of an escape may be the
/// character that it encodes, so the largest comes first.
const WIDTHS: [usize; 11] = [12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// The value's own bytes.
    Text,
    Hex,
    /// Standard and URL-safe alike. Says whether a character shared with neighbouring bytes
    /// stands before and after.
    Base64 {
        before: bool,
        after: bool,
    },
}

/// Known value in one encoding.
pub(crate) struct Needle {
    /// Index of the known value.
    pub(crate) known: usize,
    alphabet: Alphabet,
    characters: Vec<u8>,
}

/// Needle to which a literal leads, and the character of it at which the literal begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeedleLead {
    needle: usize,
    character: usize,
}

/// Position of a needle in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NeedlePosition {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) encoding: Encoding,
}

/// All needles, and the literals that lead to them.
#[derive(Default)]
pub(crate) struct Needles {
    needles: Vec<Needle>,
    pub(crate) literals: Vec<Literal<NeedleLead>>,
}

impl Needles {
    /// All encodings of a known value of at least [`COVERED`] bytes.
    pub(crate) fn add_value(&mut self, known: usize, value: &[u8]) {
        // Where a value has line breaks of its own, a text may have other ones, or none.
        let unbroken: Vec<u8> = value.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
        for piece in pieces(&unbroken) {
            self.push(known, Alphabet::Text, piece.to_vec());
        }
        for piece in pieces(value) {
            self.push(known, Alphabet::Hex, hex(piece));
            for shift in 0..3 {
                let shared = Alphabet::Base64 { before: shift > 0, after: (shift + piece.len()) % 3 != 0 };
                self.push(known, shared, base64_core(piece, shift));
            }
        }
    }

    fn push(&mut self, known: usize, alphabet: Alphabet, characters: Vec<u8>) {
        let needle = self.needles.len();
        let spellings: &[Spelling] = match alphabet {
            Alphabet::Text => &Spelling::OF_TEXT,
            Alphabet::Hex => &[Spelling::Raw],
            Alphabet::Base64 { .. } => &Spelling::OF_BASE64,
        };
        for covered in covered(&characters) {
            let plain = &characters[covered.clone()];
            let mut texts: Vec<Vec<u8>> = spellings.iter().map(|spelling| spelling.write_spelled(plain)).collect();
            texts.sort();
            texts.dedup();
            let target = NeedleLead { needle, character: covered.start };
            let literal = |text: Vec<u8>| Literal { fold: alphabet == Alphabet::Hex || text != plain, text, target };
            self.literals.extend(texts.into_iter().map(literal));
        }
        self.needles.push(Needle { known, alphabet, characters });
    }

    /// Position of the known value that a literal at `at` leads to, if it is there.
    pub(crate) fn standing(&self, lead: NeedleLead, text: &[u8], at: usize) -> Option<(usize, NeedlePosition)> {
        let needle = self.needles.get(lead.needle)?;
        let modes = if needle.is_near_an_escape(text, at) { &MODES[..] } else { &[EscapeMode::Raw] };
        modes.iter().find_map(|mode| Some((needle.known, needle.standing(lead.character, text, at, *mode)?)))
    }
}

fn pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = value.len().div_ceil(PIECE).max(1);
    value.chunks(value.len().div_ceil(count).max(1)).filter(|piece| piece.len() >= COVERED)
}

fn hex(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

impl Needle {
    /// True if an escape is near; without one, all readings of the text are the same.
    fn is_near_an_escape(&self, text: &[u8], at: usize) -> bool {
        let end = text.len().min(at + 2 * self.characters.len() + 512);
        memchr::memchr2(b'%', b'\\', &text[at.saturating_sub(BACK)..end]).is_some()
    }

    fn standing(&self, character: usize, text: &[u8], at: usize, mode: EscapeMode) -> Option<NeedlePosition> {
        let (before, after) = self.characters.split_at_checked(character)?;
        let mut seen = Escape::None;
        let end = self.forward(after, text, at, mode, &mut seen)?;
        // Escapes are read from the front: what looks right from behind may begin in the
        // middle of one.
        let mut leads_here = |start: usize| {
            let near = start + BACK >= at;
            let end = self.forward(before, text, start, mode, &mut seen).filter(|_| near);
            end.is_some_and(|end| {
                end == at || wrapped(text, end).is_some_and(|(one, other)| [one, other].contains(&at))
            })
        };
        let start = self.backward(before, text, at, mode, &mut { STEPS }, &mut leads_here)?;
        let encoding = match (self.alphabet, seen) {
            (Alphabet::Hex, _) => Encoding::Hex,
            (Alphabet::Base64 { .. }, _) => Encoding::Base64,
            (Alphabet::Text, Escape::None) => Encoding::Plain,
            (Alphabet::Text, Escape::Url) => Encoding::Url,
            (Alphabet::Text, Escape::Json) => Encoding::Json,
        };
        let (start, end) = self.with_shared(text, start, end);
        Some(NeedlePosition { start, end, encoding })
    }

    fn forward(
        &self,
        mut expected: &[u8],
        text: &[u8],
        at: usize,
        mode: EscapeMode,
        seen: &mut Escape,
    ) -> Option<usize> {
        let limit = text.len().min(at + SPAN);
        let mut now = at;
        let accepted = |expected: &[u8], now: usize| unit(text, now, mode).filter(|unit| self.accepts(expected, unit));
        while !expected.is_empty() {
            let unit = accepted(expected, now).or_else(|| {
                let (indented, marked) = wrapped(text, now)?;
                // A `+` may be the mark or the value's own; the character after it tells.
                let goes_on = |unit: &Unit| {
                    let rest = &expected[unit.bytes().len()..];
                    rest.is_empty() || accepted(rest, unit.end).is_some() || wrapped(text, unit.end).is_some()
                };
                let unmarked = accepted(expected, indented).filter(goes_on);
                unmarked.or_else(|| accepted(expected, marked)).or_else(|| accepted(expected, indented))
            })?;
            note(seen, unit.escape);
            expected = expected.get(unit.bytes().len()..)?;
            now = unit.end;
            if now > limit {
                return None;
            }
        }
        Some(now)
    }

    /// A place where the expected characters, ending at `at`, may begin, and where they are
    /// `right`.
    fn backward(
        &self,
        expected: &[u8],
        text: &[u8],
        at: usize,
        mode: EscapeMode,
        steps: &mut usize,
        right: &mut impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        if expected.is_empty() {
            return right(at).then_some(at);
        }
        let ends = [Some(at), wrapped_before(text, at)];
        ends.into_iter().flatten().find_map(|end| {
            WIDTHS.iter().find_map(|width| {
                let start = end.checked_sub(*width)?;
                let unit = unit(text, start, mode).filter(|unit| unit.end == end)?;
                let (rest, last) = expected.split_at_checked(expected.len().checked_sub(unit.bytes().len())?)?;
                *steps = steps.checked_sub(1)?;
                self.accepts(last, &unit).then(|| self.backward(rest, text, start, mode, steps, right))?
            })
        })
    }

    fn accepts(&self, expected: &[u8], unit: &Unit) -> bool {
        let found = unit.bytes();
        let same = |(expected, found): (&u8, &u8)| match self.alphabet {
            Alphabet::Text => expected == found,
            Alphabet::Hex => expected.eq_ignore_ascii_case(found),
            Alphabet::Base64 { .. } => match found {
                b'-' => *expected == b'+',
                b'_' => *expected == b'/',
                _ => expected == found,
            },
        };
        expected.len() >= found.len() && expected.iter().zip(found).all(same)
    }

    /// Range extended by characters that share bits with its neighbours, and by the
    /// padding.
    fn with_shared(&self, text: &[u8], start: usize, end: usize) -> (usize, usize) {
        let Alphabet::Base64 { before, after } = self.alphabet else { return (start, end) };
        let shared =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte));
        let start = if before && start > 0 && shared(text.get(start - 1)) { start - 1 } else { start };
        let end = if after && shared(text.get(end)) { end + 1 } else { end };
        let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        (start, end + padding)
    }
}

fn note(seen: &mut Escape, escape: Escape) {
    if escape != Escape::None {
        *seen = escape;
    }
}

/// The values stay out of every log.
impl std::fmt::Debug for Needles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Needles({})", self.needles.len())
    }
}
