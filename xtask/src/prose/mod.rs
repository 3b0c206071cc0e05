//! `cargo xtask prose`: holds pages, help, reasons and all other output to plain English. Sentences are short, words are those of the
//! field, and two grammar checkers find nothing.

mod comments;
mod grammar;
mod output;
mod plain_words;
pub(crate) mod sentences;
mod texts;

use crate::ChoreResult;
use output::read_output;
use texts::{PlacedText, read_pages, read_program, read_usage};

/// Checks every text that a person reads: sentences, words, grammar.
pub(crate) fn check_prose() -> ChoreResult {
    let pages = read_pages()?;
    let mut found = plain_words::find_unused_terms(&pages)?;
    let program = read_program()?.into_iter().chain(read_output()?);
    let texts: Vec<PlacedText> = pages.into_iter().chain(program).chain([read_usage()]).collect();
    found.extend(texts.iter().flat_map(find_long));
    found.extend(texts.iter().flat_map(plain_words::find_banned));
    found.extend(texts.iter().flat_map(plain_words::find_synonyms));
    found.extend(comments::find_banned_comments()?);
    found.extend(grammar::find_faults(&texts)?);
    println!("{} texts, {} sentences", texts.len(), texts.iter().map(|text| text.sentences.len()).sum::<usize>());
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("{} sentences to mend:\n{}", found.len(), found.join("\n"))),
    }
}

/// Sentences with more words than their text allows.
fn find_long(text: &PlacedText) -> Vec<String> {
    let long = text.sentences.iter().filter(|sentence| sentence.count_words() > text.most_words);
    let told = long.map(|it| format!("{}:{}: {} words: {}", text.place, it.line, it.count_words(), it.text));
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_found() {
        let page = |words: usize| format!("{}end.", "word ".repeat(words - 1));
        let text = |words: usize| PlacedText::new("docs/a.md", 30, sentences::split_page(&page(words)));
        assert!(find_long(&text(30)).is_empty(), "control");
        assert_eq!(find_long(&text(31)).len(), 1);
    }
}
