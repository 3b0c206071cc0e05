//! The cost of a patch, known before it is made. Finding the fewest changed lines takes far
//! more than linear time on adversarial content (lines of two different letters are
//! enough), so the search is bounded; the rest of a result is written as whole blocks of
//! lines or whole contents, in linear time.

use crate::error::TreeError;
use crate::object::listing::{ListingEntry, PathChange, PathMode};
use crate::store::ObjectDatabase;
use crate::store::batch::BlobReader;

/// Lines of both sides among which the fewest changes are looked for, in all files together.
const MOST_LINES: usize = 400_000;
/// Upper bound on binary bytes, of both sides in all files together, for which git may
/// search for a shorter form.
const MOST_BINARY: usize = 2 << 20;
/// Git takes content with a NUL in so many first bytes for binary.
const LOOKED_AT: usize = 8000;

/// Both sides of a change, as bytes.
pub(crate) struct Sides {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

/// Spent from file to file, in the order of paths.
pub(crate) struct Effort {
    lines: usize,
    binary: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { lines: MOST_LINES, binary: MOST_BINARY }
    }
}

impl Effort {
    /// True for a change whose fewest lines may be looked for; what it costs is then spent.
    pub(crate) fn spend(&mut self, sides: &Sides) -> bool {
        let binary = is_binary(&sides.before) || is_binary(&sides.after);
        let (left, cost) = match binary {
            true => (&mut self.binary, sides.before.len() + sides.after.len()),
            false => (&mut self.lines, count_lines(&sides.before) + count_lines(&sides.after)),
        };
        let affordable = cost <= *left;
        if affordable {
            *left -= cost;
        }
        affordable
    }
}

impl Sides {
    /// Reads both sides of a change. A gitlink and an absent side count as empty.
    pub(crate) fn read_sides(reader: &mut BlobReader<'_>, change: &PathChange) -> Result<Sides, TreeError> {
        let mut side = |entry: &Option<ListingEntry>| match entry {
            Some(ListingEntry { mode: PathMode::File | PathMode::Executable | PathMode::Link, oid }) => {
                reader.blob(*oid)
            }
            Some(ListingEntry { mode: PathMode::Gitlink, .. }) | None => Ok(Vec::new()),
        };
        Ok(Sides { before: side(&change.before)?, after: side(&change.after)? })
    }
}

/// True if git would take the content for binary: a NUL byte near its beginning.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(LOOKED_AT)].contains(&0)
}

fn count_lines(content: &[u8]) -> usize {
    content.iter().filter(|byte| **byte == b'\n').count() + 1
}

impl ObjectDatabase {
    /// Bytes of content that differ, of each path the larger side: what a patch of these
    /// changes is bounded by, without unpacking anything.
    pub fn changed_bytes(&self, changes: &[PathChange]) -> Result<u64, TreeError> {
        let held =
            |entry: &Option<ListingEntry>| entry.filter(|entry| entry.mode != PathMode::Gitlink).map(|entry| entry.oid);
        let sides: Vec<_> = changes.iter().map(|change| (held(&change.before), held(&change.after))).collect();
        let oids: Vec<_> = sides.iter().flat_map(|(before, after)| [*before, *after]).flatten().collect();
        let mut sizes = self.blob_sizes(&oids)?.into_iter();
        let mut size = |side: Option<_>| side.and_then(|_| sizes.next().flatten()).unwrap_or(0);
        Ok(sides.iter().map(|(before, after)| size(*before).max(size(*after))).fold(0, u64::saturating_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_gone() {
        let text = |lines: usize| Sides { before: Vec::new(), after: b"x\n".repeat(lines) };
        let binary = |bytes: usize| Sides { before: vec![0; bytes], after: Vec::new() };
        let mut effort = Effort::default();
        for (sides, affordable) in [
            (text(MOST_LINES + 1), false),
            (text(MOST_LINES / 2), true),
            (text(MOST_LINES / 2 + 10), false),
            (binary(MOST_BINARY + 1), false),
            (text(1000), true),
            (binary(MOST_BINARY), true),
            (binary(1), false),
        ] {
            assert_eq!(effort.spend(&sides), affordable);
        }
    }
}
