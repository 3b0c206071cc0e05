//! Roman numerals from 1 to 3999.
//!
//! ```
//! assert_eq!(roman::format(1987).as_deref(), Some("MCMLXXXVII"));
//! ```

mod parse;

pub use parse::{parse, ParseNumeralError};

const PARTS: [(u16, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// The numeral of a number, where it has one.
///
/// ```
/// assert_eq!(roman::format(4).as_deref(), Some("IV"));
/// assert_eq!(roman::format(0), None);
/// ```
pub fn format(number: u16) -> Option<String> {
    if !(1..=3999).contains(&number) {
        return None;
    }
    let mut rest = number;
    let mut text = String::new();
    for (value, part) in PARTS {
        while rest >= value {
            text.push_str(part);
            rest -= value;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers() {
        let numerals: Vec<_> = (1..=5).filter_map(format).collect();
        assert_eq!(numerals, ["I", "II", "III", "IV", "V"]);
    }

    #[test]
    fn beyond_the_range() {
        assert_eq!((format(0), format(4000)), (None, None));
    }

    #[test]
    #[ignore = "takes long without optimisation"]
    fn every_number_is_short() {
        assert!((1..4000)
            .filter_map(format)
            .all(|numeral| numeral.len() <= 15));
    }
}
