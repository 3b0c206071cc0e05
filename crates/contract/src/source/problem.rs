//! Problems of a file: as data, as one line each, and as a list.

use serde::Serialize;

use super::node::Span;

/// More than this many are not listed: the file is something else altogether.
pub(super) const LISTED: usize = 200;
const SHOWN_CHARS: usize = 80;

/// Rule that a file breaks. Its name is part of the JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceRule {
    Syntax,
    UnknownKey,
    DuplicateKey,
    MissingKey,
    WrongType,
    NotAllowed,
    Pattern,
    OutOfRange,
    Length,
    NotUnique,
    YamlFeature,
    TooLarge,
    Encoding,
    /// Well formed, but it cannot be meant: found by the type itself or by a later check.
    Invalid,
}

/// One problem of a file, with its position and advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    pub line: usize,
    pub column: usize,
    #[serde(skip)]
    pub length: usize,
    pub rule: SourceRule,
    /// Path of keys and list indices, joined by dots; of a duplicate key its own name alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The problem at which reading had to stop.
pub(super) type Fatal = Box<Problem>;

impl Problem {
    /// The file is filled in where the problems of a file are put together.
    pub fn new(span: Span, rule: SourceRule, message: impl Into<String>) -> Problem {
        Problem {
            file: String::new(),
            line: span.line,
            column: span.column,
            length: span.length,
            rule,
            key: None,
            found: None,
            message: message.into(),
            suggestion: None,
            note: None,
        }
    }

    /// Adds the path of keys at which the problem lies.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Problem {
        Problem { key: Some(key.into()), ..self }
    }

    /// Adds the offending text, shortened and without control characters.
    #[must_use]
    pub fn with_found(self, found: &str) -> Problem {
        Problem { found: Some(shorten_value(found)), ..self }
    }

    /// Adds the word that was probably meant, if there is one.
    #[must_use]
    pub fn with_suggestion(self, suggestion: Option<&str>) -> Problem {
        Problem { suggestion: suggestion.map(str::to_owned), ..self }
    }

    /// Adds advice that goes below the message.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Problem {
        Problem { note: Some(note.into()), ..self }
    }

    /// `file:line:column: error: message; hint`, which editors and CI read.
    pub fn plain(&self) -> String {
        let Problem { line, column, message, .. } = self;
        let place = format!("{}:{line}:{column}", neutral(&self.file));
        match self.hint() {
            Some(hint) => format!("{place}: error: {message}; {hint}"),
            None => format!("{place}: error: {message}"),
        }
    }

    fn hint(&self) -> Option<String> {
        let words = |note: &String| note.split_whitespace().collect::<Vec<_>>().join(" ");
        self.did_you_mean().or_else(|| self.note.as_ref().map(words))
    }

    /// Question that offers the suggestion; none without one.
    pub(super) fn did_you_mean(&self) -> Option<String> {
        self.suggestion.as_ref().map(|word| format!("did you mean `{word}`?"))
    }
}

/// Everything that is wrong with one file. What has a place on the page comes first, in
/// order of place, then what is missing from the document as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list_problems(.problems))]
pub struct Problems {
    pub file: String,
    pub text: String,
    pub problems: Vec<Problem>,
}

impl Problems {
    /// Sorts problems by position, caps their number and names the file in each. Problems
    /// of the whole document come last.
    pub fn new(file: &str, text: String, mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|p| (p.length == 0, p.line, p.column));
        if problems.len() > LISTED {
            problems.truncate(LISTED);
            problems.push(Problem::new(Span::DOCUMENT, SourceRule::TooLarge, format!("more than {LISTED} problems")));
        }
        for problem in &mut problems {
            file.clone_into(&mut problem.file);
        }
        Problems { file: file.to_owned(), text, problems }
    }
}

fn list_problems(problems: &[Problem]) -> String {
    problems.iter().map(|problem| problem.plain() + "\n").collect()
}

/// Value for a message: short, on one line, and without control characters that move a
/// terminal's cursor.
pub(super) fn shorten_value(text: &str) -> String {
    clipped(text, SHOWN_CHARS)
}

/// First characters of a text, with control characters neutralised and an ellipsis if
/// anything was cut.
pub(super) fn clipped(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => neutral(&text[..end]) + "…",
        None => neutral(text),
    }
}

/// Control, direction and invisible characters become something a reader can see.
pub(super) fn neutral(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match picture(c) {
            Some(picture) => out.push_str(&picture),
            None => out.push(c),
        }
        out
    })
}

fn picture(c: char) -> Option<String> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).map(String::from),
        '\u{7f}' => Some("␡".to_owned()),
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{feff}' => Some(escape(c)),
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}' => Some(escape(c)),
        _ => None,
    }
}

fn escape(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}
