//! The literals of a rule in each encoding its secret may be met in.

use crate::filter::{Grams, Literal, LiteralIndex};
use crate::rule::SecretRule;

/// Notation of the text that a rule's literal begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Unchanged; single characters may be escaped further on.
    Plain,
    /// Characters as `%XX`, `\u00XX`, `\xXX` or `\/`.
    Escaped,
    Hex,
    /// Beginning so many bytes after a multiple of three.
    Base64 {
        shift: usize,
    },
}

/// The shortest literal that can be looked for.
const SHORTEST: usize = 4;

/// The literals of all these rules, ready to be looked for.
pub(crate) fn indexed<'a>(rules: impl Iterator<Item = &'a SecretRule>) -> (LiteralIndex<(usize, Form)>, Grams) {
    let index = LiteralIndex::new(rules.enumerate().flat_map(|(number, rule)| literals(rule, number)).collect());
    let mut grams = Grams::none();
    grams.add_index(&index);
    (index, grams)
}

fn literals(rule: &SecretRule, number: usize) -> Vec<Literal<(usize, Form)>> {
    let mut all = Vec::new();
    let mut add = |text: Vec<u8>, fold, form| all.push(Literal { text, fold, target: (number, form) });
    for literal in rule.literals.iter().map(|literal| literal.as_bytes()) {
        for text in lengthened(literal, WORD) {
            add(text, rule.fold, Form::Plain);
        }
        for text in spelled(literal, rule.fold) {
            for (spell, form) in [
                (hex as Spell, Form::Hex),
                (percent, Form::Escaped),
                (code_unit, Form::Escaped),
                (hex_escape, Form::Escaped),
            ] {
                add(written(&text, spell), true, form);
            }
            for escaped in [url_reserved as Spell, json_slash].map(|spell| written(&text, spell)) {
                if escaped != text {
                    add(escaped, true, Form::Escaped);
                }
            }
            for (core, shift) in base64_cores(&text) {
                add(core, false, Form::Base64 { shift });
            }
        }
    }
    all.sort_unstable_by(|one, other| (&one.text, one.target.1).cmp(&(&other.text, other.target.1)));
    all.dedup_by(|one, other| one.text == other.text);
    all
}

/// Characters that may follow a literal that is too short to be searched for by itself.
const WORD: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// One for each of their upper halves, which is all that the characters of base64 before
/// them depend on.
const HALVES: &[u8] = b"-0APap";

fn lengthened(literal: &[u8], following: &[u8]) -> Vec<Vec<u8>> {
    match literal.len() < SHORTEST {
        true => following.iter().map(|byte| [literal, &[*byte]].concat()).collect(),
        false => vec![literal.to_vec()],
    }
}

/// Spellings of a literal. Encodings keep case, so a case-insensitive literal has several:
/// as written, lower, upper, and with an upper-case initial.
fn spelled(literal: &[u8], fold: bool) -> Vec<Vec<u8>> {
    let mut all = vec![literal.to_vec()];
    if fold {
        let small = literal.to_ascii_lowercase();
        let mut title = small.clone();
        title[..1].make_ascii_uppercase();
        all.extend([small, literal.to_ascii_uppercase(), title]);
        all.sort();
        all.dedup();
    }
    all
}

type Spell = fn(u8, &mut Vec<u8>);

fn written(literal: &[u8], spell: Spell) -> Vec<u8> {
    let mut text = Vec::with_capacity(literal.len() * 6);
    literal.iter().for_each(|byte| spell(*byte, &mut text));
    text
}

fn hex(byte: u8, text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn percent(byte: u8, text: &mut Vec<u8>) {
    text.push(b'%');
    hex(byte, text);
}

fn code_unit(byte: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(b"\\u00");
    hex(byte, text);
}

fn hex_escape(byte: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(b"\\x");
    hex(byte, text);
}

fn url_reserved(byte: u8, text: &mut Vec<u8>) {
    match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => text.push(byte),
        false => percent(byte, text),
    }
}

fn json_slash(byte: u8, text: &mut Vec<u8>) {
    if matches!(byte, b'/' | b'"') {
        text.push(b'\\');
    }
    text.push(byte);
}

fn base64_cores(literal: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let mut cores = Vec::with_capacity(3);
    for text in lengthened(literal, HALVES) {
        for shift in 0..3 {
            let mut core = base64_core(&text, shift);
            if literal.len() < SHORTEST {
                core.truncate(SHORTEST);
            }
            let url_safe = url_safe(&core);
            if url_safe != core {
                cores.push((url_safe, shift));
            }
            cores.push((core, shift));
        }
    }
    cores
}

/// The characters of base64 that depend on a text alone that begins `shift` bytes after a
/// multiple of three.
pub(crate) fn base64_core(text: &[u8], shift: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextet = |number: usize| {
        let bit = number * 6 - shift * 8;
        let pair = u16::from(text[bit / 8]) << 8 | u16::from(text.get(bit / 8 + 1).copied().unwrap_or(0));
        ALPHABET[usize::from(pair >> (10 - bit % 8) & 63)]
    };
    (characters_before(shift)..(shift + text.len()) * 8 / 6).map(sextet).collect()
}

fn url_safe(core: &[u8]) -> Vec<u8> {
    let safe = |byte: &u8| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    };
    core.iter().map(safe).collect()
}

/// Number of base64 characters before a literal's own ones that hold bits of its first
/// group of three bytes.
pub(crate) fn characters_before(shift: usize) -> usize {
    (shift * 8).div_ceil(6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

    #[test]
    fn a_core_stands_in_the_base64_of_every_text_around_it() {
        let text = b"?token>";
        for (shift, tail) in (0..3).flat_map(|shift| (0..4).map(move |tail| (shift, tail))) {
            let whole = STANDARD_NO_PAD.encode([&b"abcxyz"[..3 + shift], text, &b"1234"[..tail]].concat());
            let core = base64_core(text, shift);
            let at = 4 + characters_before(shift);
            assert_eq!(&whole.as_bytes()[at..at + core.len()], core, "{shift} {tail}");
        }
    }
}
