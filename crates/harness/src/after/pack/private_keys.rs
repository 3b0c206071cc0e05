//! Search for private keys in whatever is packed, by content: a name says nothing of what a file holds.

use std::io::{self, Write};

use secrets::{RuleSet, Scanner};

/// Bytes that are searched at a time.
const WINDOW: usize = 1 << 20;
/// Bytes of a window that the next one has too; more than the longest key.
const OVERLAP: usize = 64 << 10;
/// Rules of the scanner that find private keys.
const KEY_RULES: [&str; 7] = [
    "private-key",
    "pgp-private-key",
    "putty-private-key",
    "age-key",
    "wireguard-key",
    "jwk-private-key",
    "xml-private-key",
];

/// Writer that keeps nothing and says afterwards if a private key went through it.
#[derive(Debug, Default)]
pub(super) struct KeySearch {
    window: Vec<u8>,
    is_found: bool,
}

impl KeySearch {
    /// True if what was written holds a private key.
    pub(super) fn finish_search(mut self) -> bool {
        self.search_window();
        self.is_found
    }

    fn search_window(&mut self) {
        let hits = Scanner::new(&[], RuleSet::standard()).scan(&self.window);
        self.is_found |= hits.iter().any(|hit| KEY_RULES.contains(&&*hit.rule));
    }
}

impl Write for KeySearch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.window.extend_from_slice(bytes);
        if self.window.len() >= WINDOW {
            self.search_window();
            self.window.drain(..self.window.len() - OVERLAP);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key in parts, so that it is none in this file.
    fn key() -> Vec<u8> {
        let body = "9KnT5Cok8P9JbbSJz8/jAfHwS+AQs0UaGP0V0sDlB5lHAq7VcESVrWtG5+hTF22h";
        ["-----BEGIN PRIVATE", " KEY-----\n", body, "\n-----END PRIVATE", " KEY-----\n"].concat().into_bytes()
    }

    #[test]
    fn a_key_is_found_wherever_it_stands_and_its_mention_is_none() {
        let found = |before: usize, bytes: &[u8]| {
            let mut search = KeySearch::default();
            search.write_all(&vec![b'\n'; before]).unwrap();
            bytes.chunks(7).for_each(|piece| search.write_all(piece).unwrap());
            search.finish_search()
        };
        for before in [0, 1, WINDOW - 60, WINDOW, 3 * WINDOW - 100] {
            assert!(found(before, &key()), "{before}");
        }
        assert!(!found(WINDOW, b"the line -----BEGIN PRIVATE KEY----- begins a key\n"));
        assert!(!found(0, b""));
    }
}
