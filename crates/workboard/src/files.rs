//! Files of a workspace, read once: contents of records, and the names of everything else
//! for links.

use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::Digest;
use rustix::fs::FileType;
use secrets::{RuleSet, Scanner};
use untrusted_fs::{Bounds, Cut, Met, Next, WalkEntry, kind, open_regular, open_root, read_limited, read_plain, walk};

use crate::board::BOARD;
use crate::locate::LineIndex;

/// Far more bytes than a document needs.
const LARGEST_DOCUMENT: u64 = 16 << 20;
/// Largest file whose bytes are compared with the digest of evidence.
const LARGEST_EVIDENCE: u64 = 64 << 20;
/// Largest file beside the records that is searched for secrets.
const LARGEST_SEARCHED: u64 = 16 << 20;
const MOST_ENTRIES: u64 = 500_000;
const DEEPEST: usize = 64;
const LONGEST_READ: Duration = Duration::from_secs(120);
/// Git directories hold no records, wherever they lie.
const GIT: &str = ".git";
/// Folders that hold no records where no folder of records is around them.
const PASSED_OVER: [&str; 5] = ["node_modules", "__pycache__", "target", ".cto-sandbox", ".sandcastle"];
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
    /// False of a file beside the records, which was only to be searched for secrets.
    pub(crate) is_record: bool,
}

/// Scanner that is made when the first file needs it.
type LazyScanner = LazyCell<Scanner>;

/// Something secret-shaped in a file that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StraySecret {
    pub(crate) path: String,
    pub(crate) place: (usize, usize),
    pub(crate) rule: String,
}

/// Kind of a name in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    File,
    Folder,
    /// A link, a device and the like.
    Other,
}

/// Snapshot of a workspace. Paths are relative, with `/`.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceFiles {
    /// Folder on the disk; none of texts that lie nowhere.
    root: Option<PathBuf>,
    texts: BTreeMap<String, String>,
    names: BTreeMap<String, NameKind>,
    unread: Vec<UnreadFile>,
    stray_secrets: Vec<StraySecret>,
    /// Digests of files that evidence was compared with: many items may name one document.
    digests: RefCell<HashMap<String, Option<Digest>>>,
}

impl WorkspaceFiles {
    /// Reads a workspace. No link is followed.
    pub fn read_workspace(root: &Path) -> Result<Self, ReadWorkspaceError> {
        let open = |source: io::Error| ReadWorkspaceError::Open { path: root.to_owned(), source };
        let dir = open_root(root).map_err(open)?;
        let mut files = Self { root: Some(root.to_owned()), ..Self::default() };
        let bounds = Bounds { entries: MOST_ENTRIES, depth: DEEPEST, ..Bounds::within(LONGEST_READ) };
        let scanner = LazyScanner::new(|| Scanner::new(&[], RuleSet::standard()));
        let cut = walk(dir, &bounds, |met| Ok::<_, std::convert::Infallible>(files.take_met(met, &scanner)));
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
    pub fn text_of(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Digest of a file, made once; none if its bytes cannot be read or are too many.
    pub fn file_digest(&self, path: &str) -> Option<Digest> {
        let read = || match (self.text_of(path), &self.root) {
            (Some(text), _) => Some(Digest::of_bytes(text.as_bytes())),
            (None, Some(root)) => Some(Digest::of_bytes(&read_plain(root, path.as_bytes(), LARGEST_EVIDENCE)?)),
            (None, None) => None,
        };
        *self.digests.borrow_mut().entry(path.to_owned()).or_insert_with(read)
    }

    /// True of a plain file whose bytes can be read.
    pub(crate) fn is_readable_file(&self, path: &str) -> bool {
        let is_file = self.names.get(path) == Some(&NameKind::File);
        is_file && (self.text_of(path).is_some() || self.file_digest(path).is_some())
    }

    /// Path below the workspace of an absolute path that leads into it.
    pub(crate) fn path_inside(&self, absolute: &str) -> Option<String> {
        let root = self.root.as_ref()?.to_str()?.trim_end_matches('/');
        absolute.strip_prefix(root)?.strip_prefix('/').map(str::to_owned)
    }

    /// Paths and texts, sorted.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// True of files and folders.
    pub fn has_path(&self, path: &str) -> bool {
        self.names.contains_key(path.trim_end_matches('/'))
    }

    /// Records that could not be read; each becomes a finding.
    pub(crate) fn unread(&self) -> &[UnreadFile] {
        &self.unread
    }

    /// Secrets in files that are no records.
    pub(crate) fn stray_secrets(&self) -> &[StraySecret] {
        &self.stray_secrets
    }

    /// Puts another text in the place of a file's.
    pub fn replace_text(&mut self, path: &str, text: String) {
        self.add_name(path);
        self.digests.get_mut().remove(path);
        self.texts.insert(path.to_owned(), text);
    }

    fn add_name(&mut self, path: &str) {
        let (mut path, mut kind) = (path, NameKind::File);
        while self.names.insert(path.to_owned(), kind).is_none() {
            let Some((folder, _)) = path.rsplit_once('/') else { return };
            (path, kind) = (folder, NameKind::Folder);
        }
    }

    fn take_met(&mut self, met: Met<'_>, scanner: &LazyScanner) -> Next {
        match met {
            Met::Entry(entry) => self.take_entry(&entry, scanner),
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

    fn take_entry(&mut self, entry: &WalkEntry<'_>, scanner: &LazyScanner) -> Next {
        let path = String::from_utf8_lossy(entry.path).into_owned();
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        if name == GIT || (PASSED_OVER.contains(&name) && !is_below_records(&path)) {
            return Next::Pass;
        }
        let kind = match kind(entry.stat) {
            FileType::RegularFile => NameKind::File,
            FileType::Directory => NameKind::Folder,
            _ => NameKind::Other,
        };
        self.names.insert(path.clone(), kind);
        match kind {
            NameKind::File if is_record_path(&path) => self.take_record(entry, path),
            NameKind::File if is_searched_path(&path) => self.search_file(entry, path, scanner),
            // What stands in the place of a record is not read and not passed over in silence.
            NameKind::Other if is_record_path(&path) && (is_below_records(&path) || path == BOARD) => {
                self.note_unread(entry.path, "it is no plain file".to_owned());
            }
            NameKind::File | NameKind::Folder | NameKind::Other => {}
        }
        Next::Enter
    }

    fn take_record(&mut self, entry: &WalkEntry<'_>, path: String) {
        let read = open_regular(entry.dir, entry.name).and_then(|(file, _)| read_limited(file, LARGEST_DOCUMENT));
        match read.map(String::from_utf8) {
            Ok(Ok(text)) => drop(self.texts.insert(path, text)),
            Ok(Err(_)) => self.note_unread(entry.path, "it is not UTF-8".to_owned()),
            Err(error) => self.note_unread(entry.path, error.to_string()),
        }
    }

    /// Searches a file that is no record for secrets and keeps none of its bytes.
    fn search_file(&mut self, entry: &WalkEntry<'_>, path: String, scanner: &Scanner) {
        let read = open_regular(entry.dir, entry.name).and_then(|(file, _)| read_limited(file, LARGEST_SEARCHED));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) => {
                let why = format!("it was not searched for secrets: {error}");
                return self.unread.push(UnreadFile { path, why, is_record: false });
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let hits = scanner.scan(text.as_bytes());
        if hits.is_empty() {
            return;
        }
        let index = LineIndex::index_lines(&text);
        self.stray_secrets.extend(hits.into_iter().map(|hit| {
            let at = usize::try_from(hit.offset).unwrap_or(usize::MAX).min(text.len());
            StraySecret { path: path.clone(), place: index.place_of(&text, at), rule: hit.rule.to_string() }
        }));
    }

    fn note_unread(&mut self, path: &[u8], why: String) {
        let path = String::from_utf8_lossy(path).into_owned();
        self.unread.push(UnreadFile { path, why, is_record: true });
    }
}

/// Text files in the root and in the folders of records, however their ending is written.
fn is_record_path(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_text = ending.is_some_and(|ending| ["md", "yaml", "yml", "json"].contains(&ending.as_str()));
    let is_placed = !path.contains('/') || is_below_records(path);
    (is_text && is_placed) || path == ".gitignore"
}

fn is_below_records(path: &str) -> bool {
    path.split_once('/').is_some_and(|(folder, _)| READ_FOLDERS.contains(&folder))
}

/// Files that are no records and lie beside them. The settings of an environment hold
/// secrets by their purpose, and git is told to leave them out.
fn is_searched_path(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let is_placed = !path.contains('/') || is_below_records(path) || path.starts_with("cases/");
    is_placed && !name.starts_with(".env") && !name.starts_with("cto.db")
}
