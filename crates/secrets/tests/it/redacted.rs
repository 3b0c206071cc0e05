//! Replacements for secrets.

use secrets::{Class, Keep, Known, KnownClass, RuleSet, Scanner};
use testkit::secret_set::encode;

fn scanner() -> Scanner {
    let known = [Known::new("run token", KnownClass::Token, b"token-of-this-run")];
    Scanner::new(&known, RuleSet::standard())
}

fn check(text: &str, expected: &str) {
    let scanner = scanner();
    let (redacted, hits) = scanner.redact(text.as_bytes());
    assert_eq!(String::from_utf8_lossy(&redacted), expected);
    assert_eq!(hits, scanner.scan(text.as_bytes()), "{text}");
    assert_eq!(
        scanner.redact(expected.as_bytes()),
        (expected.as_bytes().to_vec(), Vec::new()),
        "{expected} is not stable"
    );
}

#[test]
fn a_marker_names_the_rule_and_the_rest_stays() {
    let key = ["AK", "IAQ3EGZXV7TIOPLK2M"].concat();
    let twice = format!("{key} {key}");
    for (text, expected) in [
        ("nothing here".to_owned(), "nothing here"),
        (format!("id={key};"), "id=[redacted:aws-access-key-id];"),
        (twice, "[redacted:aws-access-key-id] [redacted:aws-access-key-id]"),
        ("a token-of-this-run b".to_owned(), "a [redacted:run-token] b"),
        ("x=\"token-of-\n    this-run\";".to_owned(), "x=\"[redacted:run-token]\n    [redacted:run-token]\";"),
        (["pass", "word = \"q7Xv0ZrT2mB9\""].concat(), "password = \"[redacted:password-assignment]\""),
        (["postgres:/", "/app:q7Xv0ZrT2mB9@db/app"].concat(), "postgres://app:[redacted:database-url-password]@db/app"),
        ("[redacted:run-token]".to_owned(), "[redacted:run-token]"),
    ] {
        check(&text, expected);
    }
}

#[test]
fn a_key_of_several_lines_leaves_its_lines() {
    let body =
        ["MIIEpAIBAAKCAQEAq7Xv0ZrT2mB9cKfW4hNjL5sD8gY1uE3oR6tI0pA2wQ9xC7vB", "bV5nM4kJ8hG3fD1sA6qW2eR9tY7uI0oP5lK"];
    let text = format!(
        "key: |\n  -----BEGIN RSA PRIVATE {0}-----\n  {1}\n  {2}==\n  -----END RSA PRIVATE {0}-----\n",
        "KEY", body[0], body[1]
    );
    let marker = "[redacted:private-key]";
    let expected = format!(
        "key: |\n  -----BEGIN RSA PRIVATE {0}-----\n  {marker}\n  {marker}\n  -----END RSA PRIVATE {0}-----\n",
        "KEY"
    );
    check(&text, &expected);
    assert_eq!(text.lines().count(), expected.lines().count());
}

/// Too little of a key to be one, and then a secret of another kind: its marker must not close the block.
#[test]
fn a_marker_closes_no_key() {
    let body = ["MIIEpAIBAAKCAQEAq7Xv0ZrT2mB9cKfW4hNjL5sD8gY1uE3oR6tI0pA2wQ9xC7vB", "bV5nM4kJ8hG3fD1sA6qW2eR9tY7uI0o"];
    let key = format!("-----BEGIN RSA PRIVATE {}-----\n{}\n{}", "KEY", body[0], body[1]);
    for between in ["\n", "\nafter it ", " ", "-", ""] {
        let kept = format!("{key}{between}");
        check(&format!("{kept}token-of-this-run\nand so on"), &format!("{kept}[redacted:run-token]\nand so on"));
    }
    let encoded = encode::base64(key.as_bytes(), false);
    assert_eq!(scanner().scan(encoded.as_bytes()).len(), 1, "where a text ends, more of the key may come");
    // Some characters of base64 before the marker belong to no byte.
    for left_over in ["", "d", "dd", "ddd"] {
        assert_eq!(scanner().scan(format!("{encoded}{left_over}[redacted:run-token]").as_bytes()), [], "{left_over}");
    }
}

#[test]
fn a_shape_that_stands_in_the_baseline_is_listed_and_no_leak() {
    let [old, new] = ["IAQ3EGZXV7TIOPLK2M", "IAW5RTQX2CVBNMLK7P"].map(|tail| ["AK", tail].concat());
    let log = format!("old {old} new {new}");
    let suspects = scanner().suspects(log.as_bytes());
    assert!(!suspects.is_empty() && scanner().suspects(b"nothing").is_empty());
    let file = format!("# a key in a comment: {old}\n");
    let scanner = scanner().with_baseline(suspects.standing_in([file.as_bytes(), b""]));
    let classes: Vec<Class> = scanner.scan(log.as_bytes()).iter().map(|hit| hit.class).collect();
    assert_eq!(classes, [Class::Baseline, Class::Shape]);
    for (keep, expected) in [
        (Keep::Nothing, "old [redacted:aws-access-key-id] new [redacted:aws-access-key-id]".to_owned()),
        (Keep::Baseline, format!("old {old} new [redacted:aws-access-key-id]")),
    ] {
        let (redacted, hits) = scanner.redact_keeping(log.as_bytes(), keep);
        assert_eq!((String::from_utf8(redacted).unwrap(), hits.len()), (expected, 2));
    }
}

#[test]
fn a_key_in_the_baseline_is_the_same_key_however_it_is_wrapped() {
    let body =
        ["MIIEpAIBAAKCAQEAq7Xv0ZrT2mB9cKfW4hNjL5sD8gY1uE3oR6tI0pA2wQ9xC7vB", "bV5nM4kJ8hG3fD1sA6qW2eR9tY7uI0oP5lK=="];
    let key = |gap: &str| {
        format!(
            "-----BEGIN {0}-----{gap}{1}{gap}{2}{gap}-----END {0}-----",
            ["PRIVATE", "KEY"].join(" "),
            body[0],
            body[1]
        )
    };
    let (log, file) = (format!("{{\"k\":\"{}\"}}", key("\\n")), key("\n  "));
    let suspects = scanner().suspects(log.as_bytes());
    let scanner = scanner().with_baseline(suspects.standing_in([file.as_bytes()]));
    assert!(scanner.scan(log.as_bytes()).iter().all(|hit| hit.class == Class::Baseline));
}

#[test]
fn every_planted_secret_is_gone_and_stays_gone() {
    use testkit::secret_set::planted::{self, Encoded};
    let scanner = scanner();
    for planted in planted::all(7, 1) {
        let (redacted, hits) = scanner.redact(planted.text.as_bytes());
        let again = scanner.redact(&redacted);
        assert_eq!(again, (redacted.clone(), Vec::new()), "{} {:?}", planted.kind, planted.encoded);
        let breaks = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(breaks(planted.text.as_bytes()), breaks(&redacted), "{}", planted.kind);
        if planted.encoded == Encoded::Plain && !hits.is_empty() {
            let redacted = String::from_utf8_lossy(&redacted);
            assert!(!redacted.contains(&planted.text[planted.at.clone()]), "{}", planted.kind);
        }
    }
}

/// Lines are shown before the next one is there; what documentation leaves out of a key is no key.
#[test]
fn a_key_is_found_by_its_first_line_unless_something_else_follows() {
    let begin = ["-----BEGIN RSA PRIV", "ATE KEY-----"].concat();
    let line = "MIIEpAIBAAKCAQEAq7Xv0ZrT2mB9cKfW4hNjL5sD8gY1uE3oR6tI0pA2wQ9xC7vB";
    for (after, found) in [("\n", 1), ("\n.\n-----END RSA", 0), ("\nand so on\n", 0)] {
        let text = format!("{begin}\n{line}{after}");
        assert_eq!(scanner().scan(text.as_bytes()).len(), found, "{text}");
    }
}
