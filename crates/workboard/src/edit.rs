//! Edits of files of the workspace: one at a time under the workspace's lock, by a rename,
//! keeping every other byte.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use contract::source::{self, Node, ValueKind};
use rustix::fs::{FlockOperation, flock};
use untrusted_fs::own_files::{self, OwnOptions as _};

use crate::board::{BOARD, EvidenceKind, ReadBoardError, WorkStatus, Workboard, node_text};
use crate::files::WorkspaceFiles;
use crate::finding::{Finding, TextFix};
use crate::locate::LineIndex;

/// A change of one item: its new status, and evidence that is added with it.
#[derive(Debug, Clone)]
pub struct BoardChange {
    pub id: String,
    pub status: WorkStatus,
    pub evidence: Vec<(EvidenceKind, String, Option<String>)>,
}

/// Reason why an edit was not made. The file is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditBoardError {
    #[error("cannot lock the workspace {path}: {source}")]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Board(#[from] ReadBoardError),
    #[error("{0} is not on the board")]
    UnknownItem(String),
    #[error("{0}")]
    Refused(String),
    #[error("`{key}` of {id} is written in a form that cannot be edited without touching the rest")]
    Form { id: String, key: &'static str },
    #[error("{0} was changed by somebody else meanwhile")]
    Changed(PathBuf),
    #[error("{0} exists already")]
    Exists(PathBuf),
}

/// Lock of a workspace: held while this value lives, on the folder itself, so that no file
/// shows it.
#[derive(Debug)]
struct WorkspaceLock {
    _folder: File,
}

impl WorkspaceLock {
    fn take(root: &Path) -> Result<Self, EditBoardError> {
        let failed = |source: io::Error| EditBoardError::Lock { path: root.to_owned(), source };
        let folder = own_files::open_folder(root).map_err(failed)?;
        flock(&folder, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        Ok(Self { _folder: folder })
    }
}

/// Changes one item of the board, once `judge` finds nothing wrong with the text that would
/// come of it.
pub fn change_board(
    root: &Path,
    change: &BoardChange,
    judge: impl FnOnce(&str) -> Result<(), String>,
) -> Result<(), EditBoardError> {
    let _lock = WorkspaceLock::take(root)?;
    let path = root.join(BOARD);
    let before = own_files::read_to_string(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ReadBoardError::Missing.into(),
        _ => EditBoardError::Read { path: path.clone(), source },
    })?;
    let after = edited_board(&before, change)?;
    judge(&after).map_err(EditBoardError::Refused)?;
    replace_file(&path, &before, &after)
}

/// Makes the edits of findings, each file at once. `judged` has the texts that the findings
/// are about: the places of edits mean nothing in another text. Gives the files that changed.
pub fn apply_fixes(root: &Path, judged: &WorkspaceFiles, findings: &[Finding]) -> Result<Vec<String>, EditBoardError> {
    let _lock = WorkspaceLock::take(root)?;
    let mut fixes_of: BTreeMap<&str, Vec<&TextFix>> = BTreeMap::new();
    for (file, fix) in findings.iter().filter_map(|finding| Some((finding.file.as_str(), finding.fix.as_ref()?))) {
        fixes_of.entry(file).or_default().push(fix);
    }
    for (file, fixes) in &mut fixes_of {
        let path = root.join(file);
        let before =
            own_files::read_to_string(&path).map_err(|source| EditBoardError::Read { path: path.clone(), source })?;
        if judged.text_of(file) != Some(before.as_str()) {
            return Err(EditBoardError::Changed(path));
        }
        fixes.sort_by_key(|fix| fix.start);
        let Some(after) = apply_to_text(&before, fixes) else { return Err(EditBoardError::Changed(path)) };
        replace_file(&path, &before, &after)?;
    }
    Ok(fixes_of.into_keys().map(str::to_owned).collect())
}

/// A text with edits in the order of their places; `None` if one lies outside of the text or inside of another.
fn apply_to_text(before: &str, fixes: &[&TextFix]) -> Option<String> {
    let mut after = String::with_capacity(before.len());
    let mut from = 0;
    for fix in fixes {
        after.push_str(before.get(from..fix.start)?);
        after.push_str(&fix.text);
        from = fix.end;
    }
    after.push_str(before.get(from..)?);
    Some(after)
}

/// Writes a new document; one that exists is never overwritten.
pub fn create_document(root: &Path, path: &str, text: &str) -> Result<(), EditBoardError> {
    let _lock = WorkspaceLock::take(root)?;
    let full = root.join(path);
    let failed = |source: io::Error| EditBoardError::Write { path: full.clone(), source };
    if let Some(folder) = full.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let opened = fs::OpenOptions::new().write(true).create_new(true).own_open(&full);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => EditBoardError::Exists(full.clone()),
        _ => failed(error),
    })?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

/// Puts a text in the place of another by a rename, if the file still holds the other.
fn replace_file(path: &Path, before: &str, after: &str) -> Result<(), EditBoardError> {
    let failed = |source: io::Error| EditBoardError::Write { path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = own_files::create_file(&draft)?;
        file.write_all(after.as_bytes())?;
        file.set_permissions(own_files::metadata(path)?.permissions())?;
        file.sync_all()
    };
    let is_same = || own_files::read_file(path).is_ok_and(|now| now == before.as_bytes());
    let done = match write() {
        Ok(()) if is_same() => fs::rename(&draft, path).map_err(failed),
        Ok(()) => Err(EditBoardError::Changed(path.to_owned())),
        Err(error) => Err(failed(error)),
    };
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// The board's text with the change and nothing else changed; made sure by reading both.
fn edited_board(before: &str, change: &BoardChange) -> Result<String, EditBoardError> {
    let board = Workboard::read_whole(Some(before))?;
    let index = board.index_of(&change.id).ok_or_else(|| EditBoardError::UnknownItem(change.id.clone()))?;
    let refuse = |key| EditBoardError::Form { id: change.id.clone(), key };
    let after = insert_evidence(before, change).ok_or_else(|| refuse("evidence"))?;
    let after = replace_status(&after, change).ok_or_else(|| refuse("status"))?;
    match is_only_change(before, &after, index, change) {
        true => Ok(after),
        false => Err(refuse("evidence")),
    }
}

/// Node of an item, by its id.
fn find_item<'n>(root: &'n Node, id: &str) -> Option<&'n Node> {
    let list = ["items", "work_items", "work"].iter().find_map(|key| match &root.kind {
        ValueKind::Map(_) => root.get_child(key),
        _ => None,
    });
    let ValueKind::Seq(items) = &list.unwrap_or(root).kind else { return None };
    items.iter().find(|item| item.get_child("id").and_then(node_text).is_some_and(|found| found == id))
}

fn replace_status(text: &str, change: &BoardChange) -> Option<String> {
    let root = source::read(BOARD, text).node?;
    let status = find_item(&root, &change.id)?.get_child("status")?;
    let lines = LineIndex::index_lines(text);
    let start = lines.byte_at(text, (status.span.line, status.span.column));
    let written: String = text[start..].chars().take(status.span.length).collect();
    let word = node_text(status)?;
    let after = written.replacen(&word, change.status.as_str(), 1);
    written.contains(&word).then(|| format!("{}{after}{}", &text[..start], &text[start + written.len()..]))
}

fn insert_evidence(text: &str, change: &BoardChange) -> Option<String> {
    if change.evidence.is_empty() {
        return Some(text.to_owned());
    }
    let root = source::read(BOARD, text).node?;
    let item = find_item(&root, &change.id)?;
    let ValueKind::Map(entries) = &item.kind else { return None };
    let lines = LineIndex::index_lines(text);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some((key, value)) = entries.iter().find(|(key, _)| key.text == "evidence") else {
        let (key, status) = entries.iter().find(|(key, _)| key.text == "status")?;
        // A flow map has its keys on one line: an edit there would need more than a new line.
        let line_start = lines.start_of(text, key.span.line);
        let before_key = &text[line_start..lines.byte_at(text, (key.span.line, key.span.column))];
        if !before_key.chars().all(|c| c == ' ' || c == '-') || status.span.line != key.span.line {
            return None;
        }
        let indent = " ".repeat(key.span.column - 1);
        let at = lines.start_of(text, key.span.line + 1);
        let gap = if text[..at].ends_with('\n') { "" } else { ending };
        let rows = evidence_rows(&format!("{indent}  "), change, ending);
        return Some(format!("{}{gap}{indent}evidence:{ending}{rows}{}", &text[..at], &text[at..]));
    };
    let indent = " ".repeat(key.span.column - 1);
    match &value.kind {
        ValueKind::Null => {
            let at = lines.start_of(text, key.span.line + 1);
            let gap = if text[..at].ends_with('\n') { "" } else { ending };
            let rows = evidence_rows(&format!("{indent}  "), change, ending);
            Some(format!("{}{gap}{rows}{}", &text[..at], &text[at..]))
        }
        ValueKind::Seq(items) if is_flow(text, &lines, key.span.line) => {
            let start = lines.start_of(text, key.span.line);
            let line = text[start..].lines().next()?;
            let close = start + line.rfind(']')?;
            let separator = if items.is_empty() { "" } else { ", " };
            let rows: Vec<String> = change.evidence.iter().map(flow_entry).collect();
            Some(format!("{}{separator}{}{}", &text[..close], rows.join(", "), &text[close..]))
        }
        ValueKind::Seq(_) => insert_rows(text, &lines, key.span.line, key.span.column - 1, change, ending),
        _ => None,
    }
}

fn is_flow(text: &str, lines: &LineIndex, line: usize) -> bool {
    let start = lines.start_of(text, line);
    let line = text[start..].lines().next().unwrap_or_default();
    line.split_once("evidence:").is_some_and(|(_, rest)| rest.trim_start().starts_with('['))
}

/// Adds rows behind the last entry of a block sequence; its entries may stand at the key's
/// own column.
fn insert_rows(
    text: &str,
    lines: &LineIndex,
    key_line: usize,
    column: usize,
    change: &BoardChange,
    ending: &str,
) -> Option<String> {
    let mut last = key_line;
    let mut dash = None;
    for (offset, line) in text[lines.start_of(text, key_line + 1)..].lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let is_dash = bare.starts_with("- ") || bare == "-";
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        if indent > column || (indent == column && is_dash && dash.is_none_or(|dash| dash == column)) {
            last = key_line + 1 + offset;
            dash = dash.or(is_dash.then_some(indent));
        } else {
            break;
        }
    }
    let at = lines.start_of(text, last + 1);
    let gap = if text[..at].ends_with('\n') { "" } else { ending };
    let rows = evidence_rows(&" ".repeat(dash?), change, ending);
    Some(format!("{}{gap}{rows}{}", &text[..at], &text[at..]))
}

fn evidence_rows(indent: &str, change: &BoardChange, ending: &str) -> String {
    change.evidence.iter().map(|piece| format!("{indent}- {}{ending}", flow_entry(piece))).collect()
}

fn flow_entry((kind, reference, sha256): &(EvidenceKind, String, Option<String>)) -> String {
    let reference = quoted(reference);
    match sha256 {
        Some(sha256) => format!("{{kind: {}, ref: {reference}, sha256: {}}}", kind.as_str(), quoted(sha256)),
        None => format!("{{kind: {}, ref: {reference}}}", kind.as_str()),
    }
}

/// A text as JSON writes it, which YAML reads the same.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// True if the only differences between the two boards are the status and the added
/// evidence of that item.
fn is_only_change(before: &str, after: &str, index: usize, change: &BoardChange) -> bool {
    let read = |text| source::read(BOARD, text);
    let (old, new) = (read(before), read(after));
    let (Some(old), Some(new)) = (old.node, new.node.filter(|_| new.problems.is_empty())) else { return false };
    let (mut old, new) = (old.to_value(), new.to_value());
    let list = match &mut old {
        serde_json::Value::Object(map) => ["items", "work_items", "work"]
            .into_iter()
            .find(|key| map.contains_key(*key))
            .and_then(|key| map.get_mut(key)),
        other => Some(other),
    };
    let Some(serde_json::Value::Object(item)) = list.and_then(|list| list.get_mut(index)) else { return false };
    item.insert("status".to_owned(), change.status.as_str().into());
    let added = change.evidence.iter().map(|(kind, reference, sha256)| match sha256 {
        Some(sha256) => serde_json::json!({"kind": kind.as_str(), "ref": reference, "sha256": sha256}),
        None => serde_json::json!({"kind": kind.as_str(), "ref": reference}),
    });
    let mut evidence = item.get("evidence").and_then(|list| list.as_array()).cloned().unwrap_or_default();
    evidence.extend(added);
    if !change.evidence.is_empty() {
        item.insert("evidence".to_owned(), evidence.into());
    }
    old == new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(status: WorkStatus, evidence: &[&str]) -> BoardChange {
        let evidence = evidence.iter().map(|text| (EvidenceKind::Document, (*text).to_owned(), None)).collect();
        BoardChange { id: "A-WORK-002".to_owned(), status, evidence }
    }

    /// Lines that the edit took out, then those that it put in.
    fn differing(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
        let only = |text: &str, other: &str| {
            let other: Vec<&str> = other.lines().collect();
            text.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
        };
        (only(before, after), only(after, before))
    }

    const HEAD: &str = "# kept\nitems:\n- id: A-WORK-001   # first\n  status: draft\n  title: one\n  type: AFK\n";

    #[test]
    fn an_edit_touches_the_lines_of_its_item_and_no_other_byte() {
        for (item, added) in [
            ("- id: A-WORK-002\n  title: two\n  type: AFK\n  status: candidate   # why\n", "  evidence:"),
            (
                "- id: A-WORK-002\n  title: two\n  type: AFK\n  status: candidate # why\n  evidence: []\n",
                "  evidence: [{kind: document, ref: \"x.md\"}]",
            ),
            (
                "- id: A-WORK-002\n  title: two\n  type: AFK\n  status: \"candidate\"\n  evidence:\n  # note\n  - {kind: work, ref: A-WORK-001}\n\n",
                "  - {kind: document, ref: \"x.md\"}",
            ),
            (
                "- {id: A-WORK-003, title: t, type: AFK, status: draft}\n- id: A-WORK-002\n  evidence:\n    - kind: work\n      ref: A-WORK-001\n  title: two\n  type: AFK\n  status: candidate\n",
                "    - {kind: document, ref: \"x.md\"}",
            ),
        ] {
            let before = format!("{HEAD}{item}# tail\n");
            let after = edited_board(&before, &change(WorkStatus::Validated, &["x.md"]))
                .unwrap_or_else(|error| panic!("{before}{error}"));
            let (gone, new) = differing(&before, &after);
            assert!(gone.len() <= 2 && new.iter().any(|line| line == added), "{before}\n{after}");
            assert!(after.ends_with("# tail\n") && after.starts_with(HEAD), "{after}");
        }
    }

    #[test]
    fn a_form_that_cannot_be_kept_is_refused() {
        let before = format!("{HEAD}- {{id: A-WORK-002, title: t, type: AFK, status: draft}}\n");
        let refused = edited_board(&before, &change(WorkStatus::Validated, &["x.md"])).unwrap_err().to_string();
        assert_eq!(
            refused,
            "`evidence` of A-WORK-002 is written in a form that cannot be edited without touching the rest"
        );
        let moved = edited_board(&before, &change(WorkStatus::Candidate, &[])).unwrap();
        assert_eq!(moved, before.replace("AFK, status: draft}", "AFK, status: candidate}"));
    }

    #[test]
    fn a_text_that_changed_is_not_mended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        let judged = WorkspaceFiles::of_texts([("a.md", "Draft.\n")]);
        let fix = TextFix { start: 0, end: 6, text: "draft".to_owned() };
        let finding = Finding::about_file("a.md", crate::CheckRule::DocumentStatus, "m", "r").with_fix(fix);
        own_files::write_file(&path, "Other.\n").unwrap();
        assert!(matches!(
            apply_fixes(folder.path(), &judged, std::slice::from_ref(&finding)),
            Err(EditBoardError::Changed(_))
        ));
        assert_eq!(own_files::read_to_string(&path).unwrap(), "Other.\n");
        own_files::write_file(&path, "Draft.\n").unwrap();
        assert_eq!(apply_fixes(folder.path(), &judged, &[finding]).unwrap(), ["a.md"], "control");
        assert_eq!(own_files::read_to_string(&path).unwrap(), "draft\n");
    }

    #[test]
    fn two_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<String> = (1..=16).map(|number| format!("A-WORK-{number:03}")).collect();
        let item = |id: &String| format!("- id: {id}\n  title: t\n  type: AFK\n  status: draft\n");
        own_files::write_file(folder.path().join(BOARD), ids.iter().map(item).collect::<String>()).unwrap();
        std::thread::scope(|scope| {
            for id in &ids {
                let change = BoardChange { id: id.clone(), ..change(WorkStatus::Candidate, &[]) };
                let root = folder.path();
                scope.spawn(move || change_board(root, &change, |_| Ok(())).unwrap());
            }
        });
        let text = own_files::read_to_string(folder.path().join(BOARD)).unwrap();
        assert_eq!(text.matches("status: candidate").count(), ids.len(), "{text}");
        assert_eq!(own_files::read_dir(folder.path()).unwrap().count(), 1);
    }
}
