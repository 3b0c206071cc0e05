//! Properties for any bytes.

use proptest::prelude::*;
use secrets::{Hit, Keep, Known, KnownClass, Redactor, RuleSet, Scanner};

use testkit::secret_set::encode;
use testkit::secret_set::kinds;
use testkit::secret_set::random::Random;

const VALUES: [&str; 3] = ["Zx9/q+Lm2?Wv7Kd", "token-of-this-run-12", "pässwörd-of-the-day"];

fn scanner() -> Scanner {
    let known: Vec<Known> =
        VALUES.iter().map(|value| Known::new("known", KnownClass::Credential, value.as_bytes())).collect();
    Scanner::new(&known, RuleSet::standard())
}

/// Something that a scanner has an opinion on, or what may stand next to it.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let secret = (any::<u64>(), any::<prop::sample::Index>(), 0..7_usize).prop_map(|(seed, index, form)| {
        let mut all = kinds::all(&mut Random::new(seed));
        let secret = all.swap_remove(index.index(all.len()));
        let text = secret.name.map_or(secret.value.clone(), |name| format!("{name}={}", secret.value));
        written(&text, form)
    });
    let known = (any::<prop::sample::Index>(), 0..7_usize)
        .prop_map(|(index, form)| written(VALUES[index.index(VALUES.len())], form));
    let part = (any::<prop::sample::Index>(), 1..12_usize)
        .prop_map(|(index, len)| VALUES[index.index(3)].as_bytes()[..len].to_vec());
    let glue = prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\\n",
        "\"",
        "=",
        ":",
        ",",
        "x",
        "A",
        "0",
        "_",
        "-",
        "/",
        "+",
        "[",
        "]",
        "%",
        "\\",
        "[redacted:known]",
        "[redacted:jwt]",
        "password=",
        "token: ",
        "AKIA",
        "eyJ",
        "ghp_",
        "https://a:",
        "@",
        "=",
        "==",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "Authorization: Bearer ",
        "QUtJ",
        "dG9rZW49",
        "%41%4b%49%41",
    ]);
    let cut =
        (secret.boxed(), 0.0..1.0_f64).prop_map(|(text, share)| text[..(text.len() as f64 * share) as usize].to_vec());
    let whole = (any::<u64>(), any::<prop::sample::Index>()).prop_map(|(seed, index)| {
        let mut all = kinds::all(&mut Random::new(seed));
        all.swap_remove(index.index(all.len())).value.into_bytes()
    });
    prop_oneof![
        2 => cut,
        3 => whole,
        3 => known,
        2 => part,
        8 => glue.prop_map(|glue| glue.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "[A-Za-z0-9+/]{0,60}".prop_map(String::into_bytes),
    ]
}

fn written(text: &str, form: usize) -> Vec<u8> {
    let text = match form {
        0 => text.to_owned(),
        1 => encode::base64(text.as_bytes(), true),
        2 => encode::base64_url(format!("?{text}").as_bytes()),
        3 => encode::hex(text.as_bytes()),
        4 => encode::url(text),
        5 => encode::json(text),
        _ => encode::json_full(text),
    };
    text.into_bytes()
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(fragment(), 0..14).prop_map(|fragments| fragments.concat())
}

fn in_pieces(scanner: &Scanner, text: &[u8], sizes: &[usize]) -> (Vec<u8>, Vec<Hit>) {
    let (mut out, mut hits, mut rest) = (Vec::new(), Vec::new(), text);
    let mut redactor = Redactor::new(scanner, Keep::Nothing);
    for size in sizes.iter().cycle() {
        let (piece, tail) = rest.split_at((*size).min(rest.len()));
        hits.extend(redactor.push_piece(piece, &mut out));
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    hits.extend(redactor.finish_stream(&mut out));
    (out, hits)
}

/// Texts for each property; `cargo xtask soak redaction` sets more.
#[expect(clippy::disallowed_methods, reason = "a soak says by the environment how many")]
fn cases() -> u32 {
    std::env::var("CTO_TEST_REDACTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn any_bytes_are_scanned(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let scanner = scanner();
        let (redacted, hits) = scanner.redact(&bytes);
        prop_assert_eq!(&hits, &scanner.scan(&bytes));
        prop_assert!(redacted.len() <= bytes.len() + hits.len() * 200);
    }

    #[test]
    fn redacting_twice_is_redacting_once(text in text()) {
        let scanner = scanner();
        let (redacted, _) = scanner.redact(&text);
        let (again, hits) = scanner.redact(&redacted);
        prop_assert!(hits.is_empty(), "{hits:?} in {}", redacted.escape_ascii());
        prop_assert_eq!(again.escape_ascii().to_string(), redacted.escape_ascii().to_string());
    }

    #[test]
    fn pieces_give_what_the_whole_gives(
        texts in prop::collection::vec(text(), 1..4),
        padding in prop::collection::vec(0..40_000_usize, 1..4),
        sizes in prop::collection::vec(prop_oneof![1..200_usize, 1000..100_000_usize], 1..6),
    ) {
        let scanner = scanner();
        let mut whole = Vec::new();
        for (text, padding) in texts.iter().zip(padding.iter().cycle()) {
            whole.extend_from_slice(text);
            whole.extend(b"lorem ipsum dolor sit amet\n".iter().cycle().take(*padding));
        }
        let (redacted, hits) = scanner.redact(&whole);
        let (in_pieces, piece_hits) = in_pieces(&scanner, &whole, &sizes);
        prop_assert_eq!(piece_hits, hits);
        prop_assert!(in_pieces == redacted);
    }

    #[test]
    fn a_known_value_is_found_anywhere_in_every_encoding(
        value in "[!-~]{12,60}",
        before in prop::collection::vec(any::<u8>(), 0..50),
        after in prop::collection::vec(any::<u8>(), 0..50),
        form in 0..7_usize,
    ) {
        let scanner = Scanner::new(&[Known::new("v", KnownClass::Canary, value.as_bytes())], RuleSet::none());
        let written = written(&value, form);
        let text = [&before[..], &written, &after].concat();
        let (start, end) = (before.len() as u64, (before.len() + written.len()) as u64);
        let hits = scanner.scan(&text);
        let found = hits.iter().any(|hit| hit.offset <= start + 3 && hit.offset + hit.len + 3 >= end);
        prop_assert!(found, "{value} as {} in {}: {hits:?}", written.escape_ascii(), text.escape_ascii());
    }
}
