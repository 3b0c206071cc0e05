//! A remedy as a page shows it: words, and the command in them ready to copy.

use contract::remedy;

/// Words of a remedy, and its command; either may be empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RemedyWords {
    pub(super) words: String,
    pub(super) command: String,
}

impl RemedyWords {
    /// Takes the command out of a sentence such as `see it: cto diff RUN; widen allowed_paths`.
    pub(super) fn of_text(text: &str) -> Self {
        let parts = remedy::Remedy::parse_text(text);
        Self { words: parts.words(), command: parts.command.unwrap_or_default().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_out_of_sentences() {
        for (text, words, command) in [
            ("cto resume", "", "cto resume"),
            ("see it: cto diff ab12", "see it", "cto diff ab12"),
            ("see it: cto diff ab12 --outside; widen it", "see it; widen it", "cto diff ab12 --outside"),
            ("see it: git status (in the source)", "see it; (in the source)", "git status"),
            ("raise limits.wall_seconds", "raise limits.wall_seconds", ""),
        ] {
            assert_eq!(
                RemedyWords::of_text(text),
                RemedyWords { words: words.to_owned(), command: command.to_owned() }
            );
        }
    }
}
