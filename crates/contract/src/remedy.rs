//! The one reading of a remedy: the command to paste, the words around it, and the places
//! in it that a run fills.

/// Programs that remedies call.
const PROGRAMS: [&str; 2] = ["cto", "git"];

/// Beginnings of words that say no more than their command.
const INTRODUCTIONS: [&str; 2] = ["see ", "look at "];

/// A remedy in its parts, such as `see it: cto diff RUN; widen allowed_paths only if wanted`.
/// No word of the text is in none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedy<'a> {
    /// Words before the command, with their colon; all words where there is no command.
    pub before: &'a str,
    /// The first command, as it is pasted.
    pub command: Option<&'a str>,
    /// Words after the command, and every further command.
    pub after: &'a str,
}

impl<'a> Remedy<'a> {
    /// Finds the first command: at the beginning, after a colon or after a semicolon.
    pub fn parse_text(text: &'a str) -> Self {
        let tokens = split_tokens(text);
        let is_begin = |at: usize| at == 0 || tokens[at - 1].ends_with([':', ';']);
        let begin =
            (0..tokens.len()).find(|at| PROGRAMS.contains(&tokens[*at]) && is_begin(*at) && *at + 1 < tokens.len());
        let Some(begin) = begin else { return Self { before: text, command: None, after: "" } };
        // A place in brackets, or a comment after spaces, is for the person.
        let ends = |at: &usize| {
            tokens[*at].is_empty() || tokens[*at].starts_with('(') || tokens[*at - 1].ends_with([';', ','])
        };
        let end = (begin + 1..tokens.len()).find(ends).unwrap_or(tokens.len());
        let length = |tokens: &[&str]| tokens.iter().map(|token| token.len() + 1).sum::<usize>();
        let (from, to) = (length(&tokens[..begin]), length(&tokens[..end]).min(text.len()));
        Self {
            before: text[..from].trim().trim_end_matches(';'),
            command: Some(text[from..to].trim().trim_end_matches([';', ','])),
            after: text[to..].trim(),
        }
    }

    /// The words before the command, if they say more than to look at its output.
    pub fn condition(&self) -> Option<&'a str> {
        let introduces = INTRODUCTIONS.iter().any(|begin| self.before.starts_with(begin));
        (!self.before.is_empty() && !introduces).then_some(self.before)
    }

    /// All words without the command.
    pub fn words(&self) -> String {
        let parts = [self.before.trim_end_matches(':'), self.after];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Beginnings of a remedy that is a statement and no act.
const STATEMENTS: [&str; 4] = ["a ", "the ", "it ", "there "];

/// Words that join a second act to the first.
const SEQUENCES: [&str; 8] =
    [", then", ", and ", "; ", " and approve", " and fill", " and run", " and see", " and sign"];

/// True for one act in the imperative with at most one command. Words that only explain may follow the command.
pub fn is_one_act(remedy: &str) -> bool {
    let parts = Remedy::parse_text(remedy);
    let tokens = split_tokens(remedy);
    let commands = tokens.windows(2).filter(|pair| PROGRAMS.contains(&pair[0]) && !pair[1].is_empty()).count();
    let begins = remedy.starts_with(|first: char| first.is_lowercase() || first == '/');
    let is_act = begins && !STATEMENTS.iter().any(|it| remedy.starts_with(it));
    is_act && commands <= 1 && !SEQUENCES.iter().any(|it| parts.before.contains(it))
}

/// Puts a run and the words that name its task in the places `RUN` and `TASK`. Both are
/// whole words outside of quotes: a path or a brief that holds the letters stays.
pub fn fill_places(remedy: &str, run: &str, task: &str) -> String {
    // Words that name a repository already take no second one.
    let remedy = match task.contains(" --repo ") {
        true => remedy.replace("TASK --repo DIR", "TASK"),
        false => remedy.to_owned(),
    };
    let filled = split_tokens(&remedy).into_iter().map(|token| {
        let word = token.trim_start_matches('(').trim_end_matches([',', ';', '.', ')']);
        match word {
            "RUN" => token.replace(word, run),
            "TASK" => token.replace(word, task),
            _ => token.to_owned(),
        }
    });
    filled.collect::<Vec<_>>().join(" ")
}

/// Words of a text between single spaces. Spaces in quotes, as a shell reads them, separate nothing.
pub fn split_tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut from, mut quotes) = (Vec::new(), 0, Quotes::default());
    for (at, letter) in text.char_indices() {
        if quotes.are_closed_before(letter, at == from) && letter == ' ' {
            tokens.push(&text[from..at]);
            from = at + 1;
            quotes = Quotes::default();
        }
    }
    tokens.push(&text[from..]);
    tokens
}

/// Quotes of one token. A mark inside of a word, such as an apostrophe, opens none.
#[derive(Default)]
struct Quotes {
    is_quoted: bool,
    open: Option<char>,
    is_escaped: bool,
}

impl Quotes {
    fn are_closed_before(&mut self, letter: char, is_first: bool) -> bool {
        let is_mark = matches!(letter, '\'' | '"');
        if is_first {
            self.is_quoted = is_mark;
            self.open = is_mark.then_some(letter);
        } else if std::mem::take(&mut self.is_escaped) {
            return false;
        } else if self.is_quoted {
            self.is_escaped = letter == '\\' && self.open != Some('\'');
            match self.open {
                Some(open) if open == letter => self.open = None,
                None if is_mark => self.open = Some(letter),
                Some(_) | None => {}
            }
        }
        self.open.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    #[test]
    fn a_remedy_is_a_command_and_the_words_around_it() {
        let rows = [
            ("cto resume", "", Some("cto resume"), ""),
            ("see its output: cto logs RUN --checks", "see its output:", Some("cto logs RUN --checks"), ""),
            (
                "see it: cto diff RUN; widen allowed_paths only if wanted",
                "see it:",
                Some("cto diff RUN"),
                "widen allowed_paths only if wanted",
            ),
            ("choose another repository", "choose another repository", None, ""),
            (
                "see what changed: git status (in the source repository)",
                "see what changed:",
                Some("git status"),
                "(in the source repository)",
            ),
            ("cto diff b9tc     then cto take b9tc", "", Some("cto diff b9tc"), "then cto take b9tc"),
            ("raise limits: wall_seconds", "raise limits: wall_seconds", None, ""),
            (
                "make sure that no other copy is in use, then: cto ledger continue --reason \"a; b (c)\"",
                "make sure that no other copy is in use, then:",
                Some("cto ledger continue --reason \"a; b (c)\""),
                "",
            ),
            (
                "repair the environment: cto environment suggest DIR; see the output: cto logs RUN --checks",
                "repair the environment:",
                Some("cto environment suggest DIR"),
                "see the output: cto logs RUN --checks",
            ),
            ("ask first; cto request TASK", "ask first", Some("cto request TASK"), ""),
            ("the operator's own: cto show a, then go on", "the operator's own:", Some("cto show a"), "then go on"),
            ("git", "git", None, ""),
            ("", "", None, ""),
        ];
        for (text, before, command, after) in rows {
            assert_eq!(Remedy::parse_text(text), Remedy { before, command, after }, "{text}");
        }
    }

    #[test]
    fn no_word_of_a_remedy_is_lost() {
        for text in Reason::ALL.iter().map(|reason| reason.remedy()) {
            let parts = Remedy::parse_text(text);
            let all = [parts.before, parts.command.unwrap_or_default(), parts.after].join(" ");
            for word in text.split(' ').map(|word| word.trim_end_matches([';', ','])) {
                assert!(all.contains(word), "{text}: {word} is in no part");
            }
        }
    }

    #[test]
    fn one_act_has_one_verb_and_one_command() {
        let good = [
            "cto resume",
            "see what changed: git status (in the source repository)",
            "cto engine enable codex --stage 4     or: export A=1",
            "raise the limit in the contract, or make the task smaller",
            "set source_owner, with source_classification: owned_local, in the contract",
        ];
        let several = [
            "draft its admission, fill it in and sign it: cto admit source ENGINE",
            "widen allowed_paths if you want the change, and see it first: cto diff RUN",
            "edit it, then: cto record sign a.yaml",
            "request and approve again: cto request TASK",
            "see it: cto a b; then: cto b c",
            "find the file: cto records     then sign it with cto record sign FILE",
            "a denial ends the request",
        ];
        for remedy in good {
            assert!(is_one_act(remedy), "{remedy}");
        }
        for remedy in several {
            assert!(!is_one_act(remedy), "{remedy}");
        }
    }

    #[test]
    fn words_that_only_introduce_a_command_are_no_condition() {
        let rows = [
            ("see it: cto diff RUN", None),
            ("look at the attempt: cto logs RUN", None),
            ("cto resume", None),
            ("fill it in, then: cto record sign a.yaml", Some("fill it in, then:")),
            ("choose another repository", Some("choose another repository")),
        ];
        for (text, condition) in rows {
            assert_eq!(Remedy::parse_text(text).condition(), condition, "{text}");
        }
        assert_eq!(Remedy::parse_text("see it: cto diff RUN; widen it").words(), "see it; widen it");
    }

    #[test]
    fn places_are_filled_and_nothing_else() {
        let rows = [
            ("cto show RUN, then cto rollback RUN", "cto show ab12, then cto rollback ab12"),
            ("cto decide TASK; cto request TASK --stage 4", "cto decide ./a.yaml; cto request ./a.yaml --stage 4"),
            ("cto admit target /srv/TASKS/RUN", "cto admit target /srv/TASKS/RUN"),
            ("cto record sign RUNBOOK.yaml", "cto record sign RUNBOOK.yaml"),
            (
                "cto request --brief 'finish TASK of RUN' --allow a",
                "cto request --brief 'finish TASK of RUN' --allow a",
            ),
            (r"cto request --brief 'it'\''s TASK one' TASK", r"cto request --brief 'it'\''s TASK one' ./a.yaml"),
            (r#"cto hold "a \" TASK" RUN"#, r#"cto hold "a \" TASK" ab12"#),
            ("cto diff RUN     then (cto take RUN)", "cto diff ab12     then (cto take ab12)"),
        ];
        for (text, filled) in rows {
            assert_eq!(fill_places(text, "ab12", "./a.yaml"), filled);
        }
        let climb = "cto run TASK --repo DIR --stage 3";
        assert_eq!(fill_places(climb, "ab12", "a --repo ../b"), "cto run a --repo ../b --stage 3");
        assert_eq!(fill_places(climb, "ab12", "a"), "cto run a --repo DIR --stage 3");
    }
}
