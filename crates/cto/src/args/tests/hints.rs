//! Hints of errors name commands, flags and places that this program has.

use std::path::{Path, PathBuf};

use contract::remedy::Remedy;

use super::check;

/// Fields of a hint that are no free text, with a value that the command takes.
const FILLED: [(&str, &str); 3] = [("stage", "1"), ("command", "cto runs"), ("example", "--endpoint URL --model M")];

/// Text of a hint with a value in each place of its format.
fn fill_format(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(FILLED.iter().find(|(known, _)| *known == name).map_or("x", |(_, value)| value));
        rest = behind;
    }
    out + rest
}

/// The string literal with which a text begins, behind an optional `format!(`.
fn leading_literal(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = text.strip_prefix("format!(").unwrap_or(text).trim_start().strip_prefix('"')?;
    let (mut literal, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(fill_format(&literal)),
            '\\' => match letters.next()? {
                'n' => literal.push('\n'),
                other => literal.push(other),
            },
            _ => literal.push(letter),
        }
    }
    None
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// Every hint that is written as one text, with its file.
fn find_hints() -> Vec<(String, String)> {
    let (mut found, mut files) = (Vec::new(), Vec::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&root, &mut files);
    for file in files.into_iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(&root).unwrap().display().to_string();
        let hints = text.match_indices(".hint(").filter_map(|(at, call)| leading_literal(&text[at + call.len()..]));
        found.extend(hints.map(|hint| (place.clone(), hint)));
    }
    found
}

#[test]
fn every_hint_with_a_command_is_one() {
    let hints = find_hints();
    assert!(hints.len() > 180, "{}", hints.len());
    let commands = hints.iter().filter_map(|(place, hint)| {
        let command = Remedy::parse_text(hint).command?;
        command.starts_with("cto ").then(|| (place.clone(), command.to_owned()))
    });
    check("hints", commands.collect(), 90);
    // A command behind other words is named too.
    let root = <super::Cli as clap::CommandFactory>::command();
    let named =
        hints.iter().flat_map(|(place, hint)| hint.match_indices("cto ").map(move |(at, _)| (place, &hint[at..])));
    let wrong: Vec<String> = named
        .filter_map(|(place, text)| {
            let end = text.find(['\n', ',', ';', '(']).unwrap_or(text.len());
            let text = text[..end].split("     ").next().unwrap_or_default();
            Some(format!("{place}: {}", super::documented_names::command_problem(&root, text)?))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(leading_literal(r#"format!("cto show {}", x)"#).as_deref(), Some("cto show x"), "control");
    assert_eq!(leading_literal("hint"), None, "control: no literal");
}
