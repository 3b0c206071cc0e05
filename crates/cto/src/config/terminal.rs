//! The terminal: its size, and whether it shows hyperlinks.

use std::ffi::OsString;
use std::io;

use rustix::termios::tcgetwinsize;

use super::variable;

/// Size of a terminal that does not tell its own.
const USUAL: (usize, usize) = (80, 24);

/// Columns below which nothing can be laid out.
const LEAST: usize = 20;

/// Terminals that show OSC 8 links, by the name that they give themselves.
const LINKING_PROGRAMS: [&str; 8] =
    ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal"];

/// Beginnings of `TERM` of terminals that show them.
const LINKING_TERMS: [&str; 6] = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm"];

/// Variables that only such terminals set.
const LINKING_VARIABLES: [&str; 4] = ["WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID"];

/// The first version of VTE whose links do not crash it.
const VTE_VERSION: u32 = 5000;

/// Columns of the terminal on stdout.
pub(super) fn width() -> Option<usize> {
    tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Columns and rows of the terminal that progress is drawn on, as it is now.
pub(crate) fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (columns, rows) = size.map_or(USUAL, |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    (columns.max(LEAST), rows)
}

/// True if the terminal says by its variables that it shows links. `FORCE_HYPERLINK`
/// decides either way.
pub(super) fn has_links() -> bool {
    knows_links(&variable)
}

fn knows_links(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    if let Some(forced) = text("FORCE_HYPERLINK") {
        return !matches!(forced.as_str(), "" | "0" | "false" | "never");
    }
    let term = text("TERM").unwrap_or_default();
    if term == "dumb" || text("NO_COLOR").is_some() {
        return false;
    }
    let is_named = text("TERM_PROGRAM").is_some_and(|program| LINKING_PROGRAMS.contains(&program.as_str()));
    let is_vte =
        text("VTE_VERSION").and_then(|version| version.parse::<u32>().ok()).is_some_and(|it| it >= VTE_VERSION);
    let is_marked = LINKING_VARIABLES.iter().any(|name| variable(name).is_some());
    // Inside of tmux these variables are the outer terminal's, and an old tmux prints the
    // sequence as text.
    let is_inside = text("TMUX").is_some() || term.starts_with("screen");
    !is_inside && (is_named || is_vte || is_marked || LINKING_TERMS.iter().any(|name| term.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_shown_where_the_terminal_says_so() {
        let rows: &[(&[(&str, &str)], bool)] = &[
            (&[], false),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("TERM", "foot-extra")], true),
            (&[("TERM_PROGRAM", "WezTerm")], true),
            (&[("TERM_PROGRAM", "Apple_Terminal")], false),
            (&[("VTE_VERSION", "7600")], true),
            (&[("VTE_VERSION", "4999")], false),
            (&[("WT_SESSION", "x")], true),
            (&[("WT_SESSION", "x"), ("TMUX", "/tmp/t")], false),
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], false),
            (&[("FORCE_HYPERLINK", "1")], true),
            (&[("FORCE_HYPERLINK", "0"), ("TERM", "xterm-kitty")], false),
        ];
        for (set, expected) in rows {
            let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            assert_eq!(knows_links(&variable), *expected, "{set:?}");
        }
    }
}
