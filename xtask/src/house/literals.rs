//! String literals of the source, as the program prints them.

use std::fs;
use std::path::{Path, PathBuf};

use super::lexer::lex;
use super::tree::{collect_sources, is_test, split_tests};
use crate::ChoreResult;

/// String literal with its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// String literals of every Rust file below `folder`, without those of tests.
pub(crate) fn read_source_texts(folder: &Path) -> ChoreResult<Vec<(PathBuf, Vec<SourceText>)>> {
    let mut files = Vec::new();
    collect_sources(folder, &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let is_test = is_test(file.strip_prefix(folder).unwrap_or(&file));
        let (code, _) = split_tests(&source, is_test);
        found.push((file, find_texts(code)));
    }
    Ok(found)
}

fn find_texts(code: &str) -> Vec<SourceText> {
    let strings = lex(code).strings.into_iter();
    strings.map(|string| SourceText { line: string.line, text: unescape(string.text) }).collect()
}

/// A literal with its escapes replaced. A backslash at the end of a line joins it with the next.
fn unescape(literal: &str) -> String {
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let mut letters = after.chars();
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('\n') => {
                rest = letters.as_str().trim_start();
                continue;
            }
            Some(other) => text.push(other),
            None => {}
        }
        rest = letters.as_str();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_they_are_printed() {
        let code = "const A: &str = \"one \\\n   two\\nthree \\\"x\\\"\";\n// \"no\"\nb(r\"no\", b\"no\", \"four\");";
        let found = find_texts(code);
        let expected = [(1, "one two\nthree \"x\""), (4, "four")];
        assert_eq!(found, expected.map(|(line, text)| SourceText { line, text: text.to_owned() }));
    }
}
