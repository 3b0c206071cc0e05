//! Looking for secrets in files that belong to no run.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use contract::Digest;
use secrets::{Hit, Keep, Redactor, RuleSet, Scanner};
use serde::Serialize;
use untrusted_fs::own_files;

/// Bytes of a file that are read at a time.
const PIECE: usize = 256 * 1024;

/// Distance over which lines are remembered: more than the scanner holds back.
const REMEMBERED: u64 = 1024 * 1024;

/// Something in the shape of a secret, and its place. Never the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSecret {
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// In bytes, from 1.
    pub column: u64,
    pub offset: u64,
    pub length: u64,
    pub rule: String,
    pub encoding: &'static str,
    /// Digest by which a contract can allow it.
    pub value_sha256: Option<Digest>,
}

/// File that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnscannedFile {
    pub file: String,
    pub reason: String,
}

/// Findings in all files.
#[derive(Debug, Default, Serialize)]
pub struct ScannedFiles {
    pub files_scanned: u64,
    pub bytes_scanned: u64,
    pub hits: Vec<FileSecret>,
    pub unread: Vec<UnscannedFile>,
}

/// Searches files, folders and, for the path `-`, the given standard input for shapes of
/// secrets. Links are not followed, and of a git repository only the work tree is read.
pub fn scan_files(paths: &[PathBuf], stdin: impl Fn() -> Box<dyn Read>) -> ScannedFiles {
    let scanner = Scanner::new(&[], RuleSet::standard());
    let mut scanned = ScannedFiles::default();
    for path in paths {
        if path == Path::new("-") {
            scanned.text("-", stdin(), &scanner);
        } else {
            scanned.path(path, &scanner);
        }
    }
    scanned
}

impl ScannedFiles {
    /// True if every file was read and contains no secret.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.unread.is_empty()
    }

    fn path(&mut self, given: &Path, scanner: &Scanner) {
        // An explicit stack: folders may be nested deeper than a call can go.
        let mut left = vec![given.to_path_buf()];
        while let Some(path) = left.pop() {
            let name = path.display().to_string();
            let kind = match own_files::symlink_metadata(&path) {
                Ok(metadata) => metadata.file_type(),
                Err(error) => {
                    self.unread(name, &error);
                    continue;
                }
            };
            if kind.is_dir() {
                match entries(&path) {
                    Ok(entries) => left.extend(entries),
                    Err(error) => self.unread(name, &error),
                }
            } else if kind.is_file() {
                match own_files::open_file(&path) {
                    Ok(file) => self.text(&name, file, scanner),
                    Err(error) => self.unread(name, &error),
                }
            }
        }
    }

    fn unread(&mut self, file: String, error: &io::Error) {
        self.unread.push(UnscannedFile { file, reason: error.to_string() });
    }

    fn text(&mut self, name: &str, mut text: impl Read, scanner: &Scanner) {
        let mut redactor = Redactor::new(scanner, Keep::Nothing);
        let (mut piece, mut redacted, mut lines) = (vec![0; PIECE], Vec::new(), LinePlaces::default());
        self.files_scanned += 1;
        loop {
            redacted.clear();
            match text.read(&mut piece) {
                Ok(0) => break,
                Ok(len) => {
                    lines.read(&piece[..len]);
                    let hits = redactor.push_piece(&piece[..len], &mut redacted);
                    self.hits.extend(hits.iter().map(|hit| lines.placed(name, hit)));
                    lines.forget();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.unread(name.to_owned(), &error),
            }
        }
        let hits = redactor.finish_stream(&mut redacted);
        self.hits.extend(hits.iter().map(|hit| lines.placed(name, hit)));
        self.bytes_scanned += lines.read_to;
    }
}

/// Entries of a folder in reverse order, since they are taken from the end.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = own_files::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.retain(|path| path.file_name().is_none_or(|name| name != ".git"));
    entries.sort_unstable_by(|one, other| other.cmp(one));
    Ok(entries)
}

/// Beginnings of the last lines of a text, while it is read.
#[derive(Debug, Default)]
struct LinePlaces {
    read_to: u64,
    /// Lines that began before those that are remembered.
    forgotten: u64,
    /// Beginning of each remembered line, except for the first of the text.
    starts: VecDeque<u64>,
    /// Beginning of the last line that is no longer remembered.
    last_start: u64,
}

impl LinePlaces {
    fn read(&mut self, piece: &[u8]) {
        let breaks = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        self.starts.extend(breaks.map(|(at, _)| self.read_to + at as u64 + 1));
        self.read_to += piece.len() as u64;
    }

    fn forget(&mut self) {
        while let Some(start) = self.starts.front().filter(|start| **start + REMEMBERED < self.read_to) {
            (self.forgotten, self.last_start) = (self.forgotten + 1, *start);
            self.starts.pop_front();
        }
    }

    fn placed(&self, file: &str, hit: &Hit) -> FileSecret {
        let before = self.starts.partition_point(|start| *start <= hit.offset);
        let start = before.checked_sub(1).and_then(|last| self.starts.get(last)).unwrap_or(&self.last_start);
        FileSecret {
            file: file.to_owned(),
            line: self.forgotten + before as u64 + 1,
            column: hit.offset.saturating_sub(*start) + 1,
            offset: hit.offset,
            length: hit.len,
            rule: hit.rule.to_string(),
            encoding: hit.encoding.name(),
            value_sha256: hit.value_sha256.map(Digest::from_bytes),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// More text than is remembered, in which every tenth line holds a key.
    #[test]
    fn places_are_right_in_a_long_text() {
        let key = ["AK", "IAQ3EGZXV7TIOPLK2M"].concat();
        let mut text = String::new();
        for line in 1..=60_000 {
            let filler = "x".repeat(line % 50);
            text += &if line % 10 == 0 { format!("{filler} {key}\n") } else { format!("{filler}\n") };
        }
        let mut scanned = ScannedFiles::default();
        scanned.text("a", text.as_bytes(), &Scanner::new(&[], RuleSet::standard()));
        assert!(text.len() as u64 > REMEMBERED && scanned.bytes_scanned == text.len() as u64);
        let places: Vec<_> = scanned.hits.iter().map(|hit| (hit.line, hit.column)).collect();
        let expected: Vec<_> = (1..=6000).map(|number| (number * 10, (number * 10) % 50 + 2)).collect();
        assert_eq!(places, expected);
    }
}
