//! Redaction of texts that come in pieces, with bounded memory: findings do not depend on
//! the borders of the pieces.

use crate::redact::{Keep, Writer};
use crate::scanner::Scanner;
use crate::settle::Settler;
use crate::{Hit, LOOKAHEAD, LOOKBACK};

/// Bytes that are searched at a time.
const STEP: usize = 64 * 1024;

/// Redacts a text that comes in pieces of any size. It holds back no more than about 100
/// KiB of it.
#[derive(Debug)]
pub struct Redactor<'a> {
    scanner: &'a Scanner,
    keep: Keep,
    /// The text from `base` on.
    buffer: Vec<u8>,
    base: usize,
    /// Up to where it has been looked through.
    examined_to: usize,
    settler: Settler,
    writer: Writer,
}

impl<'a> Redactor<'a> {
    /// Redactor for one stream.
    pub fn new(scanner: &'a Scanner, keep: Keep) -> Redactor<'a> {
        Redactor {
            scanner,
            keep,
            buffer: Vec::new(),
            base: 0,
            examined_to: 0,
            settler: Settler::default(),
            writer: Writer::default(),
        }
    }

    /// Takes the next piece. Appends to `out` what is redacted and will not change, and
    /// gives the hits that are settled.
    pub fn push_piece(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Vec<Hit> {
        let mut hits = Vec::new();
        for piece in piece.chunks(STEP) {
            self.buffer.extend_from_slice(piece);
            let examinable_to = (self.base + self.buffer.len()).saturating_sub(LOOKAHEAD);
            if examinable_to >= self.examined_to + STEP {
                self.examine(examinable_to);
                hits.extend(self.give(examinable_to.saturating_sub(LOOKBACK), out));
            }
        }
        hits
    }

    /// Writes the rest after the last piece, and returns the hits that are left.
    pub fn finish_stream(mut self, out: &mut Vec<u8>) -> Vec<Hit> {
        let end = self.base + self.buffer.len();
        self.examine(end);
        self.give(end, out)
    }

    fn examine(&mut self, to: usize) {
        let (base, keep) = (self.base, self.keep);
        let (settler, writer) = (&mut self.settler, &mut self.writer);
        self.scanner.each_match(&self.buffer, self.examined_to - base, to - base, |found, _| {
            let found = found.moved_by(base);
            if !keep.keeps(&found) {
                writer.add_match(&found);
            }
            settler.add_match(found);
        });
        self.examined_to = to;
    }

    /// Gives out everything up to a place before which no match can begin any more.
    fn give(&mut self, known_to: usize, out: &mut Vec<u8>) -> Vec<Hit> {
        let hits = self.settler.settle_hits(self.scanner, known_to);
        self.writer.write_redacted(self.scanner, &self.buffer, self.base, known_to, out);
        self.buffer.drain(..known_to.saturating_sub(self.base).min(self.buffer.len()));
        self.base = self.base.max(known_to);
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Known, KnownClass, RuleSet};

    /// Every way to fall between the bytes of a value that is escaped and wrapped, so that it is found from its second
    /// half, far behind its beginning.
    #[test]
    fn a_hit_may_lie_across_any_boundary() {
        let scanner = Scanner::new(&[Known::new("v", KnownClass::Canary, b"w1x2y3z4a5b6c7d8")], RuleSet::none());
        let indent = " ".repeat(100);
        let written = format!("\\u0077\\u0031\n{indent}\\u0078\\u0032y3z4a5\\u0062\n{indent}6c7d8");
        let text = [".".repeat(STEP + 60), written.clone(), ".".repeat(STEP + LOOKAHEAD)].concat().into_bytes();
        let (whole, expected) = scanner.redact(&text);
        assert_eq!((expected[0].offset, expected[0].len), (STEP as u64 + 60, written.len() as u64));
        for boundary in STEP..STEP + 60 + written.len() + 20 {
            let (first, rest) = text.split_at(boundary + LOOKAHEAD);
            let mut redactor = Redactor::new(&scanner, Keep::Nothing);
            let (mut out, mut hits) = (Vec::new(), Vec::new());
            hits.extend(redactor.push_piece(first, &mut out));
            assert_eq!(redactor.examined_to, boundary);
            hits.extend(redactor.push_piece(rest, &mut out));
            hits.extend(redactor.finish_stream(&mut out));
            assert!(hits == expected && out == whole, "{boundary}: {hits:?}");
        }
    }

    #[test]
    fn little_is_held_back() {
        let scanner = Scanner::new(&[], RuleSet::standard());
        let mut redactor = Redactor::new(&scanner, Keep::Nothing);
        let mut out = Vec::new();
        for _ in 0..40 {
            redactor.push_piece(&b"nothing to see\n".repeat(1000), &mut out);
            assert!(redactor.buffer.len() <= 2 * STEP + LOOKAHEAD + LOOKBACK);
        }
        assert!(out.len() > 400_000);
    }
}
