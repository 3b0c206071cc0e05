//! Remains of an engine beside its tree: its output, its own state, and its claims.

use std::io;
use std::path::Path;
use std::time::Duration;

use contract::Reason;
use contract::fake::Review;
use contract::paths::PathSet;
use contract::text::show_controls;
use rustix::fs::FileType;
use sandbox::Ended;
use serde_json::json;
use untrusted_fs::{Bounds, Met, Next, WalkEntry, kind, open_regular, open_root, read_within, walk};

use super::{fake, log};
use crate::gather::engine::equip::Equipped;
use crate::run::file::{RunFile, Stopped};

/// Upper bound on the collected files of an engine's own state.
const STATE_FILES: usize = 1000;
const STATE_BYTES: u64 = 64 << 20;
const STATE_DEPTH: usize = 16;
/// Upper bounds on the search for them, in entries and time.
const STATE_ENTRIES: u64 = 100_000;
const STATE_TIME: Duration = Duration::from_secs(60);
/// Entries that are named as left out.
const STATE_NAMED: usize = 1000;
/// Folder in the bundle.
const FOLDER: &str = "backend";

/// Keeps what the engine printed and left in its own state; the verdict of its own reviewer
/// counts against it.
pub(super) fn collect_output(
    run: &mut RunFile<'_>,
    equipped: Option<&Equipped>,
    ended: &Ended,
    events: &[u8],
    state: &Path,
) -> Result<(), Stopped> {
    run.write_artifact("backend/stdout.log", &ended.stdout.text_bytes())?;
    run.write_artifact("backend/stderr.log", &ended.stderr.text_bytes())?;
    if !events.is_empty() {
        run.write_artifact(log::KEPT, events)?;
    }
    let globs = equipped.map(|equipped| equipped.engine.definition.not_kept.as_slice()).unwrap_or_default();
    // What cannot be read as a glob was refused when the definition was loaded.
    let not_kept = PathSet::rooted(globs).map_err(|error| Stopped::Io(state.to_owned(), io::Error::other(error)))?;
    collect_state(run, state, &mut Budget::new(not_kept))?;
    let review = fake::review(&ended.stdout.text_bytes()).filter(|_| equipped.is_none());
    if let Some((reason, text)) = judge_review(review) {
        run.standing.block_run(reason, text, "backend/stdout.log");
    }
    Ok(())
}

/// The blocker that the fake engine's own reviewer makes.
fn judge_review(review: Option<Review>) -> Option<(Reason, &'static str)> {
    let text = "the engine's own reviewer rejected the change";
    (review == Some(Review::Rejected)).then_some((Reason::ReviewerRejected, text))
}

/// Rest of the limits, and the files that are never collected.
struct Budget {
    files: usize,
    bytes: u64,
    /// Entries that may still be named as left out; beyond, they are counted.
    named: usize,
    unnamed: u64,
    not_kept: PathSet,
    bounds: Bounds,
}

impl Budget {
    fn new(not_kept: PathSet) -> Self {
        let bounds =
            Bounds { bytes: STATE_BYTES, entries: STATE_ENTRIES, depth: STATE_DEPTH, ..Bounds::within(STATE_TIME) };
        Self { files: STATE_FILES, bytes: bounds.bytes, named: STATE_NAMED, unnamed: 0, not_kept, bounds }
    }

    /// Reads a file of the engine's state, or says why it is left out.
    fn read(&mut self, entry: &WalkEntry<'_>) -> Result<Vec<u8>, &'static str> {
        match kind(entry.stat) {
            FileType::RegularFile => {}
            FileType::Symlink => return Err("link"),
            _ => return Err("pipe, socket or device"),
        }
        if self.not_kept.is_match(entry.path) {
            return Err("the engine's definition does not keep it");
        }
        if self.files == 0 {
            return Err("too many files");
        }
        let read = open_regular(entry.dir, entry.name);
        let bytes = read.and_then(|(file, _)| read_within(file, self.bytes, self.bounds.until)).map_err(in_words)?;
        self.files -= 1;
        self.bytes -= bytes.len() as u64;
        Ok(bytes)
    }

    fn leave_out(&mut self, run: &mut RunFile<'_>, name: &str, bytes: u64, why: &str) -> Result<(), Stopped> {
        match self.named.checked_sub(1) {
            Some(left) => {
                self.named = left;
                run.add_trace("state.left_out", json!({"bytes": bytes, "name": name, "why": why}))?;
            }
            None => self.unnamed += 1,
        }
        Ok(())
    }
}

fn in_words(error: io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "too many bytes",
        io::ErrorKind::TimedOut => "out of time",
        io::ErrorKind::PermissionDenied => "cannot be read",
        // The file was of another kind when it was opened than when it was looked at.
        _ => "changed while it was read",
    }
}

/// Copies regular files within limits. Neither a link nor a pipe is opened, whenever it
/// takes the place of a file. A name the harness uses itself is not overwritten: the run
/// fails.
fn collect_state(run: &mut RunFile<'_>, from: &Path, budget: &mut Budget) -> Result<(), Stopped> {
    let root = match open_root(from) {
        Ok(root) => root,
        Err(error) => return budget.leave_out(run, FOLDER, 0, &format!("cannot be opened: {}", error.kind())),
    };
    let bounds = budget.bounds;
    let cut = walk(root, &bounds, |met| collect_entry(run, budget, met))?;
    if let Some(cut) = cut {
        budget.leave_out(run, FOLDER, 0, &format!("not all of it was looked at: {}", cut.in_words()))?;
    }
    if budget.unnamed > 0 {
        run.add_trace("state.left_out", json!({"more": budget.unnamed}))?;
    }
    Ok(())
}

fn collect_entry(run: &mut RunFile<'_>, budget: &mut Budget, met: Met<'_>) -> Result<Next, Stopped> {
    let name = |path: &[u8]| format!("{FOLDER}/{}", String::from_utf8_lossy(path));
    match met {
        Met::Left { .. } => {}
        Met::TooDeep { path } => budget.leave_out(run, &name(path), 0, "too deep")?,
        Met::Shut { path, .. } => budget.leave_out(run, &name(path), 0, "cannot be read")?,
        Met::Entry(entry) if kind(entry.stat) == FileType::Directory => return Ok(Next::Enter),
        Met::Entry(entry) => {
            let kept = match std::str::from_utf8(entry.path) {
                Ok(_) => budget.read(&entry),
                Err(_) => Err("its name is not UTF-8"),
            };
            match kept {
                Ok(bytes) => keep(run, &name(entry.path), &bytes)?,
                Err(why) => {
                    let size = u64::try_from(entry.stat.st_size).unwrap_or_default();
                    budget.leave_out(run, &name(entry.path), size, why)?;
                }
            }
        }
    }
    Ok(Next::Pass)
}

/// A piece of the engine's state that cannot be kept makes the run fail.
fn keep(run: &mut RunFile<'_>, name: &str, bytes: &[u8]) -> Result<(), Stopped> {
    let Err(error) = run.write_artifact(name, bytes) else { return Ok(()) };
    run.add_trace("artifact.failed", json!({"error": error.error.to_string(), "path": name}))?;
    let (reason, text) = judge_unkept(name, &error.error);
    run.standing.block_run(reason, text, "trace.jsonl");
    Ok(())
}

fn judge_unkept(name: &str, error: &io::Error) -> (Reason, String) {
    (Reason::ArtifactWriteFailure, format!("`{}` could not be written: {error}", show_controls(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn a_change_that_the_engines_reviewer_rejected_is_rejected() {
        let text = "the engine's own reviewer rejected the change";
        assert_eq!(judge_review(Some(Review::Rejected)), Some((Reason::ReviewerRejected, text)));
        assert_eq!(judge_review(Some(Review::Approved)), None, "control");
        assert_eq!(judge_review(None), None, "control: there was no review");
        let approved = judge_review(Some(Review::Approved));
        two_sided(Reason::ReviewerRejected, judge_review(Some(Review::Rejected)), approved);
    }

    #[test]
    fn a_piece_of_state_that_cannot_be_kept_fails_the_run() {
        let (reason, text) = judge_unkept("backend/\u{7}", &io::Error::other("it is there already"));
        assert_eq!(
            (reason, text.as_str()),
            (Reason::ArtifactWriteFailure, "`backend/␇` could not be written: it is there already")
        );
    }
}
