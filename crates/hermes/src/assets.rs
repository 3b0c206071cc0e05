//! Files that are part of the program: style, script, icon, and the panel for another host.

use axum::http::StatusCode;
use axum::response::Response;

use crate::respond::with_body;

const CACHE: &str = "no-cache";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Script of the panel, also written by `cto hermes install`.
pub const PANEL_SCRIPT: &str = include_str!("../assets/cto_control_panel.js");
/// Style of the panel.
pub const PANEL_STYLE: &str = include_str!("../assets/cto_control_panel.css");

/// Style sheet of the console.
pub(crate) const CONSOLE_STYLE: &str = include_str!("../assets/console.css");
/// Script of the console.
pub(crate) const CONSOLE_SCRIPT: &str = include_str!("../assets/console.js");

/// Style sheet of the console.
pub(crate) async fn console_style() -> Response {
    asset(STYLE, CONSOLE_STYLE)
}

/// Script of the console.
pub(crate) async fn console_script() -> Response {
    asset(SCRIPT, CONSOLE_SCRIPT)
}

/// Icon of the console.
pub(crate) async fn console_icon() -> Response {
    asset("image/svg+xml", include_str!("../assets/icon.svg"))
}

/// Script of the panel in another host.
pub(crate) async fn panel_script() -> Response {
    asset(SCRIPT, PANEL_SCRIPT)
}

/// Style sheet of the panel in another host.
pub(crate) async fn panel_style() -> Response {
    asset(STYLE, PANEL_STYLE)
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    with_body(StatusCode::OK, kind, CACHE, text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::text::show_controls;

    const CHECKS_SCRIPT: &str = include_str!("../assets/run_file/checks.js");

    /// The line that makes text printable.
    fn neutral_line(script: &str) -> &str {
        let line = script.lines().find(|line| line.trim_start().starts_with("const neutral = "));
        line.expect("the function that makes text printable").trim_start()
    }

    /// Ranges of the character class of that line.
    fn ranges_of(line: &str) -> Vec<(u32, u32)> {
        let class = line.split("replace(/[").nth(1).and_then(|rest| rest.split("]/gu").next()).expect("a class");
        let mut points: Vec<(u32, bool)> = Vec::new();
        for part in class.split("\\u").skip(1) {
            let digits: String = part.chars().filter(char::is_ascii_hexdigit).collect();
            points.push((u32::from_str_radix(&digits, 16).expect("a code point"), part.ends_with('-')));
        }
        let mut ranges = Vec::new();
        let mut all = points.into_iter();
        while let Some((from, is_range)) = all.next() {
            let to = if is_range { all.next().expect("an end").0 } else { from };
            ranges.push((from, to));
        }
        ranges
    }

    /// Each character is shown by script exactly if the server shows it otherwise than it is.
    #[test]
    fn scripts_neutralise_the_same_characters_as_the_server() {
        let line = neutral_line(CONSOLE_SCRIPT);
        assert_eq!(line, neutral_line(CHECKS_SCRIPT));
        let ranges = ranges_of(line);
        for character in '\0'..=char::MAX {
            let point = u32::from(character);
            let in_script = ranges.iter().any(|(from, to)| (*from..=*to).contains(&point));
            let text = character.to_string();
            assert_eq!(in_script, show_controls(&text) != text, "{point:x}");
        }
        assert_eq!(
            (show_controls("\u{1b}"), show_controls("\u{7f}"), show_controls("\u{ad}")),
            ("␛".into(), "\u{2421}".into(), "\\u{ad}".into())
        );
    }
}
