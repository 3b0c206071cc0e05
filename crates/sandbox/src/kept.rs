//! One output stream in constant memory: its beginning, its end, its length and its digest.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Output of one stream: its beginning, its end, and the digest of all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutput {
    /// First bytes, up to the asked number.
    pub head: Vec<u8>,
    /// Last bytes, up to the asked number, without those of the head.
    pub tail: Vec<u8>,
    /// All bytes that were written, kept or not.
    pub total: u64,
    /// Over all bytes that were written, kept or not.
    pub sha256: [u8; 32],
}

impl KeptOutput {
    /// Number of bytes that were dropped between head and tail.
    pub fn not_kept(&self) -> u64 {
        self.total.saturating_sub(self.head.len() as u64).saturating_sub(self.tail.len() as u64)
    }

    /// Head and tail, with a line between them that says how much is missing.
    pub fn text_bytes(&self) -> Vec<u8> {
        let mut text = self.head.clone();
        let missing = self.not_kept();
        if missing > 0 {
            if text.last().is_some_and(|last| *last != b'\n') {
                text.push(b'\n');
            }
            text.extend_from_slice(format!("[... {missing} bytes not kept ...]\n").as_bytes());
        }
        text.extend_from_slice(&self.tail);
        text
    }
}

/// Collector of one stream in constant memory.
#[derive(Debug)]
pub(crate) struct Keeper {
    keep_head: usize,
    head: Vec<u8>,
    tail: Ring,
    total: u64,
    digest: Sha256,
}

impl Keeper {
    /// Starts empty; `keep_head` and `keep_tail` are in bytes.
    pub(crate) fn new(keep_head: usize, keep_tail: usize) -> Self {
        let tail = Ring { capacity: keep_tail, bytes: Vec::new(), oldest: 0 };
        Self { keep_head, head: Vec::new(), tail, total: 0, digest: Sha256::new() }
    }

    /// Takes the next bytes of the stream. All of them enter the digest, also those that
    /// are not kept.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.digest.update(bytes);
        let room = self.keep_head - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.push(rest);
    }

    /// Number of bytes so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Closes the digest.
    pub(crate) fn finish(self) -> KeptOutput {
        let sha256 = self.digest.finalize().into();
        KeptOutput { head: self.head, tail: self.tail.into_bytes(), total: self.total, sha256 }
    }
}

/// The last `capacity` bytes, grown only as they arrive.
#[derive(Debug)]
struct Ring {
    capacity: usize,
    bytes: Vec<u8>,
    oldest: usize,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        let skip = bytes.len().saturating_sub(self.capacity);
        let room = self.capacity - self.bytes.len();
        let (grow, mut rest) = bytes[skip..].split_at(room.min(bytes.len() - skip));
        self.bytes.extend_from_slice(grow);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.capacity - self.oldest));
            self.bytes[self.oldest..self.oldest + now.len()].copy_from_slice(now);
            self.oldest = (self.oldest + now.len()) % self.capacity;
            rest = later;
        }
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.rotate_left(self.oldest);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(head: usize, tail: usize, chunk: usize, all: &[u8]) -> KeptOutput {
        let mut keeper = Keeper::new(head, tail);
        all.chunks(chunk).for_each(|piece| keeper.push_bytes(piece));
        keeper.finish()
    }

    #[test]
    fn first_and_last_bytes_survive_every_chunking() {
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for (head, tail) in [(0, 0), (0, 7), (7, 0), (10, 13), (500, 500), (999, 1), (2000, 2000), (1, 998)] {
            for chunk in [1, 2, 3, 12, 13, 14, 100, 1000] {
                let kept = kept(head, tail, chunk, &all);
                let head = head.min(all.len());
                let tail = tail.min(all.len() - head);
                assert_eq!(kept.head, all[..head], "head {head} tail {tail} chunk {chunk}");
                assert_eq!(kept.tail, all[all.len() - tail..], "head {head} tail {tail} chunk {chunk}");
                assert_eq!(kept.total, 1000);
                assert_eq!(kept.sha256, <[u8; 32]>::from(Sha256::digest(&all)));
            }
        }
    }

    #[test]
    fn the_gap_is_named() {
        let cases = [
            (4, 4, "abcdefgh", "abcdefgh"),
            (4, 2, "abcdefgh", "abcd\n[... 2 bytes not kept ...]\ngh"),
            (4, 2, "abc\nefgh", "abc\n[... 2 bytes not kept ...]\ngh"),
            (0, 2, "abcd", "[... 2 bytes not kept ...]\ncd"),
            (0, 0, "", ""),
        ];
        for (head, tail, all, expected) in cases {
            let text = kept(head, tail, 3, all.as_bytes()).text_bytes();
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }
}
