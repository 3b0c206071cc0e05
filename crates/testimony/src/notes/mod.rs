//! Output of an engine at work, line by line, as short notes that a person can read.
//!
//! A reader for each format. A line is hostile: whatever it holds, a note is short, one
//! line and safe to print, and repeats only the engine's own words. Notes are there to be
//! read; nothing is judged by them.

mod case;
mod claude;
mod codex;
mod opencode;
mod pi;
#[cfg(test)]
mod tests;

pub use case::case_note;

pub use contract::claim::NoteKind;
use contract::claim::Speech;
use contract::text::show_controls;
use serde::Deserialize;

use crate::claims::stream::CappedList;

/// Characters of a note.
pub const MAX_TEXT: usize = 1_000;
/// Characters of a text in full.
pub const MAX_FULL: usize = 64_000;
/// Notes of one line. Agents say one thing a line, or a few.
pub const MAX_NOTES: usize = 16;

/// One line of an engine about its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub kind: NoteKind,
    /// One line, bounded and safe to print.
    pub text: String,
    /// All of a text that did not fit, as it was said; not safe to print.
    pub full: Option<String>,
}

impl Note {
    fn new(kind: NoteKind, text: impl AsRef<str>) -> Self {
        let (said, text) = (text.as_ref().trim(), short(text.as_ref()));
        let full = (said != text).then(|| said.chars().take(MAX_FULL).collect());
        Self { kind, text, full }
    }
}

/// The notes that a line of this format makes: none for what only repeats or streams. None at all where the line is not of
/// the format, so that it can only be shown as it is.
pub fn notes(speech: Speech, line: &[u8]) -> Option<Vec<Note>> {
    let line = line.trim_ascii();
    let mut notes = match speech {
        Speech::Codex => codex::codex_notes(line),
        Speech::Pi => pi::pi_notes(line),
        Speech::Claude => claude::claude_notes(line),
        Speech::Opencode => opencode::opencode_notes(line),
        Speech::Fake | Speech::Gemini | Speech::Aider | Speech::Case | Speech::Plain => None,
    }?;
    notes.truncate(MAX_NOTES);
    Some(notes)
}

/// Notes of a line of whichever agent's format it is.
pub fn notes_of_any(line: &[u8]) -> Option<Vec<Note>> {
    [Speech::Codex, Speech::Pi, Speech::Claude, Speech::Opencode].into_iter().find_map(|speech| notes(speech, line))
}

/// The type of a line. One that was cut is no JSON any more; its type mostly stands at its beginning.
fn kind_of(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "type")]
        kind: String,
    }
    if let Ok(Head { kind }) = serde_json::from_slice(line) {
        return Some(kind);
    }
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let end = rest.iter().take(64).position(|byte| *byte == b'"')?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

/// The arguments of a tool that tell what it is used for, in the words of all the agents.
#[derive(Debug, Default, Deserialize)]
struct Arguments {
    command: Option<String>,
    #[serde(alias = "file_path", alias = "filePath", alias = "notebook_path")]
    path: Option<String>,
    #[serde(alias = "query", alias = "url")]
    pattern: Option<String>,
}

/// A call of a tool.
fn call(name: &str, arguments: Arguments) -> Note {
    let subject = arguments.path.or(arguments.pattern).unwrap_or_default();
    let named = || format!("{} {subject}", name.to_ascii_lowercase());
    match (name, arguments.command) {
        ("bash" | "Bash", Some(command)) => Note::new(NoteKind::Command, command),
        ("edit" | "write" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit", _) => {
            Note::new(NoteKind::FileChange, named())
        }
        _ => Note::new(NoteKind::Tool, named()),
    }
}

/// Text as it is, or in blocks.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    Text(String),
    Blocks(CappedList<Block>),
}

#[derive(Debug, Deserialize)]
struct Block {
    text: Option<String>,
}

impl Words {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Blocks(CappedList(blocks)) => {
                blocks.into_iter().filter_map(|block| block.text).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// One line, bounded and safe to print.
fn short(text: &str) -> String {
    let start: String = text.trim().chars().take(MAX_TEXT + 1).collect();
    let shown = show_controls(&start);
    if shown.chars().count() <= MAX_TEXT {
        return shown;
    }
    shown.chars().take(MAX_TEXT - 1).chain(['…']).collect()
}
