//! Finds claims in an engine's last message, sentence by sentence, by the table of
//! patterns.
//!
//! The table is checked by its own examples when it is first used. An entry that fails them
//! is left out, since its findings cannot be trusted; a test fails for it, so that no such
//! entry ships.

use std::sync::LazyLock;

use contract::claim::{Saying, Speech};
use regex_lite::Regex;

use super::patterns::{About, ClaimPattern, PATTERNS};
use super::said::MAX_CLAIMS;
use super::stream::{once_each, tail};

static TABLE: LazyLock<Vec<Loaded>> =
    LazyLock::new(|| PATTERNS.iter().filter_map(|pattern| load_pattern(*pattern).ok()).collect());

/// An entry whose examples hold.
#[derive(Debug)]
pub(super) struct Loaded {
    pattern: ClaimPattern,
    says: Regex,
    unless: Vec<Regex>,
}

/// An entry of the table that is not used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoadPatternError {
    #[error("pattern {0} is not a regular expression")]
    Expression(&'static str),
    /// The pattern misses one of its positive examples.
    #[error("pattern {0} does not take {1:?}")]
    Misses(&'static str, &'static str),
    /// The pattern takes one of its negative examples.
    #[error("pattern {0} takes {1:?}")]
    Takes(&'static str, &'static str),
}

/// Compiles a pattern and tries it on its own examples. A pattern that fails one of them is
/// not used.
pub(super) fn load_pattern(pattern: ClaimPattern) -> Result<Loaded, LoadPatternError> {
    let expression = |text: &str| Regex::new(text).map_err(|_| LoadPatternError::Expression(pattern.name));
    let unless = pattern.unless.iter().map(|text| expression(text)).collect::<Result<_, _>>()?;
    let loaded = Loaded { pattern, says: expression(pattern.says)?, unless };
    let found = |example: &str| sentences(example).any(|sentence| loaded.find(sentence).is_some());
    if let Some(missed) = pattern.takes.iter().find(|example| !found(example)) {
        return Err(LoadPatternError::Misses(pattern.name, missed));
    }
    if let Some(taken) = pattern.passes_over.iter().find(|example| found(example)) {
        return Err(LoadPatternError::Takes(pattern.name, taken));
    }
    Ok(loaded)
}

/// The name of the pattern and what it found: each claim once, and one list of files for a
/// pattern.
pub(super) fn find_claims(speech: Speech, message: &str) -> Vec<(&'static str, Saying)> {
    let message = tail(message.as_bytes());
    // Loading the table costs more than a small run's whole evidence.
    if message.trim().is_empty() {
        return Vec::new();
    }
    let mut claims: Vec<(&'static str, Saying)> = Vec::new();
    for loaded in TABLE.iter().filter(|loaded| loaded.pattern.only.is_none_or(|only| only == speech)) {
        let mut files: Vec<String> = Vec::new();
        for saying in sentences(&message).filter_map(|sentence| loaded.find(sentence)) {
            match saying {
                Saying::FilesTouched(file) => files.extend(file),
                saying if claims.len() < MAX_CLAIMS && !claims.iter().any(|(_, known)| *known == saying) => {
                    claims.push((loaded.pattern.name, saying));
                }
                _ => {}
            }
        }
        if !files.is_empty() {
            claims.push((loaded.pattern.name, Saying::FilesTouched(once_each(files.into_iter()))));
        }
    }
    claims
}

impl Loaded {
    fn find(&self, sentence: &str) -> Option<Saying> {
        let found = self.says.captures(sentence)?;
        if self.unless.iter().any(|unless| unless.is_match(sentence)) {
            return None;
        }
        let it = found.name("it").map(|it| it.as_str().to_owned());
        match self.pattern.about {
            About::Success(success) => Some(Saying::Success(success)),
            About::TestsPassed(passed) => Some(Saying::TestsPassed(passed)),
            About::Commit => it.filter(|id| is_mixed(id)).map(Saying::Commit),
            About::FilesTouched => it.map(|path| Saying::FilesTouched(vec![path])),
            About::Other => Some(Saying::Other(sentence.to_owned())),
        }
    }
}

/// In a sentence, letters alone may be a word and digits alone a date. Hardly an id is either.
fn is_mixed(id: &str) -> bool {
    id.bytes().any(|byte| byte.is_ascii_digit()) && id.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Lines, cut after a full stop, exclamation or question mark that a space follows. A dot
/// inside `a.py` cuts nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', '\r']);
    lines.flat_map(Sentences).map(str::trim).filter(|sentence| !sentence.is_empty())
}

struct Sentences<'a>(&'a str);

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let ends = self.0.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len());
        let cut =
            ends.into_iter().find(|end| self.0.get(*end..).is_some_and(|rest| rest.starts_with(char::is_whitespace)));
        let (sentence, rest) = self.0.split_at(cut.unwrap_or(self.0.len()));
        self.0 = rest;
        Some(sentence)
    }
}
