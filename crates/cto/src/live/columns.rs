//! Columns of a terminal: how wide a text is, and a text cut to a width.

/// Columns that a character takes. East Asian wide characters and pictographs take two,
/// combining marks none.
pub(crate) fn char_width(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x610..=0x61a | 0x64b..=0x65f => 0,
        0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xe0100..=0xe01ef => {
            0
        }
        0x1100..=0x115f | 0x231a..=0x231b | 0x23e9..=0x23ec | 0x2e80..=0x303e | 0x3041..=0xa4cf => 2,
        0xa960..=0xa97f | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 => 2,
        0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f900..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Columns that a text without escape sequences takes.
pub(crate) fn text_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The beginning of a text that fits, with a mark where it was cut.
pub(crate) fn cut_end(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut out = take_columns(text.chars(), width.saturating_sub(1));
    if width > 0 {
        out.push('…');
    }
    out
}

/// Both ends of a text that fits, with a mark between them: the end of a path says more
/// than its middle.
pub(crate) fn cut_middle(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let rest = width.saturating_sub(1);
    let tail: String = take_columns(text.chars().rev(), rest - rest / 2).chars().rev().collect();
    let mark = if width > 0 { "…" } else { "" };
    format!("{}{mark}{tail}", take_columns(text.chars(), rest / 2))
}

fn take_columns(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += char_width(*character);
        used <= width
    };
    characters.take_while(fits).collect()
}

/// A text without its escape sequences: colours of a test runner are of no use in a line
/// that is cut.
pub(crate) fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('\u{1b}', Some('[')) => {
                rest.next();
                while rest.next_if(|it| !('@'..='~').contains(it)).is_some() {}
                rest.next();
            }
            ('\u{1b}', Some(']')) => while rest.next().is_some_and(|it| it != '\u{7}' && it != '\\') {},
            ('\t', _) => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_columns_and_not_to_characters() {
        for (text, width, end, middle) in [
            ("abcdef", 6, "abcdef", "abcdef"),
            ("abcdef", 5, "abcd…", "ab…ef"),
            ("src/a/b/strings.py", 11, "src/a/b/st…", "src/a…gs.py"),
            ("日本語の名前", 7, "日本語…", "日…名前"),
            ("abc", 1, "…", "…"),
            ("abc", 0, "", ""),
        ] {
            assert_eq!(cut_end(text, width), end, "{text}");
            assert!(text_width(&cut_middle(text, width)) <= width, "{text}");
            if !text.starts_with('日') {
                assert_eq!(cut_middle(text, width), middle, "{text}");
            }
        }
    }

    #[test]
    fn colours_and_links_of_a_runner_are_taken_out() {
        let text = "\u{1b}[1;32mok\u{1b}[0m \u{1b}]8;;http://a\u{7}name\u{1b}]8;;\u{7}\tend\u{1b}";
        assert_eq!(strip_escapes(text), "ok name end\u{1b}");
    }
}
