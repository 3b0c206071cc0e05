//! Blocks of a document, each rendered and cut into sentences, and the search for claims in them.

use std::ops::Range;

use crate::document::{PlanningDocument, TextLine};
use crate::finding::Finding;
use crate::markup::label_of;
use crate::rendered::{LinkLabels, RenderedText, render_text};
use crate::rules::RuleBook;

/// A paragraph, bullet, cell or value, joined from the lines that it goes over.
#[derive(Debug, Clone, Default)]
struct JoinedBlock {
    text: String,
    /// Origin of each piece: byte in the text, byte in the document.
    pieces: Vec<(usize, usize)>,
}

impl JoinedBlock {
    fn add_piece(&mut self, piece: &str, at: usize) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.pieces.push((self.text.len(), at));
        self.text.push_str(piece);
    }

    fn origin_of(&self, byte: usize) -> usize {
        let index = self.pieces.partition_point(|(from, _)| *from <= byte).saturating_sub(1);
        self.pieces.get(index).map_or(0, |(from, at)| at + (byte - from))
    }
}

/// Finds claims that a rule forbids, in prose and in every value of the front matter.
pub(crate) fn check_wording(document: &PlanningDocument<'_>, book: &RuleBook, found: &mut Vec<Finding>) {
    let labels = list_labels(document);
    for block in join_blocks(document).into_iter().chain(join_front_values(document)) {
        let rendered = render_text(&block.text, &labels);
        for sentence in cut_sentences(&rendered) {
            note_claims(document, book, (&block, &rendered), &sentence, found);
        }
    }
}

/// Labels that links of a document can name.
fn list_labels(document: &PlanningDocument<'_>) -> LinkLabels {
    let label = |line: &TextLine<'_>| {
        let (label, _) = line.text.trim_start().strip_prefix('[')?.split_once("]:")?;
        Some(label_of(label))
    };
    document.prose().filter_map(label).collect()
}

/// A sentence of a rendered text.
pub(crate) struct SeenSentence<'r> {
    pub(crate) text: &'r str,
    /// Byte at which it begins in the rendered text.
    start: usize,
    /// Quotes and code of several words in it, their marks left out.
    pub(crate) phrases: Vec<Range<usize>>,
}

impl<'r> SeenSentence<'r> {
    /// A whole text as one sentence.
    pub(crate) fn of_text(rendered: &'r RenderedText) -> Self {
        describe_sentence(rendered, 0..rendered.text.len(), &mut rendered.phrases.as_slice())
    }
}

/// Cuts a text behind full stops, exclamation and question marks that white space follows, outside of quotes and code.
fn cut_sentences(rendered: &RenderedText) -> Vec<SeenSentence<'_>> {
    let (bytes, mut code) = (rendered.text.as_bytes(), rendered.phrases.iter().peekable());
    let (mut sentences, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, byte) in bytes.iter().enumerate() {
        while code.next_if(|range| range.end <= at).is_some() {}
        let is_code = code.peek().is_some_and(|range| range.contains(&at));
        match byte {
            b'"' if !is_code => is_quoted = !is_quoted,
            b'.' | b'!' | b'?' if !is_quoted && !is_code && bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace) => {
                sentences.push(from..at + 1);
                from = at + 1;
            }
            _ => {}
        }
    }
    sentences.push(from..bytes.len());
    let mut code = rendered.phrases.as_slice();
    sentences.into_iter().map(|range| describe_sentence(rendered, range, &mut code)).collect()
}

/// A sentence with its phrases; `code` loses those that lie before its end.
fn describe_sentence<'r>(
    rendered: &'r RenderedText,
    range: Range<usize>,
    code: &mut &[Range<usize>],
) -> SeenSentence<'r> {
    let count = code.iter().take_while(|phrase| phrase.start < range.end).count();
    let (inside, rest) = code.split_at(count);
    *code = rest;
    let text = &rendered.text[range.clone()];
    let mut phrases: Vec<Range<usize>> = inside
        .iter()
        .map(|phrase| phrase.start.saturating_sub(range.start)..phrase.end.min(range.end) - range.start)
        .collect();
    phrases.extend(find_quotes(text, &phrases));
    SeenSentence { text, start: range.start, phrases }
}

/// Quoted parts of a sentence outside of its code.
fn find_quotes(text: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut quotes = Vec::new();
    let mut code = code.iter().peekable();
    let (mut at, mut has_closing) = (0, true);
    while let Some(found) = text[at..].find(['"', '“']).map(|found| at + found) {
        while code.next_if(|range| range.end <= found).is_some() {}
        let open = if text[found..].starts_with('"') { '"' } else { '“' };
        let from = found + open.len_utf8();
        at = from;
        if code.peek().is_some_and(|range| range.contains(&found)) {
            continue;
        }
        let close = if open == '"' { '"' } else { '”' };
        let length = (has_closing || close == '"').then(|| text[from..].find(close)).flatten();
        match length {
            Some(length) => {
                quotes.push(from..from + length);
                at = from + length + close.len_utf8();
            }
            None => has_closing &= close == '"',
        }
    }
    quotes
}

/// Values of the front matter, each with the lines that continue it.
fn join_front_values(document: &PlanningDocument<'_>) -> Vec<JoinedBlock> {
    let mut sentences = Vec::new();
    let mut open = JoinedBlock::default();
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

fn note_claims(
    document: &PlanningDocument<'_>,
    book: &RuleBook,
    (block, rendered): (&JoinedBlock, &RenderedText),
    sentence: &SeenSentence<'_>,
    found: &mut Vec<Finding>,
) {
    for rule in &book.forbids {
        if let Some(at) = rule.find_in_sentence(sentence) {
            let origin = block.origin_of(rendered.origin_of(sentence.start + at));
            let place = document.index.place_of(document.text, origin);
            let message = format!("this claims what no record may claim, as in \"{}\"", rule.rule.sentence);
            found.push(Finding::of_words(document.path, place, &rule.rule, message));
        }
    }
}

fn join_blocks(document: &PlanningDocument<'_>) -> Vec<JoinedBlock> {
    let mut blocks = Vec::new();
    let mut open = JoinedBlock::default();
    for line in document.prose() {
        let bare = line.text.trim();
        let ends_block = bare.is_empty() || is_block_start(bare);
        if ends_block && !open.text.is_empty() {
            blocks.push(std::mem::take(&mut open));
        }
        if bare.is_empty() || bare.starts_with('>') {
            continue;
        }
        if bare.starts_with('|') {
            add_cells(line, &mut blocks);
            continue;
        }
        add_line(line, &mut open, &mut blocks);
    }
    blocks.push(open);
    blocks
}

/// Headings, bullets, numbered entries, quotes and rows begin a new block.
fn is_block_start(bare: &str) -> bool {
    let is_numbered = bare.split_once(['.', ')']).is_some_and(|(number, rest)| {
        !number.is_empty() && number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit()) && rest.starts_with(' ')
    });
    is_numbered || bare.starts_with(['#', '>', '|']) || ["- ", "* ", "+ "].iter().any(|mark| bare.starts_with(mark))
}

fn add_cells(line: &TextLine<'_>, blocks: &mut Vec<JoinedBlock>) {
    let mut at = line.start;
    for cell in line.text.split('|') {
        let mut open = JoinedBlock::default();
        add_trimmed(cell, at, &mut open);
        if !open.text.is_empty() {
            blocks.push(open);
        }
        at += cell.len() + 1;
    }
}

fn add_line(line: &TextLine<'_>, open: &mut JoinedBlock, blocks: &mut Vec<JoinedBlock>) {
    let marks = line.text.len() - line.text.trim_start_matches(['#', ' ', '\t', '-', '*', '+']).len();
    add_trimmed(&line.text[marks..], line.start + marks, open);
    if line.text.trim_start().starts_with('#') && !open.text.is_empty() {
        blocks.push(std::mem::take(open));
    }
}

fn add_trimmed(piece: &str, at: usize, open: &mut JoinedBlock) {
    let trimmed = piece.trim();
    if !trimmed.is_empty() {
        open.add_piece(trimmed, at + (piece.len() - piece.trim_start().len()));
    }
}
