//! Sentences that a document has to keep: by its kind, and phrases that a plan demands of
//! its closeout.

use std::collections::BTreeMap;

use crate::check_rule::CheckRule;
use crate::document::{DocumentKind, PlanningDocument, TextLine, file_stem};
use crate::finding::{Finding, TextFix};
use crate::items::read_bullet;
use crate::rendered::{LinkLabels, render_text};
use crate::rules::RuleBook;

const PHRASE_SECTIONS: [&str; 3] = ["Required Phrases", "Required Evidence", "Validator Summary Phrases"];

/// Checks that a document keeps the sentences of its kind; advice for one that is older
/// than the workspace.
pub(crate) fn check_required(
    document: &PlanningDocument<'_>,
    book: &RuleBook,
    is_older: bool,
    found: &mut Vec<Finding>,
) {
    let Some(kind) = document.kind else { return };
    let demands: Vec<_> = book.demands.iter().filter(|demand| demand.kinds.contains(&kind)).collect();
    if demands.is_empty() {
        return;
    }
    let text = body_text(document);
    for demand in demands.iter().filter(|demand| !demand.is_kept(&text)) {
        let message = format!("a {} keeps the sentence \"{}\"", kind.suffix().to_lowercase(), demand.rule.sentence);
        let finding = Finding::of_words(document.path, (1, 1), &demand.rule, message);
        let finding = match &demand.rule.insert {
            Some(insert) => finding.with_fix(append_fix(document.text, insert)),
            None => finding,
        };
        found.push(if is_older { finding.as_advice() } else { finding });
    }
}

fn append_fix(text: &str, insert: &str) -> TextFix {
    let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
    TextFix { start: text.len(), end: text.len(), text: format!("{gap}{insert}\n") }
}

/// Prose as a reader sees it, on one line, so that a wrapped sentence is found and a comment keeps none.
fn body_text(document: &PlanningDocument<'_>) -> String {
    let mut text = String::with_capacity(document.text.len());
    for line in document.prose() {
        text.push_str(line.text.trim());
        text.push(if line.text.trim_start().starts_with(['-', '*', '#', '|']) { '\n' } else { ' ' });
    }
    render_text(&text, &LinkLabels::new()).text
}

/// Checks that the phrases that documents demand stand in the closeout beside them.
pub(crate) fn check_phrases(
    documents: &[PlanningDocument<'_>],
    is_older: impl Fn(&PlanningDocument<'_>) -> bool,
    found: &mut Vec<Finding>,
) {
    let is_closeout = |document: &&PlanningDocument<'_>| document.kind == Some(DocumentKind::Closeout);
    let closeouts: BTreeMap<String, (&PlanningDocument<'_>, String)> = documents
        .iter()
        .filter(is_closeout)
        .map(|document| (sibling_key(document.path), (document, flattened(document.text))))
        .collect();
    for document in documents.iter().filter(|document| document.kind != Some(DocumentKind::Closeout)) {
        let Some((closeout, text)) = closeouts.get(&sibling_key(document.path)) else { continue };
        for (phrase, line) in list_phrases(document) {
            if !text.contains(&flattened(&phrase)) {
                let message =
                    format!("{} demands the phrase \"{phrase}\" of this closeout (line {line})", document.path);
                let remedy = "write the phrase, or take it out of the plan";
                let finding = Finding::about_file(closeout.path, CheckRule::PhraseMissing, message, remedy);
                found.push(if is_older(closeout) { finding.as_advice() } else { finding });
            }
        }
    }
}

/// Phrases that documents demand of the closeout at a path.
pub(crate) fn list_demanded_phrases(documents: &[PlanningDocument<'_>], closeout: &str) -> Vec<String> {
    let key = sibling_key(closeout);
    let beside = documents
        .iter()
        .filter(|document| document.kind != Some(DocumentKind::Closeout) && sibling_key(document.path) == key);
    beside.flat_map(list_phrases).map(|(phrase, _)| phrase).collect()
}

/// Phrases in every section of a document that demands some: bullets, numbered entries, and
/// lines of a text fence.
fn list_phrases(document: &PlanningDocument<'_>) -> Vec<(String, usize)> {
    let mut phrases = Vec::new();
    for (index, heading) in document.headings.iter().enumerate() {
        if !PHRASE_SECTIONS.iter().any(|title| heading.is_titled(title)) {
            continue;
        }
        let end = document.headings[index + 1..].iter().find(|next| next.level <= heading.level);
        let last = end.map_or(document.lines.len(), |next| next.line - 1);
        let lines = document.lines.get(heading.line..last).unwrap_or_default();
        phrases.extend(lines.iter().filter_map(|line| Some((read_phrase(line)?, line.number))));
    }
    phrases
}

fn read_phrase(line: &TextLine<'_>) -> Option<String> {
    let bare = line.text.trim();
    let text = match line.is_code {
        true => Some(bare).filter(|bare| !bare.starts_with("```") && !bare.starts_with("~~~")),
        false => read_bullet(bare),
    }?;
    let phrase = text.trim().trim_matches(['`', '"']);
    (!phrase.is_empty()).then(|| phrase.to_owned())
}

/// Folder and name of a document without the word of its kind.
fn sibling_key(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = file_stem(path);
    let bare = match DocumentKind::of_path(path) {
        Some(kind) => stem[..stem.len() - kind.suffix().len()].trim_end_matches(['-', '_']),
        None => stem,
    };
    format!("{folder}/{bare}")
}

/// The text as it is seen: lower case, one space between words, without code font, emphasis and full stops at the
/// ends of words.
fn flattened(text: &str) -> String {
    let seen = render_text(text, &LinkLabels::new()).text;
    let words = seen.split_whitespace().map(|word| word.trim_matches(['`', '*', '"', '.', ',']).to_lowercase());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
