//! A run as a row beside others: verdict, why, time, what it used and what it said that was not so.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::claim::ClaimVerdict;
use contract::model::ModelReport;
use contract::report::TestCounts;
use contract::text::shown;
use contract::{Digest, Reason, Report, RunId, Stage, Status, TaskId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CommandError;

/// One lane.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Lane {
    pub(crate) engine: String,
    /// The pair that was asked for.
    pub(crate) model: Option<String>,
    pub(crate) status: Status,
    pub(crate) reasons: Vec<Reason>,
    /// Why there is no run, or the text of the worst reason.
    pub(crate) why: Option<String>,
    pub(crate) remedy: Option<String>,
    /// None where no run could be made.
    pub(crate) run_id: Option<RunId>,
    pub(crate) task_id: Option<TaskId>,
    pub(crate) stage: Option<Stage>,
    pub(crate) contract_digest: Option<Digest>,
    pub(crate) engine_started: bool,
    pub(crate) changed_files: u64,
    /// Of the exam, where its commands tell.
    pub(crate) tests: Option<TestCounts>,
    pub(crate) duration_ms: Option<u64>,
    /// Null where the engine needs no model.
    pub(crate) used: Option<Used>,
    pub(crate) claims: u64,
    pub(crate) claims_contradicted: u64,
    /// SHA-256 of the bundle's attestation.
    pub(crate) attestation_sha256: Option<Digest>,
}

/// What a lane used of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Used {
    pub(crate) requests: u64,
    pub(crate) tokens: u64,
    pub(crate) tokens_unknown_requests: u64,
    pub(crate) cost_micros: u64,
    pub(crate) unpriced_requests: u64,
    pub(crate) cost_unknown_requests: u64,
}

impl Used {
    fn of(model: &ModelReport) -> Self {
        let used = &model.used;
        Self {
            requests: used.requests,
            tokens: used.tokens.prompt.saturating_add(used.tokens.completion),
            tokens_unknown_requests: used.tokens.unknown_requests,
            cost_micros: used.cost.micros,
            unpriced_requests: used.cost.unpriced_requests,
            cost_unknown_requests: used.cost.unknown_requests,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, other.requests);
        add(&mut self.tokens, other.tokens);
        add(&mut self.tokens_unknown_requests, other.tokens_unknown_requests);
        add(&mut self.cost_micros, other.cost_micros);
        add(&mut self.unpriced_requests, other.unpriced_requests);
        add(&mut self.cost_unknown_requests, other.cost_unknown_requests);
    }

    /// The sum of what is known, if everything in it has a price; it is at least that where some requests did not tell.
    pub(crate) fn cost(self) -> Option<u64> {
        (self.unpriced_requests == 0).then_some(self.cost_micros)
    }
}

impl Lane {
    pub(crate) fn of(report: &Report, attestation: Digest) -> Self {
        let contradicted = report.claims.iter().filter(|judged| judged.verdict == ClaimVerdict::Contradicted).count();
        let worst = report.blockers.first();
        Self {
            engine: report.backend.clone(),
            model: report.model.as_ref().and_then(|model| model.requested.as_ref()).map(ToString::to_string),
            status: report.status,
            reasons: report.blocker_reasons.clone(),
            why: worst.map(|blocker| blocker.text.clone()),
            remedy: worst.map(|blocker| {
                blocker.remedy.replace("RUN", report.run_id.suffix()).replace("TASK", report.task_id.as_str())
            }),
            run_id: Some(report.run_id.clone()),
            task_id: Some(report.task_id.clone()),
            stage: Some(report.stage),
            contract_digest: Some(report.contract_digest),
            engine_started: report.engine.process_started,
            changed_files: report.changed_files.len() as u64,
            tests: report.verification.exam_tests(),
            duration_ms: Some(report.duration_ms),
            used: report.model.as_ref().map(Used::of),
            claims: report.claims.len() as u64,
            claims_contradicted: contradicted as u64,
            attestation_sha256: Some(attestation),
        }
    }

    /// A lane in which nothing could be run.
    pub(crate) fn impossible(engine: &str, error: &CommandError) -> Self {
        Self {
            engine: engine.to_owned(),
            model: None,
            status: Status::Blocked,
            reasons: Vec::new(),
            why: Some(error.message.clone()),
            remedy: error.hint.clone(),
            run_id: None,
            task_id: None,
            stage: None,
            contract_digest: None,
            engine_started: false,
            changed_files: 0,
            tests: None,
            duration_ms: None,
            used: None,
            claims: 0,
            claims_contradicted: 0,
            attestation_sha256: None,
        }
    }

    /// The worst reason by its code, and how many more there are; what was wrong where there is no run.
    pub(crate) fn why_text(&self) -> String {
        match (self.reasons.as_slice(), &self.why) {
            ([], Some(why)) => shown(why),
            ([], None) => String::new(),
            ([one], _) => one.code().to_owned(),
            ([first, more @ ..], _) => format!("{} +{}", first.code(), more.len()),
        }
    }
}

/// What lanes come to together: one that failed outweighs one that was blocked.
pub(crate) fn together(lanes: &[Lane]) -> Status {
    let any = |status: Status| lanes.iter().any(|lane| lane.status == status);
    match (any(Status::Fail), any(Status::Blocked)) {
        (true, _) => Status::Fail,
        (false, true) => Status::Blocked,
        (false, false) => Status::Pass,
    }
}

/// The name of a collection's task: a prefix and as much of the task's id as fits.
pub(crate) fn collection_name(prefix: &str, task: &TaskId) -> String {
    const LONGEST: usize = 64;
    format!("{prefix}-{task}").chars().take(LONGEST).collect()
}

/// Does `work` on every item, `jobs` at once, and gives what came of each in order. Who got nothing, because a signal ended it,
/// begins no other.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<Option<R>, CommandError> + Sync,
) -> Result<Vec<R>, CommandError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let one = || -> Result<(), CommandError> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let Some(result) = work(item)? else { return Ok(()) };
            if let Ok(mut done) = done.lock() {
                done.push((at, result));
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(one)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(CommandError::fail("a worker ended early"))))
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
