//! Two grammar checkers over every sentence and fragment: proselint from PyPI and Harper from npm. Harper also checks the spelling.
//! `xtask/prose/` has their rules and a dictionary of the field.

use std::collections::BTreeSet;
use std::path::Path;

use super::sentences::Sentence;
use super::texts::PlacedText;
use crate::ChoreResult;
use crate::process::{cache, program, repository_root};
use crate::tools::{agents, fill_venv};

const PROSELINT: &str = "proselint==0.16.0";
const HARPER: &str = "harper.js@2.10.0";

/// Faults that a working checker finds, each with the checker that must find it.
const PLANTED: [(&str, &str); 3] = [
    ("proselint", "This word is is written twice."),
    ("harper", "An bundle is in this folder."),
    ("harper", "This word is mispeled here."),
];

/// Fewest words of a text that is checked.
const LEAST_WORDS: usize = 3;

/// A sentence and where it is.
struct Checked<'a> {
    place: &'a str,
    line: usize,
    text: String,
}

/// Findings of both checkers.
pub(super) fn find_faults(texts: &[PlacedText]) -> ChoreResult<Vec<String>> {
    let checked = choose_sentences(texts);
    let folder = cache()?.join("prose");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let file = folder.join("sentences.txt");
    let lines: Vec<&str> = checked.iter().map(|it| it.text.as_str()).collect();
    std::fs::write(&file, lines.join("\n\n")).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let mut found = Vec::new();
    for (name, said) in [("proselint", run_proselint(&folder, &file)?), ("harper", run_harper(&folder, &file)?)] {
        found.extend(read_findings(name, &said, &file, &checked)?);
    }
    Ok(found)
}

fn choose_sentences(texts: &[PlacedText]) -> Vec<Checked<'_>> {
    let planted = PLANTED.iter().enumerate();
    let planted = planted.map(|(line, (_, text))| Checked { place: "", line, text: (*text).to_owned() });
    let all = texts.iter().flat_map(|text| text.sentences.iter().map(move |sentence| (text, sentence)));
    let long = all
        .filter(|(text, sentence)| sentence.count_words() >= LEAST_WORDS && (text.has_fragments || is_full(sentence)));
    let long =
        long.map(|(text, it)| Checked { place: &text.place, line: it.line, text: complete(&without_code(&it.text)) });
    // A literal with a hole for a value is no sentence before it is filled.
    planted.chain(long.filter(|it| !it.text.contains('{'))).collect()
}

/// Marks around a sentence.
const MARKS: [char; 7] = ['*', '(', ')', '"', '“', '”', '`'];

/// True for a sentence with a beginning and an end, as opposed to a part of a message.
fn is_full(sentence: &Sentence) -> bool {
    let begins = sentence.text.trim_start_matches(MARKS).chars().next();
    let begins = begins.is_some_and(|first| first.is_uppercase() || sentence.text.starts_with('`'));
    begins && sentence.text.trim_end_matches(MARKS).ends_with(['.', '?', '!'])
}

/// A fragment as a sentence: a cell, a bullet, a heading or the description of an option gets a capital and a full stop.
fn complete(text: &str) -> String {
    let first = text.find(char::is_alphanumeric).unwrap_or(0);
    let (before, rest) = text.split_at(first);
    let mut letters = rest.chars();
    let begun: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let whole = format!("{before}{begun}{}", letters.as_str());
    let bare = whole.trim_end_matches(MARKS);
    match bare.ends_with(['.', '?', '!']) {
        true => whole,
        false => format!("{}{}.", bare.trim_end_matches([',', ';', ':']), &whole[bare.len()..]),
    }
}

/// First letters of names that follow `an`.
const VOWELS: [char; 8] = ['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O'];

/// A sentence with a plain word in the place of each name in backticks, which checkers do not know.
fn without_code(sentence: &str) -> String {
    let mut number = 0;
    let words = sentence.split_whitespace().map(|word| {
        let Some((before, rest)) = word.split_once('`') else { return word.replace("**", "") };
        number += 1;
        let name = if rest.trim_start_matches('$').starts_with(VOWELS) { "Item" } else { "Thing" };
        format!("{before}{name}{number}{}", rest.rsplit_once('`').map_or("", |(_, after)| after))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn run_proselint(folder: &Path, file: &Path) -> ChoreResult<String> {
    let python = fill_venv(&folder.join("venv"), &[PROSELINT])?;
    let rules = repository_root().join("xtask/prose/proselint.json");
    let words = ["-m", "proselint", "--output-format", "compact", "--config"];
    read_output(program(&python, words).arg(rules).arg("check").arg(file))
}

fn run_harper(folder: &Path, file: &Path) -> ChoreResult<String> {
    let place = folder.join("harper");
    agents::install_packages(&place, &[HARPER])?;
    let script = place.join("harper.mjs");
    let own = repository_root().join("xtask/prose/harper.mjs");
    std::fs::copy(&own, &script).map_err(|error| format!("cannot copy {}: {error}", own.display()))?;
    let rules = ["harper.json", "dictionary.txt"].map(|name| repository_root().join("xtask/prose").join(name));
    read_output(program("node", [&script]).args(rules).arg(file))
}

/// Output of a checker; it ends with 1 if it found something.
fn read_output(command: &mut std::process::Command) -> ChoreResult<String> {
    let output = command.output().map_err(|error| format!("cannot start a grammar checker: {error}"))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("a grammar checker failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Findings `FILE:LINE:COLUMN: TEXT`, with the place of each sentence. A checker that overlooks a planted fault does not work.
fn read_findings(name: &str, said: &str, file: &Path, checked: &[Checked<'_>]) -> ChoreResult<Vec<String>> {
    let prefix = format!("{}:", file.display());
    let (mut found, mut planted) = (Vec::new(), BTreeSet::new());
    for line in said.lines().filter_map(|line| line.strip_prefix(&prefix)) {
        let (number, text) = line.split_once(':').unwrap_or((line, ""));
        let index = number.parse::<usize>().map_err(|_| format!("{name}: {line}"))?.saturating_sub(1) / 2;
        let Some(it) = checked.get(index) else { return Err(format!("{name} found a line that is not there: {line}")) };
        if it.place.is_empty() {
            planted.insert(it.text.as_str());
        } else {
            found.push(format!("{}:{}: {name}: {text}\n    {}", it.place, it.line, it.text));
        }
    }
    let lost = PLANTED.iter().find(|(checker, text)| *checker == name && !planted.contains(text));
    lost.map_or(Ok(found), |(_, text)| Err(format!("{name} does not find the fault that was planted: {text}")))
}

#[cfg(test)]
mod tests {
    use super::super::sentences::split_page;
    use super::*;

    #[test]
    fn sentences_and_fragments_are_checked_without_their_code() {
        let page = "# A head of words\n\n`cto run` takes a `TASK`. Then you read it:\n\n- the newest run,\n\n| a cell (of four) | b |\n";
        let check = |has_fragments: bool, expected: &[&str]| {
            let sentences = split_page(page);
            let texts = [PlacedText { has_fragments, ..PlacedText::new("page", 30, sentences) }];
            let chosen: Vec<String> = choose_sentences(&texts).into_iter().map(|it| it.text).collect();
            assert_eq!(chosen[PLANTED.len()..], *expected);
        };
        let whole =
            ["A head of words.", "Thing1 takes a Thing2.", "Then you read it.", "The newest run.", "A cell (of four)."];
        check(true, &whole);
        check(false, &["Thing1 takes a Thing2."]);
    }

    #[test]
    fn a_checker_that_finds_nothing_planted_does_not_work() {
        let checked = [("", PLANTED[0].1), ("docs/a.md", "Good one.")].map(|(place, text)| Checked {
            place,
            line: 7,
            text: text.to_owned(),
        });
        let file = Path::new("/s.txt");
        let found = |said: &str| read_findings("proselint", said, file, &checked);
        assert!(found("").is_err(), "control");
        assert_eq!(found("/s.txt:1:2: twice\n"), Ok(Vec::new()));
        let told = found("/s.txt:1:2: twice\nnoise\n/s.txt:3:1: fault\n");
        assert_eq!(told, Ok(vec!["docs/a.md:7: proselint: 1: fault\n    Good one.".to_owned()]));
    }
}
