//! The text that replaces a secret: `[redacted:RULE]`.
//!
//! To the scanner a marker is opaque, and text that touches one counts as cut off in the
//! middle of a word. So removing a secret never turns its neighbours into a hit, and
//! redacting twice gives the same as once. It opens no way around the scanner that a letter
//! in the marker's place would not open.

const OPENING: &[u8] = b"[redacted:";

/// The longest rule name a marker carries.
pub(crate) const NAME_MAX: usize = 40;

const LONGEST: usize = OPENING.len() + NAME_MAX + 1;

/// Appends the marker of a rule.
pub(crate) fn push_marker(rule: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(OPENING);
    out.extend_from_slice(rule.as_bytes());
    out.push(b']');
}

/// `name` as a marker can carry it: lower case, digits and dashes.
pub(crate) fn marker_name(name: &str) -> String {
    let clean = |character: char| match character {
        'a'..='z' | '0'..='9' => character,
        'A'..='Z' => character.to_ascii_lowercase(),
        _ => '-',
    };
    let name: String = name.chars().take(NAME_MAX).map(clean).collect();
    if name.is_empty() { "known".to_owned() } else { name }
}

/// End of the marker that begins at `at`; none if there is none.
pub(crate) fn end_of(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'[' {
        return None;
    }
    let name = bytes[at..].strip_prefix(OPENING)?;
    let len = name.iter().take(NAME_MAX).take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')).count();
    (len > 0 && name.get(len) == Some(&b']')).then(|| at + OPENING.len() + len + 1)
}

/// True if `from..to` touches or overlaps a marker.
pub(crate) fn touching(bytes: &[u8], from: usize, to: usize) -> bool {
    let reach = from.saturating_sub(LONGEST);
    let before = (reach..from).rev().find_map(|at| if bytes[at] == b'[' { Some(end_of(bytes, at)) } else { None });
    before.flatten().is_some_and(|end| end >= from) || first_in(bytes, from, to + 1).is_some()
}

/// True if a marker ends exactly before `at`.
pub(crate) fn ends_at(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes.get(at - 1) == Some(&b']') && touching(&bytes[..at], at, at)
}

/// Start of the first marker in `from..to`.
pub(crate) fn first_in(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let to = to.min(bytes.len());
    (from..to).find(|at| bytes[*at] == b'[' && end_of(bytes, *at).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_recognised_and_nothing_else_is() {
        let text = b"x[redacted:aws-key]y[redacted:]z[redacted:A]";
        assert_eq!(end_of(text, 1), Some(19));
        assert!(ends_at(text, 19));
        for at in (0..=text.len()).filter(|at| *at != 19) {
            assert!(!ends_at(text, at), "{at}");
        }
        for (from, to, expected) in [(0, 1, true), (5, 6, true), (19, 20, true), (20, 21, false), (0, 0, false)] {
            assert_eq!(touching(text, from, to), expected, "{from}..{to}");
        }
        assert_eq!((first_in(text, 0, 44), first_in(text, 2, 44)), (Some(1), None));
    }

    #[test]
    fn a_name_becomes_one_that_a_marker_can_carry() {
        for (given, carried) in [("OpenAI key", "openai-key"), ("", "known"), ("a]b[\n", "a-b--")] {
            assert_eq!(marker_name(given), carried);
        }
        assert_eq!(marker_name(&"x".repeat(99)).len(), NAME_MAX);
    }
}
