//! Case, the event log of its pipeline: a line an event.

use serde::Deserialize;

use super::{Note, NoteKind};
use crate::phases::MAX_LINE;

#[derive(Deserialize)]
struct LoggedEvent {
    event: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    outcome: String,
    #[serde(alias = "args", alias = "input")]
    arguments: Option<super::Arguments>,
    result: Option<PhaseResult>,
}

#[derive(Default, Deserialize)]
struct PhaseResult {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    error: Option<String>,
}

/// The note of one line of the log; none for an event that says nothing new, or for what is
/// no event.
pub fn case_note(line: &[u8]) -> Option<Note> {
    if line.len() > MAX_LINE {
        return None;
    }
    let mut event: LoggedEvent = serde_json::from_slice(line).ok()?;
    let arguments = event.arguments.take().unwrap_or_default();
    let LoggedEvent { phase, agent, outcome, .. } = &event;
    match event.event.as_str() {
        "phase_start" => Some(Note::new(NoteKind::Turn, format!("{phase} begins ({agent})"))),
        "phase_end" => Some(end_of_phase(&event)),
        "tool_start" => {
            let subject = arguments.command.or(arguments.path).or(arguments.pattern).unwrap_or_default();
            Some(Note::new(NoteKind::Tool, format!("{agent}: {} {subject}", event.tool)))
        }
        "revision_requested" => Some(Note::new(NoteKind::Turn, "the review asks for a revision")),
        "revision_budget_exhausted" => Some(Note::new(NoteKind::Error, "no revision is left")),
        "pipeline_end" => Some(Note::new(NoteKind::Turn, format!("the pipeline ended: {outcome}"))),
        _ => None,
    }
}

fn end_of_phase(event: &LoggedEvent) -> Note {
    let LoggedEvent { phase, outcome, result, .. } = event;
    let said = result.as_ref().map(|result| result.error.as_deref().unwrap_or(&result.summary)).unwrap_or_default();
    let kind = if outcome == "failed" { NoteKind::Error } else { NoteKind::Message };
    Note::new(kind, format!("{phase} {outcome}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_the_pipeline_are_acts_in_words() {
        let rows = [
            (
                r#"{"event":"phase_start","phase":"implement","agent":"implementer"}"#,
                Some("implement begins (implementer)"),
            ),
            (
                r#"{"event":"tool_start","agent":"implementer","tool":"edit","args":{"path":"a.py"}}"#,
                Some("implementer: edit a.py"),
            ),
            (
                r#"{"event":"phase_end","phase":"review","outcome":"failed","result":{"summary":"s","error":"e"}}"#,
                Some("review failed: e"),
            ),
            (r#"{"event":"pipeline_end","outcome":"completed"}"#, Some("the pipeline ended: completed")),
            (r#"{"event":"tool_end","tool":"edit"}"#, None),
            (r#"["tool_start"]"#, None),
            ("", None),
        ];
        for (line, expected) in rows {
            assert_eq!(case_note(line.as_bytes()).map(|note| note.text).as_deref(), expected, "{line}");
        }
        let hostile = case_note(b"{\"event\":\"pipeline_end\",\"outcome\":\"\\u001b[2J\"}").unwrap();
        assert!(!hostile.text.contains('\u{1b}'), "control characters are shown as words: {hostile:?}");
    }
}
