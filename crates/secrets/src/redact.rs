//! Rewriting of a text without the secrets found in it.

use std::sync::Arc;

use crate::marker;
use crate::scanner::{Match, Scanner};
use crate::settle::Settler;
use crate::{Class, Hit};

/// Findings that redaction leaves in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Nothing,
    /// Shapes whose value occurs in the baseline: a patch would not apply without them.
    Baseline,
}

impl Keep {
    /// True if the finding stays.
    pub(crate) fn keeps(self, found: &Match) -> bool {
        self == Keep::Baseline && found.class == Class::Baseline
    }
}

impl Scanner {
    /// The text with a marker in the place of everything found, and the hits. Line breaks
    /// stay, and redacting the result again changes nothing.
    pub fn redact(&self, bytes: &[u8]) -> (Vec<u8>, Vec<Hit>) {
        self.redact_keeping(bytes, Keep::Nothing)
    }

    /// Redacted bytes and all hits, those that stay included.
    pub fn redact_keeping(&self, bytes: &[u8], keep: Keep) -> (Vec<u8>, Vec<Hit>) {
        let (mut settler, mut writer) = (Settler::default(), Writer::default());
        self.each_match(bytes, 0, bytes.len(), |found, _| {
            if !keep.keeps(&found) {
                writer.add_match(&found);
            }
            settler.add_match(found);
        });
        let mut out = Vec::with_capacity(bytes.len());
        writer.write_redacted(self, bytes, 0, bytes.len(), &mut out);
        (out, settler.settle_hits(self, bytes.len()))
    }
}

/// Writes text from front to back and leaves out the matches.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// Matches that are still to be left out.
    matches: Vec<Match>,
    written_to: usize,
    open: Option<Open>,
}

/// A stretch that is being left out: one match, and what overlaps it.
#[derive(Debug)]
struct Open {
    name: Arc<str>,
    end: usize,
    /// True if a line ended in it.
    broken: bool,
    /// True if only blanks have followed since.
    at_line_start: bool,
}

impl Writer {
    /// Adds a match; one that spans several stretches leaves each of them out.
    pub(crate) fn add_match(&mut self, found: &Match) {
        for stretch in found.stretches() {
            let (start, end) = (stretch.start, stretch.end);
            self.matches.push(Match { start, end, parts: Vec::new(), ..found.clone() });
        }
    }

    /// Writes up to `to`; all matches that begin before it must be there. `text` begins at
    /// `base`.
    pub(crate) fn write_redacted(&mut self, scanner: &Scanner, text: &[u8], base: usize, to: usize, out: &mut Vec<u8>) {
        self.matches.sort_by_key(|found| (found.start, found.source));
        let mut next = 0;
        while self.written_to < to {
            let from = self.written_to;
            match &mut self.open {
                Some(open) => {
                    while let Some(found) = self.matches.get(next).filter(|found| found.start < open.end) {
                        open.end = open.end.max(found.end);
                        next += 1;
                    }
                    self.written_to = open.end.min(to);
                    open.write_lines(&text[from - base..self.written_to - base], out);
                    if self.written_to == open.end {
                        open.close(out);
                        self.open = None;
                    }
                }
                None => {
                    let found = self.matches.get(next).filter(|found| found.start < to);
                    self.written_to = found.map_or(to, |found| found.start);
                    out.extend_from_slice(&text[from - base..self.written_to - base]);
                    self.open = found.map(|found| Open::new(scanner.source_name(found.source), found.end, out));
                    next += usize::from(self.open.is_some());
                }
            }
        }
        self.matches.drain(..next);
    }
}

impl Open {
    fn new(name: Arc<str>, end: usize, out: &mut Vec<u8>) -> Open {
        marker::push_marker(&name, out);
        Open { name, end, broken: false, at_line_start: false }
    }

    /// Line breaks and the indentation after them.
    fn write_lines(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for byte in text {
            match byte {
                b'\n' | b'\r' => (self.broken, self.at_line_start) = (true, true),
                b' ' | b'\t' if self.at_line_start => {}
                _ => {
                    self.at_line_start = false;
                    continue;
                }
            }
            out.push(*byte);
        }
    }

    /// The last of several lines is marked too: what follows on it was next to something
    /// left out, and must look so.
    fn close(&self, out: &mut Vec<u8>) {
        if self.broken {
            marker::push_marker(&self.name, out);
        }
    }
}
