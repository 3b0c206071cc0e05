//! Fields of a document in the shape of a secret: names that credentials go by and that the
//! format does not have, and texts that a rule takes for a secret.

use std::collections::BTreeSet;

use secrets::{RuleSet, Scanner};
use serde_json::Value;

/// Last words of names under which people keep credentials.
const CREDENTIAL_NAMES: &[&str] = &[
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "signing_key",
    "secret",
    "client_secret",
    "secret_key",
    "password",
    "passwd",
    "passphrase",
    "token",
    "access_token",
    "refresh_token",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

/// Paths of the fields. `known` is the same document as its type writes it: keys of the
/// format name no credential.
pub(super) fn find_secret_fields(raw: &Value, known: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let scanner = Scanner::new(&[], RuleSet::standard());
    look(&scanner, raw, Some(known), String::new(), &mut found);
    found
}

fn look(scanner: &Scanner, raw: &Value, known: Option<&Value>, at: String, found: &mut BTreeSet<String>) {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match raw {
        Value::String(text) if !scanner.scan(text.as_bytes()).is_empty() => {
            found.insert(at);
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(scanner, item, known.and_then(|known| known.get(index)), below(&index.to_string()), found);
            }
        }
        Value::Object(entries) => {
            for (name, entry) in entries {
                let known = known.and_then(|known| known.get(name));
                if known.is_none() && is_credential_name(name) || !scanner.scan(name.as_bytes()).is_empty() {
                    found.insert(below(name));
                }
                look(scanner, entry, known, below(name), found);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_credential_name(name: &str) -> bool {
    let mut plain = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && plain.chars().next_back().is_some_and(|last| last.is_ascii_lowercase()) {
            plain.push('_');
        }
        plain.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    let is_named = |word: &str| plain == word || plain.strip_suffix(word).is_some_and(|start| start.ends_with('_'));
    CREDENTIAL_NAMES.iter().any(|word| is_named(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_credentials_and_texts_like_secrets_are_found() {
        let known = json!({"secret_scan": {"status": "clean"}, "passes": [{"run_id": "a"}], "limits": {"token": 1}});
        let check = |raw: Value, fields: &[&str]| {
            let found: Vec<String> = find_secret_fields(&raw, &known).into_iter().collect();
            assert_eq!(found, fields, "{raw}");
        };
        check(known.clone(), &[]);
        check(json!({"secret_scan": {"status": "clean"}, "tokens": 5, "keynote": "x", "tokenizer": 1}), &[]);
        check(json!({"api_key": "x"}), &["api_key"]);
        check(json!({"passes": [{"run_id": "a", "providerApiKey": ""}]}), &["passes.0.providerApiKey"]);
        check(json!({"secret_scan": {"db-password": null}}), &["secret_scan.db-password"]);
        let key = format!("AKIA{}", "Q3ZJ7WXYM2K5TBNR");
        check(json!({"note": key}), &["note"]);
    }
}
