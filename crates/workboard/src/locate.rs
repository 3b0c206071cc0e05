//! Lines of a text and the places of bytes in it.

/// Byte offsets at which the lines of a text begin.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn index_lines(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub(crate) fn place_of(&self, text: &str, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts[line - 1];
        let before = text.get(start..byte.min(text.len())).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// Byte at which a line begins; the end of the text for a line that does not exist.
    pub(crate) fn start_of(&self, text: &str, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or(text.len())
    }

    /// Byte of a character of a line, both from 1.
    pub(crate) fn byte_at(&self, text: &str, (line, column): (usize, usize)) -> usize {
        let start = self.start_of(text, line);
        let rest = text.get(start..).unwrap_or_default();
        let within = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        start + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_bytes_are_each_others_inverse() {
        let text = "one\nzwö lf\n\nlast";
        let lines = LineIndex::index_lines(text);
        for (at, _) in text.char_indices() {
            assert_eq!(lines.byte_at(text, lines.place_of(text, at)), at, "byte {at}");
        }
        assert_eq!(lines.place_of(text, text.find("lf").unwrap()), (2, 5));
        assert_eq!(lines.start_of(text, 99), text.len());
    }
}
