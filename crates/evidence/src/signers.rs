//! Allowed signers: OpenSSH's `allowed_signers` file, as `ssh-keygen -Y verify` reads it,
//! for keys that are no certificates.
//!
//! A line that cannot be read in full allows nobody. That holds for a time without `Z` too:
//! ssh-keygen reads it as local time, which is another moment on another machine.

mod edit;
mod fault;
mod moment;

pub use edit::{NewSigner, retire_key};
pub use fault::{SignerLineFault, UnreadableSigner};

use contract::Stamp;
use contract::signer::{SignerKeyKind, SignerStanding};

use crate::signer_key::SignerKey;

/// The lines that could be read.
#[derive(Debug, Clone, Default)]
pub struct AllowedSigners {
    lines: Vec<SignerLine>,
}

/// One line: a key, and what it may sign when.
#[derive(Debug, Clone)]
pub struct SignerLine {
    key: SignerKey,
    principals: String,
    /// Patterns; nothing allows every namespace.
    namespaces: Option<String>,
    /// `yyyymmddhhmmss`.
    valid_after: Option<String>,
    valid_before: Option<String>,
}

impl AllowedSigners {
    /// Reads the file. Lines that cannot be read in full are dropped, since a
    /// half-understood line must not allow anybody.
    pub fn parse_file(text: &str) -> Self {
        Self { lines: meant_lines(text).filter_map(|(_, line)| SignerLine::parse(line).ok()).collect() }
    }

    /// Lines that could be read, in their order.
    pub fn lines(&self) -> &[SignerLine] {
        &self.lines
    }

    /// Lines that try to allow a signer and cannot be read, each with its fault.
    pub fn list_unreadable(text: &str) -> Vec<UnreadableSigner> {
        let unreadable = |(line, text)| Some(UnreadableSigner { line, fault: SignerLine::parse(text).err()? });
        meant_lines(text).filter_map(unreadable).collect()
    }

    /// Judges a key for a namespace at a time. Of several lines for one key the kindest counts.
    pub fn judge_key(&self, key: &SignerKey, namespace: &str, at: Stamp) -> SignerStanding {
        let at: String = at.compact().chars().filter(char::is_ascii_digit).collect();
        let lines = self.lines.iter().filter(|line| line.key == *key);
        lines.map(|line| line.judge(namespace, &at)).max().unwrap_or(SignerStanding::NotListed)
    }

    /// Principals of the first line for a key: a name to show, never one to compare by.
    pub fn principals_of(&self, key: &SignerKey) -> Option<&str> {
        self.lines.iter().find(|line| line.key == *key).map(|line| line.principals.as_str())
    }
}

/// Lines that mean something, with their numbers from 1.
fn meant_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

impl SignerLine {
    /// Key that the line allows.
    pub fn key(&self) -> &SignerKey {
        &self.key
    }

    /// Principals of the line, as written.
    pub fn principals(&self) -> &str {
        &self.principals
    }

    /// Patterns of namespaces; none allows every namespace.
    pub fn namespaces(&self) -> Option<&str> {
        self.namespaces.as_deref()
    }

    /// First second in which it counts, as `yyyymmddhhmmss` in UTC.
    pub fn valid_after(&self) -> Option<&str> {
        self.valid_after.as_deref()
    }

    /// Second from which on it counts no more, as `yyyymmddhhmmss` in UTC.
    pub fn valid_before(&self) -> Option<&str> {
        self.valid_before.as_deref()
    }

    /// `PRINCIPALS [OPTIONS] TYPE BASE64 [COMMENT]`.
    fn parse(line: &str) -> Result<Self, SignerLineFault> {
        let word = |text| split_word(text).ok_or(SignerLineFault::Key);
        let (principals, rest) = word(line)?;
        let (next, _) = word(rest)?;
        let is_kind = SignerKeyKind::ALL.iter().any(|kind| kind.name() == next);
        let (options, key) = if is_kind { ("", rest) } else { word(rest)? };
        let key = SignerKey::parse_line(key).map_err(|_| SignerLineFault::Key)?;
        let principals = principals.trim_matches('"').to_owned();
        let mut parsed = Self { key, principals, namespaces: None, valid_after: None, valid_before: None };
        for option in split_quoted(options, ',').into_iter().filter(|option| !option.is_empty()) {
            parsed.set_option(option)?;
        }
        Ok(parsed)
    }

    /// Sets an option. One that is repeated, unknown or unquoted is an error;
    /// `cert-authority` is unknown here.
    fn set_option(&mut self, option: &str) -> Result<(), SignerLineFault> {
        let (name, value) = option.split_once('=').ok_or(SignerLineFault::Option)?;
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).ok_or(SignerLineFault::Option)?;
        let (place, value) = match name.to_ascii_lowercase().as_str() {
            "namespaces" => (&mut self.namespaces, value.to_owned()),
            "valid-after" => (&mut self.valid_after, moment::read_digits(value)?),
            "valid-before" => (&mut self.valid_before, moment::read_digits(value)?),
            _ => return Err(SignerLineFault::Option),
        };
        if place.replace(value).is_none() { Ok(()) } else { Err(SignerLineFault::Option) }
    }

    fn judge(&self, namespace: &str, at: &str) -> SignerStanding {
        if !self.namespaces.as_deref().is_none_or(|patterns| fits_list(patterns, namespace)) {
            SignerStanding::OtherNamespace
        } else if self.valid_after.as_deref().is_some_and(|after| at < after) {
            SignerStanding::NotYetValid
        } else if self.valid_before.as_deref().is_some_and(|before| at >= before) {
            SignerStanding::Expired
        } else {
            SignerStanding::Allowed
        }
    }
}

/// Splits off the first word, in which quotes hold spaces together.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut quoted = false;
    let end = text.char_indices().find(|(_, character)| {
        quoted ^= *character == '"';
        character.is_ascii_whitespace() && !quoted
    });
    let (first, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    (!first.is_empty()).then_some((first, rest))
}

fn split_quoted(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|character| {
        quoted ^= character == '"';
        character == separator && !quoted
    })
    .collect()
}

/// A list of patterns; one behind `!` that fits forbids.
fn fits_list(patterns: &str, text: &str) -> bool {
    let fits = |row: &&str| fits_pattern(row.strip_prefix('!').unwrap_or(row).as_bytes(), text.as_bytes());
    let mut fitting = patterns.split(',').filter(fits).peekable();
    fitting.peek().is_some() && fitting.all(|row| !row.starts_with('!'))
}

/// Matches a pattern: `*` fits any text, `?` one character.
fn fits_pattern(pattern: &[u8], text: &[u8]) -> bool {
    // Where a star was, and how much of the text it has taken: the last one alone need ever
    // take more.
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((behind, taken)) = star else { return false };
                (at, from) = (behind, taken + 1);
                star = Some((behind, taken + 1));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
