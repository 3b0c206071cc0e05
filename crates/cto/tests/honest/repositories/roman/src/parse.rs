//! Reading numerals.

use crate::{format, PARTS};

/// Text that is not the numeral of any number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseNumeralError(pub String);

impl std::fmt::Display for ParseNumeralError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not a Roman numeral: {}", self.0)
    }
}

impl std::error::Error for ParseNumeralError {}

/// The number of a numeral in its usual form.
///
/// ```
/// assert_eq!(roman::parse("XIV"), Ok(14));
/// assert!(roman::parse("IIII").is_err());
/// ```
pub fn parse(text: &str) -> Result<u16, ParseNumeralError> {
    let unknown = || ParseNumeralError(text.to_owned());
    let mut rest = text;
    let mut number = 0_u16;
    for (value, part) in PARTS {
        while let Some(after) = rest.strip_prefix(part) {
            number = number.checked_add(value).ok_or_else(unknown)?;
            rest = after;
        }
    }
    // One number has one usual form, so writing it again tells whether this was it.
    if format(number).as_deref() == Some(text) {
        Ok(number)
    } else {
        Err(unknown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms() {
        assert_eq!(parse("MCMLXXXVII"), Ok(1987));
        assert_eq!(parse("MMXXIV"), Ok(2024));
    }

    #[test]
    fn unusual_forms() {
        for text in ["", "IIII", "VX", "IC", "abc", "mcm"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
