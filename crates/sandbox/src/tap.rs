//! One output pipe as the harness reads it: kept, digested, and passed on line by line.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};

use crate::KeptOutput;
use crate::kept::Keeper;
use crate::lines::{Line, LineSplitter, OutputStream};

/// Capacity of a pipe.
const BUFFER_MAX: usize = 64 << 10;

/// One output pipe with its keeper and its lines.
#[derive(Debug)]
pub(crate) struct OutputPipe<R> {
    pipe: Option<R>,
    keeper: Keeper,
    lines: LineSplitter,
}

impl<R: Read + AsFd> OutputPipe<R> {
    /// Wraps a pipe; one that is absent counts as ended.
    pub(crate) fn new(pipe: Option<R>, stream: OutputStream, keep_head: usize, keep_tail: usize) -> Self {
        Self { pipe, keeper: Keeper::new(keep_head, keep_tail), lines: LineSplitter::new(stream) }
    }

    /// Descriptor to wait for; none after the end of file.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Number of bytes so far.
    pub(crate) fn total(&self) -> u64 {
        self.keeper.total()
    }

    /// Reads the available bytes; to be called when the pipe is ready. The buffer grows as
    /// needed.
    pub(crate) fn read_available(&mut self, buffer: &mut Vec<u8>, to: &mut Option<&mut dyn FnMut(Line<'_>)>) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.keeper.push_bytes(&buffer[..length]);
                if let Some(to) = to {
                    self.lines.push_bytes(&buffer[..length], to);
                }
                if length == buffer.len() && length < BUFFER_MAX {
                    buffer.resize(2 * length, 0);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    /// Passes on the last unfinished line and closes the digest.
    pub(crate) fn finish_tap(mut self, to: &mut Option<&mut dyn FnMut(Line<'_>)>) -> KeptOutput {
        if let Some(to) = to {
            self.lines.finish_line(to);
        }
        self.keeper.finish()
    }
}
