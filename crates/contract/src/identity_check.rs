//! Identity checks: tell a program from another of the same name by its own output.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments for which the program says what it is, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityCheck {
    pub argv: Vec<String>,
    /// Stands in what it prints, and nothing of the same name prints it.
    pub expect: String,
    /// Alternatives: all words of one of these lists occur, each on its own, since builds
    /// phrase the same thing differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub or_words: Vec<Vec<String>>,
}

impl IdentityCheck {
    /// True if the program's output contains the expected text or all words of one
    /// alternative list.
    pub fn accepts_output(&self, said: &str) -> bool {
        let words: BTreeSet<&str> = said.split(|c: char| !is_of_word(c)).collect();
        let all = |list: &Vec<String>| !list.is_empty() && list.iter().all(|word| words.contains(word.as_str()));
        said.contains(&self.expect) || self.or_words.iter().any(all)
    }

    /// Weakness that makes the check accept any program; none if it can tell programs
    /// apart.
    pub fn problem(&self) -> Option<&'static str> {
        let is_word = |word: &String| !word.is_empty() && word.chars().all(is_of_word);
        if self.expect.trim().is_empty() {
            return Some("identity.expect: every program prints nothing");
        }
        let telling = |list: &Vec<String>| list.len() > 1 && list.iter().all(is_word);
        (!self.or_words.iter().all(telling)).then_some("identity.or_words: each list has two words or more")
    }
}

/// A build of the program that cannot be run as its definition says: it takes other
/// arguments, or leaves no log that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnsupportedBuild {
    /// Arguments for which it tells itself from the others. Its exit code does not matter.
    pub argv: Vec<String>,
    /// Stands in what it then prints.
    pub says: String,
    /// Reason for the refusal, in a sentence.
    pub why: String,
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_a_sentence_or_by_words() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let check = IdentityCheck {
            argv: vec!["--help".to_owned()],
            expect: "Run the pipeline".to_owned(),
            or_words: vec![list(&["run", "--task"]), list(&["ca", "run", "pipeline"])],
        };
        assert_eq!(check.problem(), None);
        for (said, good) in [
            ("  run   Run the pipeline (default)", true),
            ("Usage: ca run [--task FILE]", true),
            ("Usage: x run --task=FILE", true),
            ("usage: ca COMMAND\n run: starts a pipeline", true),
            ("Usage: ca run --tasks FILE", false),
            ("Usage: ca rerun --task FILE", false),
            ("ca, a certificate tool: run, create", false),
            ("run", false),
            ("", false),
        ] {
            assert_eq!(check.accepts_output(said), good, "{said}");
        }
        for words in [&[][..], &["run"], &["run", ""], &["run", "a b"]] {
            assert!(IdentityCheck { or_words: vec![list(words)], ..check.clone() }.problem().is_some(), "{words:?}");
        }
    }
}
