//! The reason of a sealed run, as a row has it: one of `contract`, or the code of one that only a newer program knows.
//!
//! A reason more raises no version of the ledger, and during an upgrade two versions write into one. So a list of the older program shows
//! what it does not know, and goes on.

use std::fmt;

use contract::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest code that is read.
const MOST_CODE: usize = 64;

/// Reason for which a run did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum SealedReason {
    Known(Reason),
    /// Its code: lower case letters, digits and `_`.
    Unknown(String),
}

/// A text that cannot be the code of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the code of a reason")]
pub struct ParseSealedReasonError;

impl SealedReason {
    /// Stable code.
    pub fn code(&self) -> &str {
        match self {
            Self::Known(reason) => reason.code(),
            Self::Unknown(code) => code,
        }
    }

    /// The reason, if this program knows it.
    pub const fn known(&self) -> Option<Reason> {
        match self {
            Self::Known(reason) => Some(*reason),
            Self::Unknown(_) => None,
        }
    }
}

/// For people: a code that this program does not know is marked.
impl fmt::Display for SealedReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(reason) => out.write_str(reason.code()),
            Self::Unknown(code) => write!(out, "{code}(unknown)"),
        }
    }
}

impl From<Reason> for SealedReason {
    fn from(reason: Reason) -> Self {
        Self::Known(reason)
    }
}

impl TryFrom<String> for SealedReason {
    type Error = ParseSealedReasonError;

    fn try_from(code: String) -> Result<Self, ParseSealedReasonError> {
        if let Some(reason) = Reason::from_code(&code) {
            return Ok(Self::Known(reason));
        }
        let is_code = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_read = (1..=MOST_CODE).contains(&code.len()) && code.bytes().all(is_code);
        if is_read { Ok(Self::Unknown(code)) } else { Err(ParseSealedReasonError) }
    }
}

impl From<SealedReason> for String {
    fn from(reason: SealedReason) -> Self {
        reason.code().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_back_as_it_was_written() {
        let read = |text: &str| serde_json::from_str::<Vec<SealedReason>>(text);
        let both = r#"["no_diff","reason_of_2031"]"#;
        let reasons = read(both).unwrap();
        assert_eq!(reasons, [Reason::NoDiff.into(), SealedReason::Unknown("reason_of_2031".to_owned())]);
        assert_eq!(serde_json::to_string(&reasons).unwrap(), both);
        assert_eq!(reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), ["no_diff", "reason_of_2031(unknown)"]);
        for wrong in
            [r#"[""]"#, r#"["No"]"#, r#"["a b"]"#, r#"["\u001b[2J"]"#, "[1]", &format!("[\"{}\"]", "a".repeat(65))]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
