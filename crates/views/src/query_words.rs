//! The query language for runs, of few words: `engine:pi status:fail
//! reason:claim_contradicted task:ID stage:5 model:NAME digest:HEX since:7d sort:status`.

use std::time::Duration;

use contract::text::show_controls;
use contract::{Reason, Stage, Stamp, TaskId};
use ledger::RunStatus;

use crate::runs::{RunOrder, RunQuery};

/// A word that is not understood.
#[derive(Debug, thiserror::Error)]
pub enum ParseQueryError {
    #[error("`{}` is not a word of a query", show_controls(.0))]
    Word(String),
    #[error("`{}` is not a {what}", show_controls(.text))]
    Value { what: &'static str, text: String },
}

impl RunQuery {
    /// Reads the words of a query. `now` is where ages begin. A bare word is a task.
    pub fn parse_words(text: &str, now: Stamp) -> Result<Self, ParseQueryError> {
        let mut query = Self::default();
        for word in text.split_whitespace() {
            let (key, value) = word.split_once(':').unwrap_or(("task", word));
            let wrong = |what| ParseQueryError::Value { what, text: value.to_owned() };
            match key {
                "engine" => query.engine = Some(value.to_owned()),
                "status" => query.status = Some(find_status(value).ok_or_else(|| wrong("status"))?),
                "task" => query.task_id = Some(TaskId::try_from(value.to_owned()).map_err(|_| wrong("task"))?),
                "reason" => query.reason = Some(find_reason(value).ok_or_else(|| wrong("reason"))?),
                "stage" => query.stage = Some(find_stage(value).ok_or_else(|| wrong("stage"))?),
                "model" => query.model = Some(value.to_owned()),
                "digest" => query.digest = Some(find_digest(value).ok_or_else(|| wrong("digest"))?),
                "sort" => query.order = find_order(value).ok_or_else(|| wrong("order"))?,
                "since" => query.since = Some(find_time(value, now).ok_or_else(|| wrong("time"))?),
                _ => return Err(ParseQueryError::Word(word.to_owned())),
            }
        }
        Ok(query)
    }
}

fn find_status(text: &str) -> Option<RunStatus> {
    RunStatus::ALL.into_iter().find(|status| status.as_str() == text)
}

fn find_order(text: &str) -> Option<RunOrder> {
    RunOrder::ALL.into_iter().find(|order| order.as_str() == text)
}

/// The beginning of a digest, long enough to be nobody else's.
fn find_digest(text: &str) -> Option<String> {
    let is_hex = (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| text.to_ascii_lowercase())
}

fn find_stage(text: &str) -> Option<Stage> {
    Stage::try_from(text.parse::<u8>().ok()?).ok()
}

fn find_reason(text: &str) -> Option<Reason> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}

/// `today`, `7d`, `12h`, a date or a time, all UTC.
fn find_time(text: &str, now: Stamp) -> Option<Stamp> {
    let day = |text: &str| format!("{text}T00:00:00Z").parse::<Stamp>().ok();
    if text == "today" {
        return day(now.to_string().get(..10)?);
    }
    if let Some(seconds) = find_age(text) {
        return Stamp::from_unix(Duration::from_secs(u64::try_from(now.unix_seconds()).ok()?.saturating_sub(seconds)));
    }
    if text.len() == 10 { day(text) } else { text.parse().ok() }
}

fn find_age(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_filters() {
        let now: Stamp = "2026-11-18T10:00:00Z".parse().unwrap();
        let query =
            RunQuery::parse_words("engine:pi status:fail reason:claim_contradicted since:7d r1-x", now).unwrap();
        assert_eq!(query.engine.as_deref(), Some("pi"));
        assert_eq!(query.status, Some(RunStatus::Fail));
        assert_eq!(query.reason, Some(Reason::ClaimContradicted));
        assert_eq!(query.task_id.unwrap().as_str(), "r1-x");
        assert_eq!(query.since.unwrap().to_string().get(..10), Some("2026-11-11"));
        let query = RunQuery::parse_words("stage:5 model:qwen-local/qwen3", now).unwrap();
        assert_eq!((query.stage, query.model.as_deref()), (Some(Stage::OWNED_REPOSITORY), Some("qwen-local/qwen3")));
        assert!(RunQuery::parse_words("stage:9", now).is_err());
        let query = RunQuery::parse_words("digest:0123ABCD sort:engine", now).unwrap();
        assert_eq!((query.digest.as_deref(), query.order), (Some("0123abcd"), RunOrder::Engine));
        let since = |text: &str| RunQuery::parse_words(text, now).unwrap().since.unwrap().to_string();
        assert_eq!(since("since:today").get(..10), Some("2026-11-18"));
        assert_eq!(since("since:2026-11-01").get(..10), Some("2026-11-01"));
    }

    #[test]
    fn a_word_that_is_none_is_named() {
        let now: Stamp = "2026-11-18T10:00:00Z".parse().unwrap();
        for text in [
            "colour:red",
            "digest:xyz",
            "digest:0123",
            "sort:cost",
            "status:green",
            "since:soon",
            "since:99999999999999999999d",
            "reason:x",
            "task:../x",
        ] {
            assert!(RunQuery::parse_words(text, now).is_err(), "{text}");
        }
    }
}
