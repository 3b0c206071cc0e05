//! A body put together from its pieces.

use bytes::{Bytes, BytesMut};

/// Pieces as they come. Nearly every body is one piece, which is kept as it is.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    first: Bytes,
    /// All of them, once there are two.
    joined: BytesMut,
}

impl Gathered {
    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.joined.len()
    }

    /// Appends a piece. A body of one piece is never copied.
    pub(crate) fn push_piece(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.joined.extend_from_slice(&piece);
    }

    /// The whole body.
    pub(crate) fn all(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_their_order() {
        for (pieces, whole) in [
            (&[][..], ""),
            (&["abc"][..], "abc"),
            (&["", "abc", ""][..], "abc"),
            (&["a", "", "b", "cd", ""][..], "abcd"),
        ] {
            let mut gathered = Gathered::default();
            for piece in pieces {
                gathered.push_piece(Bytes::from_static(piece.as_bytes()));
            }
            assert_eq!(gathered.len(), whole.len(), "{pieces:?}");
            assert_eq!(gathered.all(), whole, "{pieces:?}");
        }
    }

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![b'a'; 100]);
        let mut gathered = Gathered::default();
        gathered.push_piece(piece.clone());
        assert_eq!(gathered.all().as_ptr(), piece.as_ptr());
    }
}
