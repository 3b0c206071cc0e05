//! One run as the console shows it, in whatever state.

use contract::{Decision, Event, Stamp, TaskContract};
use evidence::names;
use evidence::render::verdict_sentence;
use hermes::{ArtifactFacts, RunFacts, RunState};
use ledger::RunStatus;
use views::{FindRunError, RunView, SealedRun, ViewRunError, Views};

use super::patch_lines::read_patch;
use super::refusals::read_refusals;
use crate::error::CommandError;

/// Events that a page lists.
const MOST_EVENTS: usize = 2000;
/// Largest file that is read whole.
const LARGEST_FILE: u64 = 64 << 20;

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
            Ok(RunFacts { problem: Some(contract::text::show_controls(&error.to_string())), ..facts })
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
        refusals: Vec::new(),
        refusals_left_out: 0,
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
    let read = |name: &str| run.bundle.read_within(name, LARGEST_FILE).ok();
    let events = read(names::EVENTS).unwrap_or_default();
    let events = events.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let (events, events_left_out) = keep_first(events);
    let rules = read(names::CONTRACT)
        .and_then(|bytes| serde_json::from_slice::<TaskContract>(&bytes).ok())
        .zip(read(names::DECISION).and_then(|bytes| serde_json::from_slice::<Decision>(&bytes).ok()))
        .and_then(|(contract, decision)| decision.path_rules(&contract).ok());
    let (patch, patch_cut) = read_patch(&read(names::PATCH).unwrap_or_default(), rules.as_ref());
    let (refusals, refusals_left_out) = read_refusals(&read(names::SANDBOX).unwrap_or_default());
    let artifacts = report.artifact_digests.iter().map(|(name, sha256)| ArtifactFacts {
        name: name.clone(),
        bytes: std::fs::symlink_metadata(run.bundle.dir().join(name)).ok().map(|found| found.len()),
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
        refusals,
        refusals_left_out,
        claims: report.claims.clone(),
        report: Some(report),
        ..facts
    })
}
