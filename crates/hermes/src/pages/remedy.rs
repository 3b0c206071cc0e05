//! A remedy as a page shows it: words, and the command in them ready to copy.

/// Words of a remedy, and its command; either may be empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remedy {
    pub(super) words: String,
    pub(super) command: String,
}

impl Remedy {
    /// Takes the command out of a sentence such as `see it: cto diff RUN; widen allowed_paths`.
    pub(super) fn of(text: &str) -> Self {
        let (before, rest) = match text.split_once(": cto ") {
            Some((before, rest)) => (before, rest),
            None if text.starts_with("cto ") => ("", &text[4..]),
            None => return Self { words: text.to_owned(), command: String::new() },
        };
        let (command, after) = rest.split_once("; ").unwrap_or((rest, ""));
        let words = [before, after].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; ");
        Self { words, command: format!("cto {command}") }
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
            ("raise limits.wall_seconds", "raise limits.wall_seconds", ""),
        ] {
            assert_eq!(Remedy::of(text), Remedy { words: words.to_owned(), command: command.to_owned() });
        }
    }
}
