//! Patches that only change lines of text files, made in this process: most results are of
//! this kind, and it takes a tenth of the time of a git child. Everything else is left to
//! git.

use std::io::Write as _;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, sources};

use crate::error::TreeError;
use crate::object::listing::{Listing, ListingEntry};
use crate::store::batch::BlobReader;

/// Lines around a change.
const CONTEXT: u32 = 3;
/// Upper bound on the heading after a hunk's ranges: an earlier line that shows where in
/// the file it is.
const HEADING: usize = 80;
/// More or larger files are git's.
const MOST_FILES: usize = 64;
const LARGEST_FILE: usize = 1 << 20;

/// The patch from one listing to another; none where more than lines of text files changed.
pub(crate) fn line_patch(
    reader: &mut BlobReader<'_>,
    base: &Listing,
    result: &Listing,
) -> Result<Option<Vec<u8>>, TreeError> {
    let changes = crate::changes(base, result);
    if changes.len() > MOST_FILES {
        return Ok(None);
    }
    let mut patch = Vec::new();
    for change in &changes {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(None) };
        if before.mode != after.mode || !before.mode.is_regular() || !is_simple(&change.path) {
            return Ok(None);
        }
        let (Some(old), Some(new)) = (text(reader, before)?, text(reader, after)?) else {
            return Ok(None);
        };
        write_header(&mut patch, &change.path, before, after);
        write_hunks(&mut patch, &old, &new);
    }
    Ok(Some(patch))
}

/// A path that git writes as it is.
fn is_simple(path: &[u8]) -> bool {
    path.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// The content of a file that is text to everybody: UTF-8 without NUL, and every line ends.
fn text(reader: &mut BlobReader<'_>, entry: &ListingEntry) -> Result<Option<Vec<u8>>, TreeError> {
    let content = reader.blob(entry.oid)?;
    let plain = content.len() <= LARGEST_FILE
        && content.last() == Some(&b'\n')
        && !content.contains(&0)
        && std::str::from_utf8(&content).is_ok();
    Ok(plain.then_some(content))
}

fn write_header(patch: &mut Vec<u8>, path: &[u8], before: &ListingEntry, after: &ListingEntry) {
    for part in [b"diff --git a/", path, b" b/", path, b"\n"] {
        patch.extend_from_slice(part);
    }
    let _ = writeln!(patch, "index {}..{} {:06o}", before.oid, after.oid, before.mode.bits());
    for part in [b"--- a/", path, b"\n+++ b/", path, b"\n"] {
        patch.extend_from_slice(part);
    }
}

fn write_hunks(patch: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let input = InternedInput::new(sources::byte_lines(old), sources::byte_lines(new));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let (before, after): (Vec<&[u8]>, Vec<&[u8]>) =
        (sources::byte_lines(old).collect(), sources::byte_lines(new).collect());
    let hunks: Vec<Hunk> = diff.hunks().collect();
    // Changes share a hunk where their surroundings touch.
    for group in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        write_group(patch, group, &before, &after);
    }
}

fn write_group(patch: &mut Vec<u8>, group: &[Hunk], before: &[&[u8]], after: &[&[u8]]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let lead = first.before.start.min(CONTEXT);
    let trail = (before.len() as u32 - last.before.end).min(CONTEXT);
    let (old_from, old_to) = (first.before.start - lead, last.before.end + trail);
    let (new_from, new_to) = (first.after.start - lead, last.after.end + trail);
    let _ = write!(patch, "@@ -{} +{} @@", span(old_from, old_to), span(new_from, new_to));
    if let Some(heading) = heading(&before[..old_from as usize]) {
        patch.push(b' ');
        patch.extend_from_slice(heading);
    }
    patch.push(b'\n');
    let mut at = old_from;
    for hunk in group {
        write_lines(patch, b' ', &before[at as usize..hunk.before.start as usize]);
        write_lines(patch, b'-', &before[hunk.before.start as usize..hunk.before.end as usize]);
        write_lines(patch, b'+', &after[hunk.after.start as usize..hunk.after.end as usize]);
        at = hunk.before.end;
    }
    write_lines(patch, b' ', &before[at as usize..old_to as usize]);
}

fn write_lines(patch: &mut Vec<u8>, sign: u8, lines: &[&[u8]]) {
    for line in lines {
        patch.push(sign);
        patch.extend_from_slice(line);
    }
}

/// Range of lines in a hunk header: counted from one, or the line before if there are none.
fn span(from: u32, to: u32) -> String {
    match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        count => format!("{},{count}", from + 1),
    }
}

/// The last line that begins like the name of something.
fn heading<'a>(lines: &[&'a [u8]]) -> Option<&'a [u8]> {
    let names = |line: &&&[u8]| line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_$".contains(byte));
    let line = lines.iter().rev().find(names)?;
    let cut = &line[..line.len().min(HEADING)];
    // Never half a character: a patch of text is text.
    let whole = cut.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    Some(cut[..whole].trim_ascii_end())
}
