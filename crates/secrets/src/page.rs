//! `docs/formats/secret-rules.md`, made from the tables.

use std::fmt::Write as _;

use crate::rule::{After, Lead, MatchCheck, PrecedingByte, SecretRule};
use crate::rule_set::RuleSet;
use crate::{SHORTEST, SPAN};

/// The page. A test fails where it differs from the file; `cargo run -p secrets --example
/// rules_page` prints it.
pub fn rules_page() -> String {
    let rules: Vec<&SecretRule> = RuleSet::standard().rules().collect();
    let mut page = HEAD
        .replace("{count}", &rules.len().to_string())
        .replace("{shortest}", &SHORTEST.to_string())
        .replace("{span}", &(SPAN / 1024).to_string());
    for rule in &rules {
        let general = if rule.general { " (general)" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{}`{general} | {} | {} | {} |",
            rule.id,
            rule.what,
            code(rule.pattern),
            conditions(rule)
        );
    }
    page.push_str(TAIL);
    page
}

/// In a table a bar would end the cell, and a backtick the code.
fn code(pattern: &str) -> String {
    let fence = if pattern.contains('`') { "``" } else { "`" };
    format!("{fence}{}{fence}", pattern.replace('|', "\\|"))
}

fn conditions(rule: &SecretRule) -> String {
    let mut all: Vec<&str> = Vec::new();
    if rule.fold {
        all.push("either case");
    }
    let lead = match rule.lead {
        Lead::None => String::new(),
        Lead::Digits { min, max } => format!("after {min} to {max} digits"),
        Lead::Token { min, max } if min == max => format!("after {min} word characters"),
        Lead::Token { min, max } => format!("after {min} to {max} word characters"),
    };
    if !lead.is_empty() {
        all.push(&lead);
    }
    if rule.before == PrecedingByte::NoLetterOrDigit {
        all.push("begins a word");
    }
    if rule.after != After::Anything {
        all.push("ends a word");
    }
    let block = rule.block.map_or(String::new(), |shortest| format!("then {shortest} characters of base64 or more"));
    if !block.is_empty() {
        all.push(&block);
    }
    all.push(checked(rule.check));
    all.retain(|condition| !condition.is_empty());
    all.join(", ")
}

fn checked(check: MatchCheck) -> &'static str {
    match check {
        MatchCheck::Shape => "",
        MatchCheck::Random => "no placeholder",
        MatchCheck::Crc32Base62 => "CRC-32 fits, or generated",
        MatchCheck::Generated => "generated",
        MatchCheck::KeyNumber => "generated, as long as a key's number",
        MatchCheck::Jwt => "header names an algorithm",
        MatchCheck::NamePassword => "base64 of name and password",
        MatchCheck::PrivateKey => "base64 of a PEM key",
        MatchCheck::Password => "looks like a password",
        MatchCheck::UrlPassword => "looks like a password of eight or more",
        MatchCheck::Assigned => "long and random",
    }
}

const HEAD: &str = "# Secret shapes

<!-- Made from the tables in crates/secrets/src/rules by `cargo run -p secrets --example rules_page`. -->

The scanner searches for the values that it gets, and for the shapes on this page. It reports a hit by rule, file and offset, never by its value. In the file,
`[redacted:RULE]` replaces the value.

Each of the {count} rules finds plain values and four encodings. These are base64 (standard and URL-safe, at any offset within a longer text,
also wrapped), hex, URL-encoded, and JSON-escaped (single characters or all of them). Patterns match bytes, from the literal that they begin
with. If a pattern has a group, the group is the secret. In a key block, the lines of base64 are the secret. They may have other text around them: the
marks of a diff, comments, prefixes of a log, quotes.

- *no placeholder*: not a repeated character or block, not an alphabet in order, no word such as `example` or `changeme`.
- *looks like a password*: three kinds of characters, or two kinds and at least ten characters; no word such as `test`, no expression.
- *long and random*: sixteen characters or more with letters and digits, high entropy, no UUID, not made of words.
- *CRC-32 fits*: the last six characters are the checksum of the rest, in base 62.
- *generated*: no placeholder, several kinds of characters, not made of words.
- *general*: applies only where no other rule finds a secret.

The scanner also finds a value that a program joins from string literals, or that continues on the next line. It does not report the published examples
of specifications and vendors, which it knows by digest. Nor does it report names of types and paths to files.

Limits: a hit has at most {span} KiB. In a longer key block, only the first part is redacted. Known values shorter than
{shortest} characters are not searched for. If a line break of wrapped base64 splits the first characters of a shape, the scanner does not find it;
a known value is found. The scanner does not find values that are encrypted, compressed, encoded twice, or cut into pieces in other ways.

| rule | secret | pattern | conditions |
| --- | --- | --- | --- |
";

const TAIL: &str = "
## Adding a rule

1. A row in a table under `crates/secrets/src/rules/`, with examples that must match and that must not, each in pieces so that no file
   holds one whole.
2. Literals of four bytes or more, as rare as can be; every occurrence costs time. A pattern with a group is deterministic; a test says so.
3. A kind in `crates/testkit/src/secret_set/kinds.rs`, made from what the vendor says, not from the rule.
4. `cargo run -p secrets --example rules_page > docs/formats/secret-rules.md`, `cargo xtask bench secrets`.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_one_in_the_repository() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/secret-rules.md");
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(stored == rules_page(), "cargo run -p secrets --example rules_page > docs/formats/secret-rules.md");
    }
}
