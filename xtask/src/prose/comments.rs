//! Words of the source's comments: the phrases that pages may not use, and some that only comments used.

use std::fs;

use super::plain_words::{find_banned_words, plain_words};
use crate::ChoreResult;
use crate::house::collect_sources;
use crate::process::repository_root;

/// Phrases that only comments used, each with plain words for it.
const BANNED_IN_COMMENTS: &[(&str, &str)] = &[
    ("told", "reported, printed, known or given"),
    ("whoever", "a caller, a client, a process or a person"),
    ("unless said", "default: VALUE"),
    ("enters no tree", "no tree contains"),
];

/// Phrases in which such a word is plain English, each with its reason.
const ALLOWED_PHRASES: &[(&str, &str)] = &[
    ("told apart", "distinguished"),
    ("told to", "ordered, of a program"),
    ("told not to", "ordered, of a program"),
    ("room for", "space"),
    ("makes room", "space"),
    ("has room", "space"),
    ("no room", "space"),
    ("terminal cells", "columns of a terminal"),
];

/// Beginnings of paths of files in which a word is one of the field, each with its meaning there.
const ALLOWED_FILES: &[(&str, &str, &str)] = &[
    ("crates/contract/src/source/render.rs", "cells", "columns of a terminal"),
    ("crates/evidence/src/render/verification.rs", "cell", "part of a table"),
    ("crates/hermes/src/pages/", "cell", "part of a strip on a page"),
    ("crates/hermes/src/pages/run_ident.rs", "cells", "parts of a strip on a page"),
    ("crates/secrets/src/page.rs", "cell", "part of a table"),
    ("crates/workboard/src/", "cell", "part of a table"),
    ("crates/workboard/src/", "cells", "parts of a table"),
    ("xtask/src/prose/", "cell", "part of a table"),
    ("xtask/src/prose/", "cells", "parts of a table"),
];

/// Comment of one or more lines, as one text.
#[derive(Debug, PartialEq, Eq)]
struct SourceComment {
    line: usize,
    text: String,
}

/// Comments of the source that use a banned phrase.
pub(super) fn find_banned_comments() -> ChoreResult<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask/src"] {
        collect_sources(&repository_root().join(folder), &mut files)?;
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let place = file.strip_prefix(repository_root()).unwrap_or(&file).display().to_string();
        found.extend(find_comments(&source).iter().flat_map(|comment| comment_problems(&place, comment)));
    }
    Ok(found)
}

fn comment_problems(place: &str, comment: &SourceComment) -> Vec<String> {
    let blank = |words: String, (phrase, _): &(&str, &str)| words.replace(&format!(" {phrase} "), " ` ");
    let words = ALLOWED_PHRASES.iter().fold(plain_words(&comment.text), blank);
    let found = find_banned_words(&words, BANNED_IN_COMMENTS).into_iter();
    let is_allowed = |word: &str| ALLOWED_FILES.iter().any(|(begin, it, _)| *it == word && place.starts_with(begin));
    let problems = found.filter(|(word, _)| !is_allowed(word));
    problems.map(|(word, say)| format!("{place}:{}: `{word}`, say {say}: {}", comment.line, comment.text)).collect()
}

/// Comments that fill their lines. Lines of the same kind in a row are one comment.
fn find_comments(source: &str) -> Vec<SourceComment> {
    let mut comments: Vec<SourceComment> = Vec::new();
    let mut open = None;
    for (index, line) in source.lines().enumerate() {
        let kind = split_comment(line.trim_start());
        match (kind, open, comments.last_mut()) {
            (Some((kind, text)), Some(before), Some(last)) if kind == before => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            (Some((_, text)), ..) => comments.push(SourceComment { line: index + 1, text: text.to_owned() }),
            (None, ..) => {}
        }
        open = kind.map(|(kind, _)| kind);
    }
    comments
}

/// The mark of a comment and its text.
fn split_comment(line: &str) -> Option<(&'static str, &str)> {
    ["///", "//!", "//"].into_iter().find_map(|mark| Some((mark, line.strip_prefix(mark)?.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(place: &str, source: &str) -> usize {
        find_comments(source).iter().map(|comment| comment_problems(place, comment).len()).sum()
    }

    #[test]
    fn a_banned_phrase_is_found_in_comments_alone() {
        let place = "crates/a/src/b.rs";
        assert_eq!(problems(place, "/// A run, whoever starts it.\nfn a() {}\n// It stands\n// against us.\n"), 2);
        assert_eq!(problems(place, "let told = \"whoever\";\n// `told` is a name.\n"), 0, "control");
        assert_eq!(problems(place, "// Names told apart, room for one.\n"), 0);
        assert_eq!(problems(place, "/// The run stands\n// against it.\n"), 0, "two comments");
    }

    #[test]
    fn a_word_of_the_field_is_allowed_where_it_is_one() {
        let comment = "/// A cell that is told.\n";
        assert_eq!(problems("crates/a/src/b.rs", comment), 2);
        assert_eq!(problems("crates/workboard/src/b.rs", comment), 1);
    }

    #[test]
    fn every_exception_is_needed() {
        let mut files = Vec::new();
        for folder in ["crates", "xtask/src"] {
            collect_sources(&repository_root().join(folder), &mut files).unwrap();
        }
        let read = |file: &std::path::PathBuf| {
            let place = file.strip_prefix(repository_root()).unwrap().display().to_string();
            let comments = find_comments(&fs::read_to_string(file).unwrap());
            (place, comments.iter().map(|it| plain_words(&it.text)).collect::<String>())
        };
        let texts: Vec<(String, String)> = files.iter().map(read).collect();
        let is_used = |begin: &str, word: &str| {
            texts.iter().any(|(place, words)| place.starts_with(begin) && words.contains(&format!(" {word} ")))
        };
        let unused_files = ALLOWED_FILES.iter().filter(|(begin, word, _)| !is_used(begin, word)).map(|it| it.0);
        let unused_phrases = ALLOWED_PHRASES.iter().filter(|(phrase, _)| !is_used("", phrase)).map(|it| it.0);
        assert_eq!(unused_files.chain(unused_phrases).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
