//! Words that somebody else wrote, as Markdown: they stand in code, where a forge neither renders markup nor links or notifies anybody.

use std::fmt::Write as _;

use contract::text::{show_controls, shown_lines};

/// Paths, claims and commands that are listed before the rest is only counted: a body has a largest size.
pub(super) const LISTED: usize = 100;
/// Characters of one foreign text.
pub(super) const LONGEST: usize = 4000;
/// Bytes of a foreign text that is shown in a line.
pub(super) const LONGEST_INLINE: usize = 400;

// Writing to a String cannot fail, so the results of `write!` below are dropped.

/// A part that a reader opens. The empty lines let a forge read Markdown inside.
pub(super) fn fold(out: &mut String, title: &str, write: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "\n<details><summary>{title}</summary>\n");
    write(out);
    let _ = writeln!(out, "\n</details>");
}

/// Foreign texts as a list of code.
pub(super) fn code_items(out: &mut String, all: &[impl AsRef<str>]) {
    items(out, &all.iter().map(|one| code(one.as_ref())).collect::<Vec<_>>());
}

/// Lines that are safe already.
pub(super) fn items(out: &mut String, all: &[String]) {
    for one in all.iter().take(LISTED) {
        let _ = writeln!(out, "- {one}");
    }
    if all.len() > LISTED {
        let _ = writeln!(out, "- and {} more", all.len() - LISTED);
    }
}

/// Shortens a text to at most `longest` characters and marks the cut.
pub(super) fn shorten_text(text: &str, longest: usize) -> String {
    let mut cut: String = text.chars().take(longest).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The longest row of backticks.
fn longest_row(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

/// Foreign text as code within a line: one line, in more backticks than it has.
pub(super) fn code(text: &str) -> String {
    code_of(text, LONGEST_INLINE)
}

/// The same of a text that may be as long as a block.
pub(super) fn long_code(text: &str) -> String {
    code_of(text, LONGEST)
}

fn code_of(text: &str, longest: usize) -> String {
    let text = shorten_text(&show_controls(text), longest);
    let text = text.trim();
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    let fence = "`".repeat(longest_row(text) + 1);
    // A space keeps the text's own backticks from those around it; a renderer takes it away again.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Foreign text as a block of code, in a fence that it cannot end.
pub(super) fn code_block(text: &str) -> String {
    let text = shorten_text(&shown_lines(text), LONGEST);
    let fence = "`".repeat(longest_row(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}
