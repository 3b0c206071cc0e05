//! Runs side by side: a lane is a run as a row beside others, with its verdict, its use of
//! a model and its false claims.

use contract::claim::ClaimVerdict;
use contract::model::ModelReport;
use contract::report::TestCounts;
use contract::text::show_controls;
use contract::{Digest, Reason, Report, RunId, Stage, Status, TaskId};
use evidence::PublicKey;
use schemars::JsonSchema;
use serde::Serialize;

use crate::find::{BindRunError, FoundRun};

/// One lane.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Lane {
    pub engine: String,
    /// The pair that was asked for.
    pub model: Option<String>,
    pub status: Status,
    pub reasons: Vec<Reason>,
    /// Text of the worst reason, or the cause of a missing run.
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

/// A lane's use of a model.
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

    /// Adds another lane's use, without overflow.
    pub fn add_use(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.requests, other.requests);
        add(&mut self.tokens, other.tokens);
        add(&mut self.tokens_unknown_requests, other.tokens_unknown_requests);
        add(&mut self.cost_micros, other.cost_micros);
        add(&mut self.unpriced_requests, other.unpriced_requests);
        add(&mut self.cost_unknown_requests, other.cost_unknown_requests);
    }

    /// The sum of what is known, if everything in it has a price; it is at least that where
    /// some requests did not tell.
    pub fn cost(self) -> Option<u64> {
        (self.unpriced_requests == 0).then_some(self.cost_micros)
    }
}

impl Lane {
    /// Lane of a verified run. `attestation` must be the digest that verified the report.
    pub fn of_report(report: &Report, attestation: Digest) -> Self {
        let contradicted = report.claims.iter().filter(|judged| judged.verdict == ClaimVerdict::Contradicted).count();
        let worst = report.blockers.first();
        Self {
            engine: report.backend.clone(),
            model: report.model.as_ref().and_then(|model| model.requested.as_ref()).map(ToString::to_string),
            status: report.status,
            reasons: report.blocker_reasons.clone(),
            why: worst.map(|blocker| blocker.text.clone()),
            remedy: worst.map(|blocker| report.fill_remedy(&blocker.remedy)),
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

    /// A lane in which nothing could be run.
    pub fn impossible(engine: &str, why: String, remedy: Option<String>) -> Self {
        Self {
            engine: engine.to_owned(),
            model: None,
            status: Status::Blocked,
            reasons: Vec::new(),
            why: Some(why),
            remedy,
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

    /// The worst reason by its code, and how many more there are; what was wrong where
    /// there is no run.
    pub fn why_text(&self) -> String {
        match (self.reasons.as_slice(), &self.why) {
            ([], Some(why)) => show_controls(why),
            ([], None) => String::new(),
            ([one], _) => one.code().to_owned(),
            ([first, more @ ..], _) => format!("{} +{}", first.code(), more.len()),
        }
    }
}

/// The status of lanes together: one that failed outweighs one that was blocked.
pub fn join_statuses(lanes: &[Lane]) -> Status {
    let any = |status: Status| lanes.iter().any(|lane| lane.status == status);
    match (any(Status::Fail), any(Status::Blocked)) {
        (true, _) => Status::Fail,
        (false, true) => Status::Blocked,
        (false, false) => Status::Pass,
    }
}

/// `comparison.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Comparison")]
pub struct LaneComparison {
    pub schema_version: String,
    /// `fail` if a lane failed, else `blocked` if one was blocked.
    pub status: Status,
    /// Null where the lanes are of several.
    pub task_id: Option<TaskId>,
    /// Null where the lanes are of several.
    pub contract_digest: Option<Digest>,
    pub lanes: Vec<Lane>,
    pub runtime_default_activation: bool,
}

impl LaneComparison {
    /// Compares lanes. Task and contract are named only if all lanes share them.
    pub fn of_lanes(lanes: Vec<Lane>) -> Self {
        Self {
            schema_version: "1.0".to_owned(),
            status: join_statuses(&lanes),
            task_id: shared(lanes.iter().filter_map(|lane| lane.task_id.clone())),
            contract_digest: shared(lanes.iter().filter_map(|lane| lane.contract_digest)),
            lanes,
            runtime_default_activation: false,
        }
    }

    /// Micro-units that all lanes of this one's engine and model cost for each of them that
    /// passed. None where none passed, and where something has no price.
    pub fn cost_per_pass(&self, lane: &Lane) -> Option<u64> {
        let same = self.lanes.iter().filter(|one| (&one.engine, &one.model) == (&lane.engine, &lane.model));
        let (mut used, mut passed) = (LaneUse::default(), 0);
        for one in same {
            used.add_use(one.used?);
            passed += u64::from(one.status == Status::Pass);
        }
        used.cost()?.checked_div(passed)
    }

    /// The reason that a bundle of it carries, of the same status as the comparison: the
    /// worst of a lane where none failed.
    pub fn reason(&self) -> Reason {
        let blocked = self.lanes.iter().filter(|lane| lane.status == Status::Blocked);
        let worst = blocked.filter_map(|lane| lane.reasons.first().copied()).min();
        match self.status {
            Status::Blocked => {
                worst.filter(|it| it.status_of(false) == Status::Blocked).unwrap_or(Reason::ProviderUnavailable)
            }
            Status::Pass | Status::Fail => Reason::VerificationFailed,
        }
    }
}

/// The value that all of them have, if it is the same.
fn shared<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Sealed runs side by side, wherever they lie. A bundle that does not verify has no
/// verdict that could be set beside others.
pub fn compare_runs(runs: &[FoundRun], keys: &[PublicKey]) -> Result<LaneComparison, BindRunError> {
    let lane = |found: &FoundRun| {
        let bound = found.bind_bundle(&found.keys(keys))?;
        Ok(Lane::of_report(bound.report(), bound.attestation_sha256()))
    };
    Ok(LaneComparison::of_lanes(runs.iter().map(lane).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(statuses: &[Status]) -> Vec<Lane> {
        let lane = |status: &Status| Lane { status: *status, ..Lane::impossible("fake", "why".to_owned(), None) };
        statuses.iter().map(lane).collect()
    }

    #[test]
    fn what_lanes_of_one_engine_cost_is_told_for_each_that_passed() {
        let priced = |engine: &str, status, cost_micros| Lane {
            engine: engine.to_owned(),
            used: Some(LaneUse { cost_micros, ..LaneUse::default() }),
            ..lanes(&[status]).remove(0)
        };
        let all = [
            priced("case", Status::Pass, 30),
            priced("case", Status::Fail, 50),
            priced("case", Status::Pass, 20),
            priced("pi", Status::Fail, 7),
        ];
        let comparison = LaneComparison::of_lanes([all.as_slice(), &lanes(&[Status::Pass])].concat());
        let costs: Vec<_> = comparison.lanes.iter().map(|lane| comparison.cost_per_pass(lane)).collect();
        assert_eq!(costs, [Some(50), Some(50), Some(50), None, None], "failed ones cost too; none passed; no price");
    }

    #[test]
    fn a_failed_lane_outweighs_a_blocked_one() {
        use Status::{Blocked, Fail, Pass};
        for (statuses, expected) in
            [(&[][..], Pass), (&[Pass, Pass], Pass), (&[Pass, Blocked], Blocked), (&[Blocked, Fail, Pass], Fail)]
        {
            assert_eq!(join_statuses(&lanes(statuses)), expected, "{statuses:?}");
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
}
