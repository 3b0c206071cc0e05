//! Output of an engine at work, as events: notes if its format is known, otherwise its
//! lines as they are. All of it also stays in `backend/`.

use contract::claim::{NoteKind, Speech};
use contract::event_data::{EngineOutputData, EngineStream};
use contract::text::show_controls;
use evidence::censor::EarlierLines;
use evidence::names;
use sandbox::{Line, OutputStream};
use testimony::notes::notes;

use crate::gather::model::EventLog;
use crate::home::watch::{LiveFact, WatchRun};

/// Lines that become events as they are, and how long each may be.
const MOST_LINES: usize = 200;
const LONGEST: usize = 2000;
/// Notes that become events. They are short, and the last ones tell how it ended.
const MOST_NOTES: usize = 2000;

/// Reader of an engine's output while it works.
pub(super) struct Listener<'a> {
    observer: &'a dyn WatchRun,
    speech: Speech,
    lines_left: usize,
    notes_left: usize,
    /// Earlier output of each stream, for the censor.
    before: [EarlierLines; 2],
}

impl<'a> Listener<'a> {
    /// Reader for one format, with fresh limits on lines and notes.
    pub(super) fn new(speech: Speech, observer: &'a dyn WatchRun) -> Self {
        Self { observer, speech, lines_left: MOST_LINES, notes_left: MOST_NOTES, before: Default::default() }
    }

    /// True if a line makes a note that still fits. Asked before the search for secrets,
    /// which costs more and would be wasted on a flood.
    fn would_note(&self, line: Line<'_>) -> bool {
        let room = self.notes_left > 0 && line.stream == OutputStream::Stdout;
        room && notes(self.speech, line.bytes).is_some_and(|notes| !notes.is_empty())
    }

    /// Turns one line into events, redacted first.
    pub(super) fn hear_line(&mut self, log: &mut EventLog<'_>, line: Line<'_>) {
        if self.lines_left == 0 && !self.would_note(line) {
            return;
        }
        let (stream, number) = match line.stream {
            OutputStream::Stderr => (EngineStream::Stderr, 1),
            OutputStream::Stdout => (EngineStream::Stdout, 0),
        };
        let clean = log.draft.censor_mut().censor_line(names::EVENTS, &mut self.before[number], line.bytes);
        let told = if line.stream == OutputStream::Stdout { notes(self.speech, &clean) } else { None };
        match told {
            Some(notes) => {
                for note in notes.into_iter().take(self.notes_left) {
                    self.notes_left -= 1;
                    self.show(note.kind, &note.text);
                    log.add_output(EngineOutputData { kind: Some(note.kind), stream, text: note.text });
                }
            }
            None if self.lines_left > 0 => {
                self.lines_left -= 1;
                let text: String = show_controls(&String::from_utf8_lossy(&clean)).chars().take(LONGEST).collect();
                // A line of some format that is not read here says nothing to a person.
                if !text.starts_with('{') {
                    self.observer.live(&LiveFact::Acted { text: text.clone() });
                }
                log.add_output(EngineOutputData { kind: None, stream, text });
            }
            None => {}
        }
    }

    /// Shows an act of the engine to observers. Sums and turns are no acts.
    fn show(&self, kind: NoteKind, text: &str) {
        let text = match kind {
            NoteKind::Command => format!("runs {text}"),
            NoteKind::FileChange | NoteKind::Tool => text.to_owned(),
            NoteKind::Message => format!("says {text}"),
            NoteKind::Error => format!("error: {text}"),
            NoteKind::Usage | NoteKind::Turn => return,
        };
        self.observer.live(&LiveFact::Acted { text });
    }
}
