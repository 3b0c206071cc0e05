//! Finding the frames of an event stream in bytes that are passed on as they come.

use memchr::memchr;

/// A frame or a line that is longer than any answer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameTooLong;

/// Splits a stream into the `data` of its events. Only what is cut off at the end of a
/// piece is copied.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// The data of an event whose end has not come.
    data: Vec<u8>,
    has_data: bool,
    longest: usize,
}

impl Frames {
    /// Reader with a limit on the bytes of one frame.
    pub(crate) fn new(longest: usize) -> Self {
        Self { line: Vec::new(), data: Vec::new(), has_data: false, longest }
    }

    /// Calls `see` with each event's data that ends in this piece.
    pub(crate) fn feed(&mut self, piece: &[u8], mut see: impl FnMut(&[u8])) -> Result<(), FrameTooLong> {
        let mut rest = piece;
        // The one data line of an event is the common case and is read in place.
        let mut whole: Option<&[u8]> = None;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, tail) = (&rest[..end], &rest[end + 1..]);
            rest = tail;
            if !self.line.is_empty() {
                self.extend_line(line)?;
                let line = std::mem::take(&mut self.line);
                self.take_line(&line, &mut None, &mut see)?;
                self.line = line;
                self.line.clear();
                continue;
            }
            if let Some(value) = data_of(line) {
                if self.has_data || whole.is_some() {
                    self.spill(&mut whole)?;
                    self.push_data(value)?;
                } else {
                    whole = Some(value);
                }
                continue;
            }
            self.take_line(line, &mut whole, &mut see)?;
        }
        self.spill(&mut whole)?;
        self.extend_line(rest)
    }

    fn take_line(
        &mut self,
        line: &[u8],
        whole: &mut Option<&[u8]>,
        see: &mut impl FnMut(&[u8]),
    ) -> Result<(), FrameTooLong> {
        if let Some(value) = data_of(line) {
            return self.push_data(value);
        }
        if !strip_cr(line).is_empty() {
            return Ok(());
        }
        if let Some(data) = whole.take() {
            see(data);
        } else if self.has_data {
            see(&self.data);
        }
        self.data.clear();
        self.data.shrink_to(4096);
        self.has_data = false;
        Ok(())
    }

    fn spill(&mut self, whole: &mut Option<&[u8]>) -> Result<(), FrameTooLong> {
        match whole.take() {
            Some(data) => self.push_data(data),
            None => Ok(()),
        }
    }

    fn push_data(&mut self, value: &[u8]) -> Result<(), FrameTooLong> {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        if self.data.len() > self.longest { Err(FrameTooLong) } else { Ok(()) }
    }

    fn extend_line(&mut self, part: &[u8]) -> Result<(), FrameTooLong> {
        if self.line.len() + part.len() > self.longest {
            return Err(FrameTooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }
}

fn strip_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = strip_cr(line.strip_prefix(b"data:")?);
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &[u8], size: usize) -> Vec<String> {
        let mut frames = Frames::new(1024);
        let mut seen = Vec::new();
        for piece in stream.chunks(size) {
            frames.feed(piece, |data| seen.push(String::from_utf8_lossy(data).into_owned())).unwrap();
        }
        seen
    }

    #[test]
    fn frames_are_found_however_they_are_split() {
        let stream =
            b": hello\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:{\"b\":2}\r\nid: 7\r\n\r\ndata: one\ndata: two\n\n\
            data\n\n\n\ndata: \n\ndata: [DONE]\n\ndata: unfinished";
        for size in 1..=stream.len() {
            assert_eq!(check(stream, size), ["{\"a\":1}", "{\"b\":2}", "one\ntwo", "", "[DONE]"], "pieces of {size}");
        }
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        let mut frames = Frames::new(100);
        assert_eq!(frames.feed(&[b'x'; 101], |_| ()), Err(FrameTooLong));
        let mut frames = Frames::new(100);
        let many = b"data: 0123456789\n".repeat(20);
        assert_eq!(frames.feed(&many, |_| ()), Err(FrameTooLong));
    }
}
