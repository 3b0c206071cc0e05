//! Sentences of a document, each with the places of its bytes, and the search for claims in
//! them.

use crate::document::{PlanningDocument, TextLine};
use crate::finding::Finding;
use crate::rules::RuleBook;

/// A sentence, joined from the lines that it goes over.
#[derive(Debug, Clone, Default)]
struct JoinedSentence {
    text: String,
    /// Origin of each piece: byte in the text, byte in the document.
    pieces: Vec<(usize, usize)>,
    /// True after an odd number of quotes.
    is_quoted: bool,
}

impl JoinedSentence {
    fn add_piece(&mut self, piece: &str, at: usize) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.pieces.push((self.text.len(), at));
        self.text.push_str(piece);
        self.is_quoted ^= piece.matches('"').count() % 2 == 1;
    }

    fn origin_of(&self, byte: usize) -> usize {
        let index = self.pieces.partition_point(|(from, _)| *from <= byte).saturating_sub(1);
        self.pieces.get(index).map_or(0, |(from, at)| at + (byte - from))
    }
}

/// Finds claims that a rule forbids, in prose and in every value of the front matter.
pub(crate) fn check_wording(document: &PlanningDocument<'_>, book: &RuleBook, found: &mut Vec<Finding>) {
    for sentence in join_sentences(document) {
        note_claims(document, book, &sentence, found);
    }
    for sentence in join_front_values(document) {
        note_claims(document, book, &sentence, found);
    }
}

/// Values of the front matter, each with the lines that continue it.
fn join_front_values(document: &PlanningDocument<'_>) -> Vec<JoinedSentence> {
    let mut sentences = Vec::new();
    let mut open = JoinedSentence::default();
    for line in document.lines.iter().filter(|line| line.is_front && line.text.trim_end() != "---") {
        let is_continued = line.text.starts_with([' ', '\t', '-']);
        if !is_continued && !open.text.is_empty() {
            sentences.push(std::mem::take(&mut open));
        }
        let key = if is_continued { 0 } else { line.text.find(':').map_or(0, |at| at + 1) };
        let rest = &line.text[key..];
        let value = rest.trim_start_matches([' ', '\t', '-', '>', '|', '"', '\'']);
        let at = line.start + key + (rest.len() - value.len());
        let value = value.trim_end().trim_end_matches(['"', '\'']);
        if !value.is_empty() {
            open.add_piece(value, at);
        }
    }
    sentences.push(open);
    sentences
}

fn note_claims(document: &PlanningDocument<'_>, book: &RuleBook, sentence: &JoinedSentence, found: &mut Vec<Finding>) {
    for rule in &book.forbids {
        if let Some(at) = rule.find_claim(&sentence.text) {
            let place = document.index.place_of(document.text, sentence.origin_of(at));
            let message = format!("this claims what no record may claim, as in \"{}\"", rule.rule.sentence);
            found.push(Finding::of_words(document.path, place, &rule.rule, message));
        }
    }
}

fn join_sentences(document: &PlanningDocument<'_>) -> Vec<JoinedSentence> {
    let mut sentences = Vec::new();
    let mut open = JoinedSentence::default();
    for line in document.prose() {
        let bare = line.text.trim();
        let ends_block = bare.is_empty() || is_block_start(bare);
        if ends_block && !open.text.is_empty() {
            sentences.push(std::mem::take(&mut open));
        }
        if bare.is_empty() || bare.starts_with('>') {
            continue;
        }
        if bare.starts_with('|') {
            add_cells(line, &mut sentences);
            continue;
        }
        add_line(line, &mut open, &mut sentences);
    }
    if !open.text.is_empty() {
        sentences.push(open);
    }
    sentences
}

/// Headings, bullets, numbered entries, quotes and rows begin a new block.
fn is_block_start(bare: &str) -> bool {
    let is_numbered = bare.split_once(['.', ')']).is_some_and(|(number, rest)| {
        !number.is_empty() && number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit()) && rest.starts_with(' ')
    });
    is_numbered || bare.starts_with(['#', '>', '|']) || ["- ", "* ", "+ "].iter().any(|mark| bare.starts_with(mark))
}

fn add_cells(line: &TextLine<'_>, sentences: &mut Vec<JoinedSentence>) {
    let mut at = line.start;
    for cell in line.text.split('|') {
        let mut open = JoinedSentence::default();
        add_text(cell, at, &mut open, sentences);
        if !open.text.is_empty() {
            sentences.push(open);
        }
        at += cell.len() + 1;
    }
}

fn add_line(line: &TextLine<'_>, open: &mut JoinedSentence, sentences: &mut Vec<JoinedSentence>) {
    let marks = line.text.len() - line.text.trim_start_matches(['#', ' ', '\t', '-', '*', '+']).len();
    add_text(&line.text[marks..], line.start + marks, open, sentences);
    if line.text.trim_start().starts_with('#') && !open.text.is_empty() {
        sentences.push(std::mem::take(open));
    }
}

/// Adds a text, cut after each end of a sentence that stands outside of quotes.
fn add_text(text: &str, at: usize, open: &mut JoinedSentence, sentences: &mut Vec<JoinedSentence>) {
    let mut from = 0;
    for end in sentence_ends(text, open.is_quoted) {
        add_trimmed(&text[from..end], at + from, open);
        sentences.push(std::mem::take(open));
        from = end;
    }
    add_trimmed(&text[from..], at + from, open);
}

fn add_trimmed(piece: &str, at: usize, open: &mut JoinedSentence) {
    let trimmed = piece.trim();
    if !trimmed.is_empty() {
        open.add_piece(trimmed, at + (piece.len() - piece.trim_start().len()));
    }
}

/// Bytes behind full stops, exclamation and question marks that white space follows, outside of quotes.
fn sentence_ends(text: &str, mut is_quoted: bool) -> Vec<usize> {
    let mut ends = Vec::new();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'.' | b'!' | b'?' if !is_quoted && bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace) => {
                ends.push(at + 1)
            }
            _ => {}
        }
    }
    ends
}

/// The sentence with quoted text and code phrases as blanks of the same length, and code
/// font and emphasis taken off.
pub(crate) fn quoted_blanked(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(at) = rest.find(['"', '“', '`', '*']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let open = from.chars().next().unwrap_or(' ');
        let close = if open == '“' { '”' } else { open };
        let inner_start = open.len_utf8();
        let inner =
            from[inner_start..].find(close).filter(|_| open != '*').map(|end| &from[inner_start..inner_start + end]);
        match inner {
            Some(inner) => {
                let is_kept = open == '`' && !inner.contains(' ');
                blank_into(&mut out, inner_start);
                if is_kept {
                    out.push_str(inner)
                } else {
                    blank_into(&mut out, inner.len())
                }
                blank_into(&mut out, close.len_utf8());
                rest = &from[inner_start + inner.len() + close.len_utf8()..];
            }
            None => {
                blank_into(&mut out, inner_start);
                rest = &from[inner_start..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn blank_into(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}
