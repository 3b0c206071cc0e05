//! One output pipe as the harness reads it: kept, digested, and passed on line by line.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};

use crate::Kept;
use crate::kept::Keeper;
use crate::lines::{Line, Lines, Stream};

/// What a pipe holds.
const BUFFER_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Tap<R> {
    pipe: Option<R>,
    keeper: Keeper,
    lines: Lines,
}

impl<R: Read + AsFd> Tap<R> {
    pub(crate) fn new(pipe: Option<R>, stream: Stream, keep_head: usize, keep_tail: usize) -> Self {
        Self { pipe, keeper: Keeper::new(keep_head, keep_tail), lines: Lines::new(stream) }
    }

    /// What to wait for; nothing after the end of file.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn total(&self) -> u64 {
        self.keeper.total()
    }

    /// Takes what is there; to be called when the pipe is ready. The buffer grows with what comes.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>, to: &mut Option<&mut dyn FnMut(Line<'_>)>) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.keeper.push(&buffer[..length]);
                if let Some(to) = to {
                    self.lines.push(&buffer[..length], to);
                }
                if length == buffer.len() && length < BUFFER_MAX {
                    buffer.resize(2 * length, 0);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    pub(crate) fn finish(mut self, to: &mut Option<&mut dyn FnMut(Line<'_>)>) -> Kept {
        if let Some(to) = to {
            self.lines.finish(to);
        }
        self.keeper.finish()
    }
}
