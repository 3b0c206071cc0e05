//! What an engine leaves beside its tree: what it printed, its own state, and what it says of itself.

use std::fs;
use std::path::Path;

use contract::Reason;
use contract::fake::Review;
use contract::paths::PathSet;
use contract::text::shown;
use sandbox::Ended;
use serde_json::json;

use super::fake;
use crate::run::{Run, Stopped};

/// What is collected of an engine's own state.
const STATE_FILES: usize = 1000;
const STATE_BYTES: u64 = 64 << 20;
const STATE_DEPTH: usize = 16;

/// Keeps what the engine printed and left in its own state, and reads what it says of itself.
pub(super) fn collect(run: &mut Run<'_>, ended: &Ended, log: &[u8], state: &Path) -> Result<(), Stopped> {
    run.write("backend/stdout.log", &ended.stdout.text_bytes())?;
    run.write("backend/stderr.log", &ended.stderr.text_bytes())?;
    let globs =
        run.equipped.as_ref().map(|equipped| equipped.engine.definition.not_kept.as_slice()).unwrap_or_default();
    // What cannot be read as a glob was refused when the definition was loaded.
    let not_kept =
        PathSet::rooted(globs).map_err(|error| Stopped::Io(state.to_owned(), std::io::Error::other(error)))?;
    let mut budget = Budget { files: STATE_FILES, bytes: STATE_BYTES, depth: STATE_DEPTH, not_kept };
    collect_state(run, state, "backend", &mut budget)?;
    crate::claims::hear(run, ended, log);
    if run.equipped.is_none() && fake::review(&ended.stdout.text_bytes()) == Some(Review::Rejected) {
        run.findings.block(
            Reason::ReviewerRejected,
            "the engine's own reviewer rejected the change",
            "backend/stdout.log",
        );
    }
    Ok(())
}

/// What may still be collected, and what may not at all.
struct Budget {
    files: usize,
    bytes: u64,
    depth: usize,
    not_kept: PathSet,
}

impl Budget {
    fn allows(&self, name: &str, size: u64) -> bool {
        let below = name.strip_prefix("backend/").unwrap_or(name);
        self.files > 0 && size <= self.bytes && !self.not_kept.is_match(below.as_bytes())
    }
}

/// Copies regular files, without links, within limits. A name the harness uses itself is not overwritten: the run fails.
fn collect_state(run: &mut Run<'_>, from: &Path, to: &str, budget: &mut Budget) -> Result<(), Stopped> {
    let failed = |error| Stopped::Io(from.to_owned(), error);
    let mut entries: Vec<_> = fs::read_dir(from).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{to}/{name}");
        let size = entry.metadata().map_err(failed)?.len();
        if kind.is_dir() && budget.depth > 0 {
            budget.depth -= 1;
            collect_state(run, &entry.path(), &name, budget)?;
            budget.depth += 1;
        } else if kind.is_file() && budget.allows(&name, size) {
            budget.files -= 1;
            budget.bytes -= size;
            let bytes = fs::read(entry.path()).map_err(failed)?;
            keep(run, &name, &bytes)?;
        } else {
            run.trace("state.left_out", json!({"bytes": size, "name": name}))?;
        }
    }
    Ok(())
}

/// A piece of the engine's state that cannot be kept makes the run fail.
fn keep(run: &mut Run<'_>, name: &str, bytes: &[u8]) -> Result<(), Stopped> {
    let Err(error) = run.write(name, bytes) else { return Ok(()) };
    run.trace("artifact.failed", json!({"error": error.error.to_string(), "path": name}))?;
    run.findings.block(
        Reason::ArtifactWriteFailure,
        format!("`{}` could not be written: {}", shown(name), error.error),
        "trace.jsonl",
    );
    Ok(())
}
