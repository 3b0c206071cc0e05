//! Secrets of every kind in every encoding, in the middle of text as runs leave it behind.

use super::encode;
use super::kinds::{self, Secret};
use super::random::{HEX, Random};

/// Encoding in which a secret is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoded {
    Plain,
    Base64,
    Hex,
    Url,
    Json,
}

/// Every encoding.
pub const ENCODINGS: [Encoded; 5] = [Encoded::Plain, Encoded::Base64, Encoded::Hex, Encoded::Url, Encoded::Json];

/// A text with one secret in it.
#[derive(Debug)]
pub struct Planted {
    pub kind: &'static str,
    pub encoded: Encoded,
    pub text: String,
    /// Range of the secret as it is written there; its name, if it needs one, is part of it.
    pub at: std::ops::Range<usize>,
}

/// Every kind in every encoding, `rounds` times, each time another secret in another place.
pub fn all(seed: u64, rounds: usize) -> Vec<Planted> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for _ in 0..rounds {
        for encoded in ENCODINGS {
            for secret in kinds::all(&mut random) {
                all.push(plant(&secret, encoded, &mut random));
            }
        }
    }
    all
}

fn plant(secret: &Secret, encoded: Encoded, random: &mut Random) -> Planted {
    let (before, written, after) = match encoded {
        Encoded::Plain => plain(secret, random),
        _ => {
            let (before, after) = random.pick(&[
                &("{\"level\":\"debug\",\"body\":\"", "\",\"status\":200}\n"),
                &("payload: \"", "\"\n"),
                &("+    blob = \"", "\"\n"),
                &("curl -s 'https://api.internal/v1/import?data=", "'\n"),
            ]);
            ((*before).to_owned(), written(secret, encoded, random), (*after).to_owned())
        }
    };
    let (count_before, count_after) = (random.within(1, 12), random.within(1, 12));
    let (noise_before, noise_after) = (noise(random, count_before), noise(random, count_after));
    let start = noise_before.len() + before.len();
    let at = start..start + written.len();
    Planted { kind: secret.kind, encoded, text: [noise_before, before, written, after, noise_after].concat(), at }
}

/// As people and programs write it down: what stands before, the secret with its name, what stands after.
fn plain(secret: &Secret, random: &mut Random) -> (String, String, String) {
    let value = &secret.value;
    let Some(name) = secret.name else {
        let (before, after) = random.pick(&[
            &("2026-11-15T06:05:11Z DEBUG client: using ", " for upstream\n"),
            &("+const UPSTREAM = \"", "\";\n"),
            &("  value: '", "'\n"),
            &("$ ./deploy.sh ", " --verbose\n"),
            &("    at connect (", ")\n"),
            &("export UPSTREAM=", "\n"),
            &("\"upstream\": \"", "\",\n"),
            &("args = [\"--upstream\", \"", "\"]\n"),
            &("\u{1b}[32m", "\u{1b}[0m\n"),
        ]);
        return ((*before).to_owned(), value.clone(), (*after).to_owned());
    };
    let lower = name.to_lowercase();
    let written = match random.below(6) {
        0 => format!("{name}={value}"),
        1 => format!("{name}=\"{value}\""),
        2 => format!("\"{lower}\": \"{value}\""),
        3 => format!("{lower}: {value}"),
        4 => format!("{lower} = '{value}'"),
        _ => format!("'{lower}' => '{value}'"),
    };
    let before = random.pick(&["", "export ", "+", "  ", "-e "]);
    (before.to_owned(), written, "\n".to_owned())
}

fn written(secret: &Secret, encoded: Encoded, random: &mut Random) -> String {
    let mut text = match secret.name {
        Some(name) => format!("{name}={}", secret.value),
        None => secret.value.clone(),
    };
    let variant = random.below(4);
    if matches!(encoded, Encoded::Base64 | Encoded::Hex) && variant < 2 {
        // Part of a file that was encoded as a whole, at any distance from its start.
        text = format!("{}\n{text}\n", &"# settings of the service, do not edit"[..random.within(5, 30)]);
    }
    match (encoded, variant) {
        (Encoded::Plain, _) => text,
        (Encoded::Base64, 0) if text.len() > 200 => encode::wrapped(&encode::base64(text.as_bytes(), true), 76, "\n"),
        (Encoded::Base64, 1) => encode::base64_url(text.as_bytes()),
        (Encoded::Base64, _) => encode::base64(text.as_bytes(), true),
        (Encoded::Hex, 3) => encode::hex(text.as_bytes()).to_uppercase(),
        (Encoded::Hex, _) => encode::hex(text.as_bytes()),
        (Encoded::Url, 3) => encode::url_full(&text),
        (Encoded::Url, _) => encode::url(&text),
        (Encoded::Json, 3) => encode::json_full(&text),
        (Encoded::Json, _) => encode::json(&text),
    }
}

/// Lines of a log, of a stack trace, of a diff.
pub fn noise(random: &mut Random, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..lines {
        let (time, words, number) = (random.time(), random.within(4, 12), random.below(9000));
        let words = random.words(words);
        text += &match random.below(6) {
            0 => format!("{time} INFO  [worker-{}] {words} id={} took {number}ms\n", number % 16, random.uuid()),
            1 => format!(
                "{{\"ts\":\"{time}\",\"level\":\"info\",\"msg\":\"{words}\",\"trace\":\"{}\"}}\n",
                random.text(HEX, 32)
            ),
            2 => format!("    at com.example.app.Service.call(Service.java:{number})\n"),
            3 => format!("-    {words}\n+    {words} {number}\n"),
            4 => format!("{time} WARN  https://www.example.com/v1/items/{number}?page=2 {words}\n"),
            _ => format!("commit {} {words}\n", random.text(HEX, 40)),
        };
    }
    text
}
