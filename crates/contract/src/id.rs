//! Identifiers of tasks, runs and items of the workboard.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Digest;

/// Names a task; it becomes part of file names, so its alphabet is narrow.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

/// Names a run: `<UTC time>-<task id>-<suffix>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// Names an item of the workboard: `[A-Z]+-WORK-[0-9]{3,}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkId(String);

/// Text that cannot be an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {rule}", crate::text::show_controls(.text))]
pub struct ParseIdError {
    text: String,
    rule: &'static str,
}

/// Begins the mark of a run.
const MARK: &str = "run-";
/// Number of digits of the id's digest that follow the prefix.
const MARK_DIGITS: usize = 16;

const TASK_RULE: &str = "a task id: 1 to 64 of letters, digits, `.`, `_`, `-`, beginning with a letter or digit";
const RUN_RULE: &str = "a run id: <yyyymmddThhmmssZ>-<task id>-<suffix>";
const WORK_RULE: &str =
    "a work id, such as CTO-WORK-012: capital letters, `-WORK-`, at least three digits; at most 64 in all";

fn is_name(text: &str, longest: usize) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.len() <= longest
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

fn is_run_name(text: &str) -> bool {
    let Some((time, rest)) = text.split_once('-') else { return false };
    let digits = |range: std::ops::Range<usize>| time.as_bytes()[range].iter().all(u8::is_ascii_digit);
    is_name(text, 128)
        && time.len() == 16
        && digits(0..8)
        && digits(9..15)
        && &time[8..9] == "T"
        && time.ends_with('Z')
        && rest.rsplit_once('-').is_some_and(|(task, suffix)| is_name(task, 64) && is_suffix(suffix))
}

fn is_suffix(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_work_name(text: &str) -> bool {
    let Some((board, number)) = text.split_once("-WORK-") else { return false };
    text.len() <= 64
        && !board.is_empty()
        && board.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.len() >= 3
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl WorkId {
    /// Text form, such as `CTO-WORK-012`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TaskId {
    /// Text form; safe as a file name by construction.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RunId {
    /// `time` as `yyyymmddThhmmssZ`.
    pub fn new(time: &str, task: &TaskId, suffix: &str) -> Result<Self, ParseIdError> {
        format!("{time}-{task}-{suffix}").try_into()
    }

    /// Id of a document of which there is one at a time; the last word of its task replaces
    /// the suffix.
    pub fn without_suffix(time: &str, task: &TaskId) -> Result<Self, ParseIdError> {
        format!("{time}-{task}").try_into()
    }

    /// Text form; safe as a file name and sorted by start time.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name for folders and processes of the run that programs inside its sandbox can
    /// see. It tells neither time nor task.
    pub fn mark(&self) -> String {
        format!("{MARK}{}", &Digest::of_bytes(self.0.as_bytes()).to_string()[..MARK_DIGITS])
    }

    /// True for what [`Self::mark`] makes.
    pub fn is_mark(text: &str) -> bool {
        let digits = text.strip_prefix(MARK).unwrap_or_default();
        digits.len() == MARK_DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The last part, which people use to name a run.
    pub fn suffix(&self) -> &str {
        self.0.rsplit('-').next().unwrap_or(&self.0)
    }
}

macro_rules! text_id {
    ($name:ident, $accepts:expr, $rule:expr) => {
        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                if $accepts(&text) { Ok(Self(text)) } else { Err(ParseIdError { text, rule: $rule }) }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(TaskId, |text: &str| is_name(text, 64), TASK_RULE);
text_id!(RunId, is_run_name, RUN_RULE);
text_id!(WorkId, is_work_name, WORK_RULE);

impl JsonSchema for TaskId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TaskId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            "description": "1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit",
        })
    }
}

impl JsonSchema for RunId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]{8}T[0-9]{6}Z-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[a-z0-9]+$",
        })
    }
}

impl JsonSchema for WorkId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WorkId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[A-Z]+-WORK-[0-9]{3,}$",
            "maxLength": 64,
            "description": "an item of the workboard, such as CTO-WORK-012",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_narrow() {
        for (text, good) in [
            ("a", true),
            ("A.b_c-9", true),
            ("", false),
            ("-a", false),
            ("a b", false),
            ("é", false),
            ("a/b", false),
            ("..", false),
        ] {
            assert_eq!(TaskId::try_from(text.to_owned()).is_ok(), good, "{text}");
        }
        assert!(TaskId::try_from("a".repeat(65)).is_err());
        for (text, good) in [
            ("20261115T003955Z-r1-string-slugify-b9tc", true),
            ("20261115T003955Z-b9tc", false),
            ("20261115T003955Z-a-", false),
            ("20261115T003955Z-a-b9tc.recover", false),
            ("20261115X003955Z-a-b9tc", false),
            ("2026é115T00395Z-a-b9tc", false),
            ("../20261115T003955Z-a-b9tc", false),
        ] {
            assert_eq!(RunId::try_from(text.to_owned()).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn work_ids_name_a_board_and_a_number() {
        let long = format!("A-WORK-{}", "1".repeat(57));
        for (text, good) in [
            ("CTO-WORK-012", true),
            ("A-WORK-1234", true),
            (long.as_str(), true),
            (&format!("{long}1"), false),
            ("CTO-WORK-12", false),
            ("cto-WORK-012", false),
            ("-WORK-012", false),
            ("CTO-WORK-012-WORK-013", false),
            ("CTO-WORK-01a", false),
            ("CTO-WORK-012\n", false),
        ] {
            assert_eq!(WorkId::try_from(text.to_owned()).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn a_mark_tells_nothing_of_the_run() {
        let run = RunId::new("20261115T003955Z", &TaskId::try_from("a-b".to_owned()).unwrap(), "b9tc").unwrap();
        assert_eq!(run.mark(), "run-e350abbb2ebc9cc0");
        for (text, is) in
            [(run.mark().as_str(), true), (run.as_str(), false), ("run-e350", false), ("run-E350ABBB2EBC9CC0", false)]
        {
            assert_eq!(RunId::is_mark(text), is, "{text}");
        }
    }

    #[test]
    fn the_suffix_names_a_run() {
        let task = |text: &str| TaskId::try_from(text.to_owned()).unwrap();
        let run = RunId::new("20261115T003955Z", &task("a-b"), "b9tc").unwrap();
        assert_eq!((run.as_str(), run.suffix()), ("20261115T003955Z-a-b-b9tc", "b9tc"));
        let run = RunId::without_suffix("20261115T003955Z", &task("a-b")).unwrap();
        assert_eq!((run.as_str(), run.suffix()), ("20261115T003955Z-a-b", "b"));
        assert!(RunId::without_suffix("20261115T003955Z", &task("ab")).is_err(), "one word is no task with a suffix");
    }
}
