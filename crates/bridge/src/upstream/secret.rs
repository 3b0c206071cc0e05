//! Values that must not be seen: credentials, the run token, decoys.

use std::fmt;
use std::sync::Arc;

use memchr::memmem;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Value that is wiped from memory with its last reference, and never printed.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<Vec<u8>>>);

impl Secret {
    /// Wraps a value, which is erased from memory on drop.
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Self(Arc::new(Zeroizing::new(value.into())))
    }

    /// The value itself. A caller keeps it out of everything that is written.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The value, for the one place that sends it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The run token, as its digest: the bridge can recognise it and cannot tell it.
#[derive(Debug, Clone, Copy)]
pub struct RunToken([u8; 32]);

impl RunToken {
    /// Keeps only the digest of the token, so that the token itself cannot leak from here.
    pub fn new(token: &Secret) -> Self {
        Self(Sha256::digest(token.bytes()).into())
    }

    /// Takes the same time for every value of one length: what is compared is digests, to
    /// the last byte.
    pub(crate) fn is_token(&self, presented: &[u8]) -> bool {
        let presented: [u8; 32] = Sha256::digest(presented).into();
        let difference = self.0.iter().zip(presented).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        std::hint::black_box(difference) == 0
    }
}

/// Looks for secrets in bytes that arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct SecretLookout {
    needles: Vec<Secret>,
    /// The end of what was seen, one byte less than the longest needle: a value split
    /// between two pieces is found.
    tail: Zeroizing<Vec<u8>>,
}

impl SecretLookout {
    /// Values shorter than this are too common to look for.
    const SHORTEST: usize = 12;

    /// Searches for these values; ones too short to be meaningful are ignored.
    pub(crate) fn new(needles: impl IntoIterator<Item = Secret>) -> Self {
        let needles = needles.into_iter().filter(|needle| needle.bytes().len() >= Self::SHORTEST).collect();
        Self { needles, tail: Zeroizing::default() }
    }

    /// True if a value occurs in this piece or across its border to the one before.
    pub(crate) fn sees(&mut self, piece: &[u8]) -> bool {
        let Some(longest) = self.needles.iter().map(|needle| needle.bytes().len()).max() else { return false };
        if finds(&self.needles, piece) {
            return true;
        }
        let overlap = longest - 1;
        self.tail.extend_from_slice(&piece[..piece.len().min(overlap)]);
        let found = finds(&self.needles, &self.tail);
        self.keep(piece, overlap);
        found
    }

    fn keep(&mut self, piece: &[u8], overlap: usize) {
        if piece.len() >= overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - overlap..]);
        } else {
            let surplus = self.tail.len().saturating_sub(overlap);
            self.tail.drain(..surplus);
        }
    }
}

/// True if one of the values occurs in `bytes`.
fn finds(needles: &[Secret], bytes: &[u8]) -> bool {
    needles.iter().any(|needle| memmem::find(bytes, needle.bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_recognised_and_not_told() {
        let token = RunToken::new(&Secret::new("run-token-of-this-run"));
        assert!(token.is_token(b"run-token-of-this-run"));
        assert!(!token.is_token(b"run-token-of-this-ruN") && !token.is_token(b""));
        assert!(!format!("{:?}", Secret::new("run-token")).contains("run-token"));
    }

    #[test]
    fn a_secret_is_found_however_it_is_split() {
        let text = b"before sk-0123456789abcdef after";
        for size in 1..text.len() {
            let mut lookout = SecretLookout::new([Secret::new("sk-0123456789abcdef"), Secret::new("short")]);
            assert!(text.chunks(size).any(|piece| lookout.sees(piece)), "pieces of {size}");
        }
        let mut lookout = SecretLookout::new([Secret::new("sk-0123456789abcdef")]);
        assert!(!b"sk-0123456789abcde-sk-short f".chunks(3).any(|piece| lookout.sees(piece)));
    }
}
