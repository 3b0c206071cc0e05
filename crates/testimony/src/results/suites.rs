//! Titles of nested suites by their indentation, for runners that print one line for each.

/// The titles above the line that is heard.
#[derive(Debug, Default)]
pub(super) struct Suites(Vec<(usize, String)>);

/// Deeper than anybody nests.
const DEEPEST: usize = 64;

impl Suites {
    /// A title at this indentation; those that are not further out end.
    pub(super) fn open_suite(&mut self, indent: usize, title: &str) {
        self.leave(indent);
        if self.0.len() < DEEPEST {
            self.0.push((indent, title.to_owned()));
        }
    }

    /// A test at this indentation, named below its suites.
    pub(super) fn name_test(&mut self, indent: usize, test: &str) -> String {
        self.leave(indent);
        let titles = self.0.iter().map(|(_, title)| title.as_str()).chain([test]);
        titles.collect::<Vec<_>>().join(" > ")
    }

    /// Forgets all open suites.
    pub(super) fn clear_open(&mut self) {
        self.0.clear();
    }

    fn leave(&mut self, indent: usize) {
        self.0.retain(|(open, _)| *open < indent);
    }
}

/// Indentation of a line, and the rest of it.
pub(super) fn indented(line: &str) -> (usize, &str) {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len(), text.trim_end())
}

/// A title without the duration behind it: `adds (12 ms)`, `adds (12ms)`, `adds 12ms`.
pub(super) fn without_duration(text: &str) -> &str {
    let is_duration = |text: &str| {
        let text = text.trim_end_matches("ms").trim_end_matches(['s', ' ']);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if let Some((name, rest)) = text.rsplit_once(" (")
        && rest.ends_with("s)")
        && is_duration(rest.trim_end_matches(')'))
    {
        return name.trim_end();
    }
    match text.rsplit_once(' ') {
        Some((name, last)) if last.ends_with("ms") && is_duration(last) => name.trim_end(),
        _ => text,
    }
}

/// The number before a word in a list such as `1 failed, 3 passed` or `1 failed | 3 passed`.
pub(super) fn number_of(list: &str, words: &[&str]) -> u64 {
    let parts = list.split([',', '|']).filter_map(|part| super::text::leading_number(part.trim()));
    parts.filter(|(_, rest)| words.contains(&rest.trim())).map(|(number, _)| number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_no_part_of_a_name() {
        for (text, name) in [
            ("adds (12ms)", "adds"),
            ("adds (1.5 s)", "adds"),
            ("adds 3ms", "adds"),
            ("adds", "adds"),
            ("waits 3 s", "waits 3 s"),
            ("counts (all of them)", "counts (all of them)"),
            ("takes items", "takes items"),
        ] {
            assert_eq!(without_duration(text), name, "{text}");
        }
    }
}
