//! Moments as the artifacts write them: RFC 3339, UTC, microseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unkept::read_text;

/// A moment in UTC. Its text has a fixed width, so that texts sort as times do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp(jiff::Timestamp);

impl Stamp {
    /// Converts a duration since the Unix epoch, cut to microseconds; none outside of the
    /// supported range.
    pub fn from_unix(since_epoch: Duration) -> Option<Self> {
        let micros = i64::try_from(since_epoch.as_micros()).ok()?;
        jiff::Timestamp::from_microsecond(micros).ok().map(Self)
    }

    /// This moment and `span` later; saturates at the end of time.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.checked_add(span).unwrap_or(jiff::Timestamp::MAX))
    }

    /// `yyyymmddThhmmssZ`, as run ids begin.
    pub fn compact(self) -> String {
        self.0.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    /// The moment as jiff's type, for arithmetic.
    pub fn timestamp(self) -> jiff::Timestamp {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_second()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stamp({self})")
    }
}

impl FromStr for Stamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        text.parse().map(Self)
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads the exact form that is written, so that every reader of a document agrees on it: a
/// leap second, an offset or another precision is refused.
impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer).map(|ExactStamp(stamp)| stamp)
    }
}

/// A stamp whose text is the one it is written as.
struct ExactStamp(Stamp);

/// Text that no document of ours has for a moment.
#[derive(Debug, thiserror::Error)]
enum ReadStampError {
    #[error("a time is RFC 3339 in UTC with microseconds, such as 2026-11-15T02:39:55.000000Z")]
    Inexact,
    #[error("{0}")]
    Parse(#[source] jiff::Error),
}

impl FromStr for ExactStamp {
    type Err = ReadStampError;

    fn from_str(text: &str) -> Result<Self, ReadStampError> {
        const FORM: &[u8] = b"dddd-dd-ddTdd:dd:dd.ddddddZ";
        let fits = |(byte, form): (&u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == form };
        let exact = text.len() == FORM.len() && text.as_bytes().iter().zip(FORM).all(fits);
        // A leap second would be read as the second before it.
        if !exact || text.as_bytes()[17] > b'5' {
            return Err(ReadStampError::Inexact);
        }
        text.parse().map(Self).map_err(ReadStampError::Parse)
    }
}

/// Reads a moment that a person wrote: any form of RFC 3339.
pub(crate) fn read_written_stamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Stamp>, D::Error> {
    struct Written(Stamp);

    impl<'de> Deserialize<'de> for Written {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            read_text(deserializer).map(Self)
        }
    }
    Ok(Option::<Written>::deserialize(deserializer)?.map(|Written(stamp)| stamp))
}

impl JsonSchema for Stamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$",
            "description": "RFC 3339, UTC, microseconds",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_fixed_width() {
        let stamp = Stamp::from_unix(Duration::from_secs(1_794_710_395)).unwrap();
        insta::assert_snapshot!(stamp, @"2026-11-15T02:39:55.000000Z");
        insta::assert_snapshot!(stamp.compact(), @"20261115T023955Z");
        assert_eq!(stamp.to_string().parse::<Stamp>().unwrap(), stamp);
    }

    #[test]
    fn a_document_has_one_text_for_a_moment() {
        let read = |text: &str| serde_json::from_value::<Stamp>(text.into()).ok();
        assert!(read("2026-11-15T02:39:59.999999Z").is_some());
        for other in [
            "2026-06-30T23:59:60.000000Z",
            "2026-11-15T02:39:55Z",
            "2026-11-15T02:39:55.0000000Z",
            "2026-11-15t02:39:55.000000z",
            "2026-11-15 02:39:55.000000Z",
            "2026-11-15T02:39:55.000000+00:00",
            "2026-13-15T02:39:55.000000Z",
            "2026-11-15T24:39:55.000000Z",
            "-26-11-15T02:39:55.000000Z",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
