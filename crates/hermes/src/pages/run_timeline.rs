//! The timeline of a run: five lanes of marks, and the list of events.

use contract::text::show_controls;
use contract::{Event, EventKind};
use serde_json::{Map, Value};

/// Lanes from top to bottom.
const LANES: [&str; 5] = ["harness", "engine", "model", "sandbox", "verify"];
/// Longest text beside an event.
const LONGEST_TEXT: usize = 300;

/// Lane of the timeline.
pub(crate) struct TimelineLane {
    pub(crate) name: &'static str,
    pub(crate) marks: Vec<TimelineMark>,
}

/// Mark on a lane.
pub(crate) struct TimelineMark {
    /// Percent with two decimals.
    pub(crate) x: String,
    pub(crate) class: &'static str,
    pub(crate) is_diamond: bool,
}

/// One event of the list.
pub(crate) struct EventRow {
    pub(crate) seq: u64,
    pub(crate) clock: String,
    pub(crate) kind: &'static str,
    pub(crate) tone: &'static str,
    pub(crate) text: String,
    pub(crate) x: String,
}

/// Draws events from the first to the last.
pub(crate) fn draw_timeline(events: &[Event]) -> (Vec<TimelineLane>, Vec<EventRow>) {
    let start = events.first().map_or(0, millis_of);
    let span = events.last().map_or(0, millis_of).saturating_sub(start).max(1);
    let place = |event: &Event| percent(millis_of(event).saturating_sub(start), span);
    let lanes = LANES.into_iter().map(|name| TimelineLane {
        name,
        marks: events
            .iter()
            .filter(|event| lane_of(event.kind) == name)
            .map(|event| mark_of(event, place(event)))
            .collect(),
    });
    let rows = events.iter().map(|event| EventRow {
        seq: event.seq,
        clock: clock_text(millis_of(event).saturating_sub(start)),
        kind: event.kind.name(),
        tone: tone_of(event),
        text: describe_data(&event.data),
        x: place(event),
    });
    (lanes.collect(), rows.collect())
}

fn millis_of(event: &Event) -> u64 {
    u64::try_from(event.time.timestamp().as_millisecond()).unwrap_or(0)
}

fn percent(at: u64, span: u64) -> String {
    let hundredths = 100 + at.saturating_mul(9800) / span;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn clock_text(millis: u64) -> String {
    format!("{}:{:02}.{:03}", millis / 60_000, millis / 1000 % 60, millis % 1000)
}

const fn lane_of(kind: EventKind) -> &'static str {
    match kind {
        EventKind::EngineStarted | EventKind::EngineOutput | EventKind::EngineExited => "engine",
        EventKind::ModelRequested | EventKind::ModelAnswered | EventKind::ModelRefused => "model",
        EventKind::SandboxApplied | EventKind::SandboxRefused => "sandbox",
        EventKind::VerificationCompleted => "verify",
        _ => "harness",
    }
}

/// `bad` for a failed check, `hold` for a refusal, `glass` for an approval past the policy, `good` for what holds.
fn tone_of(event: &Event) -> &'static str {
    let has_reasons = event.data.get("reasons").and_then(Value::as_array).is_some_and(|reasons| !reasons.is_empty());
    match event.kind {
        EventKind::SandboxRefused | EventKind::ModelRefused | EventKind::BackendGateBlocked => "hold",
        EventKind::ApprovalDenied => "hold",
        EventKind::ApprovalBreakGlass => "glass",
        _ if has_reasons => "bad",
        EventKind::RunCompleted if event.data.get("status") == Some(&Value::from("pass")) => "good",
        _ => "",
    }
}

fn mark_of(event: &Event, x: String) -> TimelineMark {
    let tone = tone_of(event);
    let class = match tone {
        "bad" => "ev-fail",
        "hold" => "ev-refused",
        "good" => "ev-pass",
        "glass" => "ev-glass",
        _ if lane_of(event.kind) == "model" => "ev-model",
        _ => "",
    };
    TimelineMark { x, class, is_diamond: matches!(tone, "bad" | "hold" | "glass") }
}

/// The facts of an event as `key value`, short.
pub(crate) fn describe_data(data: &Map<String, Value>) -> String {
    let facts = data.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| match value {
        Value::String(text) => format!("{key} {text}"),
        other => format!("{key} {other}"),
    });
    let text = show_controls(&facts.collect::<Vec<_>>().join(", "));
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_printable_and_short() {
        let data = serde_json::from_str(r#"{"line": "\u001b[31mred\u202e", "none": null, "many": [1, 2]}"#).unwrap();
        let text = describe_data(&data);
        assert!(text.contains("many [1,2]") && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        let long = serde_json::from_value(serde_json::json!({"line": "x".repeat(5000)})).unwrap();
        assert_eq!(describe_data(&long).chars().count(), LONGEST_TEXT + 1);
    }

    #[test]
    fn places_are_percents() {
        assert_eq!((percent(0, 10).as_str(), percent(10, 10).as_str()), ("1.00", "99.00"));
        assert_eq!(clock_text(61_042), "1:01.042");
    }
}
