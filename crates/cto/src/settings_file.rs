//! Edits of the operator's own configuration files. Lines that people wrote stay as they
//! are; a file that is not written in plain lines is left to its author.

use std::fs;
use std::io::Write as _;
use std::path::Path;

/// The text with these keys of `section.name` set; none where it is not written in plain
/// lines. Everything else stays as it is.
pub(crate) fn set_keys(text: &str, section: &str, name: &str, keys: &[(&str, String)]) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let entries = |indent: &str| keys.iter().map(|(key, value)| format!("{indent}{key}: {value}")).collect::<Vec<_>>();
    let (top, end) = match find_section(&lines, section) {
        FoundSection::Lines(top, end) => (top, end),
        FoundSection::Unplain => return None,
        FoundSection::Absent => {
            lines.extend([format!("{section}:"), format!("  {name}:")].into_iter().chain(entries("    ")));
            return Some(lines.join("\n") + "\n");
        }
    };
    let step = lines[top + 1..end].iter().find_map(|line| indent(line)).unwrap_or(2);
    let named = format!("{}{name}:", " ".repeat(step));
    let Some(at) = lines[top + 1..end].iter().position(|line| without_comment(line) == named).map(|at| top + 1 + at)
    else {
        if lines[top + 1..end].iter().any(|line| line.starts_with(&named)) {
            return None;
        }
        let inner = " ".repeat(step + 2);
        lines.splice(top + 1..top + 1, [named].into_iter().chain(entries(&inner)));
        return Some(lines.join("\n") + "\n");
    };
    let last = lines[at + 1..end]
        .iter()
        .position(|line| indent(line).is_some_and(|by| by <= step))
        .map_or(end, |by| at + 1 + by);
    let inner = " ".repeat(lines[at + 1..last].iter().find_map(|line| indent(line)).unwrap_or(step + 2));
    let is_set = |line: &&String| keys.iter().any(|(key, _)| line.starts_with(&format!("{inner}{key}:")));
    let kept = lines[at + 1..last].iter().filter(|line| !is_set(line));
    let block: Vec<String> = entries(&inner).into_iter().chain(kept.cloned()).collect();
    lines.splice(at + 1..last, block);
    Some(lines.join("\n") + "\n")
}

/// The text with one value of a section set, on one line; none where it is not written in
/// plain lines or says something else.
pub(crate) fn set_value(text: &str, section: &str, name: &str, value: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (top, end) = match find_section(&lines, section) {
        FoundSection::Lines(top, end) => (top, end),
        FoundSection::Unplain => return None,
        FoundSection::Absent => {
            lines.extend([format!("{section}:"), format!("  {name}: {value}")]);
            return Some(lines.join("\n") + "\n");
        }
    };
    let step = lines[top + 1..end].iter().find_map(|line| indent(line)).unwrap_or(2);
    let (begins, wanted) = (format!("{}{name}:", " ".repeat(step)), format!("{}{name}: {value}", " ".repeat(step)));
    match lines[top + 1..end].iter().find(|line| line.starts_with(&begins)) {
        Some(line) if without_comment(line) == wanted => Some(text.to_owned()),
        Some(_) => None,
        None => {
            lines.insert(top + 1, wanted);
            Some(lines.join("\n") + "\n")
        }
    }
}

/// The text with a key of the top level set.
pub(crate) fn set_top(text: &str, key: &str, value: &str) -> String {
    let begins = format!("{key}:");
    let kept = text.lines().filter(|line| !line.starts_with(&begins)).map(str::to_owned);
    let lines: Vec<String> = kept.chain([format!("{key}: {value}")]).collect();
    lines.join("\n") + "\n"
}

/// A section of the top level.
enum FoundSection {
    Absent,
    /// The setting exists, but not in plain lines.
    Unplain,
    /// Line of its name, and the line after its last.
    Lines(usize, usize),
}

fn find_section(lines: &[String], section: &str) -> FoundSection {
    let head = format!("{section}:");
    let Some(top) = lines.iter().position(|line| line.starts_with(&head)) else { return FoundSection::Absent };
    if without_comment(&lines[top]) != head {
        return FoundSection::Unplain;
    }
    let end = lines[top + 1..].iter().position(|line| indent(line) == Some(0)).map_or(lines.len(), |at| top + 1 + at);
    FoundSection::Lines(top, end)
}

/// Puts a text in the place of a file by one rename.
pub(crate) fn replace_file(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    let aside = file.with_extension(format!("new-{}", std::process::id()));
    let mut made = fs::OpenOptions::new().write(true).create_new(true).open(&aside)?;
    let written =
        made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).and_then(|()| fs::rename(&aside, file));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

fn without_comment(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim_end()
}

/// Columns by which a line that says something is indented.
fn indent(line: &str) -> Option<usize> {
    let said = line.trim_start();
    (!said.is_empty() && !said.starts_with('#')).then(|| line.len() - said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_opened_and_nothing_else_is_touched() {
        let rows = [
            ("", Some("engines:\n  pi:\n    enabled: true\n    stage: 2\n")),
            (
                "# a comment\nsandbox: strict\n",
                Some("# a comment\nsandbox: strict\nengines:\n  pi:\n    enabled: true\n    stage: 2\n"),
            ),
            (
                "engines:\n  codex:\n    enabled: true\n    stage: 3\n",
                Some("engines:\n  pi:\n    enabled: true\n    stage: 2\n  codex:\n    enabled: true\n    stage: 3\n"),
            ),
            (
                "engines: # mine\n    pi: # old\n        stage: 1 # soon\n        wire: messages\n\n# end\nsandbox: strict\n",
                Some(
                    "engines: # mine\n    pi: # old\n        enabled: true\n        stage: 2\n        wire: messages\n\n# end\nsandbox: strict\n",
                ),
            ),
            ("engines: {pi: {enabled: true}}\n", None),
            ("engines:\n  pi: {enabled: true}\n", None),
        ];
        let keys = [("enabled", "true".to_owned()), ("stage", "2".to_owned())];
        for (before, after) in rows {
            assert_eq!(set_keys(before, "engines", "pi", &keys).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn a_value_is_set_once() {
        let rows = [
            ("", Some("c:\n  none: none\n")),
            ("c:\n  key: {env: A}\n", Some("c:\n  none: none\n  key: {env: A}\n")),
            ("c:\n  none: none # yes\n", Some("c:\n  none: none # yes\n")),
            ("c:\n  none: {env: A}\n", None),
            ("c: {none: none}\n", None),
        ];
        for (before, after) in rows {
            assert_eq!(set_value(before, "c", "none", "none").as_deref(), after, "{before}");
        }
        assert_eq!(set_top("a: 1\nw: /old\n", "w", "/new"), "a: 1\nw: /new\n");
    }
}
