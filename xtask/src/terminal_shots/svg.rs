//! Lines of a terminal with their colours as a small SVG.

use std::fmt::Write as _;

/// Width of a character and distance of two lines, for the size of the font below.
const CHARACTER: f64 = 7.8;
const LINE: usize = 19;
const MARGIN: f64 = 22.0;
const TOP: usize = 62;
const PLAIN: &str = "#e6edf3";
const DIM: &str = "#8b949e";

/// Look of a piece of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Look {
    color: Option<&'static str>,
    is_bold: bool,
    is_dim: bool,
}

impl Look {
    fn fill(&self) -> &'static str {
        self.color.unwrap_or(if self.is_dim { DIM } else { PLAIN })
    }

    /// Takes the parameters of an escape sequence that sets colours.
    fn set(&mut self, parameters: &str) {
        for number in parameters.split(';') {
            match number.parse().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                39 => self.color = None,
                code @ (30..=37 | 90..=97) => self.color = Some(color(code % 10)),
                _ => {}
            }
        }
    }
}

const fn color(number: u32) -> &'static str {
    match number {
        1 => "#f85149",
        2 => "#3fb950",
        3 => "#d29922",
        4 => "#58a6ff",
        5 => "#bc8cff",
        6 => "#39c5cf",
        0 => DIM,
        _ => PLAIN,
    }
}

/// A word or more of one look, at its column.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    column: usize,
    text: String,
    look: Look,
}

/// Splits a line into pieces; where there are two spaces or more a new one begins, so that columns stay where they are.
fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut look, mut column, mut spaces) = (Look::default(), 0, 2);
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest, &mut look),
            ' ' => {
                (column, spaces) = (column + 1, spaces + 1);
            }
            _ => {
                match pieces.last_mut().filter(|piece| spaces < 2 && piece.look == look) {
                    Some(piece) => {
                        piece.text.extend(std::iter::repeat_n(' ', spaces));
                        piece.text.push(character);
                    }
                    None => pieces.push(Piece { column, text: character.to_string(), look: look.clone() }),
                }
                (column, spaces) = (column + 1, 0);
            }
        }
    }
    pieces
}

/// Reads an escape sequence to its end. One that sets colours changes the look; links and all others are passed over.
fn skip_escape(rest: &mut std::str::Chars<'_>, look: &mut Look) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for character in rest.by_ref() {
                match character {
                    'm' => return look.set(&parameters),
                    '@'..='~' => return,
                    _ => parameters.push(character),
                }
            }
        }
        Some(']') => while !matches!(rest.next(), None | Some('\u{7}' | '\\')) {},
        // A character set takes one more.
        Some('(' | ')') => drop(rest.next()),
        _ => {}
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws the command that was typed and the screen below it.
pub(super) fn draw_screen(label: &str, typed: &str, lines: &[&str]) -> String {
    let end = lines.iter().rposition(|line| !pieces(line).is_empty()).map_or(0, |last| last + 1);
    let drawn: Vec<Vec<Piece>> = [typed].iter().chain(&lines[..end]).map(|line| pieces(line)).collect();
    let (width, height) = (824, TOP + drawn.len() * LINE + 5);
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    );
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>");
    out.push_str("<g fill=\"#30363d\"><circle cx=\"24\" cy=\"20\" r=\"6\"/><circle cx=\"44\" cy=\"20\" r=\"6\"/><circle cx=\"64\" cy=\"20\" r=\"6\"/></g>\n");
    out.push_str("<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\">\n");
    for (row, line) in drawn.iter().enumerate() {
        for piece in line {
            write_piece(&mut out, piece, TOP + row * LINE);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

#[expect(clippy::cast_precision_loss, reason = "a terminal has a hundred columns")]
fn write_piece(out: &mut String, piece: &Piece, y: usize) {
    let x = MARGIN + piece.column as f64 * CHARACTER;
    let length = piece.text.chars().count() as f64 * CHARACTER;
    let bold = if piece.look.is_bold { " font-weight=\"bold\"" } else { "" };
    let (fill, text) = (piece.look.fill(), escape(&piece.text));
    let _ =
        writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\" fill=\"{fill}\"{bold}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_their_columns_and_colours() {
        let found = pieces("\u{1b}[1m\u{1b}[32mpass\u{1b}[0m  a <b>  \u{1b}[2m3 ms\u{1b}[m");
        let told: Vec<_> =
            found.iter().map(|it| (it.column, it.text.as_str(), it.look.fill(), it.look.is_bold)).collect();
        assert_eq!(told, [(0, "pass", "#3fb950", true), (6, "a <b>", PLAIN, false), (13, "3 ms", DIM, false)],);
    }

    #[test]
    fn links_and_other_sequences_leave_only_their_text() {
        let found = pieces("\u{1b}]8;;file:///x\u{1b}\\b9tc\u{1b}]8;;\u{1b}\\ \u{1b}(B\u{1b}[Kend");
        assert_eq!(found.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["b9tc end"]);
    }

    #[test]
    fn a_picture_is_escaped_and_ends_with_its_last_line() {
        let picture = draw_screen("a \"b\"", "$ cto x", &["one < two", "", "   ", ""]);
        assert!(picture.contains("aria-label=\"a &quot;b&quot;\"") && picture.contains(">one &lt; two</text>"));
        assert_eq!(picture.matches("<text ").count(), 2, "{picture}");
        assert!(picture.contains("height=\"105\""), "{picture}");
    }
}
