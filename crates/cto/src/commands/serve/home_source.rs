//! The home as the console asks it: the same queries as the command line, of the home as it is.

use std::sync::{Arc, Mutex, PoisonError};

use contract::Stamp;
use evidence::PublicKey;
use harness::{Home, RunClock};
use hermes::{
    ConsoleSource, EventChunk, LogAsked, LogWindow, OperatorAct, OverviewFacts, RecordFacts, RequestFacts, RunFacts,
    RunsAsked, SourceError, SpendFacts,
};
use ledger::EntryKind;
use views::{
    ControlSummary, LaneComparison, RequestPage, RunPage, RunQuery, VerifyMemo, VerifyResult, Views, compare_runs,
};

use super::{overview, requests, run_facts};
use crate::commands::summary::compose_summary;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::seek::trusted;

/// A home and what was verified of it while the server lives.
pub(crate) struct HomeSource {
    pub(super) context: Context,
    /// Results of verification, for one set of keys.
    memo: Mutex<(Vec<PublicKey>, Arc<VerifyMemo>)>,
}

impl HomeSource {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, memo: Mutex::default() }
    }

    /// Views that remember what was verified with the same keys.
    pub(super) fn look(&self) -> Result<(Views, Stamp), CommandError> {
        let keys = trusted(&self.context, &[])?.keys;
        let memo = self.memo_for(&keys);
        let (views, now) = self.context.look_only()?;
        Ok((views.trusting(keys).sharing(memo), now))
    }

    pub(super) fn memo_for(&self, keys: &[PublicKey]) -> Arc<VerifyMemo> {
        let mut known = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != keys {
            *known = (keys.to_vec(), Arc::default());
        }
        Arc::clone(&known.1)
    }
}

/// The text and hint of a command's error, for a page.
pub(super) fn refuse(error: CommandError) -> SourceError {
    let made = match error.kind {
        ErrorKind::Usage => SourceError::missing(error.message),
        ErrorKind::Fail | ErrorKind::Blocked => SourceError::refused(error.message),
    };
    match error.hint {
        Some(hint) => made.hint(hint),
        None => made,
    }
}

fn answer<T, E: Into<CommandError>>(result: Result<T, E>) -> Result<T, SourceError> {
    result.map_err(|error| refuse(error.into()))
}

impl ConsoleSource for HomeSource {
    fn compose_summary(&self) -> Result<ControlSummary, SourceError> {
        answer(compose_summary(&self.context))
    }

    fn view_overview(&self) -> Result<OverviewFacts, SourceError> {
        answer(overview::gather_overview(self))
    }

    fn list_runs(&self, asked: &RunsAsked) -> Result<RunPage, SourceError> {
        let (views, now) = answer(self.look())?;
        let query =
            RunQuery::parse_words(&asked.query, now).map_err(|error| SourceError::invalid(error.to_string()))?;
        let query = RunQuery { cursor: asked.cursor.clone(), limit: asked.limit, ..query };
        match views.list_runs(&query, now) {
            Err(views::ListRunsError::Cursor(error)) => Err(SourceError::invalid(error.to_string())),
            other => answer(other),
        }
    }

    fn view_run(&self, reference: &str) -> Result<RunFacts, SourceError> {
        let (views, now) = answer(self.look())?;
        answer(run_facts::gather_run(&views, reference, now))
    }

    fn verify_run(&self, reference: &str) -> Result<Arc<VerifyResult>, SourceError> {
        let (views, now) = answer(self.look())?;
        views.verify_again(reference, now).map_err(|error| match error {
            views::VerifyRunError::Find(error) => refuse(error.into()),
            views::VerifyRunError::Open(error) => SourceError::refused(error.to_string()),
        })
    }

    fn read_log(&self, reference: &str, name: &str, asked: &LogAsked) -> Result<LogWindow, SourceError> {
        let (views, now) = answer(self.look())?;
        run_facts::read_log(&views, reference, name, asked, now)
    }

    fn read_events(&self, run_id: &str, from: u64) -> Result<EventChunk, SourceError> {
        let (views, now) = answer(self.context.look_only())?;
        let read = views.read_events(run_id, from, now).map_err(|error| SourceError::missing(error.to_string()))?;
        Ok(EventChunk {
            run_id: read.run_id.to_string(),
            lines: read.lines,
            next: read.next,
            is_over: read.is_over,
            is_interrupted: read.is_interrupted,
        })
    }

    fn list_requests(&self, cursor: Option<&str>) -> Result<RequestPage, SourceError> {
        answer(requests::list(self, cursor))
    }

    fn view_request(&self, reference: &str) -> Result<RequestFacts, SourceError> {
        answer(requests::view(self, reference))
    }

    fn compare_runs(&self, references: &[String]) -> Result<LaneComparison, SourceError> {
        let (views, now) = answer(self.look())?;
        let keys = answer(trusted(&self.context, &[]))?.keys;
        let found = references.iter().map(|name| views.find_run(name, now)).collect::<Result<Vec<_>, _>>();
        answer(compare_runs(&answer(found)?, &keys))
    }

    fn list_records(&self) -> Result<Vec<RecordFacts>, SourceError> {
        if self.context.config.workspace.is_none() {
            return Ok(Vec::new());
        }
        let now = answer(RunClock::start().map_err(CommandError::blocked))?.started();
        let rows = answer(cortex::list_records(&self.context.config.records, now))?;
        let root = self.context.config.workspace.clone().unwrap_or_default();
        let row = |row: cortex::RecordRow| RecordFacts {
            file: row.file.strip_prefix(&root).unwrap_or(&row.file).display().to_string(),
            kind: row.kind.as_str().to_owned(),
            subject: row.subject,
            status: row.status,
            problem: row.problem,
            signed_by: row.signed_by,
            sha256: row.sha256.map(|digest| digest.to_string()),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn view_spend(&self) -> Result<SpendFacts, SourceError> {
        answer(overview::gather_spend(self))
    }

    fn deny_request(&self, reference: &str, reason: &str) -> Result<(), SourceError> {
        answer(requests::deny(&self.context, reference, reason))
    }

    fn approve_request(&self, reference: &str, sentence: &str) -> Result<(), SourceError> {
        answer(requests::approve(&self.context, reference, sentence))
    }

    fn record_act(&self, act: &OperatorAct) -> Result<(), SourceError> {
        answer(record_act(&self.context, act))
    }
}

/// Writes an act into the ledger. A home in which nothing was ever recorded has no ledger, and gets none for a look at it.
fn record_act(context: &Context, act: &OperatorAct) -> Result<(), CommandError> {
    let home = match Home::existing(&context.config.place()) {
        Ok(home) => home,
        Err(harness::OpenHomeError::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let now = RunClock::start().map_err(CommandError::blocked)?.started();
    let body = serde_json::to_value(act)?;
    home.ledger()?.append(EntryKind::OperatorActed, None, now, &body).map_err(|error| CommandError::blocked(&error))?;
    Ok(())
}
