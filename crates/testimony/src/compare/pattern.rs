//! Patterns over test identities, and the function name inside of an identity.

/// Patterns of identities, as a contract has them.
#[derive(Debug)]
pub struct Patterns<'a>(Vec<&'a str>);

impl<'a> Patterns<'a> {
    /// Patterns of a contract; empty ones are ignored, since they would match every
    /// identity.
    pub fn new(patterns: &'a [String]) -> Self {
        Self(patterns.iter().map(String::as_str).filter(|pattern| !pattern.is_empty()).collect())
    }

    /// True if a pattern fits: with `*` as a glob, otherwise as the end of the identity or
    /// of its function.
    pub fn matches(&self, identity: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.contains('*') {
            true => matches_stars(pattern, identity),
            false => is_end(pattern, identity) || is_end(pattern, function(identity)),
        })
    }
}

/// Matches a pattern with stars, each of which fits any text. Taking each part at the first
/// place it fits is enough.
fn matches_stars(pattern: &str, identity: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = identity.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// True if the pattern is the identity, or its end after a separator.
fn is_end(pattern: &str, identity: &str) -> bool {
    let before = identity.strip_suffix(pattern);
    before.is_some_and(|before| before.is_empty() || ["::", " > ", "/", "."].iter().any(|mark| before.ends_with(mark)))
}

/// A test without what it is parametrised with: `[..]` of pytest and JUnit, subtests of Go,
/// cases of rstest, the number of one of several equals.
pub(crate) fn function(identity: &str) -> &str {
    let identity = without_ordinal(identity);
    let Some(place) = identity.find("::") else { return identity };
    let name = place + "::".len();
    let of_go = ["Test", "Fuzz", "Example"].iter().any(|word| identity[name..].starts_with(word));
    let end = match identity[name..].find('/') {
        Some(slash) if of_go && !identity[..place].ends_with(".py") => name + slash,
        _ if identity.ends_with(']') => identity[name..].find('[').map_or(identity.len(), |bracket| name + bracket),
        _ => rust_case(identity).unwrap_or(identity.len()),
    };
    &identity[..end]
}

fn without_ordinal(identity: &str) -> &str {
    let ordinal = identity.strip_suffix('⟩').and_then(|rest| rest.rsplit_once(" ⟨"));
    match ordinal {
        Some((name, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => identity,
    }
}

/// `tests::adds::case_1_small`.
fn rust_case(identity: &str) -> Option<usize> {
    let at = identity.rfind("::case_")?;
    identity[at + "::case_".len()..].starts_with(|first: char| first.is_ascii_digit()).then_some(at)
}
