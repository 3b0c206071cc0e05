//! Lines of a text and the places of bytes in it.

use std::cell::Cell;

/// Byte offsets at which the lines of a text begin.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
    /// Byte that was asked for last, and its column: the next one of the same line is counted from there.
    last: Cell<(usize, usize)>,
}

impl LineIndex {
    /// Finds the beginning of every line.
    pub(crate) fn index_lines(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect(), last: Cell::new((0, 1)) }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub(crate) fn place_of(&self, text: &str, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts[line - 1];
        let (from, column) =
            Some(self.last.get()).filter(|(from, _)| (start..=byte).contains(from)).unwrap_or((start, 1));
        let Some(between) = text.get(from..byte.min(text.len())) else { return (line, column) };
        let column = column + between.chars().count();
        self.last.set((byte.min(text.len()), column));
        (line, column)
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

/// Columns of rising bytes of one line, in one pass over it.
pub(crate) struct ColumnCounter<'t> {
    line: &'t str,
    byte: usize,
    column: usize,
}

impl<'t> ColumnCounter<'t> {
    /// Columns of one line.
    pub(crate) fn of_line(line: &'t str) -> Self {
        Self { line, byte: 0, column: 1 }
    }

    /// Column of a byte, from 1, in characters. A byte before the last one asked for begins again.
    pub(crate) fn column_of(&mut self, byte: usize) -> usize {
        if byte < self.byte {
            *self = Self::of_line(self.line);
        }
        self.column += self.line.get(self.byte..byte).unwrap_or_default().chars().count();
        self.byte = byte;
        self.column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_onward_and_again_for_an_earlier_byte() {
        let mut columns = ColumnCounter::of_line("zwölf Bäume");
        assert_eq!([0, 4, 6, 10, 4].map(|byte| columns.column_of(byte)), [1, 4, 6, 9, 4]);
    }

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
