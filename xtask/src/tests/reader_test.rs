//! The reader's test: `docs/reader-test.toml` has questions of a stranger. README links to the page that answers each, in one sentence.

use std::fs;

use serde::Deserialize;

use super::documented::{DocumentedPage, find_links, read_page};
use crate::process::repository_root;
use crate::prose::sentences::split_page;

#[derive(Debug, Deserialize)]
struct ReaderTest {
    question: Vec<ReaderQuestion>,
}

#[derive(Debug, Deserialize)]
struct ReaderQuestion {
    ask: String,
    link: String,
    answer: String,
}

/// Reason why a reader of README does not find the answer.
fn reader_problem(readme: &DocumentedPage, question: &ReaderQuestion) -> Option<String> {
    if !find_links(&readme.text).contains(&question.link.as_str()) {
        return Some(format!("{}: README.md does not link to {}", question.ask, question.link));
    }
    let page = read_page(&repository_root().join(&question.link));
    let answer = split_page(&question.answer);
    let is_answered = match answer.as_slice() {
        [answer] => is_whole(&answer.text) && split_page(&page.text).iter().any(|it| it.text == answer.text),
        _ => false,
    };
    (!is_answered).then(|| format!("{}: {} has no sentence: {}", question.ask, question.link, question.answer))
}

/// True for a sentence from its first word to its end.
fn is_whole(answer: &str) -> bool {
    let begins = answer.trim_start_matches(['*', '`']) != answer || answer.starts_with(char::is_uppercase);
    begins && answer.ends_with('.')
}

#[test]
fn every_question_of_a_stranger_is_answered_from_the_readme() {
    let readme = read_page(&repository_root().join("README.md"));
    let test = fs::read_to_string(repository_root().join("docs/reader-test.toml")).unwrap();
    let test: ReaderTest = toml::from_str(&test).unwrap();
    assert!(test.question.len() >= 10, "{}", test.question.len());
    let lost: Vec<String> = test.question.iter().filter_map(|it| reader_problem(&readme, it)).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_question_without_its_answer_is_found() {
    let readme = DocumentedPage { name: "README.md".to_owned(), text: "[a](docs/glossary.md)".to_owned() };
    let question = |link: &str, answer: &str| ReaderQuestion {
        ask: "?".to_owned(),
        link: link.to_owned(),
        answer: answer.to_owned(),
    };
    assert!(reader_problem(&readme, &question("docs/ladder.md", "")).is_some());
    assert!(reader_problem(&readme, &question("docs/glossary.md", "No such sentence.")).is_some());
    assert!(reader_problem(&readme, &question("docs/glossary.md", "of what a bundle does **not** prove.")).is_some());
    let whole = question("docs/glossary.md", "The list of what a bundle does **not** prove.");
    assert!(reader_problem(&readme, &whole).is_none(), "control");
}
