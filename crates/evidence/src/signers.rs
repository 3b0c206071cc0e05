//! Who may sign: OpenSSH's `allowed_signers`, as `ssh-keygen -Y verify` reads it, for keys that are no certificates.
//!
//! A line that cannot be read in full allows nobody.

use contract::Stamp;

use crate::key::PublicKey;

/// The lines that could be read.
#[derive(Debug, Clone, Default)]
pub struct AllowedSigners {
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    key: PublicKey,
    /// Patterns; nothing allows every namespace.
    namespaces: Option<String>,
    /// `yyyymmddhhmmss`.
    valid_after: Option<String>,
    valid_before: Option<String>,
}

impl AllowedSigners {
    pub fn parse(text: &str) -> Self {
        let meant = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { lines: meant.filter_map(Line::parse).collect() }
    }

    /// Whether a signature of this key counts for this namespace at this time.
    pub fn allow(&self, key: &PublicKey, namespace: &str, at: Stamp) -> bool {
        let at: String = at.compact().chars().filter(char::is_ascii_digit).collect();
        self.lines.iter().any(|line| line.key == *key && line.allows(namespace, &at))
    }
}

impl Line {
    /// `PRINCIPALS [OPTIONS] ssh-ed25519 BASE64 [COMMENT]`.
    fn parse(line: &str) -> Option<Self> {
        let (_principals, rest) = word(line)?;
        let (next, _) = word(rest)?;
        let (options, key) = if next == "ssh-ed25519" { ("", rest) } else { word(rest)? };
        let key = PublicKey::parse(key.trim()).filter(|_| key.trim_start().starts_with("ssh-ed25519 "))?;
        let mut parsed = Self { key, namespaces: None, valid_after: None, valid_before: None };
        for option in split_quoted(options, ',').into_iter().filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=')?;
            let value = value.strip_prefix('"')?.strip_suffix('"')?;
            match name.to_ascii_lowercase().as_str() {
                "namespaces" => parsed.namespaces = Some(value.to_owned()),
                "valid-after" => parsed.valid_after = Some(digits(value)?),
                "valid-before" => parsed.valid_before = Some(digits(value)?),
                _ => return None,
            }
        }
        Some(parsed)
    }

    fn allows(&self, namespace: &str, at: &str) -> bool {
        self.namespaces.as_deref().is_none_or(|patterns| fits_list(patterns, namespace))
            && self.valid_after.as_deref().is_none_or(|after| at >= after)
            && self.valid_before.as_deref().is_none_or(|before| at < before)
    }
}

/// The first word, in which quotes hold spaces together, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
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

/// `yyyymmdd[hhmm[ss]][Z]`, in UTC, filled up with zeros.
fn digits(text: &str) -> Option<String> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let whole = matches!(text.len(), 8 | 12 | 14) && text.bytes().all(|byte| byte.is_ascii_digit());
    whole.then(|| format!("{text:0<14}"))
}

/// A list of patterns; one behind `!` that fits forbids.
fn fits_list(patterns: &str, text: &str) -> bool {
    let rows = patterns.split(',').map(str::trim);
    let mut fitting = rows.filter(|row| fits(row.trim_start_matches('!').as_bytes(), text.as_bytes())).peekable();
    fitting.peek().is_some() && fitting.all(|row| !row.starts_with('!'))
}

/// `*` stands for anything, `?` for one character.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    // Where a star was, and how much of the text it has taken: the last one alone need ever take more.
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
mod tests {
    use std::time::Duration;

    use super::*;

    const KEY: &str = include_str!("../tests/sshsig/signer.pub");

    fn check(before: &str, namespace: &str) -> bool {
        let key = PublicKey::parse(KEY).unwrap();
        // 2026-03-01T10:00:00Z
        let at = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        AllowedSigners::parse(&format!("# who\n\n{before} {KEY}\n")).allow(&key, namespace, at)
    }

    #[test]
    fn lines_allow_what_they_say_and_no_more() {
        let rows = [
            ("me@example.com", true),
            ("\"me and you\",they", true),
            ("me namespaces=\"cto-record@v1\"", true),
            ("me namespaces=\"git, cto-*\"", true),
            ("me namespaces=\"git\"", false),
            ("me namespaces=\"cto-*,!cto-record@v?\"", false),
            ("me valid-after=\"20260301\"", true),
            ("me valid-after=\"202603011000\",valid-before=\"20260301100001Z\"", true),
            ("me valid-after=\"20260302\"", false),
            ("me valid-before=\"20260301\"", false),
            ("me valid-before=\"20260301100000\"", false),
            ("me valid-before=\"soon\"", false),
            ("me cert-authority", false),
            ("me unknown=\"x\"", false),
            ("me namespaces=cto-record@v1", false),
            ("# me", false),
            ("", false),
        ];
        for (before, allowed) in rows {
            assert_eq!(check(before, "cto-record@v1"), allowed, "{before}");
        }
    }

    #[test]
    fn another_key_is_not_allowed() {
        let other = "me ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g other\n";
        let key = PublicKey::parse(KEY).unwrap();
        let at = Stamp::from_unix(Duration::from_secs(1_772_359_200)).unwrap();
        assert!(!AllowedSigners::parse(other).allow(&key, "cto-record@v1", at));
        assert!(AllowedSigners::parse(&format!("{other}me {KEY}")).allow(&key, "cto-record@v1", at), "the control");
    }

    #[test]
    fn patterns_take_no_time() {
        assert!(!fits("*a".repeat(2000).as_bytes(), "a".repeat(1999).as_bytes()));
        assert!(fits(b"*b*", b"aabaa") && fits(b"", b"") && !fits(b"", b"a") && fits(b"a*", b"a"));
    }
}
