//! One run as the console shows it, in whatever state, and windows into the files of its
//! bundle.

use contract::{Decision, Event, Stamp, TaskContract};
use evidence::names;
use evidence::render::verdict_sentence;
use hermes::{ArtifactFacts, LogAsked, LogWindow, RunFacts, RunState, SourceError};
use ledger::RunStatus;
use views::{FindRunError, RunView, SealedRun, ViewRunError, Views};

use super::home_source::refuse;
use super::patch_lines::read_patch;
use crate::error::CommandError;

/// Events that a page lists.
const MOST_EVENTS: usize = 2000;
/// Largest file that is looked into.
const LARGEST_FILE: u64 = 64 << 20;
/// Lines of a window, and the longest part of a line that is shown.
const WINDOW: usize = 500;
const LONGEST_LINE: usize = 4000;

/// Facts of one run in any state.
pub(crate) fn gather_run(views: &Views, reference: &str, now: Stamp) -> Result<RunFacts, CommandError> {
    match views.view_run(reference, now) {
        Ok(RunView::Sealed(run)) => Ok(sealed_facts(views, *run, now)?),
        Ok(RunView::Collected(run)) => {
            let sentence = format!("Its bundle was collected: {}", run.collected.reason);
            let facts = bare_facts(run.run, RunState::Collected, sentence, now);
            Ok(RunFacts { collected: Some(run.collected), attestation_sha256: Some(run.attestation_sha256), ..facts })
        }
        Err(ViewRunError::Find(FindRunError::Running(run_id) | FindRunError::Interrupted(run_id))) => {
            live_facts(views, run_id.as_str(), now)
        }
        Err(ViewRunError::Bind(error)) => {
            let row = views.find_row(&error.id)?.ok_or_else(|| CommandError::from(error_unknown(&error.id)))?;
            let sentence = "Its bundle does not verify, so there is no verdict to show.".to_owned();
            let facts = bare_facts(row, RunState::Broken, sentence, now);
            Ok(RunFacts { problem: Some(contract::text::shown(&error.to_string())), ..facts })
        }
        Err(error) => Err(error.into()),
    }
}

fn error_unknown(id: &str) -> FindRunError {
    FindRunError::Unknown(id.to_owned())
}

fn bare_facts(row: ledger::RunRow, state: RunState, sentence: String, now: Stamp) -> RunFacts {
    RunFacts {
        state,
        row,
        phase: None,
        report: None,
        sentence,
        verification: None,
        signer: None,
        attestation_sha256: None,
        origin: None,
        collected: None,
        answer: None,
        events: Vec::new(),
        events_left_out: 0,
        patch: Vec::new(),
        patch_cut: false,
        artifacts: Vec::new(),
        claims: Vec::new(),
        problem: None,
        now,
    }
}

/// A run that goes on, or whose process is gone: its events so far, and no verdict.
fn live_facts(views: &Views, run_id: &str, now: Stamp) -> Result<RunFacts, CommandError> {
    let live = views.list_live(now)?.into_iter().find(|run| run.row.run_id.as_str() == run_id);
    let Some(live) = live else { return gather_sealed_meanwhile(views, run_id, now) };
    let (state, sentence) = match live.state {
        views::Liveness::Running => (RunState::Running, "No verdict yet.".to_owned()),
        views::Liveness::Interrupted => {
            (RunState::Interrupted, "Its process is gone, and nothing has sealed it. There is no verdict.".to_owned())
        }
    };
    let facts = bare_facts(live.row, state, sentence, now);
    let (events, events_left_out) = live_events(views, run_id, now);
    Ok(RunFacts { phase: Some(live.phase), events, events_left_out, ..facts })
}

fn gather_sealed_meanwhile(views: &Views, run_id: &str, now: Stamp) -> Result<RunFacts, CommandError> {
    match views.view_run(run_id, now)? {
        RunView::Sealed(run) => sealed_facts(views, *run, now),
        RunView::Collected(run) => {
            Ok(bare_facts(run.run, RunState::Collected, "Its bundle was collected.".to_owned(), now))
        }
    }
}

fn live_events(views: &Views, run_id: &str, now: Stamp) -> (Vec<Event>, u64) {
    let lines = views.read_events(run_id, 0, now).map(|read| read.lines).unwrap_or_default();
    let events: Vec<Event> = lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    keep_first(events)
}

fn keep_first(mut events: Vec<Event>) -> (Vec<Event>, u64) {
    let left_out = events.len().saturating_sub(MOST_EVENTS) as u64;
    events.truncate(MOST_EVENTS);
    (events, left_out)
}

fn sealed_facts(views: &Views, run: SealedRun, now: Stamp) -> Result<RunFacts, CommandError> {
    let report = run.bundle.report().clone();
    let row = match views.find_row(report.run_id.as_str())? {
        Some(row) => row,
        None => return Err(CommandError::usage(format!("{} is not in the ledger of this home", report.run_id))),
    };
    let read = |name: &str| untrusted_fs::read_plain(run.bundle.dir(), name.as_bytes(), LARGEST_FILE);
    let events = read(names::EVENTS).unwrap_or_default();
    let events = events.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let (events, events_left_out) = keep_first(events);
    let rules = read(names::CONTRACT)
        .and_then(|bytes| serde_json::from_slice::<TaskContract>(&bytes).ok())
        .zip(read(names::DECISION).and_then(|bytes| serde_json::from_slice::<Decision>(&bytes).ok()))
        .and_then(|(contract, decision)| decision.path_rules(&contract).ok());
    let (patch, patch_cut) = read_patch(&read(names::PATCH).unwrap_or_default(), rules.as_ref());
    let artifacts = report.artifact_digests.iter().map(|(name, sha256)| ArtifactFacts {
        name: name.clone(),
        bytes: None,
        sha256: sha256.clone(),
    });
    let is_answered = row.stage >= contract::Stage::OWNED_REPOSITORY && row.status == RunStatus::Pass;
    let answer = is_answered.then(|| views.view_answer(&row.run_id)).transpose()?;
    let sentence = verdict_sentence(&report);
    let facts = bare_facts(row, RunState::Sealed, sentence, now);
    Ok(RunFacts {
        signer: Some(run.bundle.signer().to_owned()),
        attestation_sha256: Some(run.bundle.attestation_sha256()),
        origin: Some(run.origin),
        answer,
        events,
        events_left_out,
        patch,
        patch_cut,
        artifacts: artifacts.collect(),
        claims: report.claims.clone(),
        report: Some(report),
        ..facts
    })
}

/// Lines of a file of a verified bundle. Only names of the signed statement are opened, so
/// that no name leads elsewhere.
pub(super) fn read_log(
    views: &Views,
    reference: &str,
    name: &str,
    asked: &LogAsked,
    now: Stamp,
) -> Result<LogWindow, SourceError> {
    let found = views.view_run(reference, now).map_err(|error| refuse(error.into()))?;
    let RunView::Sealed(run) = found else { return Err(SourceError::missing("its bundle was collected")) };
    let is_known = run.bundle.report().artifact_digests.contains_key(name) || name == names::ATTESTATION;
    if !is_known {
        return Err(SourceError::missing(format!("`{name}` is no artifact of this run")));
    }
    let bytes = untrusted_fs::read_plain(run.bundle.dir(), name.as_bytes(), LARGEST_FILE)
        .ok_or_else(|| SourceError::refused(format!("`{name}` cannot be read")))?;
    Ok(cut_window(name, &bytes, asked))
}

fn cut_window(name: &str, bytes: &[u8], asked: &LogAsked) -> LogWindow {
    let mut window =
        LogWindow { name: name.to_owned(), total_lines: 0, matching_lines: 0, lines: Vec::new(), next_line: None };
    let needle = asked.search.as_bytes();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        window.total_lines += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if !needle.is_empty() && !line.windows(needle.len()).any(|part| part == needle) {
            continue;
        }
        window.matching_lines += 1;
        if window.total_lines < asked.line {
            continue;
        }
        if window.lines.len() < WINDOW {
            window.lines.push((window.total_lines, line_text(line)));
        } else if window.next_line.is_none() {
            window.next_line = Some(window.total_lines);
        }
    }
    window
}

/// A line as text, its end left out where it is very long.
fn line_text(line: &[u8]) -> String {
    let cut = line.len().min(LONGEST_LINE * 4);
    let text = String::from_utf8_lossy(&line[..cut]);
    match text.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}… {} bytes in this line", &text[..at], line.len()),
        None if cut < line.len() => format!("{text}… {} bytes in this line", line.len()),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_true_counts() {
        let text: String = (1..=1200).map(|line| format!("line {line}\n")).collect();
        let window = cut_window("test.log", text.as_bytes(), &LogAsked::default());
        assert_eq!((window.total_lines, window.lines.len(), window.next_line), (1200, WINDOW, Some(501)));
        let asked = LogAsked { line: 501, search: String::new() };
        assert_eq!(cut_window("test.log", text.as_bytes(), &asked).lines[0], (501, "line 501".to_owned()));
        let asked = LogAsked { line: 0, search: "line 11".to_owned() };
        let found = cut_window("test.log", text.as_bytes(), &asked);
        assert_eq!((found.matching_lines, found.lines[0].0), (111, 11));
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let text = line_text(&vec![b'x'; 1 << 20]);
        assert!(text.len() < LONGEST_LINE + 100 && text.contains("1048576 bytes"), "{}", text.len());
        assert_eq!(line_text(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}
