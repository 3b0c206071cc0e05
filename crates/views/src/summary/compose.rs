//! Composes the summary from ledger and bundles.

use contract::stage6::comparison::{COMPARISON_TASK, REPEATABILITY_REQUIRED};
use contract::stage6::refresh::{REFRESH_TASK, RefreshComparison, TargetReadOnlyStatus};
use contract::status::NotPromoted;
use contract::{CollectionKind, Stage, Status, TaskId};
use evidence::names;
use ledger::{ReadLedgerError, RunRow, RunStatus, TaskRuns};

use super::approval::ApprovalPosture;
use super::bound::{cut_text, fit_ladders};
use super::{
    BlockedLane, CandidateDefault, ControlSummary, SUMMARY_VERSION, SummaryFacts, SummaryHealth, SummaryLadder,
};
use crate::Views;
use crate::ladder::RungStatus;
use crate::live::Liveness;
use crate::requests::ListRequestsError;
use crate::run::{RunView, SealedRun};
use crate::runs::ListRunsError;

/// A document of stage 6 or a matrix, as the ledger has it; without its bundle if that does not verify here.
type NewestDocument = (RunRow, Option<Box<SealedRun>>);

/// Ladders that are listed.
const MOST_LADDERS: usize = 48;
/// Reports of failures that are listed.
const MOST_PATHS: usize = 100;
/// The engine that the operator's reports discuss as a default.
const CANDIDATE: &str = "case";
/// Far more bytes than a document about other bundles has.
const LARGEST_DOCUMENT: u64 = 16 << 20;

/// Failure to compose a summary.
#[derive(Debug, thiserror::Error)]
pub enum ComposeSummaryError {
    #[error(transparent)]
    Runs(#[from] ListRunsError),
    #[error(transparent)]
    Requests(#[from] ListRequestsError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error("the summary cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Views {
    /// Summary at the time of the facts.
    pub fn compose_summary(&self, facts: &SummaryFacts<'_>) -> Result<ControlSummary, ComposeSummaryError> {
        let mut ladder: Vec<SummaryLadder> =
            facts.climbers.iter().take(MOST_LADDERS).map(super::ClimberFacts::summarize).collect();
        ladder.sort_by(|a, b| (&a.engine, &a.model, &a.source_id).cmp(&(&b.engine, &b.model, &b.source_id)));
        let matrix = self.newest_document("run-all-fake", "fake", CollectionKind::Matrix, facts)?;
        let comparison = self.newest_document(COMPARISON_TASK, CANDIDATE, CollectionKind::Comparison, facts)?;
        let refresh = self.newest_refresh(facts)?;
        let posture = ApprovalPosture::find_newest(self, facts)?;
        let health = self.summarize_health(matrix.as_ref(), facts)?;
        let blocked_lanes: Vec<BlockedLane> = ladder.iter().filter_map(blocked_lane).collect();
        let next_operator_action = next_action(facts, &health, &posture, &ladder);
        let (refresh_row, refresh) = refresh.map_or((None, None), |(row, document)| (Some(row), Some(document)));
        let of_refresh =
            |get: fn(&RefreshComparison) -> Option<String>| refresh.as_ref().and_then(get).map(|path| cut_text(&path));
        Ok(fit_ladders(ControlSummary {
            schema_version: SUMMARY_VERSION.to_owned(),
            generated_at: facts.now,
            ladder_cut: facts.climbers.len() > MOST_LADDERS,
            failure_closure_report_paths: find_sealed(matrix.as_ref())
                .map(|run| failure_paths(self, run))
                .unwrap_or_default(),
            matrix_path: find_path(matrix.as_ref(), CollectionKind::Matrix),
            comparison_path: find_path(comparison.as_ref(), CollectionKind::Comparison),
            candidate_default: candidate(&ladder),
            ladder,
            health,
            runtime_default_activation: false,
            case_runtime_default_active: false,
            case_stage6_real_governed_refresh: refresh.as_ref().map_or(Status::Blocked, |document| document.status),
            stage6_real_governed_refresh_comparison_path: refresh_row
                .as_ref()
                .and_then(|row| document_path(row, CollectionKind::Refresh)),
            real_stage5_pass_report: of_refresh(|document| document.real_stage5_pass_report.clone()),
            real_stage5_proof: of_refresh(|document| document.real_stage5_proof.clone()),
            repeat_stage5_pass_report: of_refresh(|document| document.repeat_stage5_pass_report.clone()),
            repeat_stage5_proof: of_refresh(|document| document.repeat_stage5_proof.clone()),
            target_read_only_status: refresh
                .as_ref()
                .map_or(TargetReadOnlyStatus::NotRead, |document| document.target_read_only_status),
            target_repository_mutation: refresh.as_ref().is_some_and(|document| document.target_repository_mutation),
            repeatability_count: refresh.as_ref().map_or(0, |document| document.repeatability_count),
            repeatability_status: refresh.as_ref().map_or(Status::Blocked, |document| document.repeatability_status),
            candidate_default_repeatability_eligible: refresh
                .as_ref()
                .is_some_and(|document| document.candidate_default_repeatability_eligible),
            core_promotion_status: NotPromoted::NotPromoted,
            blocked_lanes,
            next_operator_action,
            approval_required: true,
            approval_granted: posture.is_granted,
            execution_allowed: posture.is_executable,
            approval_reason: posture.reason,
            allowed_next_actions: posture.allowed,
            blocked_next_actions: posture.blocked,
            approval_packet: posture.packet,
            governed_execution: posture.execution,
        })?)
    }

    /// The newest sealed document of a task. One whose bundle is gone or does not verify stands without it: no older document
    /// stands in for it.
    fn newest_document(
        &self,
        task: &str,
        engine: &str,
        kind: CollectionKind,
        facts: &SummaryFacts<'_>,
    ) -> Result<Option<NewestDocument>, ReadLedgerError> {
        let Ok(task_id) = TaskId::try_from(task.to_owned()) else { return Ok(None) };
        let asked = TaskRuns { task_id: &task_id, engine: Some(engine) };
        let Some(run) = self.find_document(asked, kind, facts.now)? else { return Ok(None) };
        let sealed = match self.view_run(run.row.run_id.as_str(), facts.now) {
            Ok(RunView::Sealed(found)) if found.bundle.report().kind == Some(kind) => Some(found),
            _ => None,
        };
        Ok(Some((run.row, sealed)))
    }

    fn newest_refresh(&self, facts: &SummaryFacts<'_>) -> Result<Option<(RunRow, RefreshComparison)>, ReadLedgerError> {
        let found = self.newest_document(REFRESH_TASK, CANDIDATE, CollectionKind::Refresh, facts)?;
        Ok(found.and_then(|(row, run)| {
            let name = CollectionKind::Refresh.file();
            let bytes = run?.bundle.read_within(name, LARGEST_DOCUMENT).ok()?;
            Some((row, serde_json::from_slice(&bytes).ok()?))
        }))
    }

    fn summarize_health(
        &self,
        matrix: Option<&NewestDocument>,
        facts: &SummaryFacts<'_>,
    ) -> Result<SummaryHealth, ListRunsError> {
        let live = self.list_live(facts.now)?;
        let dead = live.iter().filter(|run| run.state == Liveness::Interrupted).count();
        let total_runs = self.ledger().map_or(Ok(0), ledger::Ledger::runs_total)?;
        let (status, reason) = match (&facts.halted, matrix) {
            (Some(halted), _) => (Status::Blocked, Some(cut_text(&format!("the kill switch is {halted}")))),
            (None, _) if dead > 0 => (Status::Blocked, Some("a run was interrupted and is not sealed".to_owned())),
            (None, None) => (Status::Blocked, Some("no matrix of the fake engine is sealed here".to_owned())),
            (None, Some((_, None))) => {
                (Status::Blocked, Some("the newest matrix of the fake engine does not verify".to_owned()))
            }
            (None, Some((_, Some(run)))) => (run.bundle.report().status, None),
        };
        Ok(SummaryHealth {
            status,
            reason,
            halted: facts.halted.is_some(),
            running_runs: (live.len() - dead) as u64,
            interrupted_runs: dead as u64,
            total_runs,
        })
    }
}

/// Reports of the cases of a matrix that did not pass, as the ledger places them.
fn failure_paths(views: &Views, matrix: &SealedRun) -> Vec<String> {
    let Some(ledger) = views.ledger() else { return Vec::new() };
    let cited = matrix.bundle.report().bundles.iter();
    let rows = cited.filter_map(|cited| match ledger.run_find(cited.run_id.as_str()) {
        Ok(ledger::FoundRuns::One(row)) => Some(row),
        _ => None,
    });
    let failed = rows.filter(|row| matches!(row.status, RunStatus::Fail | RunStatus::Blocked));
    let mut paths: Vec<String> = failed.filter_map(|row| bundle_path(&row, names::REPORT)).take(MOST_PATHS).collect();
    paths.sort();
    paths
}

fn find_sealed(document: Option<&NewestDocument>) -> Option<&SealedRun> {
    document.and_then(|(_, run)| run.as_deref())
}

/// Path of a document whose bundle verifies.
fn find_path(document: Option<&NewestDocument>, kind: CollectionKind) -> Option<String> {
    let (row, _) = document.filter(|(_, run)| run.is_some())?;
    document_path(row, kind)
}

fn document_path(row: &RunRow, kind: CollectionKind) -> Option<String> {
    bundle_path(row, kind.file())
}

/// Path of a file of a sealed run, relative to the home.
pub(super) fn bundle_path(row: &RunRow, name: &str) -> Option<String> {
    row.bundle.as_ref().map(|bundle| format!("{}/{name}", bundle.trim_end_matches('/')))
}

/// The lowest rung that is not validated; none where all are.
pub(super) fn blocked_lane(ladder: &SummaryLadder) -> Option<BlockedLane> {
    let rung = ladder.rungs.iter().find(|rung| rung.status != RungStatus::Validated)?;
    Some(BlockedLane {
        engine: ladder.engine.clone(),
        model: ladder.model.clone(),
        stage: rung.stage,
        status: rung.status,
        rationale: rung.missing.clone().unwrap_or_else(|| "it is not proven".to_owned()),
    })
}

/// Eligibility of the candidate, the best of its ladders. A rung that is validated is
/// evidence for a discussion.
fn candidate(ladders: &[SummaryLadder]) -> CandidateDefault {
    let of = ladders.iter().filter(|ladder| ladder.engine == CANDIDATE);
    let top = |ladder: &SummaryLadder| ladder.rungs.iter().find(|rung| rung.stage == Stage::CANDIDATE_DEFAULT).cloned();
    let best = of.filter_map(top).min_by_key(|rung| rung.status != RungStatus::Validated);
    let status = best.as_ref().map_or(RungStatus::NotStarted, |rung| rung.status);
    CandidateDefault {
        engine: CANDIDATE.to_owned(),
        stage6_status: status,
        eligible: status == RungStatus::Validated,
        missing: match &best {
            Some(rung) => rung.missing.clone(),
            None => Some(format!("{REPEATABILITY_REQUIRED} accepted passes of stage 5 and a comparison")),
        },
    }
}

/// The one command that an operator would say next.
fn next_action(
    facts: &SummaryFacts<'_>,
    health: &SummaryHealth,
    posture: &ApprovalPosture,
    ladders: &[SummaryLadder],
) -> String {
    if facts.halted.is_some() {
        return "cto resume".to_owned();
    }
    if health.interrupted_runs > 0 {
        return "cto recover".to_owned();
    }
    if let Some(next) = &posture.next {
        return next.clone();
    }
    let of = |ladder: &&SummaryLadder| ladder.engine == CANDIDATE;
    let next = ladders.iter().find(of).or(ladders.first());
    let rung = next.and_then(|ladder| ladder.rungs.iter().find(|rung| rung.status != RungStatus::Validated));
    rung.and_then(|rung| rung.remedy.clone()).unwrap_or_else(|| "cto status".to_owned())
}
