//! Texts that a person reads: pages of the documentation, help pages and reasons of the program.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::sentences::{Sentence, split_page};
use crate::ChoreResult;
use crate::process::{command_output, program, repository_root, target};

/// Pages beside those of docs/.
const PAGES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];

/// Sentences with the name of their place, and the words that each may have.
#[derive(Debug)]
pub(super) struct PlacedText {
    pub(super) place: String,
    pub(super) most_words: usize,
    pub(super) sentences: Vec<Sentence>,
    /// True if a text without a full stop is still read by itself, as a cell of a table or the description of an option.
    pub(super) has_fragments: bool,
}

impl PlacedText {
    /// Text of a page or of help.
    pub(super) fn new(place: impl Into<String>, most_words: usize, sentences: Vec<Sentence>) -> Self {
        Self { place: place.into(), most_words, sentences, has_fragments: true }
    }
}

/// Words that a sentence of a page or of help may have.
pub(super) const MOST_PAGE_WORDS: usize = 30;
/// Words that a reason or a remedy may have.
pub(super) const MOST_REASON_WORDS: usize = 20;

/// Prose of every page, with file and line.
pub(super) fn read_pages() -> ChoreResult<Vec<PlacedText>> {
    let mut files: Vec<PathBuf> = PAGES.iter().map(|page| repository_root().join(page)).collect();
    add_pages(&repository_root().join("docs"), &mut files)?;
    files.sort();
    files.iter().map(|file| read_page(file)).collect()
}

/// Prose of one page in Markdown.
pub(super) fn read_page(file: &Path) -> ChoreResult<PlacedText> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let place = file.strip_prefix(repository_root()).unwrap_or(file).display().to_string();
    Ok(PlacedText::new(place, MOST_PAGE_WORDS, split_page(&text)))
}

fn add_pages(folder: &Path, files: &mut Vec<PathBuf>) -> ChoreResult {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.ends_with("docs/examples") {
            // Documents of an example workspace keep to its own rules.
            continue;
        } else if path.is_dir() {
            add_pages(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
    Ok(())
}

/// Help of every command and the table of reasons, as the program of this source prints them.
pub(super) fn read_program() -> ChoreResult<Vec<PlacedText>> {
    crate::test::build_plain_program()?;
    let cto = target().join("debug/cto");
    let mut texts = Vec::new();
    add_help(&cto, &[], &mut texts)?;
    texts.extend(read_reasons(&cto)?);
    Ok(texts)
}

/// Usage of the chores of this repository.
pub(super) fn read_usage() -> PlacedText {
    PlacedText::new("cargo xtask", MOST_PAGE_WORDS, split_help(crate::USAGE))
}

/// Help of a command and of those below it, at the widest that the program prints.
fn add_help(cto: &Path, command: &[&str], texts: &mut Vec<PlacedText>) -> ChoreResult {
    let words = command.iter().chain(&["--help"]);
    let help = command_output(program(cto, words).env("COLUMNS", "2000"))?;
    let place = format!("cto {} --help", command.join(" "));
    texts.push(PlacedText::new(place, MOST_PAGE_WORDS, split_help(&help)));
    for below in find_commands(&help).into_iter().filter(|below| *below != "help") {
        add_help(cto, &[command, &[below]].concat(), texts)?;
    }
    Ok(())
}

/// Names of the commands that a help page lists.
fn find_commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| line.starts_with("  "));
    listed.filter_map(|line| line.split_whitespace().next()).collect()
}

/// Descriptions of a help page: text behind the names of commands and options, and its paragraphs. Examples are left out. Wrapped text
/// is read as one, so that no sentence is short only because its line ends.
fn split_help(help: &str) -> Vec<Sentence> {
    let mut page = String::new();
    let mut in_examples = false;
    for line in join_descriptions(help) {
        in_examples = (in_examples && line.starts_with("  ")) || line == "Examples:";
        if !in_examples && !line.starts_with("Usage:") {
            page.push_str(&describe_line(&line));
        }
        page.push('\n');
    }
    split_page(&page)
}

/// Lines of a help page with each description in one line, and an empty line for each that it went on in.
fn join_descriptions(help: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut described = 0;
    for line in help.lines() {
        match line.strip_prefix("        ") {
            Some(text) if !lines.is_empty() => {
                let has_text = lines[described].trim().contains("  ");
                lines[described].push_str(if has_text { " " } else { "  " });
                lines[described].push_str(text.trim());
                lines.push(String::new());
            }
            _ => {
                described = lines.len();
                lines.push(line.to_owned());
            }
        }
    }
    lines
}

/// Description in a line of help, as an item of a list where it stands behind a name.
fn describe_line(line: &str) -> String {
    let without_values = |text: &str| {
        let text = text.split(" [env:").next().unwrap_or_default();
        text.split(" [possible").next().unwrap_or_default().to_owned()
    };
    match line.starts_with("  ") {
        true => match line.trim().split_once("  ") {
            Some((_, described)) => format!("- {}", without_values(described.trim())),
            None => String::new(),
        },
        false => without_values(line),
    }
}

/// A row of `cto explain --json`.
#[derive(Debug, Deserialize)]
struct ReasonRow {
    reason: String,
    sentence: String,
    remedy: String,
}

fn read_reasons(cto: &Path) -> ChoreResult<Vec<PlacedText>> {
    let rows = command_output(&mut program(cto, ["explain", "--json"]))?;
    let rows: Vec<ReasonRow> = serde_json::from_str(&rows).map_err(|error| format!("cto explain --json: {error}"))?;
    let place = |row: ReasonRow| {
        let sentences = [split_page(&row.sentence), split_page(&row.remedy)].concat();
        PlacedText::new(format!("reason {}", row.reason), MOST_REASON_WORDS, sentences)
    };
    Ok(rows.into_iter().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_read_without_its_names_and_examples() {
        let help = "About it. More\n\nUsage: cto x\n\nCommands:\n  one  First thing [env: A]\n  help  Print\n\nOptions:\n      --at <A>   Go\n                 there [env:\n                 B]\n      --long\n          Stay\n\nExamples:\n  cto x     long words\n\nLast words";
        let found: Vec<(usize, String)> = split_help(help).into_iter().map(|it| (it.line, it.text)).collect();
        let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        let expected = [
            (1, "About it."),
            (1, "More"),
            (5, "Commands:"),
            (6, "First thing"),
            (7, "Print"),
            (9, "Options:"),
            (10, "Go there"),
            (13, "Stay"),
            (19, "Last words"),
        ];
        assert_eq!(found, expected);
        assert_eq!(find_commands(help), ["one", "help"]);
    }

    #[test]
    fn a_wrapped_sentence_of_help_is_one() {
        let half = |end: &str| format!("Word{}{end}\n", " word".repeat(15));
        let counts = |help: &str| split_help(help).iter().map(|it| (it.line, it.count_words())).collect::<Vec<_>>();
        assert_eq!(counts(&format!("\n{}{}", half(""), half("."))), [(2, 32)]);
        assert_eq!(counts(&format!("{}{}", half("."), half("."))), [(1, 16), (2, 16)], "control: two sentences");
    }
}
