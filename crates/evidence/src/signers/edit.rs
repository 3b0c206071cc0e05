//! New lines of `allowed_signers`, and lines that end.

use contract::Stamp;

use super::{SignerLine, split_quoted, split_word};
use crate::signer_key::SignerKey;

const VALID_BEFORE: &str = "valid-before";

/// A line that is to be added.
#[derive(Debug, Clone)]
pub struct NewSigner {
    pub key: SignerKey,
    /// Principal, as the list names it.
    pub name: String,
    /// Purposes that the key may sign for; a signature for another one does not count.
    pub namespaces: Vec<String>,
    /// Beginning of the key's period; none means always.
    pub from: Option<Stamp>,
    /// End of the key's period; none means never.
    pub until: Option<Stamp>,
}

impl NewSigner {
    /// Line that reads back as this signer; none if a name or namespace cannot be written.
    pub fn line(&self) -> Option<String> {
        let is_plain = |text: &str, more: &str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
        };
        let plain = is_plain(&self.name, "@._+-") && self.namespaces.iter().all(|name| is_plain(name, "@._+-*"));
        if !plain || self.namespaces.is_empty() {
            return None;
        }
        let mut options = vec![format!("namespaces=\"{}\"", self.namespaces.join(","))];
        options.extend(self.from.map(|from| format!("valid-after=\"{}Z\"", digits_of(from))));
        options.extend(self.until.map(|until| format!("{VALID_BEFORE}=\"{}Z\"", digits_of(until))));
        let line = format!("{} {} {}", self.name, options.join(","), self.key.openssh_line()?);
        SignerLine::parse(&line).ok().map(|_| line)
    }
}

/// Ends every line of a key at a time; one that ends sooner stays. Gives the new text and
/// the number of lines that changed.
pub fn retire_key(text: &str, key: &SignerKey, at: Stamp) -> (String, usize) {
    let end = digits_of(at);
    let mut changed = 0;
    let mut lines = Vec::new();
    for line in text.lines() {
        let meant = SignerLine::parse(line.trim()).ok().filter(|_| !line.trim_start().starts_with('#'));
        let ends = meant
            .filter(|parsed| parsed.key == *key)
            .is_some_and(|parsed| parsed.valid_before.as_deref().is_none_or(|before| before > end.as_str()));
        let ended = if ends { end_line(line.trim(), &end) } else { None };
        changed += usize::from(ended.is_some());
        lines.push(ended.unwrap_or_else(|| line.to_owned()));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    (text, changed)
}

/// The same line with another end. Name, key and comment stay as they are written.
fn end_line(line: &str, end: &str) -> Option<String> {
    let (principals, rest) = split_word(line)?;
    let (next, behind) = split_word(rest)?;
    let is_kind = contract::signer::SignerKeyKind::ALL.iter().any(|kind| kind.name() == next);
    let (options, key) = if is_kind { ("", rest) } else { (next, behind) };
    let is_end = |option: &&str| option.to_ascii_lowercase().starts_with(VALID_BEFORE);
    let mut kept: Vec<String> = split_quoted(options, ',')
        .into_iter()
        .filter(|option| !option.is_empty() && !is_end(option))
        .map(str::to_owned)
        .collect();
    kept.push(format!("{VALID_BEFORE}=\"{end}Z\""));
    Some(format!("{principals} {} {}", kept.join(","), key.trim()))
}

/// `yyyymmddhhmmss`
fn digits_of(at: Stamp) -> String {
    at.compact().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contract::signer::SignerStanding;

    use super::*;
    use crate::signers::AllowedSigners;

    const KEY: &str = include_str!("../../tests/sshsig/signer.pub");
    const OTHER: &str = "me ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g other";

    fn key() -> SignerKey {
        SignerKey::parse_line(KEY).unwrap()
    }

    fn at(seconds: u64) -> Stamp {
        Stamp::from_unix(Duration::from_secs(1_772_359_200 + seconds)).unwrap()
    }

    #[test]
    fn a_new_line_allows_what_it_is_for() {
        let new = |name: &str, namespaces: &[&str]| NewSigner {
            key: key(),
            name: name.to_owned(),
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            from: Some(at(10)),
            until: Some(at(20)),
        };
        let line = new("me@home", &["cto-record@v1", "cto-approval@v1"]).line().unwrap();
        let judge =
            |namespace: &str, seconds| AllowedSigners::parse_file(&line).judge_key(&key(), namespace, at(seconds));
        assert_eq!(judge("cto-approval@v1", 10), SignerStanding::Allowed);
        assert_eq!(judge("cto-approval@v1", 9), SignerStanding::NotYetValid);
        assert_eq!(judge("cto-approval@v1", 20), SignerStanding::Expired);
        assert_eq!(judge("git", 10), SignerStanding::OtherNamespace);
        for (name, namespace) in [("a b", "git"), ("a\nb", "git"), ("", "git"), ("me", "a,b"), ("me", "\"")] {
            assert_eq!(new(name, &[namespace]).line(), None, "{name} {namespace}");
        }
        assert_eq!(new("me", &[]).line(), None);
    }

    #[test]
    fn a_retired_key_is_good_before_its_end_and_other_lines_stay() {
        let print = KEY.trim();
        let rows = [
            (format!("me {print}"), 1),
            (format!("me namespaces=\"cto-*\",valid-before=\"20300101Z\" {print}"), 1),
            (format!("\"me too\" valid-before=\"20260101Z\" {print}"), 0),
            (format!("# me {print}"), 0),
            (OTHER.to_owned(), 0),
        ];
        for (line, expected) in &rows {
            let (text, changed) = retire_key(line, &key(), at(30));
            assert_eq!(changed, *expected, "{line}");
            if *expected == 0 {
                assert_eq!(text.trim_end(), line);
                continue;
            }
            let judge = |seconds| AllowedSigners::parse_file(&text).judge_key(&key(), "cto-record@v1", at(seconds));
            assert_eq!((judge(29), judge(30)), (SignerStanding::Allowed, SignerStanding::Expired), "{text}");
        }
        let whole = rows.map(|(line, _)| line).join("\n");
        assert_eq!(retire_key(&whole, &key(), at(30)).1, 2);
    }
}
