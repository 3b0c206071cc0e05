//! Secrets that are encoded, or that a program or a shell puts together.

use super::Sample;
use super::random::Random;
use super::shapes::any_secret;

const EACH: usize = 5;

/// Samples of every encoding and way of joining.
pub(super) fn encoded_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for _ in 0..EACH {
        for (way, write) in WAYS {
            let (name, secret) = any_secret(random);
            samples.push(Sample { name: format!("{way} {name}"), text: write(random, &secret) });
        }
    }
    samples
}

type Write = fn(&mut Random, &str) -> String;

const WAYS: &[(&str, Write)] = &[
    ("base64", |_, secret| format!("blob: {}\n", base64(secret.as_bytes()))),
    ("base64 of a file", |random, secret| {
        let before = random.random_text("abcdefgh ", 17);
        format!("data: {}\n", base64(format!("{before}\nupstream={secret}\n").as_bytes()))
    }),
    ("base64 url", |_, secret| format!("?state={}\n", base64(secret.as_bytes()).replace('+', "-").replace('/', "_"))),
    ("wrapped base64", |_, secret| wrapped(&base64(format!("machine notes\n{secret}\n").as_bytes()))),
    ("base64 twice", |_, secret| format!("blob: {}\n", base64(base64(secret.as_bytes()).as_bytes()))),
    ("hex", |_, secret| format!("0x{}\n", hex(secret, ""))),
    ("hex escapes", |_, secret| format!("s = \"{}\"\n", hex(secret, "\\x"))),
    ("url", |_, secret| format!("https://api.internal/?q={}\n", url(secret))),
    ("url whole", |_, secret| format!("https://api.internal/?q={}\n", hex(secret, "%"))),
    ("code points", |_, secret| format!("{{\"k\": \"{}\"}}\n", hex(secret, "\\u00"))),
    ("plus", |random, secret| split(random, secret, "\" + \"")),
    ("plus over lines", |random, secret| split(random, secret, "\" +\n    \"")),
    ("adjacent literals", |random, secret| split(random, secret, "\"\n    \"")),
    ("dots", |random, secret| split(random, secret, "\" . \"")),
    ("continued line", |random, secret| split(random, secret, "\\\n")),
    ("reversed", |_, secret| format!("k = \"{}\"[::-1]\n", secret.chars().rev().collect::<String>())),
];

fn split(random: &mut Random, secret: &str, joint: &str) -> String {
    let first = 3 + random.number_below(secret.len() / 2);
    let second = first + 1 + random.number_below(secret.len() - first - 1);
    format!("k = \"{}{joint}{}{joint}{}\"\n", &secret[..first], &secret[first..second], &secret[second..])
}

fn hex(text: &str, before: &str) -> String {
    text.bytes().map(|byte| format!("{before}{byte:02x}")).collect()
}

fn url(text: &str) -> String {
    let spell = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(spell).collect()
}

fn base64(bytes: &[u8]) -> String {
    let alphabet = super::random::BASE64.as_bytes();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let is_filled = place <= group.len();
            let sextet = (number >> (18 - 6 * place)) as usize & 63;
            text.push(if is_filled { char::from(alphabet[sextet]) } else { '=' });
        }
    }
    text
}

fn wrapped(text: &str) -> String {
    let lines = text.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
    lines.collect()
}
