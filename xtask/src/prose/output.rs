//! Texts that the program prints and no help page lists: string literals of the source, pages of the console, and the golden reports.

use std::fs;
use std::path::Path;

use super::sentences::{Sentence, split_page};
use super::texts::{MOST_PAGE_WORDS, MOST_REASON_WORDS, PlacedText, read_page};
use crate::ChoreResult;
use crate::house::{SourceText, read_source_texts};
use crate::process::repository_root;

/// Source whose literals of several lines are read as help, from the program itself.
const HELP: &str = "crates/cto/src/args";

/// Source whose literals are reasons, remedies and errors.
const REASONS: [&str; 5] = [
    "crates/contract/src",
    "crates/evidence/src/verify",
    "crates/gate/src",
    "crates/harness/src",
    "crates/sandbox/src/host.rs",
];

/// Parts of literals that are queries, scripts, patches or contracts.
const CODE: [&str; 8] = ["SELECT ", "INSERT ", "CREATE ", "UPDATE ", "DELETE ", "&&", "+++ b/", "schema_version: "];

/// Fewest words of a literal that is prose.
const LEAST_WORDS: usize = 3;

/// Texts of the program's output, with file and line.
pub(super) fn read_output() -> ChoreResult<Vec<PlacedText>> {
    let mut texts = read_literals()?;
    texts.extend(read_templates()?);
    for report in find_files("crates/evidence/src/render/golden", ".md")? {
        texts.push(read_page(&report)?);
    }
    Ok(texts)
}

fn read_literals() -> ChoreResult<Vec<PlacedText>> {
    let files = read_source_texts(&repository_root().join("crates"))?;
    let named = files.into_iter().map(|(file, texts)| (relative(&file), texts));
    let read = named.filter(|(place, _)| place.contains("/src/"));
    let texts = read.map(|(place, texts)| {
        let is_read = |text: &&SourceText| !place.starts_with(HELP) || !text.text.contains('\n');
        let sentences = texts.iter().filter(is_read).flat_map(split_literal).collect();
        place_text(place, sentences)
    });
    Ok(texts.collect())
}

fn split_literal(literal: &SourceText) -> Vec<Sentence> {
    let is_prose = literal.text.split_whitespace().count() >= LEAST_WORDS;
    if !is_prose || CODE.iter().any(|part| literal.text.contains(part)) {
        return Vec::new();
    }
    let sentences = split_page(&literal.text).into_iter();
    sentences.map(|sentence| Sentence { line: literal.line + sentence.line - 1, ..sentence }).collect()
}

fn read_templates() -> ChoreResult<Vec<PlacedText>> {
    let mut texts = Vec::new();
    for file in find_files("crates/hermes/templates", ".html")? {
        let page = fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        texts.push(place_text(relative(&file), split_page(&strip_template(&page))));
    }
    Ok(texts)
}

/// Tags within a sentence.
const INLINE: [&str; 4] = ["<b>", "</b>", "<code>", "</code>"];

/// Text of a template: a value is one word in code, and every other tag ends a text. Lines keep their numbers.
fn strip_template(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let line = INLINE.iter().fold(line.to_owned(), |line, tag| line.replace(tag, ""));
        let line = replace_between(&line, ("{{", "}}"), "`value`");
        let line = replace_between(&line, ("{%", "%}"), " | ");
        let line = replace_between(&line, ("<", ">"), " | ");
        text.push_str(&format!("| {line} |\n"));
    }
    text
}

fn replace_between(line: &str, (open, close): (&str, &str), with: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(open) {
        text.push_str(before);
        text.push_str(with);
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    text + rest
}

fn find_files(folder: &str, ending: &str) -> ChoreResult<Vec<std::path::PathBuf>> {
    let folder = repository_root().join(folder);
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|file| file.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    match files.is_empty() {
        true => Err(format!("{} has no file that ends in {ending}", folder.display())),
        false => Ok(files),
    }
}

fn place_text(place: String, sentences: Vec<Sentence>) -> PlacedText {
    let is_reason = REASONS.iter().any(|begin| place.starts_with(begin));
    let most_words = if is_reason { MOST_REASON_WORDS } else { MOST_PAGE_WORDS };
    PlacedText { has_fragments: false, ..PlacedText::new(place, most_words, sentences) }
}

fn relative(file: &Path) -> String {
    file.strip_prefix(repository_root()).unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(usize, String)> {
        let sentences = split_literal(&SourceText { line: 7, text: text.to_owned() });
        sentences.into_iter().map(|it| (it.line, it.text)).collect()
    }

    #[test]
    fn a_literal_of_words_is_read_and_a_query_is_not() {
        let expected = [(7, "The run {run} ended.".to_owned()), (9, "It has no bundle.".to_owned())];
        assert_eq!(split("The run {run} ended.\n\nIt has no bundle."), expected);
        assert!(split("two words").is_empty() && split("SELECT all of it").is_empty());
    }

    #[test]
    fn a_literal_of_a_reason_has_fewer_words_than_one_of_a_page() {
        let most_words = |place: &str| place_text(place.to_owned(), Vec::new()).most_words;
        assert_eq!(most_words("crates/gate/src/rules.rs"), MOST_REASON_WORDS);
        assert_eq!(most_words("crates/hermes/src/pages/run.rs"), MOST_PAGE_WORDS, "control");
    }

    #[test]
    fn a_template_is_read_without_its_tags() {
        let page = "<h1 id=\"a\">Nothing runs</h1>\n<p>A run of <b>{{ kit::cmd(\"x\") }}</b> ends.</p>{% if a %}No.{% endif %}";
        let read: Vec<(usize, String)> =
            split_page(&strip_template(page)).into_iter().map(|it| (it.line, it.text)).collect();
        let expected = [(1, "Nothing runs"), (2, "A run of `value` ends."), (2, "No.")];
        assert_eq!(read, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
