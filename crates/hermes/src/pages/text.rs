//! Words, icons and short forms that templates ask for.

use contract::Stage;
use contract::text::show_controls;

/// Word, class and icon of each state that is shown. The icon's shape tells the state as
/// well as its colour.
const STATES: &[(&str, &str, &str)] = &[
    ("pass", "pass", "pass"),
    ("validated", "validated", "pass"),
    ("supported", "supported", "pass"),
    ("accepted", "pass", "pass"),
    ("admitted", "admitted", "pass"),
    ("approved", "granted", "pass"),
    ("allowed", "allowed", "pass"),
    ("fail", "fail", "fail"),
    ("contradicted", "contradicted", "fail"),
    ("forbidden", "forbidden", "fail"),
    ("outside", "outside", "fail"),
    ("broken", "fail", "fail"),
    ("blocked", "blocked", "blocked"),
    ("denied", "blocked", "blocked"),
    ("revoked", "blocked", "blocked"),
    ("held", "due", "blocked"),
    ("interrupted", "blocked", "blocked"),
    ("past_the_policy", "glass", "flag"),
    ("protected", "protected", "lock"),
    ("stale", "stale", "stale"),
    ("expired", "expired", "stale"),
    ("running", "running", "running"),
    ("open", "requested", "half"),
    ("used", "idle", "tick"),
    ("unverifiable", "unverifiable", "question"),
    ("not_started", "not_started", "idle"),
];

fn state_of(word: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    STATES.iter().find(|(known, ..)| *known == word)
}

/// Suffix of a state's class name; empty for an unknown word.
pub(crate) fn class_of(word: impl AsRef<str>) -> &'static str {
    state_of(word.as_ref()).map_or("idle", |(_, class, _)| class)
}

/// Icon of a state's word.
pub(crate) fn icon_of(word: impl AsRef<str>) -> &'static str {
    state_of(word.as_ref()).map_or("idle", |(.., icon)| icon)
}

/// Words of a code: underscores become blanks.
pub(crate) fn words_of(word: impl AsRef<str>) -> String {
    show_controls(&word.as_ref().replace('_', " "))
}

/// A number with a comma between thousands.
pub(crate) fn number_text(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// First characters of a digest.
pub(crate) fn first_of(digest: impl AsRef<str>) -> String {
    show_controls(digest.as_ref()).chars().take(8).collect()
}

/// Last characters of a digest.
pub(crate) fn last_of(digest: impl AsRef<str>) -> String {
    let digest = show_controls(digest.as_ref());
    digest.chars().skip(digest.chars().count().saturating_sub(4)).collect()
}

/// Folder of a path with its slash; nothing for a bare name.
pub(crate) fn folder_of(path: impl AsRef<str>) -> String {
    path.as_ref().rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{}/", show_controls(folder)))
}

/// File name of a path.
pub(crate) fn name_of(path: impl AsRef<str>) -> String {
    let path = path.as_ref();
    show_controls(path.rsplit_once('/').map_or(path, |(_, name)| name))
}

/// Foreign text with control characters neutralised.
pub(crate) fn shown_text(text: impl AsRef<str>) -> String {
    show_controls(text.as_ref())
}

/// A text that may be absent; its absence is a dash.
pub(crate) fn text_of<T: ToString>(text: &Option<T>) -> String {
    text.as_ref().map_or_else(|| "–".to_owned(), |text| show_controls(&text.to_string()))
}

/// Name of the model, or `none`.
pub(crate) fn model_of<T: ToString>(model: &Option<T>) -> String {
    model.as_ref().map_or_else(|| "none".to_owned(), |model| show_controls(&model.to_string()))
}

/// Name of a stage by its number; empty for a number that is none.
pub(crate) fn stage_name(stage: &u8) -> &'static str {
    Stage::try_from(*stage).map_or("", |stage| stage.name())
}

/// `3 min`, `2 h`, `4 d`: the larger unit alone.
pub(crate) fn age_text(seconds: &u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time without its fractions: `2026-11-18 12:31:54`.
pub(crate) fn time_text(time: impl ToString) -> String {
    show_controls(&time.to_string().chars().take(19).collect::<String>()).replacen('T', " ", 1)
}

/// `40 ms`, `9.2 s`, `5:18`.
pub(crate) fn millis_text(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => format!("{}:{:02}", millis / 60_000, millis / 1000 % 60),
    }
}

/// Micro-units of a currency with two decimals, or more where that would be nothing.
pub(crate) fn money_text(micros: u64) -> String {
    match micros {
        0 => "0.00".to_owned(),
        1..10_000 => format!("0.{micros:06}"),
        _ => format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_shape() {
        for (word, class, icon) in STATES {
            assert_eq!((class_of(word), icon_of(word)), (*class, *icon));
        }
        assert_eq!((class_of("<b>"), icon_of("<b>")), ("idle", "idle"), "a foreign word gets no class of its own");
    }

    #[test]
    fn spans_and_sums_are_short() {
        assert_eq!(millis_text(999), "999 ms");
        assert_eq!(millis_text(9_240), "9.2 s");
        assert_eq!(millis_text(318_000), "5:18");
        assert_eq!(age_text(&90), "1 min");
        assert_eq!(time_text("2026-11-18T12:31:54.195119Z"), "2026-11-18 12:31:54");
        assert_eq!(money_text(1_234_567), "1.23");
        assert_eq!(money_text(420), "0.000420");
        assert_eq!([0, 999, 1_000, 1_234_567].map(number_text), ["0", "999", "1,000", "1,234,567"]);
    }
}
