//! Requests for approval, newest first, a page at a time: state, age, and approvers.

mod record;
mod state;

use std::time::Duration;

use contract::approval::{ConsumedBy, PolicyTerms, approval_sentence};
use contract::signer::SignerStanding;
use contract::{Digest, Stage, Stamp, TaskId};
use evidence::signer_key::SignerKey;
use ledger::{FoundRuns, Ledger, ReadLedgerError, RequestRow, RunRow, RunStatus, UnusableRequest};
use schemars::JsonSchema;
use serde::Serialize;

pub use record::{RequestDetail, RequestRecord, SignedDocument};
pub use state::{ApprovalTally, RequestState, count_approvals};

use crate::Views;

/// Requests that are looked through for a name or a page.
const MOST_REQUESTS: usize = 100_000;

/// A question for requests. The default asks for the newest of all.
#[derive(Debug, Clone, Default)]
pub struct RequestQuery {
    pub task_id: Option<TaskId>,
    /// Only requests that can still be decided on.
    pub open_only: bool,
    /// The `next` of the page before; `None` for the first page.
    pub cursor: Option<String>,
    pub limit: usize,
}

/// One page of requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Requests for approval")]
pub struct RequestPage {
    pub requests: Vec<RequestSummary>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
    /// Requests in the ledger, whatever was asked for.
    pub total: u64,
}

/// One request in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestSummary {
    /// `req-<entry>`.
    pub request: String,
    pub request_digest: Digest,
    pub state: RequestState,
    pub task_id: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    pub stage: Stage,
    pub requested_at: Stamp,
    pub age_seconds: u64,
    /// Approvals that count now, and how many are needed.
    pub approvals: u64,
    pub approvals_required: u64,
    /// One of its approvals passes over the policy, in an emergency.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub break_glass: bool,
    /// The end of what is approved, else of the request itself.
    pub expires_at: Stamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed_by: Option<ConsumedBy>,
    /// The sentence that approves it, while it can be approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
}

/// Standing of keys and terms of the policy, both read by the caller.
pub struct RequestRules<'a> {
    pub standing: &'a dyn Fn(&SignerKey, &str, Stamp) -> SignerStanding,
    pub terms: &'a dyn Fn(Stage, Option<&str>) -> PolicyTerms,
}

impl std::fmt::Debug for RequestRules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestRules").finish_non_exhaustive()
    }
}

/// Failure to list requests.
#[derive(Debug, thiserror::Error)]
pub enum ListRequestsError {
    #[error("`{}` is not a cursor of requests", contract::text::show_controls(.0))]
    Cursor(String),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

/// Failure to find the request that a reference means.
#[derive(Debug, thiserror::Error)]
pub enum FindRequestError {
    #[error("no request matches `{}`", contract::text::show_controls(.0))]
    Unknown(String),
    #[error("`{}` stands for {count} requests", contract::text::show_controls(.reference))]
    Ambiguous { reference: String, count: usize },
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
}

/// Requests of a task among which one that was approved is looked for.
const MOST_EARLIER: usize = 1000;

/// The newest request of the same task before this one that somebody approved.
pub fn find_approved_before(ledger: &Ledger, record: &RequestRecord) -> Result<Option<RequestRecord>, ReadLedgerError> {
    let rows = ledger.requests_recent(Some(&record.row.task_id), MOST_EARLIER)?;
    let is_earlier = |row: &RequestRow| row.seq < record.row.seq && row.grants > 0;
    rows.into_iter().find(is_earlier).map(|row| RequestRecord::read_request(ledger, row)).transpose()
}

impl Views {
    /// One page of requests in their state at `now` or at the time of the last entry,
    /// whichever is later.
    pub fn list_requests(
        &self,
        query: &RequestQuery,
        rules: &RequestRules<'_>,
        now: Stamp,
    ) -> Result<RequestPage, ListRequestsError> {
        let before = query.cursor.as_deref().map(parse_place).transpose()?;
        let Some(ledger) = self.ledger() else {
            return Ok(RequestPage { requests: Vec::new(), next: None, total: 0 });
        };
        let now = ledger.latest_time()?.map_or(now, |latest| latest.max(now));
        let total = ledger.requests_total()?;
        let rows = match (query.open_only, &query.task_id) {
            (true, None) => ledger.requests_undecided(before, MOST_REQUESTS)?,
            (_, task_id) => ledger.requests_recent(task_id.as_ref(), MOST_REQUESTS)?,
        };
        let (mut requests, mut next) = (Vec::new(), None);
        for row in rows {
            if before.is_some_and(|before| row.seq >= before) {
                continue;
            }
            let is_over = !matches!(row.closed(), None | Some(UnusableRequest::Held));
            if query.open_only && is_over {
                continue;
            }
            // A rule for its target only shortens what holds for its stage.
            let longest = Duration::from_secs((rules.terms)(row.stage, None).max_ttl);
            if query.open_only && now >= row.requested_at.after(longest) {
                continue;
            }
            let summary = summarize_request(ledger, row, rules, now)?;
            if query.open_only && !summary.state.is_undecided() {
                continue;
            }
            if requests.len() == query.limit {
                next = requests.last().map(|last: &RequestSummary| last.request.clone());
                break;
            }
            requests.push(summary);
        }
        Ok(RequestPage { requests, next, total })
    }

    /// True if a run used up a request that was approved past the policy.
    pub(crate) fn has_broken_glass(&self, run: &RunRow) -> Result<bool, ReadLedgerError> {
        let Some(ledger) = self.ledger().filter(|_| run.stage.mutation_mode().needs_approval()) else {
            return Ok(false);
        };
        let Some(request) = ledger.request_used_by(&run.run_id)? else { return Ok(false) };
        let Some(row) = ledger.request_row(request)? else { return Ok(false) };
        Ok(RequestRecord::read_request(ledger, row)?.has_broken_glass())
    }
}

/// The number in a cursor, which is the name of the last request of a page.
fn parse_place(text: &str) -> Result<u64, ListRequestsError> {
    let number = text.strip_prefix("req-").and_then(|digits| digits.parse().ok());
    number.filter(|seq| format!("req-{seq}") == text).ok_or_else(|| ListRequestsError::Cursor(text.to_owned()))
}

/// One request as people see it in a list.
pub fn summarize_request(
    ledger: &Ledger,
    row: RequestRow,
    rules: &RequestRules<'_>,
    now: Stamp,
) -> Result<RequestSummary, ReadLedgerError> {
    let record = RequestRecord::read_request(ledger, row)?;
    let plan = record.request.as_ref().map(|request| &request.plan);
    let path = plan.and_then(|plan| plan.repository.path.as_deref());
    let terms = (rules.terms)(record.row.stage, path);
    let counted = count_approvals(&record, &terms, rules.standing, now);
    let state = RequestState::state_of(&record.row, &counted, now);
    let age = now.unix_seconds() - record.recorded_at.unix_seconds();
    Ok(RequestSummary {
        request: record.name(),
        request_digest: record.row.request,
        state,
        task_id: record.row.task_id.clone(),
        title: plan.map(|plan| plan.contract.title.clone()),
        target: plan.map(|plan| plan.repository.name.clone()),
        stage: record.row.stage,
        requested_at: record.recorded_at,
        age_seconds: u64::try_from(age).unwrap_or(0),
        approvals: counted.keys.len() as u64,
        approvals_required: u64::from(terms.approvals_required),
        break_glass: record.has_broken_glass(),
        expires_at: counted.ends_at,
        consumed_by: find_consumer(ledger, &record.row)?,
        sentence: plan.filter(|_| state.is_undecided()).map(approval_sentence),
    })
}

/// The run that used a request up, with its status once it is over.
pub fn find_consumer(ledger: &Ledger, row: &RequestRow) -> Result<Option<ConsumedBy>, ReadLedgerError> {
    let Some(run_id) = row.used_by.clone() else { return Ok(None) };
    let status = match ledger.run_find(run_id.as_str())? {
        FoundRuns::One(run) => match run.status {
            RunStatus::Running => None,
            RunStatus::Pass => Some(contract::Status::Pass),
            RunStatus::Fail => Some(contract::Status::Fail),
            RunStatus::Blocked => Some(contract::Status::Blocked),
        },
        FoundRuns::None | FoundRuns::Many(_) => None,
    };
    Ok(Some(ConsumedBy { run_id, status }))
}

/// The request that a person means: `req-<entry>`, `apr-<entry>` of one of its approvals,
/// or a unique beginning of its digest.
pub fn find_request(ledger: &Ledger, reference: &str) -> Result<RequestRow, FindRequestError> {
    let unknown = || FindRequestError::Unknown(reference.to_owned());
    let rows = ledger.requests_recent(None, MOST_REQUESTS)?;
    let number = |prefix: &str| reference.strip_prefix(prefix).and_then(|digits| digits.parse::<u64>().ok());
    if let Some(seq) = number("req-") {
        return rows.into_iter().find(|row| row.seq == seq).ok_or_else(unknown);
    }
    if let Some(seq) = number("apr-") {
        for row in rows.into_iter().filter(|row| row.grants > 0) {
            if ledger.request_entries(row.request)?.iter().any(|entry| entry.seq == seq) {
                return Ok(row);
            }
        }
        return Err(unknown());
    }
    let is_hex = !reference.is_empty() && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut fitting: Vec<RequestRow> =
        rows.into_iter().filter(|row| is_hex && row.request.to_string().starts_with(reference)).collect();
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => Err(unknown()),
        count => Err(FindRequestError::Ambiguous { reference: reference.to_owned(), count }),
    }
}
