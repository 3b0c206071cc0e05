//! Colours of terminal output as classes. Everything that is no colour is shown as text,
//! and nothing is interpreted.

use contract::text::show_controls;

/// A piece of a line in one colour.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ColouredText {
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

/// Splits a line at its colour sequences (`ESC [ numbers m`), which are the only ones that
/// are read.
pub(crate) fn colour_line(line: &str) -> Vec<ColouredText> {
    let (mut parts, mut class, mut rest) = (Vec::new(), "", line);
    while let Some(at) = rest.find("\x1b[") {
        let Some((codes, after)) = read_colour(&rest[at + 2..]) else {
            // Not a colour: the escape is shown as text, with what follows it.
            push(&mut parts, class, &rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        push(&mut parts, class, &rest[..at]);
        class = class_of_codes(codes, class);
        rest = after;
    }
    push(&mut parts, class, rest);
    parts
}

/// Numbers of a colour sequence and the text behind it.
fn read_colour(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != ';')?;
    (end <= 32 && text[end..].starts_with('m')).then(|| (&text[..end], &text[end + 1..]))
}

fn class_of_codes(codes: &str, before: &'static str) -> &'static str {
    codes.split(';').fold(before, |class, code| match code {
        "" | "0" | "39" => "",
        "31" | "91" => "bad",
        "32" | "92" => "good",
        "33" | "93" => "hold",
        "2" | "90" => "dim",
        _ => class,
    })
}

fn push(parts: &mut Vec<ColouredText>, class: &'static str, text: &str) {
    if !text.is_empty() {
        parts.push(ColouredText { class, text: show_controls(text) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &str) -> Vec<(&'static str, String)> {
        colour_line(line).into_iter().map(|part| (part.class, part.text)).collect()
    }

    #[test]
    fn colours_become_classes() {
        let parts = plain("ok \x1b[32mpassed\x1b[0m, \x1b[1;31mfailed\x1b[m.");
        let expected = [("", "ok "), ("good", "passed"), ("", ", "), ("bad", "failed"), ("", ".")];
        assert_eq!(parts, expected.map(|(class, text)| (class, text.to_owned())));
    }

    #[test]
    fn everything_else_is_text() {
        for line in ["\x1b]8;;http://x\x1b\\link", "\x1b[2J", "\x1b[999", "\u{202e}gnp", "\x1b[31"] {
            let text: String = plain(line).into_iter().map(|(_, text)| text).collect();
            assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{line:?} gave {text:?}");
        }
    }
}
