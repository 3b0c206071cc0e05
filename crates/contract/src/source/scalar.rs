//! Rules of both readers for every document: numbers, depth, duplicate keys, no NUL.

use std::collections::HashMap;

use super::node::{MapKey, Span, ValueKind};
use super::problem::{Fatal, Problem, SourceRule, shorten_value};

const MAX_DEPTH: usize = 32;

/// Value of an unquoted word: YAML 1.2 core, with `true`, `false`, `null` and `~` in lower
/// case only.
pub(super) fn plain_kind(text: &str) -> ValueKind {
    match text {
        "" | "~" | "null" => ValueKind::Null,
        "true" => ValueKind::Bool(true),
        "false" => ValueKind::Bool(false),
        _ if is_number(text) => number_kind(text),
        _ => ValueKind::Text(text.to_owned()),
    }
}

/// `007` and `+7` mean different things to different readers, so they stay what they are
/// and are refused.
pub(super) fn number_kind(text: &str) -> ValueKind {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" || !digits.starts_with(['0', '+']);
    match text.parse::<i64>() {
        Ok(number) if plain => ValueKind::Int(number),
        _ => ValueKind::Float(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let based = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.is_empty());
        digits.is_some_and(|digits| digits.chars().all(|c| c.is_digit(radix)))
    };
    matches!(unsigned, ".inf" | ".Inf" | ".INF")
        || matches!(text, ".nan" | ".NaN" | ".NAN")
        || based("0o", 8)
        || based("0x", 16)
        || is_decimal(unsigned)
}

fn is_decimal(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent.map(|part| part.strip_prefix(['-', '+']).unwrap_or(part));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|part| !part.is_empty() && digits(part))
}

/// Refuses values nested deeper than the limit, so that recursion over the tree stays
/// bounded.
pub(super) fn depth_allowed(depth: usize, span: Span) -> Result<(), Fatal> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(too_deep(span).into()) }
}

/// Problem of a document that is nested too deeply.
pub(super) fn too_deep(span: Span) -> Problem {
    Problem::new(span, SourceRule::TooLarge, format!("nested deeper than {MAX_DEPTH} levels"))
}

/// `seen` holds the line on which each key of the map was first given.
pub(super) fn duplicate(seen: &mut HashMap<String, usize>, key: &MapKey) -> Option<Problem> {
    let Some(first) = seen.get(&key.text) else {
        seen.insert(key.text.clone(), key.span.line);
        return None;
    };
    let message = format!("duplicate key `{}`, first given on line {first}", shorten_value(&key.text));
    Some(Problem::new(key.span, SourceRule::DuplicateKey, message).with_key(shorten_value(&key.text)))
}

/// Problem of a text that holds NUL, which ends a string in C and could hide the rest.
pub(super) fn nul(text: &str, span: Span) -> Option<Problem> {
    text.contains('\0')
        .then(|| Problem::new(span, SourceRule::Encoding, "the text holds a NUL character").with_found(text))
}
