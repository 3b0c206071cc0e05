//! The page that shows the tables.

use super::super::calls::CALLS;
use super::super::commands::tools;
use super::super::settings::{SETTINGS, Value};
use super::counts_in_words;

const PAGE: &str = include_str!("../../../../../docs/what-the-recorders-see.md");

fn code(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
}

fn commands() -> String {
    let mut rows = String::new();
    for tool in tools() {
        for command in tool.commands {
            let patterns: Vec<&str> =
                command.patterns.iter().map(|pattern| if pattern.is_empty() { "(nothing)" } else { pattern }).collect();
            let counts = counts_in_words(Some(command.counts));
            rows += &format!("| {} | {} | {counts} |\n", code(tool.names), code(&patterns));
        }
        if tool.otherwise.is_some() {
            rows += &format!("| {} | anything else | {} |\n", code(tool.names), counts_in_words(tool.otherwise));
        }
    }
    rows
}

fn calls() -> String {
    let rows = CALLS
        .iter()
        .map(|call| format!("| {} | {} | {} |\n", code(call.names), counts_in_words(Some(call.counts)), call.why));
    rows.collect()
}

fn settings() -> String {
    let rows = SETTINGS.iter().map(|setting| {
        let value = match setting.value {
            Value::Any => String::new(),
            Value::NoSwitch => " with another value than on or off".to_owned(),
            Value::Begins(start) => format!(" with a value that begins with `{start}`"),
        };
        let counts = counts_in_words(Some(setting.counts));
        format!("| {}{value} | {counts} | {} |\n", code(setting.keys), setting.why)
    });
    rows.collect()
}

#[test]
fn the_page_shows_the_tables() {
    for rows in [commands(), calls(), settings()] {
        assert!(PAGE.contains(&rows), "docs/what-the-recorders-see.md has other rows than\n{rows}");
    }
}
