//! Output of the program: stdout for results, stderr for progress and diagnostics, colour
//! only if it is wanted.

use std::io::{self, IsTerminal as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use contract::Status;
use contract::remedy::split_tokens;
pub(crate) use contract::text::wrap;
use serde::Serialize;

use crate::error::{CommandError, ErrorKind};

/// Narrower than this no text is wrapped.
const MIN_WRAP: usize = 20;

/// Form of a command's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// stdout is a terminal: aligned, for people.
    pub(crate) terminal: bool,
    /// stderr is a terminal and progress is drawn on it, in place.
    pub(crate) progress: bool,
    /// Progress is written to stderr as a line a step, and nothing is redrawn.
    pub(crate) step_lines: bool,
    pub(crate) paint: Paint,
    pub(crate) paint_errors: Paint,
    pub(crate) width: usize,
}

/// Colour or its absence. Every meaning is also a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
    /// The locale can show arrows and ticks.
    pub(crate) unicode: bool,
    /// The terminal shows OSC 8 hyperlinks.
    pub(crate) links: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Verdict in its colour.
    pub(crate) fn paint_status(self, status: Status) -> String {
        self.with(Self::status_code(status, "1;"), status.as_str())
    }

    /// A word in the colour of a verdict, not bold.
    pub(crate) fn like(self, status: Status, text: &str) -> String {
        self.with(Self::status_code(status, ""), text)
    }

    fn status_code(status: Status, bold: &'static str) -> &'static str {
        match (status, bold.is_empty()) {
            (Status::Pass, false) => "1;32",
            (Status::Pass, true) => "32",
            (Status::Fail, false) => "1;31",
            (Status::Fail, true) => "31",
            (Status::Blocked, false) => "1;33",
            (Status::Blocked, true) => "33",
        }
    }

    /// Word of a live run in its colour.
    pub(crate) fn running(self) -> String {
        self.with("1;34", "running")
    }

    /// Word of a stopping run in its colour.
    pub(crate) fn stopping(self) -> String {
        self.with("1;33", "stopping")
    }

    /// A word in the colour of what runs.
    pub(crate) fn like_running(self, text: &str) -> String {
        self.with("34", text)
    }

    /// Text that leads to a folder or a file, where the terminal can follow it.
    pub(crate) fn paint_link(self, path: &Path, text: &str) -> String {
        if !self.links || !path.is_absolute() {
            return text.to_owned();
        }
        format!("\x1b]8;;file://{}\x1b\\{text}\x1b]8;;\x1b\\", encode_path(path))
    }

    /// Text in the colour of errors.
    pub(crate) fn error(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// Words about an approval past the policy, which no verdict looks like.
    pub(crate) fn break_glass(self, text: &str) -> String {
        self.with("1;7;31", text)
    }

    /// Proof that is for something else.
    pub(crate) fn stale(self, text: &str) -> String {
        self.with("35", text)
    }

    /// Text that stands back.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Command to type, in its colour.
    pub(crate) fn command(self, text: &str) -> String {
        self.with("36", text)
    }

    /// Arrow, in ASCII if the terminal needs it.
    pub(crate) fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// Mark of something that holds.
    pub(crate) fn tick(self) -> String {
        self.like(Status::Pass, if self.unicode { "✓" } else { "ok" })
    }

    /// Mark of something that does not hold.
    pub(crate) fn cross(self) -> String {
        self.like(Status::Blocked, if self.unicode { "✗" } else { "no" })
    }
}

impl Output {
    /// Prints a result.
    pub(crate) fn print(self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// Prints bytes to stdout as they are.
    pub(crate) fn print_bytes(self, bytes: &[u8]) {
        write_stdout(bytes);
    }

    /// One JSON document, as it is on disk; a newline only for a person's prompt.
    pub(crate) fn print_json_bytes(self, bytes: &[u8]) {
        self.print_bytes(bytes);
        if self.terminal {
            self.print("\n");
        }
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn print_json<T: Serialize>(self, value: &T) -> Result<(), CommandError> {
        let mut text = serde_json::to_string(value)?;
        text.push('\n');
        self.print(&text);
        Ok(())
    }

    /// Prints to stderr. A reader that went away is no error.
    pub(crate) fn print_note(self, text: &str) {
        let _ = write_all(&mut io::stderr().lock(), text.as_bytes());
    }

    /// An error, once, with what to do.
    pub(crate) fn error(self, error: &CommandError) {
        let paint = self.paint_errors;
        if let Some(problems) = &error.problems {
            for problem in &problems.problems {
                let people = io::stderr().is_terminal();
                let text = if people {
                    problem.render_problem(&problems.text, contract::source::Style { color: paint.color })
                } else {
                    problem.plain()
                };
                self.print_note(&format!("{}\n", text.trim_end()));
            }
        }
        let head = match error.kind {
            _ if error.problems.is_some() => String::new(),
            ErrorKind::Blocked => format!("{}: ", paint.error("blocked")),
            _ => format!("{}: ", paint.error("error")),
        };
        self.print_note(&format!("{head}{}\n", contract::text::shown_lines(&error.message)));
        if let Some(hint) = &error.hint {
            self.print_note(&format!("{}  {}\n", paint.dim("next"), paint.command(hint)));
        }
        if self.json {
            print_error_document(error);
        }
    }

    /// Sentences after `indent` columns, each further line under the first. The first
    /// line's indent is the caller's.
    pub(crate) fn hang(self, indent: usize, text: &str) -> String {
        wrap(text, self.width.saturating_sub(indent).max(MIN_WRAP)).join(&format!("\n{}", " ".repeat(indent)))
    }

    /// The line with a command: after an arrow, and continued as a shell reads it where it
    /// is longer than the line.
    pub(crate) fn command_line(self, indent: usize, command: &str) -> String {
        let (arrow, pad) = (self.paint.arrow(), " ".repeat(indent));
        let inner = indent + arrow.chars().count() + 1;
        let fits = inner + command.chars().count() <= self.width;
        let room = if fits { usize::MAX } else { self.width.saturating_sub(inner + 2).max(MIN_WRAP) };
        let lines: Vec<String> = wrap_command(command, room).iter().map(|line| self.paint.command(line)).collect();
        format!("{pad}{arrow} {}\n", lines.join(&format!(" \\\n{}", " ".repeat(inner))))
    }

    /// A first line with its right-hand column, at most as wide as the terminal.
    pub(crate) fn headline(self, left: &str, left_width: usize, right: &str) -> String {
        let space = self.width.saturating_sub(left_width + right.chars().count());
        if space < 2 { left.to_owned() } else { format!("{left}{}{}", " ".repeat(space), self.paint.dim(right)) }
    }
}

/// Lines of at most `width` columns, broken between the words of a shell alone: inside of quotes a new line is text.
fn wrap_command(command: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in split_tokens(command) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Path as part of an address: everything but plain characters is percent-encoded, so that
/// nothing in it can end the sequence.
fn encode_path(path: &Path) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes.map(|byte| if is_plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Prints the error document that `--json` gives instead of a result.
pub(crate) fn print_error_document(error: &CommandError) {
    write_stdout(format!("{}\n", error_document(error)).as_bytes());
}

fn error_document(error: &CommandError) -> serde_json::Value {
    match &error.problems {
        Some(problems) => serde_json::json!({"errors": problems.problems, "status": "invalid"}),
        None => {
            serde_json::json!({"errors": [{"hint": error.hint, "message": error.message}], "status": match error.kind {
                ErrorKind::Usage => "invalid",
                ErrorKind::Fail => "fail",
                ErrorKind::Blocked => "blocked",
            }})
        }
    }
}

/// A reader that went away is not an error of ours. A full disk is: half a patch must not
/// pass for a whole one.
fn write_stdout(bytes: &[u8]) {
    match write_all(&mut io::stdout().lock(), bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ =
                write_all(&mut io::stderr().lock(), format!("error: cannot write the answer: {error}\n").as_bytes());
            std::process::exit(ErrorKind::Blocked.exit_code().into());
        }
        _ => {}
    }
}

fn write_all(to: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// `40 ms`, `9.2 s`, `5:18`.
pub(crate) fn duration(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{:.1} s", span.as_secs_f64()),
        _ => format!("{}:{:02}", span.as_secs() / 60, span.as_secs() % 60),
    }
}

/// Duration for people.
pub(crate) fn duration_text(ms: u64) -> String {
    duration(Duration::from_millis(ms))
}

/// `512 B`, `1.5 kB`, `3.2 MB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (number as f64, 0);
    while value >= 999.5 && unit < UNITS.len() - 1 {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1 file`, `2 files`.
pub(crate) fn count_text(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_the_same_when_it_is_pasted() {
        let command = "cto request --brief 'fix the crash in parse() when a line is empty' --allow src/ --stage 4";
        for width in [20, 30, 60, 200] {
            let lines = wrap_command(command, width);
            let pasted = lines.join(" \\\n    ");
            let (pasted, wanted) = (shell_words::split(&pasted), shell_words::split(command));
            assert_eq!(pasted.ok(), wanted.ok(), "{width}");
        }
        assert!(wrap_command(command, 30).len() > 2, "control: it is broken");
        let broken = wrap(command, 30).join(" \\\n    ");
        assert_ne!(
            shell_words::split(&broken).ok(),
            shell_words::split(command).ok(),
            "control: words of prose break quotes"
        );
    }
}
