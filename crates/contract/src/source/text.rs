//! From bytes to text that is safe to parse and to show; and positions in it.

use super::node::Span;
use super::problem::{Fatal, Problem, SourceRule};

const MAX_BYTES: usize = 1 << 20;

/// A file that is no text, and as much of it as can be shown.
pub(super) struct Undecodable {
    pub(super) text: String,
    pub(super) problem: Fatal,
}

/// Checks size, UTF-8 and forbidden characters before anything is parsed. The error carries
/// the readable part for the message.
pub(super) fn decode_text(bytes: &[u8]) -> Result<&str, Undecodable> {
    if bytes.len() > MAX_BYTES {
        let problem = Problem::new(Span::DOCUMENT, SourceRule::TooLarge, "the file is larger than 1 MiB");
        return Err(Undecodable { text: String::new(), problem: problem.into() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    match forbidden(text) {
        Some((at, what)) => {
            let problem = Problem::new(position(text, at), SourceRule::Encoding, format!("the file holds {what}"));
            Err(Undecodable { text: text.to_owned(), problem: problem.into() })
        }
        None => Ok(text),
    }
}

fn not_utf8(bytes: &[u8], at: usize) -> Undecodable {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let problem = Problem::new(position(&text, at), SourceRule::Encoding, "the file is not UTF-8");
    Undecodable { text, problem: problem.into() }
}

/// Readers disagree about these, or a terminal would act on them.
fn forbidden(text: &str) -> Option<(usize, String)> {
    text.char_indices().find_map(|(at, c)| {
        let lone_return = c == '\r' && text.as_bytes().get(at + 1) != Some(&b'\n');
        let what = match c {
            '\0' => "a NUL byte".to_owned(),
            '\u{feff}' if at == 0 => "a byte order mark".to_owned(),
            '\r' if lone_return => "a carriage return without a line feed".to_owned(),
            '\n' | '\t' | '\r' => return None,
            c if c.is_control() => format!("the control character U+{:04X}", u32::from(c)),
            _ => return None,
        };
        Some((at, what))
    })
}

/// The place of the character that begins at `byte`.
pub(super) fn position(text: &str, byte: usize) -> Span {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Span { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1, length: 1 }
}
