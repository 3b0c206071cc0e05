//! A stream that gives no more bytes than were allowed so far. The file may name any size, and the
//! reader of tar files takes whole headers into memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Room for the header of an entry, the entry with its long name, and what pads the entry
/// before it.
const HEAD_ROOM: u64 = 4096;

/// Bytes that may still be read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadAllowance(Rc<Cell<u64>>);

impl ReadAllowance {
    /// Allows a header and content of this size from here on, and nothing beyond.
    pub(super) fn allow_entry(&self, size: u64) {
        self.0.set(size.saturating_add(HEAD_ROOM));
    }
}

/// Reader that fails where its allowance ends.
#[derive(Debug)]
pub(super) struct BoundedStream<R> {
    inner: R,
    allowance: ReadAllowance,
}

impl<R> BoundedStream<R> {
    /// Reader of a stream within an allowance.
    pub(super) const fn new(inner: R, allowance: ReadAllowance) -> Self {
        Self { inner, allowance }
    }

    /// The stream without its bound.
    pub(super) fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: Read> Read for BoundedStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.0.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("it exceeds its size limit"));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.inner.read(&mut buffer[..most])?;
        self.allowance.0.set(left - count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_beyond_the_allowance_is_given() {
        let allowance = ReadAllowance::default();
        let mut stream = BoundedStream::new(io::repeat(0), allowance.clone());
        allowance.allow_entry(10);
        let mut bytes = Vec::new();
        assert!(stream.read_to_end(&mut bytes).is_err());
        assert_eq!(bytes.len() as u64, 10 + HEAD_ROOM);
        allowance.allow_entry(0);
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 16, "control: a new allowance goes on");
    }
}
