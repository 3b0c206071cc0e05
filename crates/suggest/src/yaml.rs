//! YAML that people read: scalars that stay text, and comments that stay comments whatever
//! they hold.

use std::fmt::Write as _;

use contract::text::{show_controls, wrap};
use serde_json::json;

const WIDTH: usize = 100;

/// Writes a comment. Foreign names may be part of it, so it is made safe to print and stays
/// a comment whatever they contain.
pub(crate) fn write_comment(out: &mut String, indent: &str, text: &str) {
    for line in wrap(&show_controls(text), WIDTH) {
        let _ = writeln!(out, "{indent}# {line}");
    }
}

/// Plain where YAML takes it for nothing but text, else quoted as JSON is, which YAML reads
/// too.
pub(crate) fn scalar(text: &str) -> String {
    let rest = text.strip_prefix("--").or_else(|| text.strip_prefix(['-', '.'])).unwrap_or(text);
    let starts = text.starts_with('/') || rest.starts_with(|first: char| first.is_ascii_alphabetic());
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'=' | b'+' | b'@');
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n" | ".inf" | ".nan"
    );
    if starts && !word && text.bytes().all(plain) { text.to_owned() } else { json!(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        for (text, written) in [
            ("npm", "npm"),
            ("--no-index", "--no-index"),
            ("/opt/a b", "\"/opt/a b\""),
            ("-mod=vendor", "-mod=vendor"),
            ("-1", "\"-1\""),
            ("---", "\"---\""),
            ("..a", "\"..a\""),
            (".venv/bin", ".venv/bin"),
            (".", "\".\""),
            ("off", "\"off\""),
            ("1.0", "\"1.0\""),
            ("^$", "\"^$\""),
            ("a: b #c", "\"a: b #c\""),
            ("a\nsetup: []", "\"a\\nsetup: []\""),
            ("", "\"\""),
        ] {
            assert_eq!(scalar(text), written, "{text:?}");
        }
    }

    #[test]
    fn a_comment_is_one_whatever_it_holds() {
        let mut out = String::new();
        write_comment(&mut out, "  ", "a\n- argv: [rm]\r\u{85}\u{2028}b");
        assert_eq!(out, "  # a␊- argv: [rm]␍\\u{85}\\u{2028}b\n");
    }
}
