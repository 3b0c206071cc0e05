//! Cursors: the text that a page of runs ends with and the next one begins with. Opaque to
//! callers.

use std::time::Duration;

use contract::Stamp;
use ledger::RunPlace;

/// A text that is no cursor of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a cursor", contract::text::show_controls(.0))]
pub struct ParseCursorError(pub(crate) String);

/// The last run of a page: its place, and the group that it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageEnd {
    /// Status, engine or stage; none where the list has no groups.
    pub(crate) group: Option<String>,
    /// Microseconds of its start; milliseconds that it took where the list is in that order.
    pub(crate) key: u64,
    /// Of the entry that started the run.
    pub(crate) seq: u64,
}

impl PageEnd {
    /// End at a place in an order by time.
    pub(crate) fn of_place(group: Option<String>, place: RunPlace) -> Self {
        let key = u64::try_from(place.started_at.timestamp().as_microsecond()).unwrap_or_default();
        Self { group, key, seq: place.seq }
    }

    /// The place in an order by time; none if the key is no time.
    pub(crate) fn run_place(&self) -> Option<RunPlace> {
        Some(RunPlace { started_at: Stamp::from_unix(Duration::from_micros(self.key))?, seq: self.seq })
    }
}

/// Key and entry number in base 16; before them the bytes of the group's name.
pub(crate) fn write_cursor(end: &PageEnd) -> String {
    let place = format!("{:x}-{:x}", end.key, end.seq);
    match &end.group {
        Some(group) => format!("{}.{place}", group.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
        None => place,
    }
}

/// Reads a cursor. Text that would be written differently here is refused.
pub(crate) fn parse_cursor(text: &str) -> Result<PageEnd, ParseCursorError> {
    let read = || {
        let (group, place) = match text.split_once('.') {
            Some((group, place)) => (Some(read_group(group)?), place),
            None => (None, text),
        };
        let (key, seq) = place.split_once('-')?;
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let end = PageEnd { group, key: number(key)?, seq: number(seq)? };
        end.run_place().map(|_| end)
    };
    // Written again it is the same text, or it was not written here.
    read().filter(|end| write_cursor(end) == text).ok_or_else(|| ParseCursorError(text.to_owned()))
}

fn read_group(text: &str) -> Option<String> {
    let pairs = text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    String::from_utf8(pairs.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_nothing_else_is_one() {
        let place = RunPlace { started_at: "2026-03-01T10:00:00.123456Z".parse().unwrap(), seq: 4711 };
        for group in [None, Some(""), Some("fake"), Some("\u{202e}\n.-")] {
            let end = PageEnd::of_place(group.map(str::to_owned), place);
            assert_eq!(end.run_place(), Some(place));
            assert_eq!(parse_cursor(&write_cursor(&end)), Ok(end));
        }
        for text in [
            "",
            "-",
            "7",
            "7-",
            "-7",
            "+7-1",
            "07-1",
            "7-1-1",
            "7-G",
            "FF-1",
            "7-1 ",
            "ffffffffffffffff-1",
            "6.7-1",
            "6A.7-1",
            "ff.7-1",
            "+1.7-1",
            "61.61.7-1",
            "é.7-1",
        ] {
            assert_eq!(parse_cursor(text), Err(ParseCursorError(text.to_owned())));
        }
        assert_eq!(parse_cursor("ff-1").unwrap().seq, 1);
    }
}
