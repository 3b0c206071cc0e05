//! Files of a workspace, read once: contents of records, and the names of everything else
//! for links.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::Digest;
use rustix::fs::FileType;
use untrusted_fs::{Bounds, Cut, Entry, Met, Next, kind, open_regular, open_root, read_limited, walk};

use crate::board::BOARD;

/// Far more bytes than a document needs.
const LARGEST_DOCUMENT: u64 = 16 << 20;
const MOST_ENTRIES: u64 = 500_000;
const DEEPEST: usize = 64;
const LONGEST_READ: Duration = Duration::from_secs(120);
/// Folders that hold no records, wherever they lie.
const PASSED_OVER: [&str; 6] = [".git", "node_modules", "__pycache__", "target", ".cto-sandbox", ".sandcastle"];
/// Folders whose text files are read.
const READ_FOLDERS: [&str; 8] =
    [".sot", "rules", "admissions", "approvals", "requests", "outcomes", "decisions", "contracts"];

/// Reason why a workspace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadWorkspaceError {
    #[error("cannot open the workspace {path}: {source}")]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot read WORKBOARD.yaml: {0}")]
    Board(#[source] io::Error),
    #[error("cannot read the workspace: {}", .0.in_words())]
    Cut(Cut),
}

/// A file of the workspace that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadFile {
    pub(crate) path: String,
    pub(crate) why: String,
}

/// Snapshot of a workspace. Paths are relative, with `/`.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceFiles {
    texts: BTreeMap<String, String>,
    names: BTreeSet<String>,
    unread: Vec<UnreadFile>,
    /// Digests of texts that evidence was compared with: many items may name one document.
    digests: RefCell<HashMap<String, Digest>>,
}

impl WorkspaceFiles {
    /// Reads a workspace. No link is followed.
    pub fn read_workspace(root: &Path) -> Result<Self, ReadWorkspaceError> {
        let open = |source: io::Error| ReadWorkspaceError::Open { path: root.to_owned(), source };
        let dir = open_root(root).map_err(open)?;
        let mut files = Self::default();
        let bounds = Bounds { entries: MOST_ENTRIES, depth: DEEPEST, ..Bounds::within(LONGEST_READ) };
        let cut = walk(dir, &bounds, |met| Ok::<_, std::convert::Infallible>(files.take_met(met)));
        match cut {
            Ok(None) => Ok(files),
            Ok(Some(cut)) => Err(ReadWorkspaceError::Cut(cut)),
            Err(never) => match never {},
        }
    }

    /// Reads the board and nothing else, for commands that look at it alone. Where it is
    /// missing there is no text.
    pub fn read_board_alone(root: &Path) -> Result<Self, ReadWorkspaceError> {
        let open = |source: io::Error| ReadWorkspaceError::Open { path: root.to_owned(), source };
        let dir = open_root(root).map_err(open)?;
        let read = open_regular(&dir, BOARD.as_bytes()).and_then(|(file, _)| read_limited(file, LARGEST_DOCUMENT));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ReadWorkspaceError::Board(error)),
        };
        let text =
            String::from_utf8(bytes).map_err(|_| ReadWorkspaceError::Board(io::Error::other("it is not UTF-8")))?;
        Ok(Self::of_texts([(BOARD, text)]))
    }

    /// A workspace of these texts, which lies nowhere.
    pub fn of_texts<P: Into<String>, T: Into<String>>(texts: impl IntoIterator<Item = (P, T)>) -> Self {
        let mut files = Self::default();
        for (path, text) in texts {
            let path = path.into();
            files.add_name(&path);
            files.texts.insert(path, text.into());
        }
        files
    }

    /// Text of a record that was read.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Digest of a file's text, made once.
    pub(crate) fn text_digest(&self, path: &str) -> Option<Digest> {
        let text = self.text(path)?;
        let mut digests = self.digests.borrow_mut();
        Some(*digests.entry(path.to_owned()).or_insert_with(|| Digest::of(text.as_bytes())))
    }

    /// Paths and texts, sorted.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// True of files and folders.
    pub fn has_path(&self, path: &str) -> bool {
        self.names.contains(path.trim_end_matches('/'))
    }

    /// Records that could not be read; each becomes a finding.
    pub(crate) fn unread(&self) -> &[UnreadFile] {
        &self.unread
    }

    /// Puts another text in the place of a file's.
    pub fn replace_text(&mut self, path: &str, text: String) {
        self.add_name(path);
        self.digests.get_mut().remove(path);
        self.texts.insert(path.to_owned(), text);
    }

    fn add_name(&mut self, path: &str) {
        let mut path = path;
        while self.names.insert(path.to_owned()) {
            let Some((folder, _)) = path.rsplit_once('/') else { return };
            path = folder;
        }
    }

    fn take_met(&mut self, met: Met<'_>) -> Next {
        match met {
            Met::Entry(entry) => self.take_entry(&entry),
            Met::Left { .. } => Next::Enter,
            Met::Shut { path, why } => {
                self.note_unread(path, io::Error::from(why).to_string());
                Next::Pass
            }
            Met::TooDeep { path } => {
                self.note_unread(path, "it lies too deep".to_owned());
                Next::Pass
            }
        }
    }

    fn take_entry(&mut self, entry: &Entry<'_>) -> Next {
        let path = String::from_utf8_lossy(entry.path).into_owned();
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        if PASSED_OVER.contains(&name) {
            return Next::Pass;
        }
        self.names.insert(path.clone());
        if kind(entry.stat) == FileType::RegularFile && is_record_path(&path) {
            let read = open_regular(entry.dir, entry.name).and_then(|(file, _)| read_limited(file, LARGEST_DOCUMENT));
            match read.map(String::from_utf8) {
                Ok(Ok(text)) => drop(self.texts.insert(path, text)),
                Ok(Err(_)) => self.note_unread(entry.path, "it is not UTF-8".to_owned()),
                Err(error) => self.note_unread(entry.path, error.to_string()),
            }
        }
        Next::Enter
    }

    fn note_unread(&mut self, path: &[u8], why: String) {
        self.unread.push(UnreadFile { path: String::from_utf8_lossy(path).into_owned(), why });
    }
}

/// Text files in the root and in the folders of records.
fn is_record_path(path: &str) -> bool {
    let is_text =
        ["md", "yaml", "yml", "json"].iter().any(|ending| path.rsplit_once('.').is_some_and(|(_, e)| e == *ending));
    let is_placed = path.split_once('/').is_none_or(|(folder, _)| READ_FOLDERS.contains(&folder));
    (is_text && is_placed) || path == ".gitignore"
}
