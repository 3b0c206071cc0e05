//! Problems for people: the line in question, underlined, with advice.

use super::problem::{Problem, Problems, neutral};

const COLUMNS: usize = 100;
/// A longer line is shown as a window around the problem.
const LINE_CHARS: usize = 120;
const BEFORE: usize = 40;
const TAB: &str = "    ";

/// Appearance of rendered problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

impl Problems {
    /// All of them, with one gutter width, a blank line between.
    pub fn render_all(&self, style: Style) -> String {
        let gutter = self.problems.iter().map(|problem| gutter(problem.line)).max().unwrap_or_default();
        let each = self.problems.iter().map(|problem| problem.render_in(&self.text, style, gutter));
        each.collect::<Vec<_>>().join("\n")
    }
}

impl Problem {
    /// Renders the problem with its line of the file, underlined. `text` must be the text
    /// in which the problem was found.
    pub fn render_problem(&self, text: &str, style: Style) -> String {
        self.render_in(text, style, gutter(self.line))
    }

    fn render_in(&self, text: &str, style: Style, gutter: usize) -> String {
        let error = style.paint("1;31", "error");
        let place = format!("{}:{}:{}", neutral(&self.file), self.line, self.column);
        let mut out = format!("{error}: {}\n{:gutter$}--> {place}\n", self.message, "");
        let snippet = self.snippet(text, style, gutter);
        let notes = self.notes(style, snippet.is_some(), gutter);
        if snippet.is_some() || !notes.is_empty() {
            out += &format!("{:gutter$} |\n", "");
        }
        out += &snippet.unwrap_or_default();
        out + &notes
    }

    fn snippet(&self, text: &str, style: Style, gutter: usize) -> Option<String> {
        let line = text.lines().nth(self.line.checked_sub(1)?).filter(|_| self.length > 0)?;
        let window = Window::new(line, self.column.saturating_sub(1), self.length);
        let carets = style.paint("31", &"^".repeat(window.length));
        let hint = self.did_you_mean().map(|hint| format!(" {}", style.paint("36", &hint))).unwrap_or_default();
        Some(format!(
            "{:>gutter$} | {}\n{:gutter$} | {:indent$}{carets}{hint}\n{:gutter$} |\n",
            self.line,
            window.line,
            "",
            "",
            "",
            indent = window.indent,
        ))
    }

    fn notes(&self, style: Style, hint_shown: bool, gutter: usize) -> String {
        let hint = self.did_you_mean().filter(|_| !hint_shown).map(|hint| style.paint("36", &hint));
        let room = COLUMNS.saturating_sub(gutter + 3);
        let notes = self.note.iter().map(|note| wrap(note, room));
        let all = hint.map(|hint| vec![hint]).into_iter().chain(notes);
        all.map(|lines| bullet(&lines, gutter)).collect()
    }
}

fn bullet(lines: &[String], gutter: usize) -> String {
    let mark = |index| if index == 0 { '=' } else { ' ' };
    lines.iter().enumerate().map(|(index, line)| format!("{:gutter$} {} {line}\n", "", mark(index))).collect()
}

fn wrap(note: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn gutter(line: usize) -> usize {
    line.to_string().len().max(2)
}

/// The part of a source line that is shown, and where the carets go under it, in terminal
/// cells.
struct Window {
    line: String,
    indent: usize,
    length: usize,
}

impl Window {
    fn new(line: &str, start: usize, length: usize) -> Window {
        let long = line.chars().nth(LINE_CHARS).is_some();
        let skip = if long { start.saturating_sub(BEFORE) } else { 0 };
        let piece = |from: usize, to: usize| visible(line.chars().skip(from).take(to.saturating_sub(from)));
        let end = skip + LINE_CHARS;
        let (before, marked, after) =
            (piece(skip, start), piece(start, end.min(start + length)), piece(start + length, end));
        let head = if skip > 0 { "…" } else { "" };
        let tail = if line.chars().nth(end).is_some() { "…" } else { "" };
        Window {
            indent: cells(head) + cells(&before),
            length: cells(&marked).max(1),
            line: format!("{head}{before}{marked}{after}{tail}").trim_end().to_owned(),
        }
    }
}

fn visible(chars: impl Iterator<Item = char>) -> String {
    let text: String = chars.collect();
    text.split('\t').map(neutral).collect::<Vec<_>>().join(TAB)
}

fn cells(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// The blocks whose characters take two cells in practically every terminal.
fn is_wide(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}')
}
