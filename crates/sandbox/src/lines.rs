//! Output as lines, for observers of a live program. Bounded: a program that never ends a
//! line costs nothing.

/// Bytes of a line that are passed on; the rest of it is dropped and the line marked as cut.
pub const LINE_MAX: usize = 64 << 10;

/// Output stream of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// One line of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Stream that the line came from.
    pub stream: OutputStream,
    /// Bytes of the line, without the newline.
    pub bytes: &'a [u8],
    /// True if the line was longer than the bound.
    pub cut: bool,
}

/// Splitter of one stream into lines, with a bound on the length of a line.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    stream: OutputStream,
    open: Vec<u8>,
    cut: bool,
}

impl LineSplitter {
    /// Starts at the beginning of a line.
    pub(crate) fn new(stream: OutputStream) -> Self {
        Self { stream, open: Vec::new(), cut: false }
    }

    /// Takes the next bytes and passes on every line that they complete.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8], to: &mut dyn FnMut(Line<'_>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.split_last() {
                Some((b'\n', rest)) => {
                    self.add(rest);
                    self.emit(to);
                }
                _ => self.add(piece),
            }
        }
    }

    /// The last line, if it had no newline.
    pub(crate) fn finish_line(&mut self, to: &mut dyn FnMut(Line<'_>)) {
        if !self.open.is_empty() {
            self.emit(to);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LINE_MAX - self.open.len();
        self.cut |= bytes.len() > room;
        self.open.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn emit(&mut self, to: &mut dyn FnMut(Line<'_>)) {
        to(Line { stream: self.stream, bytes: &self.open, cut: self.cut });
        self.open.clear();
        self.cut = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length, first byte, cut.
    type Seen = (usize, u8, bool);

    fn lines(chunks: &[&[u8]]) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut to = |line: Line<'_>| seen.push((line.bytes.len(), line.bytes.first().copied().unwrap_or(0), line.cut));
        let mut lines = LineSplitter::new(OutputStream::Stdout);
        chunks.iter().for_each(|chunk| lines.push_bytes(chunk, &mut to));
        lines.finish_line(&mut to);
        seen
    }

    #[test]
    fn lines_are_joined_split_and_bounded() {
        let long = vec![b'x'; LINE_MAX + 1];
        let exact = &long[1..];
        let cases: [(&[&[u8]], &[Seen]); 6] = [
            (&[], &[]),
            (&[b"a\nbb\n"], &[(1, b'a', false), (2, b'b', false)]),
            (&[b"a", b"a\n\nb"], &[(2, b'a', false), (0, 0, false), (1, b'b', false)]),
            (&[exact, b"\n"], &[(LINE_MAX, b'x', false)]),
            (&[&long, b"y\nz\n"], &[(LINE_MAX, b'x', true), (1, b'z', false)]),
            (&[&long, &long], &[(LINE_MAX, b'x', true)]),
        ];
        for (chunks, expected) in cases {
            assert_eq!(lines(chunks), expected);
        }
    }
}
