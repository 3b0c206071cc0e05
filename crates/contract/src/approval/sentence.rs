//! The one sentence that approves a plan.

use super::Plan;
use crate::text::show_controls;

/// `I approve <work> against <target> for the <title>.`, in one line.
pub fn approval_sentence(plan: &Plan) -> String {
    let (name, title) = (show_controls(&plan.repository.name), show_controls(&plan.contract.title));
    format!("I approve {} against {name} for the {title}.", plan.work_name())
}

/// Number of characters that are shown from the place where two sentences part.
const SHOWN_AHEAD: usize = 14;

/// The first place at which what was typed is not the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {column} differs: {}, {}", self.tell_expected(), self.tell_found())]
pub struct CompareSentenceError {
    /// Number of the character, from 1.
    pub column: usize,
    /// Expected text from that column on, shortened; empty at the end of the sentence.
    pub expected: String,
    /// Character that was typed there; none if the typed text ends too early.
    pub found: Option<char>,
}

impl CompareSentenceError {
    fn tell_expected(&self) -> String {
        match self.expected.as_str() {
            "" => "expected nothing more".to_owned(),
            expected => format!("expected “{expected}”"),
        }
    }

    fn tell_found(&self) -> String {
        match self.found {
            None => "and the text ends there".to_owned(),
            Some(found) if found.is_ascii_graphic() => format!("found `{found}`"),
            // A character that looks like another is written as its number.
            Some(found) => {
                let shown = show_controls(found.encode_utf8(&mut [0; 4]));
                format!("found `{shown}` (U+{:04X})", u32::from(found))
            }
        }
    }
}

/// Compares what was typed with the sentence, character for character. A line break at the
/// end is not typed on purpose.
pub fn compare_sentence(expected: &str, typed: &str) -> Result<(), CompareSentenceError> {
    let typed = typed.strip_suffix('\n').map_or(typed, |line| line.strip_suffix('\r').unwrap_or(line));
    let mut found = typed.chars();
    let mut rest = expected.chars();
    let mut column = 0;
    loop {
        column += 1;
        let ahead = rest.clone();
        match (rest.next(), found.next()) {
            (None, None) => return Ok(()),
            (expected, found) if expected == found => {}
            (_, found) => {
                let expected = show_controls(&ahead.take(SHOWN_AHEAD).collect::<String>());
                return Err(CompareSentenceError { column, expected, found });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "I approve CTO-143 against site-tools for the link checker timeout.";

    #[test]
    fn only_the_sentence_is_the_sentence() {
        for typed in [SENTENCE.to_owned(), format!("{SENTENCE}\n"), format!("{SENTENCE}\r\n")] {
            assert_eq!(compare_sentence(SENTENCE, &typed), Ok(()), "{typed:?}");
        }
        let rows = [
            (
                SENTENCE.replace("site-tools", "site-tool"),
                "character 36 differs: expected “s for the link”, found ` ` (U+0020)",
            ),
            (SENTENCE.replace('.', ""), "character 66 differs: expected “.”, and the text ends there"),
            (format!("{SENTENCE} "), "character 67 differs: expected nothing more, found ` ` (U+0020)"),
            (format!("{SENTENCE}\n\n"), "character 67 differs: expected nothing more, found `␊` (U+000A)"),
            (SENTENCE.replacen('a', "а", 1), "character 3 differs: expected “approve CTO-14”, found `а` (U+0430)"),
            (
                SENTENCE.replace("site", "si\u{200b}te"),
                "character 29 differs: expected “te-tools for t”, found `\\u{200b}` (U+200B)",
            ),
            (
                SENTENCE.replace("CTO-143", "\u{1b}[2JCTO-143"),
                "character 11 differs: expected “CTO-143 agains”, found `␛` (U+001B)",
            ),
            (SENTENCE.to_lowercase(), "character 1 differs: expected “I approve CTO-”, found `i`"),
            ("yes".to_owned(), "character 1 differs: expected “I approve CTO-”, found `y`"),
            (String::new(), "character 1 differs: expected “I approve CTO-”, and the text ends there"),
            (format!(" {SENTENCE}"), "character 1 differs: expected “I approve CTO-”, found ` ` (U+0020)"),
        ];
        for (typed, expected) in rows {
            assert_eq!(compare_sentence(SENTENCE, &typed).unwrap_err().to_string(), expected, "{typed:?}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let found = compare_sentence("für 😀 a", "für 😀 b").unwrap_err();
        assert_eq!((found.column, found.expected.as_str(), found.found), (7, "a", Some('b')));
    }
}
