//! Values of arguments that are more than a word.

use std::time::Duration;

use clap::ValueEnum;
use contract::WorkId;
use contract::decision::Profile;

/// Sandbox profile as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    Strict,
    Landlock,
    None,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::Strict,
            ProfileName::Landlock => Self::Landlock,
            ProfileName::None => Self::None,
        }
    }
}

/// State of runs as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFilter {
    Running,
    Pass,
    Fail,
    Blocked,
}

/// `30d`, as it was typed and as a span.
#[derive(Debug, Clone)]
pub(crate) struct Age {
    pub(crate) text: String,
    pub(crate) span: Duration,
}

/// Parses an age such as `30d`.
pub(crate) fn parse_age(text: &str) -> Result<Age, String> {
    let wrong = || "an age is a number and s, m, h or d, such as 30d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let unit = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)].iter().find(|(name, _)| *name == unit);
    let digits = Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let seconds = digits.and_then(|number| number.parse::<u64>().ok()?.checked_mul(unit?.1)).ok_or_else(wrong)?;
    Ok(Age { text: text.to_owned(), span: Duration::from_secs(seconds) })
}

/// Parses the id of a work item.
pub(super) fn work_id(text: &str) -> Result<WorkId, String> {
    WorkId::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// Parses the speed of a replay; it must be above 0.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "a speed is a number above 0".to_owned())
}

/// An address that a forge links by itself, and that can hold no markup.
pub(super) fn web_address(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&()*+,;=%".contains(&byte);
    let has_host = ["https://", "http://"].iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
    match has_host && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("an address begins with https:// or http:// and has no spaces".to_owned()),
    }
}
