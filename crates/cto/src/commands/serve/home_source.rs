//! The home as the console asks it: the same queries as the command line, of the home as it is.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use contract::Stamp;
use evidence::PublicKey;
use evidence::private::{Privacy, require_private};
use harness::{Home, RunClock};
use hermes::{
    BoardFacts, ConsoleSource, EventChunk, LogAsked, LogWindow, OperatorAct, OverviewFacts, QueueFacts, RecordFacts,
    RequestFacts, RunFacts, RunListFacts, RunMark, RunsAsked, SessionCheck, SourceError, SpendFacts,
};
use views::{
    ControlSummary, LaneComparison, RequestPage, RunQuery, RunTally, VerifyMemo, VerifyResult, Views, compare_runs,
};

use super::marks::mark_run;
use super::sealed_size::SizeMemo;
use super::{board, log_window, overview, queue_facts, requests, run_facts};
use crate::commands::stop::{record_act, stop_run};
use crate::commands::summary::compose_summary;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::seek::trusted;
use crate::workspace_scene::BundleFactMemo;

/// A home and what was verified of it while the server lives.
pub(crate) struct HomeSource {
    pub(super) context: Context,
    /// Results of verification, for one set of keys.
    memo: Mutex<(Vec<PublicKey>, Arc<VerifyMemo>)>,
    /// Bundles that items of the workspace rest on, for one set of keys.
    bundle_memo: Mutex<(Vec<PublicKey>, Arc<BundleFactMemo>)>,
    /// Sealed runs by day and engine, counted up to an entry of the ledger.
    tally: Mutex<RunTally>,
    /// Sizes of sealed runs that lists have shown.
    sizes: SizeMemo,
    /// True of a ledger that is a file of this home; known once there is a home.
    owns_ledger: OnceLock<bool>,
}

impl HomeSource {
    /// Source for one home; results of verifications are shared between requests.
    pub(crate) fn new(context: Context) -> Self {
        Self {
            context,
            memo: Mutex::default(),
            bundle_memo: Mutex::default(),
            tally: Mutex::default(),
            sizes: SizeMemo::default(),
            owns_ledger: OnceLock::new(),
        }
    }

    /// False of a ledger that others share: it is no file of this home. Settings are those of the start.
    fn owns_ledger(&self) -> bool {
        if let Some(known) = self.owns_ledger.get() {
            return *known;
        }
        let Ok(home) = Home::existing(&self.context.config.place()) else { return false };
        *self.owns_ledger.get_or_init(|| !home.shares_ledger())
    }

    /// Views that remember what was verified with the same keys.
    pub(super) fn look(&self) -> Result<(Views, Stamp), CommandError> {
        let keys = trusted(&self.context, &[])?.keys;
        let memo = self.memo_for(&keys);
        let (views, now) = self.context.look_only()?;
        Ok((views.trusting_keys(keys).sharing_memo(memo), now))
    }

    /// Counts of runs by day, kept between requests.
    pub(super) fn tally(&self) -> MutexGuard<'_, RunTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Results of verifications with these keys. Other keys start a new memo.
    pub(super) fn memo_for(&self, keys: &[PublicKey]) -> Arc<VerifyMemo> {
        memo_of_keys(&self.memo, keys)
    }

    /// The same for bundles that items of the workspace rest on.
    pub(super) fn bundle_memo_for(&self, keys: &[PublicKey]) -> Arc<BundleFactMemo> {
        memo_of_keys(&self.bundle_memo, keys)
    }
}

fn memo_of_keys<T: Default>(memo: &Mutex<(Vec<PublicKey>, Arc<T>)>, keys: &[PublicKey]) -> Arc<T> {
    let mut known = memo.lock().unwrap_or_else(PoisonError::into_inner);
    if known.0 != keys {
        *known = (keys.to_vec(), Arc::default());
    }
    Arc::clone(&known.1)
}

/// The text and hint of a command's error, for a page.
pub(super) fn source_error(error: CommandError) -> SourceError {
    let made = match error.kind {
        ErrorKind::Usage => SourceError::not_found(error.message),
        ErrorKind::Fail | ErrorKind::Blocked => SourceError::refused(error.message),
    };
    match error.hint {
        Some(hint) => made.with_hint(hint),
        None => made,
    }
}

fn answer<T, E: Into<CommandError>>(result: Result<T, E>) -> Result<T, SourceError> {
    result.map_err(|error| source_error(error.into()))
}

impl ConsoleSource for HomeSource {
    fn compose_summary(&self) -> Result<ControlSummary, SourceError> {
        let keys = answer(trusted(&self.context, &[]))?.keys;
        answer(compose_summary(&self.context, Some(self.memo_for(&keys))))
    }

    fn view_overview(&self) -> Result<OverviewFacts, SourceError> {
        answer(overview::gather_overview(self))
    }

    fn list_runs(&self, asked: &RunsAsked) -> Result<RunListFacts, SourceError> {
        let (views, now) = answer(self.look())?;
        let query =
            RunQuery::parse_words(&asked.query, now).map_err(|error| SourceError::invalid(error.to_string()))?;
        let query = RunQuery { cursor: asked.cursor.clone(), limit: asked.limit, ..query };
        let page = match views.list_runs(&query, now) {
            Err(views::ListRunsError::Cursor(error)) => return Err(SourceError::invalid(error.to_string())),
            other => answer(other)?,
        };
        let keys = answer(trusted(&self.context, &[]))?.keys;
        let sealed = self.sizes.read_sizes(&self.context.config.home, &keys, &page);
        Ok(RunListFacts { page, engines: answer(views.list_run_engines())?, sealed })
    }

    fn mark_run(&self, run_id: &str) -> Option<RunMark> {
        let now = RunClock::start_clock().ok()?.started();
        self.owns_ledger().then(|| mark_run(&self.context.config.home, run_id, now)).flatten()
    }

    fn view_run(&self, reference: &str) -> Result<RunFacts, SourceError> {
        let (views, now) = answer(self.look())?;
        answer(run_facts::gather_run(&views, reference, now))
    }

    fn verify_run(&self, reference: &str) -> Result<Arc<VerifyResult>, SourceError> {
        let (views, now) = answer(self.look())?;
        views.verify_again(reference, now).map_err(|error| match error {
            views::VerifyRunError::Find(error) => source_error(error.into()),
            views::VerifyRunError::Open(error) => SourceError::refused(error.to_string()),
        })
    }

    fn read_log(&self, reference: &str, name: &str, asked: &LogAsked) -> Result<LogWindow, SourceError> {
        let (views, now) = answer(self.look())?;
        log_window::read_log(&views, reference, name, asked, now)
    }

    fn read_events(&self, run_id: &str, from: u64) -> Result<EventChunk, SourceError> {
        let (views, now) = answer(self.context.look_only())?;
        let read = views.read_events(run_id, from, now).map_err(|error| SourceError::not_found(error.to_string()))?;
        Ok(EventChunk {
            run_id: read.run_id.to_string(),
            lines: read.lines,
            next: read.next,
            is_over: read.is_over,
            is_interrupted: read.is_interrupted,
        })
    }

    fn list_requests(&self, cursor: Option<&str>) -> Result<RequestPage, SourceError> {
        answer(requests::list_requests(self, cursor))
    }

    fn view_request(&self, reference: &str) -> Result<RequestFacts, SourceError> {
        answer(requests::request_fact(self, reference))
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
        let now = answer(RunClock::start_clock().map_err(CommandError::blocked_with))?.started();
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

    fn view_board(&self, from: usize) -> Result<BoardFacts, SourceError> {
        answer(board::view_board(self, from))
    }

    fn view_spend(&self) -> Result<SpendFacts, SourceError> {
        answer(overview::gather_spend(self))
    }

    fn view_queue(&self) -> Result<QueueFacts, SourceError> {
        answer(queue_facts::gather_queue(&self.context))
    }

    fn deny_request(&self, reference: &str, reason: &str, may_still: SessionCheck<'_>) -> Result<(), SourceError> {
        answer(requests::deny_waiting(&self.context, reference, reason, may_still))
    }

    fn approve_request(&self, reference: &str, sentence: &str, may_still: SessionCheck<'_>) -> Result<(), SourceError> {
        answer(requests::approve_waiting(&self.context, reference, sentence, may_still))
    }

    fn stop_run(&self, reference: &str) -> Result<(), SourceError> {
        answer(stop_run(&self.context, reference).map(drop))
    }

    fn read_sidecar_token(&self) -> Option<String> {
        self.context.config.sidecar_tokens.iter().find_map(|file| read_token(file))
    }

    fn record_act(&self, act: &OperatorAct) -> Result<(), SourceError> {
        answer(record_act(&self.context, act))
    }
}

/// Characters of a `token-v1`.
const TOKEN_LENGTH: usize = 43;

/// The token in a file that nobody else can read; none where it is anything else.
fn read_token(file: &Path) -> Option<String> {
    require_private(file, Privacy::Secret).ok()?;
    let mut text = String::new();
    File::open(file).ok()?.take(256).read_to_string(&mut text).ok()?;
    let token = text.trim();
    let is_token =
        token.len() == TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_token.then(|| token.to_owned())
}
