//! Front matter: `key: value` lines between two lines of three dashes, read line by line so
//! that a value may be any text.

use std::collections::HashSet;

use crate::locate::LineIndex;

/// Keys that documents have; the last four may be missing.
pub(crate) const KNOWN_KEYS: [&str; 12] = [
    "name",
    "title",
    "status",
    "owner",
    "created",
    "last_reviewed",
    "lifecycle_classification",
    "core_promotion_status",
    "tier",
    "source",
    "description",
    "route",
];

/// Keys whose value is one word of a few, or a day: a comment may follow it, as in YAML.
const CHOSEN_KEYS: [&str; 5] =
    ["status", "created", "last_reviewed", "lifecycle_classification", "core_promotion_status"];

/// A key with its value, and where both stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontField {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) line: usize,
    /// Column of the value; of the key where there is no value.
    pub(crate) column: usize,
    /// Bytes of the value as written, in the whole text.
    pub(crate) span: (usize, usize),
}

/// Reason why the beginning of a document is no front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrontProblem {
    Missing,
    Unclosed,
    /// Pasted out of something else: the form, and the line.
    Pasted {
        form: &'static str,
        line: usize,
    },
    /// A line that is neither `key: value` nor a continuation.
    Stray {
        line: usize,
    },
    Repeated {
        key: String,
        line: usize,
    },
}

/// The front matter of a document, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    pub(crate) fields: Vec<FrontField>,
    pub(crate) problems: Vec<FrontProblem>,
    /// Line of the closing dashes; 0 without front matter.
    pub(crate) last_line: usize,
    /// Keys of the fields.
    seen: HashSet<String>,
}

impl FrontMatter {
    /// Parses the front matter. Text that only resembles it is reported as a problem.
    pub(crate) fn parse_front(text: &str, lines: &LineIndex) -> Self {
        let mut all = text.lines();
        // Editors of other systems put a byte order mark in front.
        let first = all.next().unwrap_or_default().trim_start_matches('\u{feff}').trim_end();
        if first != "---" {
            return Self { problems: vec![classify_beginning(text, first)], ..Self::default() };
        }
        let Some(length) = all.position(|line| line.trim_end() == "---") else {
            let form = text.lines().take(3).find(|line| count_known_keys(line) > 1);
            let problem = match form {
                Some(_) => FrontProblem::Pasted { form: "the whole front matter on one line", line: 2 },
                None => FrontProblem::Unclosed,
            };
            return Self { problems: vec![problem], ..Self::default() };
        };
        let mut front = Self { last_line: length + 2, ..Self::default() };
        for (index, line) in text.lines().enumerate().skip(1).take(length) {
            front.take_line(line, index + 1, lines.start_of(text, index + 1));
        }
        // Lines that are no fields follow from the paste, which is reported.
        if front.problems.iter().any(|problem| matches!(problem, FrontProblem::Pasted { .. })) {
            front.problems.retain(|problem| matches!(problem, FrontProblem::Pasted { .. }));
        }
        front
    }

    /// First field with this key.
    pub(crate) fn first_field(&self, key: &str) -> Option<&FrontField> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// Value of the first field with this key.
    pub(crate) fn first_value(&self, key: &str) -> Option<&str> {
        self.first_field(key).map(|field| field.value.as_str())
    }

    fn take_line(&mut self, line: &str, number: usize, start: usize) {
        let is_continuation = line.starts_with([' ', '\t']) || line.starts_with("- ") || line.starts_with('#');
        if line.trim().is_empty() || (is_continuation && !line.trim_start().starts_with('|')) {
            return;
        }
        if line.trim_start().starts_with('|') {
            let form = "each line behind a bar";
            return self.note_pasted(form, number);
        }
        match split_field(line) {
            Some((key, at)) => self.take_field(key, line, at, (number, start)),
            None if count_known_keys(line) > 1 => self.note_pasted("keys on one line and values on the next", number),
            None => self.problems.push(FrontProblem::Stray { line: number }),
        }
    }

    fn take_field(&mut self, key: &str, line: &str, at: usize, (number, start): (usize, usize)) {
        let rest = &line[at..];
        if KNOWN_KEYS.contains(&key) && count_known_keys(rest) > 1 {
            return self.note_pasted("several keys on one line", number);
        }
        if !self.seen.insert(key.to_owned()) {
            return self.problems.push(FrontProblem::Repeated { key: key.to_owned(), line: number });
        }
        let written = if CHOSEN_KEYS.contains(&key) { without_comment(rest) } else { rest }.trim();
        let before = line[..at].len() + (rest.len() - rest.trim_start().len());
        let column = if written.is_empty() { 1 } else { line[..before].chars().count() + 1 };
        let span = (start + before, start + before + written.len());
        let value = unquoted(written).to_owned();
        self.fields.push(FrontField { key: key.to_owned(), value, line: number, column, span });
    }

    fn note_pasted(&mut self, form: &'static str, line: usize) {
        let is_known = self.problems.iter().any(|problem| matches!(problem, FrontProblem::Pasted { .. }));
        if !is_known {
            self.problems.push(FrontProblem::Pasted { form, line });
        }
    }
}

/// A document without a line of dashes at its top: pasted, or without front matter.
fn classify_beginning(text: &str, first: &str) -> FrontProblem {
    if first.starts_with("---") && count_known_keys(first) > 0 {
        return FrontProblem::Pasted { form: "the whole document on one line", line: 1 };
    }
    let top = text.trim_start_matches('\u{feff}').lines().take(12).enumerate();
    for (index, line) in top {
        let bare = line.trim_start();
        if bare.starts_with('|') && (bare.contains("---") || count_known_keys(bare) > 0) {
            return FrontProblem::Pasted { form: "each line behind a bar", line: index + 1 };
        }
        if count_known_keys(line) > 1 {
            return FrontProblem::Pasted { form: "keys on one line and values on the next", line: index + 1 };
        }
    }
    FrontProblem::Missing
}

/// Known keys in a line, each as a word that a colon, a bar or white space follows.
fn count_known_keys(line: &str) -> usize {
    let words = line.split(|c: char| c.is_whitespace() || c == '|').map(|word| word.trim_end_matches(':'));
    let keys: HashSet<&str> = words.filter(|word| KNOWN_KEYS.contains(word)).collect();
    let distinct = keys.len();
    // `name`, `source` and `status` are also plain words: prose has no colon behind any of them.
    let is_prose = !line.contains('|') && !KNOWN_KEYS.iter().any(|key| line.contains(&format!("{key}:")));
    if is_prose && distinct < 4 { 0 } else { distinct }
}

/// The key of a line and the byte behind its colon.
fn split_field(line: &str) -> Option<(&str, usize)> {
    let colon = line.find(':')?;
    let key = &line[..colon];
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let follows = line[colon + 1..].chars().next().is_none_or(char::is_whitespace);
    (is_key && follows).then_some((key, colon + 1))
}

fn without_comment(text: &str) -> &str {
    text.find(" #").or_else(|| text.find("\t#")).map_or(text, |at| &text[..at])
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> FrontMatter {
        FrontMatter::parse_front(text, &LineIndex::index_lines(text))
    }

    #[test]
    fn fields_have_their_places_and_values_are_any_text() {
        let text = "---\nname: A name: with a colon\nstatus:  \"draft\"\nsource:\n---\n# x\n";
        let front = parse(text);
        assert_eq!(front.problems, []);
        let field = front.first_field("status").unwrap();
        assert_eq!((field.value.as_str(), field.line, field.column), ("draft", 3, 10));
        assert_eq!(&text[field.span.0..field.span.1], "\"draft\"");
        assert_eq!(front.first_value("name"), Some("A name: with a colon"));
        assert_eq!((front.first_value("source"), front.last_line), (Some(""), 5));
    }

    #[test]
    fn pasted_forms_are_told_from_documents_without_front_matter() {
        for (text, form) in [
            ("--- name: x status: draft owner: me --- # Title", "the whole document on one line"),
            ("| --- |\n| name: x |\n| status: draft |\n", "each line behind a bar"),
            ("---\n| name: x |\n| status: draft |\n---\n", "each line behind a bar"),
            ("---\nname: status: owner: created:\nx draft me 2026-01-01\n---\n", "several keys on one line"),
            ("---\nname status owner created\nx draft me 2026\n---\n", "keys on one line and values on the next"),
            ("name: status: owner:\nx draft me\n", "keys on one line and values on the next"),
        ] {
            let found = parse(text).problems;
            assert!(matches!(&found[..], [FrontProblem::Pasted { form: f, .. }] if *f == form), "{text:?}: {found:?}");
        }
        assert_eq!(parse("# A title\n\nThe status of the source.\n").problems, [FrontProblem::Missing]);
        assert_eq!(parse("---\nname: x\n").problems, [FrontProblem::Unclosed]);
        assert_eq!(parse("").problems, [FrontProblem::Missing]);
        assert_eq!(parse("---\nname: x\nwords\n---\n").problems, [FrontProblem::Stray { line: 3 }]);
    }
}
