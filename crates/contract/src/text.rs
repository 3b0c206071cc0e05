//! Making foreign text safe to print.

use std::fmt::Write as _;

/// `text` with control characters shown as pictures, so that an engine's words can neither
/// move the cursor nor pass for ours. Line breaks are shown too: the result is one line.
pub fn show_controls(text: &str) -> String {
    // Nearly all text is plain.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_shown(&mut out, character);
    }
    out
}

/// The same for text of several lines: `\n` and `\t` stay.
pub fn shown_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            other => push_shown(&mut out, other),
        }
    }
    out
}

fn push_shown(out: &mut String, character: char) {
    match character {
        '\u{7f}' => out.push('␡'),
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + u32::from(character)).unwrap_or('␛')),
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        }
        other => out.push(other),
    }
}

/// `text` as one word that a person can paste into a shell.
pub fn shell_word(text: &str) -> String {
    show_controls(&shell_words::quote(text))
}

/// `a, b and 3 more`: as many as may be named, and how many there are besides.
pub fn listed(names: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut names = names.into_iter();
    let named: Vec<String> = names.by_ref().take(most).collect();
    let more = names.count();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", named.join(", "))
}

/// `$0.051`; more digits where it is less than that can show.
pub fn money_text(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    if micros > 0 && micros < 1000 { format!("${whole}.{part:06}") } else { format!("${whole}.{:03}", part / 1000) }
}

/// Breaks a sentence into lines of at most `width`.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A path's bytes as text for artifacts: UTF-8 as it is, anything else with `\xNN`.
pub fn path_text(bytes: &[u8]) -> String {
    bytes.utf8_chunks().fold(String::with_capacity(bytes.len()), |mut out, chunk| {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_pictures() {
        insta::assert_snapshot!(show_controls("a\u{1b}[31mb\nc\u{9b}d\u{202e}e"), @r"a␛[31mb␊c\u{9b}d\u{202e}e");
        insta::assert_snapshot!(shown_lines("a\tb\r\nc"), @"
        a	b␍
        c
        ");
        assert_eq!(path_text(b"a\xffb"), "a\\xffb");
    }

    #[test]
    fn a_word_for_a_shell_is_one_word() {
        for (text, word) in [("/srv/site", "/srv/site"), ("/srv/my site", "'/srv/my site'"), ("a\u{1b}", "a␛")] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn only_some_are_named() {
        for (count, expected) in [(0, ""), (1, "0"), (2, "0, 1"), (3, "0, 1 and 1 more"), (5, "0, 1 and 3 more")] {
            assert_eq!(listed((0..count).map(|name| name.to_string()), 2), expected);
        }
    }
}
