//! Remains of a dead run, taken over: the unbroken beginning of its events, its files, and
//! the decision it rested on.

use std::io;
use std::path::Path;
use std::time::Duration;

use bridge::Spent;
use contract::statement::SignedLedger;
use contract::{Decision, Digest, Event, EventData, Reason, RunId, Stamp};
use evidence::{Censor, Draft, chain, names};
use gate::approval::counted_approvals;
use ledger::Entry;
use rustix::fs::FileType;
use serde_json::json;
use untrusted_fs::{Bounds, Met, Next, kind, open_regular, open_root, read_limited, read_plain, walk};

use super::restored::{DeadRemains, Restored};
use super::{Dead, remove_all};
use crate::gather::approval_events::{granted_events, has_same_approval};
use crate::gather::model::{DeadShare, settle_dead};
use crate::home::ask::Ask;
use crate::home::clock::RunClock;
use crate::home::layout::Home;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::about::DocumentSubject;
use crate::run::file::{RunFile, RunRemains, Stopped};
use crate::run::harness::Harness;
use crate::seal::landing::{DeadLanding, LandedResult};

/// Lies in `backend/` where a run died while it landed its change.
const LANDING_MARKER: &str = "landing.txt";
/// Deeper than anything a run writes; a bundle may not be deeper than what `verify` reads.
const DEPTH: usize = 20;
const ADOPTING: Duration = Duration::from_secs(600);

/// Run that another process began and that is over.
pub(crate) struct Remains<'a> {
    run: RunFile<'a>,
    restored: Restored,
}

impl<'a> Remains<'a> {
    /// Parts for the next step.
    pub(crate) fn into_parts(self) -> (RunFile<'a>, Restored) {
        (self.run, self.restored)
    }
}

/// Surroundings of the dead run, beside its own folder.
pub(super) struct DeadScene<'a> {
    pub(super) harness: &'a Harness,
    pub(super) task: &'a Task,
    pub(super) ask: &'a Ask,
    pub(super) document: Option<DocumentSubject>,
    pub(super) watch: Watch<'a>,
    /// The run died in the boot that is still going on.
    pub(super) same_boot: bool,
    /// The end that its landing was brought to.
    pub(super) landing: Option<&'a DeadLanding>,
}

impl<'a> DeadScene<'a> {
    /// Builds a new draft from the remains of the dead run.
    pub(super) fn remains(
        &self,
        run_id: &RunId,
        started: &Entry,
        engine: Option<&Entry>,
        old: Option<&Path>,
        why: &str,
        dead: &Dead<'_>,
    ) -> Result<Remains<'a>, Stopped> {
        let old_events = old.and_then(|old| read_plain(old, names::EVENTS.as_bytes(), u64::MAX)).unwrap_or_default();
        let mut read = chain::read_chain(&old_events, Some(run_id));
        let mut left = DeadRemains::read_left(&self.harness.home, run_id, &self.task.contract, engine, old);
        read.events.truncate(left.keep_events(&read.events));
        let kept = first_lines(&old_events, read.events.len());
        let start = started
            .time
            .parse::<Stamp>()
            .map_err(|error| Stopped::Io(run_id.as_str().into(), io::Error::other(error)))?;
        let last = read.events.last().map_or(start, |event| event.time);
        let clock = RunClock::resume_at(start, last)
            .map_err(|error| Stopped::Io(run_id.as_str().into(), io::Error::other(error)))?;
        let draft = new_draft(&self.harness.home, run_id, clock.started())?;
        let id = self.harness.ledger().ledger_id().to_owned();
        let head = started.prev.parse().unwrap_or(Digest::ZERO);
        let ledger_at_start = SignedLedger { id, head, seq: started.seq.saturating_sub(1) };
        let mut run = RunFile::of_remains(RunRemains {
            harness: self.harness,
            task: self.task,
            ask: self.ask,
            document: self.document.clone(),
            watch: self.watch,
            clock,
            lease: dead.lease,
            ledger_at_start,
            draft,
        })?;
        run.draft.continue_chain(kept, last)?;
        if engine.is_some() {
            run.standing.note_engine_started();
        }
        adopt(&mut run, old)?;
        let mut restored = left.restore(&mut run, &read.events)?;
        run.catch_up(&restored.decision)?;
        restore_approval(&mut run, &restored.decision, &read.events)?;
        let share = settle_share(&mut run, self.same_boot)?;
        for (reason, text) in judge_death(dead.stopped, why, &share) {
            run.standing.block_run(reason, text, names::TRACE);
        }
        if let Some(DeadLanding { ended, stays }) = self.landing {
            run.standing.block_run(Reason::HarnessInterrupted, ended.sentence(), names::TRACE);
            run.marker(LANDING_MARKER, &format!("{}\nnext: {}", ended.sentence(), ended.next_step()))?;
            run.add_trace(
                "landing.recovered",
                json!({"branch": ended.branch, "commit": ended.commit, "what": ended.sentence()}),
            )?;
            restored.landing = LandedResult::recovered(stays.clone());
        }
        if let Some(Stopped::Write(error)) = dead.stopped {
            run.add_trace("artifact.failed", json!({"error": error.error.to_string(), "path": error.name}))?;
        }
        run.add_trace("recovered", json!({"events_kept": read.events.len(), "why": why}))?;
        Ok(Remains { run, restored })
    }
}

/// Adds what the kept events lack of the approval that the run used: its folder may lie in another home, and the ledger has the decision.
fn restore_approval(run: &mut RunFile<'_>, decision: &Decision, kept: &[Event]) -> Result<(), Stopped> {
    if !run.standing.engine_started() {
        return Ok(());
    }
    let counted = counted_approvals(&decision.inputs);
    run.standing.cover_all(counted.into_iter().flat_map(|counted| counted.coverage));
    let kept: Vec<EventData> = kept.iter().filter_map(Event::read_data).collect();
    for data in granted_events(decision) {
        if !kept.iter().any(|event| has_same_approval(event, &data)) {
            run.add_event(&data)?;
        }
    }
    Ok(())
}

/// Blockers of a run that ended in this way. One of another process left no word of its end.
fn judge_death(stopped: Option<&Stopped>, why: &str, share: &str) -> Vec<(Reason, String)> {
    let end = match stopped {
        Some(Stopped::Halted(_)) => (Reason::Halted, format!("the run was {why}{share}")),
        _ => (Reason::HarnessInterrupted, format!("the run was interrupted: {why}{share}")),
    };
    let unwritten = match stopped {
        Some(Stopped::Write(error)) => Some((Reason::ArtifactWriteFailure, error.to_string())),
        _ => None,
    };
    [end].into_iter().chain(unwritten).collect()
}

/// The first lines of a text, newlines included.
fn first_lines(bytes: &[u8], count: usize) -> &[u8] {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let end = count.checked_sub(1).and_then(|last| ends.into_iter().nth(last)).unwrap_or(0);
    &bytes[..end]
}

fn new_draft(home: &Home, run_id: &RunId, at: Stamp) -> Result<Draft, Stopped> {
    let dir = home.active().join(format!("{run_id}.recover"));
    remove_all(&dir).map_err(|error| Stopped::Io(dir.clone(), io::Error::other(error.to_string())))?;
    let lock = Draft::claim_folder(&dir).map_err(|error| Stopped::Io(dir.clone(), error))?;
    // What the dead run wrote went through its own censor, which knew more.
    Ok(Draft::begin_draft(dir, run_id.clone(), lock, at, Censor::new(Vec::new()))?)
}

/// Everything the dead run left, under `backend/recovered`.
fn adopt(run: &mut RunFile<'_>, old: Option<&Path>) -> Result<(), Stopped> {
    let Some(old) = old else { return Ok(()) };
    let root = open_root(old).map_err(|error| Stopped::Io(old.to_owned(), error))?;
    let bounds = Bounds { depth: DEPTH, ..Bounds::within(ADOPTING) };
    let cut = walk(root, &bounds, |met| -> Result<Next, Stopped> {
        let entry = match met {
            Met::Entry(entry) => entry,
            Met::Shut { why, .. } => return Err(Stopped::Io(old.to_owned(), why.into())),
            Met::Left { .. } | Met::TooDeep { .. } => return Ok(Next::Pass),
        };
        let Ok(below) = std::str::from_utf8(entry.path) else { return Ok(Next::Pass) };
        if kind(entry.stat) == FileType::RegularFile {
            let failed = |error| Stopped::Io(old.join(below), error);
            let (file, _) = open_regular(entry.dir, entry.name).map_err(failed)?;
            let bytes = read_limited(file, u64::MAX).map_err(failed)?;
            let at = run.clock().now();
            run.draft.adopt(&bytes, &old.join(below), &format!("backend/recovered/{below}"), at)?;
        }
        Ok(Next::Enter)
    })?;
    cut.map_or(Ok(()), |cut| Err(Stopped::Io(old.to_owned(), io::Error::other(cut.in_words()))))
}

/// Settles what the run held of a limited day; gives what is to be said where it cannot.
fn settle_share(run: &mut RunFile<'_>, same_boot: bool) -> Result<String, Stopped> {
    match settle_dead(run, same_boot)? {
        DeadShare::None => Ok(String::new()),
        DeadShare::Settled(Spent { requests, tokens, money_micros }) => {
            let data = json!({"money_micros": money_micros, "requests": requests, "tokens": tokens});
            run.add_trace("model.settled", data)?;
            Ok(String::new())
        }
        DeadShare::Kept(why) => {
            run.add_trace("model.share_kept", json!({"why": why}))?;
            Ok(format!("; its share of the day's limit stays counted in full: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::WriteArtifactError;

    use super::*;
    use crate::run::halt::Halted;
    use crate::tests::two_sided;

    #[test]
    fn a_dead_run_was_halted_or_interrupted() {
        let judge = |stopped: Option<&Stopped>| judge_death(stopped, "why", "; share");
        let interrupted = (Reason::HarnessInterrupted, "the run was interrupted: why; share".to_owned());
        let halted = Stopped::Halted(Halted::Unreadable("no".to_owned()));
        assert_eq!(judge(Some(&halted)), [(Reason::Halted, "the run was why; share".to_owned())]);
        assert_eq!(judge(Some(&Stopped::Cancelled)), std::slice::from_ref(&interrupted));
        assert_eq!(judge(None), std::slice::from_ref(&interrupted), "its process is gone");
        two_sided(Reason::Halted, judge(Some(&halted)), judge(None));
        two_sided(Reason::HarnessInterrupted, judge(None), judge(Some(&halted)));
        let error = WriteArtifactError { name: "a".to_owned(), error: io::Error::other("the disk is full") };
        let text = error.to_string();
        assert!(text.contains("the disk is full"), "{text}");
        assert_eq!(judge(Some(&Stopped::Write(error))), [interrupted, (Reason::ArtifactWriteFailure, text)]);
    }

    #[test]
    fn whole_lines_are_kept() {
        for (count, kept) in [(0, ""), (1, "a\n"), (2, "a\nb\n"), (3, "")] {
            assert_eq!(first_lines(b"a\nb\nc", count), kept.as_bytes(), "{count}");
        }
    }
}
