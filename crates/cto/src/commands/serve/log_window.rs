//! Windows into the files of a bundle: lines by number and by search, from files of any
//! length.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use contract::Stamp;
use evidence::names;
use hermes::{LogAsked, LogWindow, SourceError};
use views::{RunView, Views};

use super::home_source::source_error;

/// Lines of a window, and the longest part of a line that is shown.
const WINDOW: usize = 500;
const LONGEST_LINE: usize = 4000;
/// Part of a line that is kept and searched.
const LARGEST_LINE: u64 = 1 << 20;

/// Lines of a file of a verified bundle. Only names of the signed statement are opened, so
/// that no name leads elsewhere.
pub(super) fn read_log(
    views: &Views,
    reference: &str,
    name: &str,
    asked: &LogAsked,
    now: Stamp,
) -> Result<LogWindow, SourceError> {
    let found = views.view_run(reference, now).map_err(|error| source_error(error.into()))?;
    let RunView::Sealed(run) = found else { return Err(SourceError::not_found("its bundle was collected")) };
    let is_known = run.bundle.report().artifact_digests.contains_key(name) || name == names::ATTESTATION;
    if !is_known {
        return Err(SourceError::not_found(format!("`{name}` is no artifact of this run")));
    }
    let cannot = |_| SourceError::refused(format!("`{name}` cannot be read"));
    let file = open_artifact(run.bundle.dir(), name).map_err(cannot)?;
    cut_window(name, BufReader::new(file), asked).map_err(cannot)
}

/// A file below the folder of a bundle; each folder on the way is opened without following
/// a link.
fn open_artifact(bundle: &Path, name: &str) -> io::Result<File> {
    let (folders, name) = name.rsplit_once('/').unwrap_or(("", name));
    let mut folder = untrusted_fs::open_root(bundle)?;
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        folder = untrusted_fs::open_dir(&folder, part.as_bytes())?;
    }
    Ok(untrusted_fs::open_regular(&folder, name.as_bytes())?.0)
}

/// Reads a file of any length once, a line at a time.
fn cut_window(name: &str, mut file: impl BufRead, asked: &LogAsked) -> io::Result<LogWindow> {
    let mut window =
        LogWindow { name: name.to_owned(), total_lines: 0, matching_lines: 0, lines: Vec::new(), next_line: None };
    let needle = asked.search.as_bytes();
    let mut line = Vec::new();
    while let Some(bytes) = read_line(&mut file, &mut line)? {
        window.total_lines += 1;
        if !needle.is_empty() && !line.windows(needle.len()).any(|part| part == needle) {
            continue;
        }
        window.matching_lines += 1;
        if window.total_lines < asked.line {
            continue;
        }
        if window.lines.len() < WINDOW {
            window.lines.push((window.total_lines, line_text(&line, bytes)));
        } else if window.next_line.is_none() {
            window.next_line = Some(window.total_lines);
        }
    }
    Ok(window)
}

/// Reads the next line without its end; gives its whole length. Of a very long line only the
/// beginning is kept, and searched.
fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    line.clear();
    let read = file.by_ref().take(LARGEST_LINE).read_until(b'\n', line)? as u64;
    if read == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(read - 1));
    }
    let rest = if read == LARGEST_LINE { file.skip_until(b'\n')? as u64 } else { 0 };
    Ok(Some(read + rest.saturating_sub(1)))
}

/// A line as text, its end left out where it is very long.
fn line_text(line: &[u8], bytes: u64) -> String {
    let cut = line.len().min(LONGEST_LINE * 4);
    let text = String::from_utf8_lossy(&line[..cut]);
    match text.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}… {bytes} bytes in this line", &text[..at]),
        None if cut < line.len() => format!("{text}… {bytes} bytes in this line"),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_true_counts() {
        let text: String = (1..=1200).map(|line| format!("line {line}\n")).collect();
        let window = cut_window("test.log", text.as_bytes(), &LogAsked::default()).unwrap();
        assert_eq!((window.total_lines, window.lines.len(), window.next_line), (1200, WINDOW, Some(501)));
        let asked = LogAsked { line: 501, search: String::new() };
        assert_eq!(cut_window("test.log", text.as_bytes(), &asked).unwrap().lines[0], (501, "line 501".to_owned()));
        let asked = LogAsked { line: 0, search: "line 11".to_owned() };
        let found = cut_window("test.log", text.as_bytes(), &asked).unwrap();
        assert_eq!((found.matching_lines, found.lines[0].0), (111, 11));
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let long = [vec![b'x'; 3 << 20], b"\nnext\n\xff\xfe".to_vec()].concat();
        let window = cut_window("test.log", long.as_slice(), &LogAsked::default()).unwrap();
        let [(1, first), (2, second), (3, last)] = window.lines.as_slice() else { panic!("{:?}", window.total_lines) };
        assert!(first.len() < LONGEST_LINE + 100 && first.contains("3145728 bytes"), "{}", first.len());
        assert_eq!((second.as_str(), last.as_str()), ("next", "\u{fffd}\u{fffd}"));
    }
}
