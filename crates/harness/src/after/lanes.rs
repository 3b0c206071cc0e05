//! Runs side by side: a lane is a run as a row beside others, with its verdict, the reason, its time, what it used and what it
//! said that was not so. Races, repetitions and matrices are made of lanes and cases that run several at once.

mod matrix;
mod measure;
mod race;
mod repeat;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::claim::ClaimVerdict;
use contract::model::ModelReport;
use contract::report::TestCounts;
use contract::text::shown;
use contract::{Digest, Reason, Report, RunId, Stage, Status, TaskId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::home::ask::Ask;
use crate::home::task::Task;
use crate::home::watch::Watch;
use crate::run::harness::Harness;
use crate::spine::{GovernError, govern};

pub use matrix::{Matrix, MatrixRow, run_case, seal_matrix};
pub use measure::{PassHat, RepeatMeasures};
pub use race::seal_race;
pub use repeat::{Repetition, seal_repetition};

/// One lane.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Lane {
    pub engine: String,
    /// The pair that was asked for.
    pub model: Option<String>,
    pub status: Status,
    pub reasons: Vec<Reason>,
    /// Why there is no run, or the text of the worst reason.
    pub why: Option<String>,
    pub remedy: Option<String>,
    /// None where no run could be made.
    pub run_id: Option<RunId>,
    pub task_id: Option<TaskId>,
    pub stage: Option<Stage>,
    pub contract_digest: Option<Digest>,
    pub engine_started: bool,
    pub changed_files: u64,
    /// Of the exam, where its commands tell.
    pub tests: Option<TestCounts>,
    pub duration_ms: Option<u64>,
    /// Null where the engine needs no model.
    pub used: Option<LaneUse>,
    pub claims: u64,
    pub claims_contradicted: u64,
    /// SHA-256 of the bundle's attestation.
    pub attestation_sha256: Option<Digest>,
}

/// What a lane used of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Used")]
pub struct LaneUse {
    pub requests: u64,
    pub tokens: u64,
    pub tokens_unknown_requests: u64,
    pub cost_micros: u64,
    pub unpriced_requests: u64,
    pub cost_unknown_requests: u64,
}

impl LaneUse {
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

    pub fn add(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, other.requests);
        add(&mut self.tokens, other.tokens);
        add(&mut self.tokens_unknown_requests, other.tokens_unknown_requests);
        add(&mut self.cost_micros, other.cost_micros);
        add(&mut self.unpriced_requests, other.unpriced_requests);
        add(&mut self.cost_unknown_requests, other.cost_unknown_requests);
    }

    /// The sum of what is known, if everything in it has a price; it is at least that where some requests did not tell.
    pub fn cost(self) -> Option<u64> {
        (self.unpriced_requests == 0).then_some(self.cost_micros)
    }
}

impl Lane {
    pub fn of(report: &Report, attestation: Digest) -> Self {
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
            used: report.model.as_ref().map(LaneUse::of),
            claims: report.claims.len() as u64,
            claims_contradicted: contradicted as u64,
            attestation_sha256: Some(attestation),
        }
    }

    /// A lane in which nothing could be run, and why.
    pub fn impossible(engine: &str, why: &str, remedy: Option<&str>) -> Self {
        Self {
            engine: engine.to_owned(),
            model: None,
            status: Status::Blocked,
            reasons: Vec::new(),
            why: Some(why.to_owned()),
            remedy: remedy.map(str::to_owned),
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
    pub fn why_text(&self) -> String {
        match (self.reasons.as_slice(), &self.why) {
            ([], Some(why)) => shown(why),
            ([], None) => String::new(),
            ([one], _) => one.code().to_owned(),
            ([first, more @ ..], _) => format!("{} +{}", first.code(), more.len()),
        }
    }
}

/// Sums up lanes: one that failed outweighs one that was blocked.
pub fn combine_lanes(lanes: &[Lane]) -> Status {
    let any = |status: Status| lanes.iter().any(|lane| lane.status == status);
    match (any(Status::Fail), any(Status::Blocked)) {
        (true, _) => Status::Fail,
        (false, true) => Status::Blocked,
        (false, false) => Status::Pass,
    }
}

/// Governs one run as a lane; none when a signal ended it.
pub fn run_lane(harness: &Harness, task: &Task, ask: &Ask, watch: Watch<'_>) -> Result<Option<Lane>, GovernError> {
    let outcome = govern(harness, task, ask, watch)?;
    let sealed = &outcome.sealed;
    Ok((!outcome.interrupted).then(|| Lane::of(&sealed.report, sealed.attestation_sha256)))
}

/// Name of a collection's task: a prefix and as much of the task's id as fits.
fn collection_name(prefix: &str, task: &TaskId) -> String {
    const LONGEST: usize = 64;
    format!("{prefix}-{task}").chars().take(LONGEST).collect()
}

/// A thread of [`run_in_parallel`] panicked.
#[derive(Debug, thiserror::Error)]
#[error("a worker ended early")]
pub struct WorkerPanicked;

/// Does `work` on every item, `jobs` at once, and gives the results in order. A worker that got nothing, because a signal ended
/// it, begins no other item.
pub fn run_in_parallel<T: Sync, R: Send, E: Send + From<WorkerPanicked>>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<Option<R>, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let one = || -> Result<(), E> {
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
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(WorkerPanicked.into())))
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes with these statuses, none of which ran.
    pub(super) fn lanes(statuses: &[Status]) -> Vec<Lane> {
        let lane = |status: &Status| Lane { status: *status, ..Lane::impossible("fake", "why", Some("mend it")) };
        statuses.iter().map(lane).collect()
    }

    #[test]
    fn a_failed_lane_outweighs_a_blocked_one() {
        use Status::{Blocked, Fail, Pass};
        for (statuses, expected) in
            [(&[][..], Pass), (&[Pass, Pass], Pass), (&[Pass, Blocked], Blocked), (&[Blocked, Fail, Pass], Fail)]
        {
            assert_eq!(combine_lanes(&lanes(statuses)), expected, "{statuses:?}");
        }
    }

    #[test]
    fn a_lane_says_its_worst_reason_and_how_many_more_there_are() {
        let [mut lane] = <[Lane; 1]>::try_from(lanes(&[Status::Blocked])).unwrap();
        assert_eq!(lane.why_text(), "why");
        lane.reasons = vec![Reason::VerificationFailed];
        assert_eq!(lane.why_text(), "verification_failed");
        lane.reasons.push(Reason::ProviderUnavailable);
        assert_eq!(lane.why_text(), "verification_failed +1");
    }

    #[test]
    fn results_come_in_the_order_of_their_items() {
        let twice = |item: &u64| Ok::<_, WorkerPanicked>(Some(item * 2));
        for jobs in [1, 2, 9] {
            assert_eq!(run_in_parallel(&[3, 1, 2], jobs, twice).unwrap(), [6, 2, 4]);
        }
        let until = |item: &u64| Ok::<_, WorkerPanicked>((*item != 1).then_some(*item));
        assert_eq!(run_in_parallel(&[3, 1, 2], 1, until).unwrap(), [3], "nothing begins after an end by a signal");
        let panics = |item: &u64| if *item == 1 { panic!("a worker's own") } else { Ok(Some(*item)) };
        assert!(matches!(run_in_parallel(&[1], 1, panics), Err(WorkerPanicked)));
    }

    #[test]
    fn the_name_of_a_collection_is_cut_to_what_fits() {
        let task = TaskId::try_from("t".repeat(64)).unwrap();
        assert_eq!(collection_name("race", &task), format!("race-{}", "t".repeat(59)));
    }
}
