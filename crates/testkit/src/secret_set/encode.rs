//! Encodings, written from their specifications and without the libraries that the scanner uses.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64, with or without padding.
pub fn base64(bytes: &[u8], padded: bool) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]));
        }
    }
    while padded && !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// URL-safe base64 without padding.
pub fn base64_url(bytes: &[u8]) -> String {
    base64(bytes, false).replace('+', "-").replace('/', "_")
}

/// As the `base64` program and MIME write it.
pub fn wrapped(text: &str, columns: usize, line_end: &str) -> String {
    let lines: Vec<&str> = text.as_bytes().chunks(columns).filter_map(|line| str::from_utf8(line).ok()).collect();
    lines.join(line_end)
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As `encodeURIComponent` does.
pub fn url(text: &str) -> String {
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    text.bytes().map(|byte| if keeps(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Every byte as a percent escape.
pub fn url_full(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A JSON string's content, with the slash escaped as PHP does.
pub fn json(text: &str) -> String {
    let escaped = |character: char| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '/' => "\\/".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Every character as a JSON escape.
pub fn json_full(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}
