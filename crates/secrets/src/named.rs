//! Distinguishes chosen names from generated values: words, identifiers of programs, paths
//! to files.

/// The name of a thing in a program, or a path to a file: `ed25519.Ed25519PrivateKey`,
/// `/etc/keys/server-2.pem`.
pub(crate) fn is_name_or_path(secret: &[u8]) -> bool {
    let opens = |opening: &[u8]| secret.starts_with(opening);
    let is_path = [&b"/"[..], b"./", b"../", b"~/", b"C:", b"file:"].into_iter().any(opens)
        && secret.split(|byte| *byte == b'/').all(is_plain);
    is_path || has_file_ending(secret) || is_qualified_name(secret) || is_spoken_name(secret)
}

fn has_file_ending(secret: &[u8]) -> bool {
    const ENDINGS: [&str; 40] = [
        "pem", "key", "crt", "cer", "der", "p12", "pfx", "jks", "pub", "ppk", "asc", "gpg", "csr", "json", "yaml",
        "yml", "toml", "txt", "ini", "conf", "cfg", "env", "py", "rs", "go", "js", "ts", "java", "rb", "sh", "log",
        "xml", "html", "md", "csv", "sql", "db", "sock", "php", "com",
    ];
    let ending = secret.iter().rposition(|byte| *byte == b'.').map(|at| &secret[at + 1..]);
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(ending)))
}

/// True for identifiers joined by dots or colons, none of which looks random.
fn is_qualified_name(secret: &[u8]) -> bool {
    let parts: Vec<&[u8]> = secret.split(|byte| matches!(byte, b'.' | b':')).filter(|part| !part.is_empty()).collect();
    let is_identifier = |part: &&[u8]| {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        part.iter().all(is_word) && part.first().is_some_and(|byte| !byte.is_ascii_digit()) && is_plain(part)
    };
    parts.len() >= 2 && parts.iter().all(is_identifier)
}

/// Mostly words that can be spoken, or the name of a key, with few changes between letters,
/// digits and cases.
fn is_spoken_name(secret: &[u8]) -> bool {
    let letters = secret.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_hex = secret.iter().all(u8::is_ascii_hexdigit);
    let names_a_key = [&b"Key"[..], b"Token", b"Secret", b"Password"].into_iter().any(|noun| secret.ends_with(noun));
    let is_name = secret.first().is_some_and(u8::is_ascii_alphabetic) && !is_hex && is_plain(secret);
    is_name && (names_a_key || words_of(secret, 4, 3) * 2 >= letters)
}

/// True if digits and letters, and cases, change so rarely that a person chose the name.
pub(crate) fn is_plain(part: &[u8]) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 1,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        _ => 0,
    };
    // A large initial belongs to its word, and what is no letter or digit to nothing.
    let is_change = |pair: &&[u8]| {
        let (one, other) = (kind(pair[0]), kind(pair[1]));
        one != other && one != 0 && other != 0 && (one, other) != (3, 2)
    };
    // Random letters change case at one in four; with digits among them they change more often.
    let seldom = if part.iter().any(u8::is_ascii_digit) { 4 } else { 6 };
    let changes = part.windows(2).filter(is_change).count();
    changes <= 1 || changes * seldom <= part.len()
}

/// Number of characters in words of five letters or more.
pub(crate) fn words(secret: &[u8]) -> usize {
    words_of(secret, 5, 4)
}

/// Number of characters in words: runs of at least `shortest` letters of one case, an
/// upper-case initial allowed, with a vowel in every `vowel_in` letters.
fn words_of(secret: &[u8], shortest: usize, vowel_in: usize) -> usize {
    let letters = secret.split(|byte| !byte.is_ascii_alphabetic());
    let parts = letters
        .flat_map(|letters| letters.chunk_by(|one, other| !(one.is_ascii_lowercase() && other.is_ascii_uppercase())));
    let is_vowel = |byte: &&u8| b"aeiou".contains(&byte.to_ascii_lowercase());
    let is_word = |part: &&[u8]| {
        let one_case = part.iter().skip(1).all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_uppercase);
        part.len() >= shortest && one_case && part.iter().filter(is_vowel).count() * vowel_in >= part.len()
    };
    parts.filter(is_word).map(<[u8]>::len).sum()
}
