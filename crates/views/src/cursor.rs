//! Cursors: the text that a page of runs ends with and the next one begins with. Opaque to
//! callers.

use std::time::Duration;

use contract::Stamp;
use ledger::RunPlace;

/// A text that is no cursor of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a cursor", contract::text::show_controls(.0))]
pub struct ParseCursorError(String);

/// Microseconds and entry number, in base 16.
pub(crate) fn write_cursor(place: RunPlace) -> String {
    format!("{:x}-{:x}", place.started_at.timestamp().as_microsecond(), place.seq)
}

/// Reads a cursor. Text that would be written differently here is refused.
pub(crate) fn parse_cursor(text: &str) -> Result<RunPlace, ParseCursorError> {
    let read = || {
        let (micros, seq) = text.split_once('-')?;
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let started_at = Stamp::from_unix(Duration::from_micros(number(micros)?))?;
        Some(RunPlace { started_at, seq: number(seq)? })
    };
    // Written again it is the same text, or it was not written here.
    read().filter(|place| write_cursor(*place) == text).ok_or_else(|| ParseCursorError(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_nothing_else_is_one() {
        let place = RunPlace { started_at: "2026-03-01T10:00:00.123456Z".parse().unwrap(), seq: 4711 };
        assert_eq!(parse_cursor(&write_cursor(place)), Ok(place));
        for text in ["", "-", "7", "7-", "-7", "+7-1", "07-1", "7-1-1", "7-G", "FF-1", "7-1 ", "ffffffffffffffff-1"] {
            assert_eq!(parse_cursor(text), Err(ParseCursorError(text.to_owned())));
        }
        assert_eq!(parse_cursor("ff-1").unwrap().seq, 1);
    }
}
