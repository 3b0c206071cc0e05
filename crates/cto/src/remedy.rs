//! A remedy apart: the command to paste, and the words around it.

/// Beginnings of commands that remedies name.
const PROGRAMS: [&str; 2] = ["cto ", "git "];

/// The parts of a remedy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remedy<'a> {
    pub(crate) command: Option<&'a str>,
    /// Advice that no command gives.
    pub(crate) words: Option<&'a str>,
}

impl<'a> Remedy<'a> {
    /// Reads `what it is for: command; other advice`. The first command is the one to paste.
    pub(crate) fn parse(text: &'a str) -> Self {
        let parts: Vec<&str> = text.split("; ").collect();
        let command = parts.iter().find_map(|part| command_in(part));
        let words = parts.iter().find(|part| command_in(part).is_none()).map(|part| part.trim());
        Self { command, words }
    }
}

/// The command that a part of a remedy ends with.
fn command_in(part: &str) -> Option<&str> {
    let begins = |text: &str| PROGRAMS.iter().any(|program| text.starts_with(program));
    let found = part.match_indices(": ").map(|(at, _)| part[at + 2..].trim_start()).find(|rest| begins(rest));
    let command = found.or_else(|| Some(part.trim()).filter(|part| begins(part)))?;
    // A place in brackets, or a comment after spaces, is for the person.
    let end = [" (", "     "].iter().filter_map(|mark| command.find(mark)).min().unwrap_or(command.len());
    Some(command[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_a_command_and_words() {
        let rows = [
            ("cto resume", Some("cto resume"), None),
            ("see its output: cto logs RUN --checks", Some("cto logs RUN --checks"), None),
            (
                "see it: cto diff RUN; widen allowed_paths only if wanted",
                Some("cto diff RUN"),
                Some("widen allowed_paths only if wanted"),
            ),
            ("choose another repository", None, Some("choose another repository")),
            ("see what changed: git status (in the source repository)", Some("git status"), None),
            ("cto diff b9tc     then cto take b9tc", Some("cto diff b9tc"), None),
            ("raise limits: wall_seconds", None, Some("raise limits: wall_seconds")),
        ];
        for (text, command, words) in rows {
            assert_eq!(Remedy::parse(text), Remedy { command, words }, "{text}");
        }
    }
}
