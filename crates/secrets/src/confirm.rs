//! Confirmation that a literal of a rule belongs to a secret.

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use crate::block::key_block;
use crate::check;
use crate::documented::is_documented;
use crate::read::hex_pair;
use crate::rule::{After, LiteralCheck, PrecedingByte, SecretRule};
use crate::view::Edge;

/// Text with a rule's literal in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiteralContext<'a> {
    pub(crate) bytes: &'a [u8],
    /// Position of the literal.
    pub(crate) at: usize,
    pub(crate) start: Edge,
    pub(crate) end: Edge,
}

/// Position of a secret in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretSpan {
    /// Stretches of the secret: one, or one for each line.
    pub(crate) parts: Vec<Range<usize>>,
    /// The value, without what its lines are wrapped in.
    pub(crate) value: Vec<u8>,
}

impl SecretSpan {
    /// From its first byte to its last.
    pub(crate) fn whole(&self) -> Range<usize> {
        match (self.parts.first(), self.parts.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

/// Secret of a rule at the literal, if there is one.
pub(crate) fn secret(rule: &SecretRule, regex: &Regex, hay: &LiteralContext<'_>) -> Option<SecretSpan> {
    let start = secret_start(rule, hay)?;
    if rule.holds.is_some_and(|byte| {
        memchr::memchr2(byte, b'\n', &hay.bytes[hay.at..]).is_none_or(|at| hay.bytes[hay.at + at] == b'\n')
    }) {
        return None;
    }
    let mut slots = [None; 6];
    let used = regex.group_info().slot_len().min(slots.len());
    regex.search_slots(&Input::new(hay.bytes).range(hay.at..).anchored(Anchored::Yes), &mut slots[..used])?;
    let group = match slots.map(|slot| slot.map(|slot| slot.get())) {
        [_, _, Some(start), Some(end), ..] | [_, _, _, _, Some(start), Some(end)] => start..end,
        [_, Some(end), ..] => start..end,
        _ => return None,
    };
    if let Some(shortest) = rule.block {
        return key_block(hay.bytes, hay.at, group.end, hay.end, shortest)
            .filter(|block| check::passes(rule.check, &block.value) && !is_documented(&block.value));
    }
    let value = &hay.bytes[group.clone()];
    let stands = ends_a_word(rule, hay, group.end) && !is_announced_as_harmless(rule, hay);
    (stands && check::passes(rule.check, value) && !is_documented(value))
        .then(|| SecretSpan { parts: vec![group.clone()], value: value.to_vec() })
}

/// True if the pattern fits up to the very end of the text, so that more text may extend
/// the match.
pub(crate) fn may_go_on(rule: &SecretRule, regex: &Regex, hay: &LiteralContext<'_>) -> bool {
    let found = regex.search_half(&Input::new(hay.bytes).range(hay.at..).anchored(Anchored::Yes));
    found.is_some_and(|found| rule.block.is_some() || found.offset() == hay.bytes.len())
}

/// Start of the secret; none if the text before the literal rules a secret out.
pub(crate) fn secret_start(rule: &SecretRule, hay: &LiteralContext<'_>) -> Option<usize> {
    let start = lead_start(rule, hay)?;
    (rule.before == PrecedingByte::Anything || begins_a_word(hay, start)).then_some(start)
}

/// Quick check of the literal's surroundings before the pattern is tried. Escapes are words
/// of their own, so they pass.
pub(crate) fn deserves_a_try(rule: &SecretRule, hay: &LiteralContext<'_>) -> bool {
    let after = &hay.bytes[hay.at..];
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let run = |most: usize| after.iter().take(most).take_while(is_word).count();
    let escaped = |len: usize| matches!(after.get(len), Some(b'%' | b'\\'));
    match rule.glance {
        LiteralCheck::Anything => true,
        LiteralCheck::Run(shortest) => {
            let len = run(shortest);
            len == shortest || escaped(len)
        }
        LiteralCheck::Name | LiteralCheck::NamedValue => {
            const LONGEST: usize = 32;
            let len = run(LONGEST);
            let is_it = |literal: &&str| {
                let (name, suffix) = after[..len].split_at(literal.len().min(len));
                literal.as_bytes().eq_ignore_ascii_case(name) && is_harmless_suffix(suffix)
            };
            // Most names have no value behind them, and a rule has many names.
            escaped(len) || has_value(rule.glance, &after[len..]) && rule.literals.iter().any(is_it)
        }
        LiteralCheck::Assigned => {
            const FARTHEST: usize = 64;
            let between = |byte: &u8| matches!(byte, b'"' | b'\'' | b']' | b')' | 0x0b) || byte.is_ascii_whitespace();
            let next = after.iter().take(FARTHEST).skip_while(is_word).find(|byte| !between(byte));
            next.is_none_or(|byte| matches!(byte, b'=' | b':' | b'>' | b'%' | b'\\') || !byte.is_ascii())
        }
    }
}

/// True if what follows a name gives it a value: `=`, `:`, `>` or `,`, or the word `value`.
fn has_value(glance: LiteralCheck, after: &[u8]) -> bool {
    const FARTHEST: usize = 48;
    let between = |byte: &u8| matches!(byte, b'"' | b'\'' | b']' | b',' | 0x0b) || byte.is_ascii_whitespace();
    let gap = after.iter().take(FARTHEST).take_while(|byte| between(byte)).count();
    match glance {
        LiteralCheck::NamedValue => {
            after[gap..].get(..5).is_none_or(|word| word.eq_ignore_ascii_case(b"value") || !word.is_ascii())
        }
        _ => {
            let is_listed = after[..gap].contains(&b',');
            is_listed
                || after
                    .get(gap)
                    .is_none_or(|byte| matches!(byte, b'=' | b':' | b'>' | b'%' | b'\\') || !byte.is_ascii())
        }
    }
}

/// True if the suffix leaves a name the same name: nothing, a number, an environment.
fn is_harmless_suffix(suffix: &[u8]) -> bool {
    const ENVIRONMENTS: [&[u8]; 8] = [b"", b"value", b"prod", b"production", b"staging", b"dev", b"live", b"old"];
    let suffix = suffix.strip_prefix(b"_").or(suffix.strip_prefix(b"-")).unwrap_or(suffix);
    let is_number = suffix.len() <= 2 && suffix.iter().all(u8::is_ascii_digit);
    is_number || ENVIRONMENTS.iter().any(|environment| suffix.eq_ignore_ascii_case(environment))
}

/// Start of the characters before the literal that belong to the secret.
fn lead_start(rule: &SecretRule, hay: &LiteralContext<'_>) -> Option<usize> {
    let before = hay.bytes[..hay.at].iter().rev();
    let len = before.take(rule.lead.longest()).take_while(|byte| rule.lead.holds_byte(**byte)).count();
    (len >= rule.lead.shortest()).then(|| hay.at - len)
}

/// True if the word right before the literal marks a harmless value, as in
/// `next_page_token`.
fn is_announced_as_harmless(rule: &SecretRule, hay: &LiteralContext<'_>) -> bool {
    let before = &hay.bytes[..hay.at];
    let before = before.strip_suffix(b"_").or(before.strip_suffix(b"-")).unwrap_or(before);
    let ends_with = |word: &&str| {
        let tail = before.len().checked_sub(word.len()).map(|at| &before[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word.as_bytes()))
    };
    rule.unless_after.iter().any(ends_with)
}

fn begins_a_word(hay: &LiteralContext<'_>, at: usize) -> bool {
    match hay.bytes[..at].last() {
        None => hay.start == Edge::Ended,
        Some(last) => !last.is_ascii_alphanumeric() || ends_an_escape(&hay.bytes[..at]),
    }
}

/// Letters and digits that belong to an escape are no word: `\n`, `%3D`, `\u003d`, and a
/// terminal's colours.
fn ends_an_escape(text: &[u8]) -> bool {
    let escaped = |width: usize, opening: &[u8]| {
        let written = text.len().checked_sub(width).map(|at| &text[at..]);
        let digits = written.and_then(|written| written.strip_prefix(opening));
        digits.and_then(|digits| hex_pair(digits.get(digits.len().checked_sub(2)?..)?))
    };
    match text {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'm'] => {
            let start = text[..text.len() - 1].iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b';');
            start.is_some_and(|start| text[start] == b'[')
        }
        _ => [escaped(3, b"%"), escaped(6, b"\\u"), escaped(4, b"\\x")]
            .into_iter()
            .flatten()
            .any(|byte| !byte.is_ascii_alphanumeric()),
    }
}

fn ends_a_word(rule: &SecretRule, hay: &LiteralContext<'_>, at: usize) -> bool {
    match hay.bytes.get(at) {
        None => hay.end == Edge::Ended || hay.end == Edge::More && rule.after == After::Anything,
        Some(next) => !rule.after.forbids(*next),
    }
}
