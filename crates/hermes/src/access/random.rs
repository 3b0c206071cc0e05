//! Random values that cannot be guessed.

use std::fmt::Write as _;

/// Value of 256 random bits in hexadecimal. None if the system has no randomness: then no
/// login works.
pub(super) fn random_value() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Compares secrets in a time that does not depend on where they differ.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let differs = a.bytes().zip(b.bytes()).fold(0_u8, |differs, (a, b)| differs | (a ^ b));
    a.len() == b.len() && differs == 0
}
