//! Known values in the ways they are written.

use secrets::{Class, Encoding, Known, KnownClass, RuleSet, Scanner};

use testkit::secret_set::encode;

const VALUE: &str = "Zx9/q+Lm2?W\"v7Kd";

fn scanner(values: &[(&str, KnownClass, &str)]) -> Scanner {
    let known: Vec<Known> =
        values.iter().map(|(name, class, value)| Known::new(name, *class, value.as_bytes())).collect();
    Scanner::new(&known, RuleSet::none())
}

/// The one hit covers exactly what is between the brackets.
fn check(text: &str, encoding: Encoding) {
    let (before, rest) = text.split_once('⟦').unwrap();
    let (written, after) = rest.split_once('⟧').unwrap();
    let whole = [before, written, after].concat();
    let hits = scanner(&[("key", KnownClass::Credential, VALUE)]).scan(whole.as_bytes());
    let found: Vec<_> = hits.iter().map(|hit| (hit.offset as usize, hit.len as usize, hit.encoding)).collect();
    assert_eq!(found, [(before.len(), written.len(), encoding)], "{text}");
}

#[test]
fn a_value_is_found_as_it_is_and_escaped() {
    let json = encode::json(VALUE);
    let url = encode::url(VALUE);
    for (text, encoding) in [
        (format!("a ⟦{VALUE}⟧ b"), Encoding::Plain),
        (format!("glued⟦{VALUE}⟧glued"), Encoding::Plain),
        (format!("{{\"a\":\"⟦{json}⟧\"}}"), Encoding::Json),
        (format!("{{\"a\":\"⟦{}⟧\"}}", encode::json_full(VALUE)), Encoding::Json),
        (format!("{{\"a\":\"⟦{}⟧\"}}", encode::json_full(VALUE).to_uppercase().replace("\\U", "\\u")), Encoding::Json),
        (format!("?a=⟦{url}⟧&b"), Encoding::Url),
        (
            format!("?a=⟦{}⟧&b", url.to_lowercase().replace("zx9%2fq%2blm2%3fw%22v7kd", "Zx9%2fq%2bLm2%3fW%22v7Kd")),
            Encoding::Url,
        ),
        (format!("?a=⟦{}⟧&b", encode::url_full(VALUE)), Encoding::Url),
        (format!("?a=⟦{}⟧&b", encode::url_full(VALUE).to_uppercase()), Encoding::Url),
        ("?a=⟦Zx9/q%2BLm2?W%22v7Kd⟧&b".to_owned(), Encoding::Url),
    ] {
        check(&text, encoding);
    }
}

#[test]
fn a_value_is_found_in_hex_and_in_base64_at_every_place() {
    let hex = encode::hex(VALUE.as_bytes());
    check(&format!("00⟦{hex}⟧ff"), Encoding::Hex);
    check(&format!("00⟦{}⟧FF", hex.to_uppercase()), Encoding::Hex);
    let scanner = scanner(&[("key", KnownClass::Credential, VALUE)]);
    for (before, after) in (0..7).flat_map(|before| (0..7).map(move |after| (before, after))) {
        let text = ["<<<<<<<"[..before].to_owned(), VALUE.to_owned(), ">>>>>>>"[..after].to_owned()].concat();
        let padded = encode::base64(text.as_bytes(), true);
        let forms = [padded.clone(), encode::base64(text.as_bytes(), false), encode::base64_url(text.as_bytes())];
        let wrapped = [("\n", 64), ("\r\n", 76), ("\\n", 20), ("\n    ", 9)]
            .map(|(end, columns)| encode::wrapped(&padded, columns, end));
        for form in forms.into_iter().chain(wrapped) {
            let hits = scanner.scan(format!("data:{form};").as_bytes());
            assert_eq!(hits.len(), 1, "{form}");
            assert_eq!(hits[0].encoding, Encoding::Base64);
            let (redacted, _) = scanner.redact(form.as_bytes());
            let core = &encode::base64(VALUE.as_bytes(), false)[..8];
            assert!(!String::from_utf8(redacted).unwrap().contains(core), "{form}");
        }
    }
}

#[test]
fn a_wrapped_value_is_found() {
    let json = encode::json(VALUE);
    for split in 1..VALUE.len() {
        let (head, tail) = VALUE.split_at(split);
        for gap in ["\n", "\r\n", "\n    ", "\\n      ", "\\r\\n\t", "\\\n", "\n+", "\n  > "] {
            check(&format!("a ⟦{head}{gap}{tail}⟧ b"), Encoding::Plain);
        }
    }
    check(&format!("a ⟦{}⟧", json.replace("L", "\\n  L")), Encoding::Json);
    check(&format!("a ⟦{}⟧", encode::wrapped(&encode::hex(VALUE.as_bytes()), 10, "\n")), Encoding::Hex);
}

#[test]
fn a_key_of_several_lines_is_found_however_it_is_wrapped() {
    let lines: Vec<String> =
        (0..40).map(|line| encode::hex(format!("line number {line} of a key").as_bytes())).collect();
    let key = format!("-----BEGIN KEY-----\n{}\n-----END KEY-----\n", lines.join("\n"));
    let scanner = scanner(&[("key", KnownClass::Credential, &key)]);
    for text in [
        key.clone(),
        key.replace('\n', "\\n"),
        key.replace('\n', "\r\n"),
        key.replace('\n', ""),
        key.replace('\n', "\n    "),
    ] {
        let (redacted, hits) = scanner.redact(text.as_bytes());
        let redacted = String::from_utf8(redacted).unwrap();
        assert!(!hits.is_empty() && lines.iter().all(|line| !redacted.contains(&line[..8])), "{redacted}");
    }
}

#[test]
fn classes_say_what_a_hit_means() {
    let values = [
        ("A key", KnownClass::Credential, "credential-value-1"),
        ("endpoint", KnownClass::Endpoint, "https://models.internal:8443/v1"),
        ("run-token", KnownClass::Token, "token-value-of-the-run"),
        ("canary", KnownClass::Canary, "canary-value-in-a-file"),
        ("short", KnownClass::Credential, "elevenchars"),
    ];
    let text = values.map(|(_, _, value)| value).join(" ");
    let found: Vec<_> =
        scanner(&values).scan(text.as_bytes()).into_iter().map(|hit| (hit.rule.to_string(), hit.class)).collect();
    let expected = [
        ("a-key", Class::Credential, true),
        ("endpoint", Class::Endpoint, true),
        ("run-token", Class::Token, false),
        ("canary", Class::Canary, false),
    ];
    assert_eq!(found, expected.map(|(rule, class, _)| (rule.to_owned(), class)));
    assert_eq!(found.iter().map(|(_, class)| class.is_leak()).collect::<Vec<_>>(), expected.map(|(_, _, leak)| leak));
}

#[test]
fn a_run_token_in_the_shape_of_a_secret_is_no_leak() {
    let token = "9fK2mQ7xV4bT8nW1cR5jZ0hL3dP6sY";
    let known = [Known::new("run-token", KnownClass::Token, token.as_bytes())];
    let scanner = Scanner::new(&known, RuleSet::standard());
    let basic = encode::base64(format!("cto:{token}").as_bytes(), true);
    for text in [
        format!("Authorization: Bearer {token}"),
        format!("Proxy-Authorization: Basic {basic}"),
        format!("API_KEY={token}"),
        format!("https://cto:{token}@bridge.local/v1"),
    ] {
        let hits = scanner.scan(text.as_bytes());
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.class == Class::Token), "{text} {hits:?}");
    }
    // A secret that only begins with the token is one of its own.
    let hits = scanner.scan(format!("API_KEY={token}q7Xv0ZrT2mB9cKfW4h").as_bytes());
    assert!(hits.iter().any(|hit| hit.class == Class::Shape), "{hits:?}");
}

#[test]
fn nothing_shows_a_value() {
    let known = Known::new("key", KnownClass::Credential, VALUE.as_bytes());
    let scanner = Scanner::new(std::slice::from_ref(&known), RuleSet::standard());
    let shown =
        format!("{known:?} {scanner:?} {:?} {:?}", scanner.scan(VALUE.as_bytes()), scanner.suspects(VALUE.as_bytes()));
    for piece in VALUE.as_bytes().windows(5) {
        assert!(!shown.as_bytes().windows(5).any(|window| window == piece), "{shown}");
    }
}
