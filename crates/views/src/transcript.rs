//! The conversation of a run, from its bundle: words and tool calls of the engine with
//! their time, and each request with its cost.

use std::io;

use contract::claim::NoteKind;
use contract::event_data::EngineOutputData;
use contract::model::{Cost, RequestPurpose, UsageRecord};
use contract::sandbox::{Attempt, AttemptVerdict};
use contract::text::show_controls;
use contract::{Event, EventData, EventKind, Stamp};
use evidence::names;
use evidence::verify::VerifiedBundle;
use serde::{Deserialize, Serialize};
use testimony::notes::{Note, case_note, notes_of_any};

/// Raw output of the engine, from which notes were made.
const STDOUT: &str = "backend/stdout.log";
/// Event log of an engine that keeps one.
const ENGINE_LOG: &str = "backend/engine-log.jsonl";

/// Kind of a transcript entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryWord {
    Says,
    Runs,
    Edits,
    Tool,
    Error,
    Turn,
    Usage,
    /// A line that is of no known form.
    Prints,
    /// A request to the model that ended.
    Model,
    /// A request that the bridge refused.
    Refused,
}

impl EntryWord {
    /// Word of the kind in transcripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Says => "says",
            Self::Runs => "runs",
            Self::Edits => "edits",
            Self::Tool => "tool",
            Self::Error => "error",
            Self::Turn => "turn",
            Self::Usage => "usage",
            Self::Prints => "prints",
            Self::Model => "model",
            Self::Refused => "refused",
        }
    }

    const fn of_kind(kind: Option<NoteKind>) -> Self {
        match kind {
            Some(NoteKind::Message) => Self::Says,
            Some(NoteKind::Command) => Self::Runs,
            Some(NoteKind::FileChange) => Self::Edits,
            Some(NoteKind::Tool) => Self::Tool,
            Some(NoteKind::Error) => Self::Error,
            Some(NoteKind::Turn) => Self::Turn,
            Some(NoteKind::Usage) => Self::Usage,
            None => Self::Prints,
        }
    }
}

/// One act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptEntry {
    /// Milliseconds since the run started; none if it was not noted.
    pub at_ms: Option<u64>,
    pub word: EntryWord,
    /// Words of the engine, of any number of lines; not safe to print.
    pub text: String,
    pub cost_micros: Option<u64>,
}

/// All acts of a run, and sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transcript {
    pub run_id: String,
    pub engine: String,
    pub entries: Vec<TranscriptEntry>,
    pub requests: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    /// A request has no known price, so that the cost is less than what was spent.
    pub is_partly_unpriced: bool,
}

/// Something that was refused while a run went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedAct {
    /// `model` for a request, else the program that tried it.
    pub by: String,
    pub what: String,
    pub times: u64,
    /// True if it counts against the run.
    pub counts: bool,
}

/// Reason why a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {name} of {run_id}: {error}")]
pub struct ReadTranscriptError {
    name: &'static str,
    run_id: String,
    #[source]
    error: io::Error,
}

/// A file of a bundle; empty where the run has none.
fn read_file(bundle: &VerifiedBundle, name: &'static str) -> Result<Vec<u8>, ReadTranscriptError> {
    match bundle.read_file(name) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ReadTranscriptError { name, run_id: bundle.report().run_id.to_string(), error }),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

impl Transcript {
    /// Reads the transcript of a verified bundle.
    pub fn of_bundle(bundle: &VerifiedBundle) -> Result<Self, ReadTranscriptError> {
        let report = bundle.report();
        let events = read_file(bundle, names::EVENTS)?;
        let usage = read_usage(bundle)?;
        let stdout = read_file(bundle, STDOUT)?;
        let mut full = lines(&stdout).filter_map(notes_of_any).flatten().collect::<Vec<Note>>().into_iter();
        let mut entries = Vec::new();
        for event in lines(&events).filter_map(|line| serde_json::from_slice::<Event>(line).ok()) {
            let at_ms = Some(since(report.run_started_at, event.time));
            entries.extend(match event.kind {
                EventKind::EngineOutput => output_entry(&event, at_ms, &mut full),
                EventKind::ModelAnswered | EventKind::ModelRefused => request_entry(&event, at_ms, &usage),
                _ => None,
            });
        }
        entries.extend(lines(&read_file(bundle, ENGINE_LOG)?).filter_map(log_entry));
        let engine = usage.iter().filter(|record| record.purpose == RequestPurpose::Engine);
        let cost = |record: &UsageRecord| if let Cost::Micros(micros) = record.cost_micros { micros } else { 0 };
        Ok(Self {
            run_id: report.run_id.to_string(),
            engine: report.backend.clone(),
            entries,
            requests: u64::try_from(engine.count()).unwrap_or_default(),
            tokens: usage.iter().filter_map(|record| record.tokens.total()).sum(),
            cost_micros: usage.iter().map(cost).sum(),
            is_partly_unpriced: usage.iter().any(|it| matches!(it.cost_micros, Cost::Unpriced | Cost::Unknown)),
        })
    }
}

fn read_usage(bundle: &VerifiedBundle) -> Result<Vec<UsageRecord>, ReadTranscriptError> {
    let bytes = read_file(bundle, names::MODEL_USAGE)?;
    Ok(lines(&bytes).filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn since(started: Stamp, at: Stamp) -> u64 {
    let micros = at.timestamp().as_microsecond().saturating_sub(started.timestamp().as_microsecond());
    u64::try_from(micros).unwrap_or_default() / 1000
}

/// Entry of an output event. The event holds the beginning of a text; the output has all of
/// it, after the previous text.
fn output_entry(event: &Event, at_ms: Option<u64>, full: &mut std::vec::IntoIter<Note>) -> Option<TranscriptEntry> {
    let Some(EventData::EngineOutput(EngineOutputData { kind, text, .. })) = event.read_data() else { return None };
    let word = EntryWord::of_kind(kind);
    let whole = if word == EntryWord::Prints { None } else { find_full(full, &text) };
    Some(TranscriptEntry { at_ms, word, text: whole.unwrap_or(text), cost_micros: None })
}

fn find_full(full: &mut std::vec::IntoIter<Note>, text: &str) -> Option<String> {
    let at = full.as_slice().iter().position(|note| note.text == text)?;
    full.nth(at)?.full
}

fn request_entry(event: &Event, at_ms: Option<u64>, usage: &[UsageRecord]) -> Option<TranscriptEntry> {
    let number = match event.read_data()? {
        EventData::ModelAnswered(ended) | EventData::ModelRefused(ended) => ended.request,
        _ => return None,
    };
    let record = usage.iter().find(|record| record.seq == number)?;
    let word = if record.refused { EntryWord::Refused } else { EntryWord::Model };
    let mut text = format!("request {number}");
    if record.purpose == RequestPurpose::Probe {
        text.push_str(" of the preflight");
    }
    if let Some(model) = &record.model_answered {
        text.push_str(&format!(" answered by {}", show_controls(model)));
    }
    if let Some(detail) = &record.detail {
        text.push_str(&format!(": {}", show_controls(detail)));
    }
    if let Some(tokens) = record.tokens.total() {
        text.push_str(&format!(", {tokens} tokens"));
    }
    text.push_str(&format!(", {} ms", record.total_ms));
    let cost_micros = if let Cost::Micros(micros) = record.cost_micros { Some(micros) } else { None };
    Some(TranscriptEntry { at_ms, word, text, cost_micros })
}

fn log_entry(line: &[u8]) -> Option<TranscriptEntry> {
    let note = case_note(line)?;
    let word = EntryWord::of_kind(Some(note.kind));
    Some(TranscriptEntry { at_ms: None, word, text: note.full.unwrap_or(note.text), cost_micros: None })
}

impl RefusedAct {
    /// All that was refused: attempts that recorders saw, and requests that the bridge
    /// turned down.
    pub fn list_refused(bundle: &VerifiedBundle) -> Result<Vec<Self>, ReadTranscriptError> {
        #[derive(Deserialize)]
        struct Attempts {
            #[serde(default)]
            attempts: Vec<Attempt>,
        }
        let record: Option<Attempts> = serde_json::from_slice(&read_file(bundle, names::SANDBOX)?).ok();
        let attempts = record.map(|record| record.attempts).unwrap_or_default();
        let usage = read_usage(bundle)?;
        let requests = usage.iter().filter_map(|record| {
            let code = record.refusal?;
            let detail = record.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
            let what = format!("request {}: {}{detail}", record.seq, code.text());
            Some(Self { by: "model".to_owned(), what, times: 1, counts: code.reason().is_some() })
        });
        Ok(attempts.iter().map(Self::of_attempt).chain(requests).collect())
    }

    fn of_attempt(attempt: &Attempt) -> Self {
        let by = attempt.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let kind = serde_json::to_value(attempt.kind).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
        Self {
            by: attempt.cell.clone(),
            what: format!("{kind} {}{by}", attempt.what),
            times: attempt.count,
            counts: attempt.judged != AttemptVerdict::Note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_cut_is_found_whole_further_on() {
        let long = "word ".repeat(400);
        let line = format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{long}"}}}}"#);
        let first = br#"{"type":"item.completed","item":{"type":"agent_message","text":"first"}}"#;
        let notes: Vec<Note> = [&first[..], line.as_bytes()].into_iter().filter_map(notes_of_any).flatten().collect();
        let cut = notes[1].text.clone();
        assert!(cut.ends_with('…'), "{cut}");
        let mut full = notes.into_iter();
        assert_eq!(find_full(&mut full, "never said"), None);
        assert_eq!(find_full(&mut full, &cut).as_deref(), Some(long.trim()));
        assert_eq!(find_full(&mut full, "first"), None, "it stands before");
    }
}
