//! Edits of the operator's own configuration files. Lines that people wrote stay as they
//! are; a file that is not written in plain lines is left to its author.

use std::fmt::Write as _;

/// Other keys of the block that is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherKeys {
    /// They stay as they are.
    Kept,
    /// The block says one thing of several: with another key it is left to its author.
    Refused,
}

/// The text with these keys of `section.name` set, each where it stands; none where it is not written in plain lines.
/// Everything else stays as it is.
pub(crate) fn set_keys(
    text: &str,
    section: &str,
    name: &str,
    keys: &[(&str, String)],
    others: OtherKeys,
) -> Option<String> {
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
    let block = set_block(&lines[at + 1..last], step, keys, others)?;
    lines.splice(at + 1..last, block);
    Some(lines.join("\n") + "\n")
}

/// The lines of one block with these keys set; none where a value of theirs goes on below its own line.
fn set_block(block: &[String], step: usize, keys: &[(&str, String)], others: OtherKeys) -> Option<Vec<String>> {
    let depth = block.iter().find_map(|line| indent(line)).unwrap_or(step + 2);
    let inner = " ".repeat(depth);
    let key_in = |line: &str| {
        let said = line.strip_prefix(&inner)?;
        keys.iter().position(|(key, _)| said.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    let (mut set, mut met) = (Vec::new(), vec![false; keys.len()]);
    for (at, line) in block.iter().enumerate() {
        let Some(key) = key_in(line) else {
            if others == OtherKeys::Refused && indent(line).is_some() {
                return None;
            }
            set.push(line.clone());
            continue;
        };
        if met[key] || goes_on_below(&block[at + 1..], depth) {
            return None;
        }
        met[key] = true;
        let wanted = format!("{inner}{}: {}", keys[key].0, keys[key].1);
        set.push(if without_comment(line) == wanted { line.clone() } else { wanted });
    }
    let absent = keys.iter().zip(met).filter(|(_, met)| !met).map(|((key, value), _)| format!("{inner}{key}: {value}"));
    Some(absent.chain(set).collect())
}

/// True if the next line that says something belongs to the value before it.
fn goes_on_below(below: &[String], depth: usize) -> bool {
    let next = below.iter().find(|line| !line.trim().is_empty() && indent(line).is_some());
    next.is_some_and(|line| indent(line).is_some_and(|by| by > depth) || line.trim_start().starts_with("- "))
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

/// The text with a key of the top level set; none where its value goes on below its line.
pub(crate) fn set_top(text: &str, key: &str, value: &str) -> Option<String> {
    let begins = format!("{key}:");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.starts_with(&begins));
    if at.is_some_and(|at| goes_on_below(&lines[at + 1..], 0)) {
        return None;
    }
    let kept = lines.into_iter().filter(|line| !line.starts_with(&begins));
    let lines: Vec<String> = kept.chain([format!("{key}: {value}")]).collect();
    Some(lines.join("\n") + "\n")
}

/// The lines that an edit takes out and puts in, each with the named lines that it stands under.
pub(crate) fn show_edit(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut shown = String::new();
    let mut above: Vec<&str> = Vec::new();
    let mut at = 0;
    let gone = |line: &&str| !new.contains(line);
    for line in &new {
        while old.get(at).is_some_and(gone) {
            let _ = writeln!(shown, "- {}", old[at]);
            at += 1;
        }
        let depth = indent(line).unwrap_or(0);
        above.retain(|line| indent(line).is_some_and(|by| by < depth));
        if old.get(at) == Some(line) {
            at += 1;
            above.extend(indent(line).map(|_| *line));
            continue;
        }
        for line in above.drain(..) {
            let _ = writeln!(shown, "  {line}");
        }
        let _ = writeln!(shown, "+ {line}");
    }
    for line in &old[at..] {
        let _ = writeln!(shown, "- {line}");
    }
    shown
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
            assert_eq!(set_keys(before, "engines", "pi", &keys, OtherKeys::Kept).as_deref(), after, "{before}");
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
        assert_eq!(set_top("a: 1\nw: /old\n", "w", "/new").as_deref(), Some("a: 1\nw: /new\n"));
        assert_eq!(set_top("w: >\n  /old\na: 1\n", "w", "/new"), None, "a value of several lines");
    }

    #[test]
    fn a_value_of_several_lines_is_left_to_its_author() {
        let keys = [("hosts", "[\"b\"]".to_owned())];
        let head = "c:\n  n:\n    allow: []\n";
        for (below, is_set) in [
            ("    hosts: [\"a\"]\n", true),
            ("    hosts: [\"a\"]\n    # - a comment\n    scripted: true\n", true),
            ("    hosts:\n      - a\n", false),
            ("    hosts:\n    - a\n", false),
            ("    hosts:\n\n      # mine\n      - a\n", false),
            ("    hosts: [\"a\",\n      \"c\"]\n", false),
            ("    hosts: [\"a\"]\n    hosts: [\"c\"]\n", false),
        ] {
            let text = format!("{head}{below}d: 1\n");
            let after = set_keys(&text, "c", "n", &keys, OtherKeys::Kept);
            assert_eq!(after.is_some(), is_set, "{text}");
            let is_whole =
                |after: String| after.contains("allow: []") && after.ends_with("d: 1\n") && after.contains("[\"b\"]");
            assert!(after.is_none_or(is_whole), "{text}");
        }
    }

    #[test]
    fn a_source_of_one_kind_does_not_become_one_of_two() {
        let env = [("env", "B".to_owned())];
        for (before, after) in [
            ("s:\n  k:\n    env: A\n", Some("s:\n  k:\n    env: B\n")),
            ("s:\n  k:\n    env: B # mine\n", Some("s:\n  k:\n    env: B # mine\n")),
            ("s:\n  k:\n    file: /key\n", None),
            ("s:\n  k:\n    command: [a]\n    # old\n", None),
        ] {
            assert_eq!(set_keys(before, "s", "k", &env, OtherKeys::Refused).as_deref(), after, "{before}");
        }
        let kept = set_keys("s:\n  k:\n    file: /key\n", "s", "k", &env, OtherKeys::Kept);
        assert_eq!(
            kept.as_deref(),
            Some("s:\n  k:\n    env: B\n    file: /key\n"),
            "control: without the guard there are two"
        );
    }

    #[test]
    fn an_edit_is_shown_with_old_and_new() {
        let before = "# mine\nc:\n  n:\n    hosts: [\"a\"]\nd: 1\n";
        let after = set_keys(before, "c", "n", &[("hosts", "[\"a\", \"b\"]".to_owned())], OtherKeys::Kept).unwrap();
        assert_eq!(show_edit(before, &after), "-     hosts: [\"a\"]\n  c:\n    n:\n+     hosts: [\"a\", \"b\"]\n");
        assert_eq!(show_edit(before, before), "");
        assert_eq!(show_edit("", "a: 1\n"), "+ a: 1\n");
        assert_eq!(show_edit("a: 1\nb: 2\n", "b: 2\n"), "- a: 1\n");
    }
}
