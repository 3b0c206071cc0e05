//! Checks beyond the pattern: checksums if the format has one, and the distinction between
//! random values and placeholders.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::named::{is_name_or_path, is_plain, words};
use crate::rule::MatchCheck;

/// Lenient, since what was cut out of a text may lack its padding and its last bits.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// True if the match passes the rule's check.
pub(crate) fn passes(check: MatchCheck, secret: &[u8]) -> bool {
    match check {
        MatchCheck::Shape => true,
        MatchCheck::Random => is_random(secret),
        MatchCheck::Crc32Base62 => is_random(secret) && (has_crc32(secret) || is_generated(secret)),
        MatchCheck::Generated => is_random(secret) && is_generated(secret),
        MatchCheck::KeyNumber => KEY_NUMBERS.contains(&secret.len()) && is_random(secret) && is_generated(secret),
        MatchCheck::Jwt => is_jwt(secret),
        MatchCheck::NamePassword => is_name_and_password(secret),
        MatchCheck::PrivateKey => decoded(secret).is_some_and(|key| find(&key, b"PRIVATE KEY-----")),
        MatchCheck::Password => is_password(secret, 10),
        MatchCheck::UrlPassword => is_password(secret, 8),
        MatchCheck::Assigned => is_assigned(secret),
    }
}

/// Lengths of the private numbers of elliptic curves and of RSA in base64, without padding.
const KEY_NUMBERS: [usize; 15] = [42, 43, 63, 64, 75, 76, 87, 88, 170, 171, 341, 342, 512, 682, 683];

/// Words that occur in invented values and, at this length, not in random ones; and the
/// beginning of a storage emulator's published key.
const MADE_UP: [&str; 13] = [
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "dummy",
    "sample",
    "replace",
    "insert",
    "xxxxx",
    "secret_key",
    "eby8vdm02x",
];

/// Words that occur in values which are no secrets. Too short for values in which any
/// letters may meet.
const TELLING: [&str; 33] = [
    "test",
    "fake",
    "mock",
    "demo",
    "your",
    "todo",
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "default",
    "admin",
    "none",
    "null",
    "undefined",
    "hello",
    "enter",
    "invalid",
    "insecure",
    "foobar",
    "qwerty",
    "letmein",
    "hunter2",
    "s3cret",
    "s3cr3t",
    "sekret",
    "pa$$",
    "p@ss",
    "passw0rd",
    "changeit",
    "string",
];

/// Several kinds of characters, and not made of words: no person wrote it.
fn is_generated(secret: &[u8]) -> bool {
    let body = secret.iter().rposition(|byte| matches!(byte, b'_' | b'-')).map_or(secret, |at| &secret[at + 1..]);
    let body = if body.len() * 2 < secret.len() { secret } else { body };
    let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
    (digits > 0 || !is_plain(body))
        && kinds(body) >= 2
        && entropy(body) >= 2.8
        && words(body) * 3 <= body.len()
        && !holds_any(secret, &TELLING[..8])
}

fn is_random(secret: &[u8]) -> bool {
    let distinct = secret.iter().collect::<std::collections::BTreeSet<_>>().len();
    distinct >= secret.len().min(20) * 2 / 5 && !is_patterned(secret) && !holds_any(secret, &MADE_UP)
}

/// The same character again and again, an alphabet in order, or a short block repeated.
fn is_patterned(secret: &[u8]) -> bool {
    // In a long value a short run means nothing.
    let runs = |step, difference, least: usize| longest_run(secret, step, difference) >= least.max(secret.len() / 8);
    let repeats = |period: usize| secret.iter().zip(&secret[period..]).all(|(one, other)| one == other);
    runs(1, 0, 8) || runs(1, 1, 6) || runs(1, -1, 6) || runs(2, 1, 8) || (1..=secret.len() / 2).take(16).any(repeats)
}

/// The longest stretch in which each character is `difference` beyond the one `step` before it.
fn longest_run(secret: &[u8], step: usize, difference: i16) -> usize {
    let follows = |at: usize| {
        let [before, now] = [secret[at - step], secret[at]].map(|byte| byte.to_ascii_lowercase());
        now.is_ascii_alphanumeric() && i16::from(now) - i16::from(before) == difference
    };
    let (mut longest, mut run) = (0, 0);
    for at in step..secret.len() {
        run = if follows(at) { run + 1 } else { 0 };
        longest = longest.max(run + step);
    }
    longest
}

fn holds_any(secret: &[u8], words: &[&str]) -> bool {
    let lower = secret.to_ascii_lowercase();
    words.iter().any(|word| find(&lower, word.as_bytes()))
}

fn find(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// True if the last six characters are the CRC-32 of those before them, after the prefix
/// that ends in `_`.
fn has_crc32(secret: &[u8]) -> bool {
    let body = secret.iter().position(|byte| *byte == b'_').map_or(secret, |at| &secret[at + 1..]);
    let Some((body, sum)) = body.split_last_chunk::<6>() else { return false };
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'A'..=b'Z' => Some(u64::from(byte - b'A') + 10),
        b'a'..=b'z' => Some(u64::from(byte - b'a') + 36),
        _ => None,
    };
    let sum = sum.iter().try_fold(0, |sum, byte| Some(sum * 62 + digit(byte)?));
    sum == Some(u64::from(crc32(body)))
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn decoded(secret: &[u8]) -> Option<Vec<u8>> {
    let unbroken: Vec<u8> = secret.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(&unbroken).or_else(|_| URL_SAFE.decode(&unbroken)).ok()
}

fn is_jwt(secret: &[u8]) -> bool {
    let mut parts = secret.split(|byte| *byte == b'.');
    let header = parts.next().unwrap_or_default();
    parts.count() == 2
        && URL_SAFE.decode(header).is_ok_and(|header| {
            header.starts_with(b"{")
                && [&b"\"alg\""[..], b"\"typ\"", b"\"enc\""].into_iter().any(|name| find(&header, name))
        })
}

fn is_name_and_password(secret: &[u8]) -> bool {
    let Some(pair) = decoded(secret) else { return false };
    let Some(colon) = pair.iter().position(|byte| *byte == b':') else { return false };
    let password = &pair[colon + 1..];
    pair.iter().all(|byte| (b' '..=b'~').contains(byte)) && password.len() >= 6 && !is_written_by_hand(password)
}

/// True for three kinds of characters, or for two in a long, mixed value.
fn is_password(secret: &[u8], long: usize) -> bool {
    let kinds = kinds(secret);
    let is_mixed = secret.iter().any(u8::is_ascii_digit) || !is_plain(secret);
    let varied = kinds >= 3 || kinds == 2 && secret.len() >= long && is_mixed;
    varied
        && entropy(secret) >= 2.5
        && !is_expression(secret)
        && !is_written_by_hand(secret)
        && !is_name_or_path(secret)
}

/// Something that a program or a shell fills in, or bytes that are no text.
fn is_expression(secret: &[u8]) -> bool {
    if secret.iter().any(u8::is_ascii_control) {
        return true;
    }
    let opens = |opening: &[u8]| secret.starts_with(opening);
    [&b"$"[..], b"{", b"[", b"%(", b"<"].into_iter().any(opens)
        || find(secret, b"${")
        || find(secret, b"(")
        || find(secret, b"::")
}

fn is_assigned(secret: &[u8]) -> bool {
    let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = secret.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    // A long value of letters in both cases may have a single digit, or none.
    let mixed = digits >= 2 || secret.len() >= 24 && kinds(secret) >= 2 + digits.min(1) && !is_plain(secret);
    let least = if secret.len() >= 32 { 3.0 } else { 3.3 };
    mixed
        && letters >= 4
        && entropy(secret) >= least
        && !is_uuid(secret)
        && !is_written_by_hand(secret)
        && !is_name_or_path(secret)
}

/// Lower case, upper case, digits, anything else.
fn kinds(secret: &[u8]) -> usize {
    let kind = |is: fn(&u8) -> bool| usize::from(secret.iter().any(is));
    kind(u8::is_ascii_lowercase)
        + kind(u8::is_ascii_uppercase)
        + kind(u8::is_ascii_digit)
        + kind(u8::is_ascii_punctuation)
}

/// Placeholders, and names of things made of words.
fn is_written_by_hand(secret: &[u8]) -> bool {
    is_patterned(secret)
        || find(secret, b"...")
        || holds_any(secret, &MADE_UP)
        || holds_any(secret, &TELLING)
        || words(secret) * 2 > secret.len()
}

fn is_uuid(secret: &[u8]) -> bool {
    let groups: Vec<&[u8]> = secret.split(|byte| *byte == b'-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.concat().iter().all(u8::is_ascii_hexdigit)
}

/// Bits a character, by how often each is used.
fn entropy(secret: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in secret {
        counts[usize::from(*byte)] += 1;
    }
    let len = secret.len() as f64;
    let share = |count: &u32| f64::from(*count) / len;
    -counts.iter().filter(|count| **count > 0).map(share).map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_values_are_told_from_random_ones() {
        for (check, value, expected) in [
            (MatchCheck::Random, "q7Xv0ZrT2mB9cKfW4hNj", true),
            (MatchCheck::Random, "aaaaaaaaaaaaaaaaaaaa", false),
            (MatchCheck::Random, "abcdefghijklmnopqrst", false),
            (MatchCheck::Random, "a1b2c3d4e5f6g7h8i9j0", false),
            (MatchCheck::Random, "q7Xv0Zq7Xv0Zq7Xv0Z", false),
            (MatchCheck::Random, "IOSFODNN7EXAMPLE", false),
            (MatchCheck::Assigned, "9f8a1c3be07d45c2a6b1", true),
            (MatchCheck::Assigned, "123e4567-e89b-12d3-a456-426614174000", false),
            (MatchCheck::Assigned, "my-service-account-name-01", false),
            (MatchCheck::Assigned, "test-8f3a9c2e7b1d4a60", false),
            (MatchCheck::Password, "tr0ub4dor&3x", true),
            (MatchCheck::Password, "correcthorse", false),
            (MatchCheck::Password, "ChangeMe123!", false),
            (MatchCheck::Password, "hunter2", false),
            (MatchCheck::Assigned, "ed25519.Ed25519PrivateKey", false),
            (MatchCheck::Assigned, "x25519::StaticSecret", false),
            (MatchCheck::Assigned, "/etc/ssl/private/server-2024.key", false),
            (MatchCheck::Assigned, "~/.ssh/id_ed25519", false),
            (MatchCheck::Assigned, "config/keys/ed25519_2024.pem", false),
            (MatchCheck::Assigned, "rsa.RSAPrivateKeyWithSerialization", false),
            (MatchCheck::Assigned, "k3y.Zr7mB9cKfW4hNjL5s", true),
            (MatchCheck::Assigned, "KuDzYsWRVLTpcKWVLKpDMCzvQbAwJEsh", true),
            (MatchCheck::Assigned, "generateRandomAccessTokenValue", false),
            (MatchCheck::Password, "ANfBwEJIzEtXSY", true),
            (MatchCheck::Password, "getPasswordFromUser", false),
            (MatchCheck::UrlPassword, "tsjj3armflfru8ho", true),
            (MatchCheck::Assigned, "/q7Xv0ZrT2mB9cKfW4h+Nj", true),
        ] {
            assert_eq!(passes(check, value.as_bytes()), expected, "{check:?} {value}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_a_published_token() {
        let token = |sum: &str| ["gh", "p_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", sum].concat();
        assert!(has_crc32(token("0mLq17").as_bytes()));
        assert!(!has_crc32(token("0mLq18").as_bytes()));
    }
}
