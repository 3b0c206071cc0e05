//! Facts that a refresh is judged by, gathered before and free of any file.

use std::collections::BTreeSet;

use contract::approval::OutcomeVerdict;
use contract::proof::{ApprovalAnswer, OwnedRepositoryProof};
use contract::report::{CheckResult, OperatorOutcome, Report, SourceAdmissionStatus};
use contract::stage6::refresh::{PriorComparison, RealOwnedPass, RefreshLane, RefreshTarget};
use contract::{Digest, Purpose, RunId, Stage, Status, TaskId};
use ledger::EngineIdentity;

use crate::after::stage6::commands::EngineCommands;

/// Everything that a refresh knows.
#[derive(Debug, Clone)]
pub(super) struct RefreshFacts {
    pub(super) engine: String,
    pub(super) commands: EngineCommands,
    /// Newest first.
    pub(super) passes: Vec<PassFacts>,
    pub(super) prior: Option<PriorFacts>,
    /// The newest comparison, where its bundle cannot be used.
    pub(super) damaged_prior: Option<DamagedPrior>,
    pub(super) admission: AdmissionFacts,
    pub(super) targets: TargetsFacts,
}

/// One pass of stage 5, or a run that was named as one.
#[derive(Debug, Clone)]
pub(super) struct PassFacts {
    /// The pass as the document repeats it.
    pub(super) row: RealOwnedPass,
    pub(super) bundle: PassBundle,
    /// Reason for which the ladder does not count it.
    pub(super) uncounted: Option<String>,
}

/// The bundle of a pass.
#[derive(Debug, Clone)]
pub(super) enum PassBundle {
    /// The bundle is missing or does not verify.
    Unusable(String),
    Verified(Box<PassBundleFacts>),
}

/// Facts of a verified bundle and its proof.
#[derive(Debug, Clone)]
pub(super) struct PassBundleFacts {
    pub(super) engine: String,
    pub(super) identity: EngineIdentity,
    /// Digest of the engine's files.
    pub(super) tree_sha256: Option<Digest>,
    pub(super) stage: Stage,
    pub(super) purpose: Purpose,
    pub(super) status: Status,
    /// True if its format is one that this program compares with.
    pub(super) known_format: bool,
    pub(super) verification: CheckResult,
    pub(super) proof_passed: bool,
    pub(super) events_passed: bool,
    pub(super) allowed_paths_passed: bool,
    pub(super) forbidden_paths_passed: bool,
    pub(super) no_forbidden_actions: bool,
    pub(super) approved: bool,
    pub(super) target_clean: bool,
    pub(super) source_admission: SourceAdmissionStatus,
    pub(super) default_activation: bool,
    pub(super) promoted: bool,
    /// Files that a bundle of a pass has and this one lacks.
    pub(super) missing_files: Vec<String>,
    /// Fields of its documents in the shape of a secret.
    pub(super) secret_fields: BTreeSet<String>,
}

impl PassBundleFacts {
    /// Facts of a report and its proof; without a proof nothing of stage 5 is shown.
    pub(super) fn of_report(report: &Report, proof: Option<&OwnedRepositoryProof>) -> Self {
        let holds = |fact: fn(&OwnedRepositoryProof) -> bool| proof.is_some_and(fact);
        let schema = report.schema_version.split('.').next();
        Self {
            engine: report.backend.clone(),
            identity: views::ProvenRun::of_report(report).identity,
            tree_sha256: report.engine.tree_sha256,
            stage: report.stage,
            purpose: report.purpose,
            status: report.status,
            known_format: schema == Some(views::bundle_schema()),
            verification: report.verification.result,
            proof_passed: holds(|proof| proof.passed && proof.verification == CheckResult::Pass),
            events_passed: report.required_events_passed && report.missing_events.is_empty(),
            allowed_paths_passed: report.allowed_writes_passed && holds(|proof| proof.paths.allowed_paths_passed),
            forbidden_paths_passed: report.forbidden_paths_passed && holds(|proof| proof.paths.forbidden_paths_passed),
            no_forbidden_actions: report.forbidden_actions_attempted.is_empty() && holds(is_without_actions),
            approved: holds(is_approved),
            target_clean: holds(|proof| proof.target_repository_start_clean && proof.target_repository_ending_clean),
            source_admission: report.source_admission_status,
            default_activation: report.runtime_default_activation || holds(|proof| proof.runtime_default_activation),
            promoted: report.core_promotion_status != contract::decision::NotPromoted::NotPromoted,
            missing_files: Vec::new(),
            secret_fields: BTreeSet::new(),
        }
    }
}

fn is_without_actions(proof: &OwnedRepositoryProof) -> bool {
    let actions = &proof.actions;
    actions.no_forbidden_actions
        && !actions.public_publication_attempted
        && !actions.push_merge_deploy_close_pr_open_attempted
}

/// A grant by at least one key, used by the run.
fn is_approved(proof: &OwnedRepositoryProof) -> bool {
    let approval = &proof.approval;
    approval.status == ApprovalAnswer::Granted
        && approval.approval_consumed
        && !approval.approved_by.is_empty()
        && approval.approval_digests.contains(&proof.approval_digest)
}

impl PassFacts {
    /// A pass as far as the ledger alone knows it.
    pub(super) fn unusable(run_id: RunId, case_id: TaskId, files: (String, String), why: String) -> Self {
        let row = RealOwnedPass {
            case_id,
            run_id,
            work_id: None,
            report: files.0,
            proof: files.1,
            target_commit: None,
            changed_files: Vec::new(),
            approval_source: None,
            approval_digest: None,
            approval: None,
            operator_outcome: OperatorOutcome::Pending,
            operator_outcome_sha256: None,
            attestation_sha256: None,
        };
        Self { row, bundle: PassBundle::Unusable(why), uncounted: None }
    }

    /// Facts of the pass's bundle, if it verifies.
    pub(super) fn verified(&self) -> Option<&PassBundleFacts> {
        match &self.bundle {
            PassBundle::Verified(facts) => Some(facts),
            PassBundle::Unusable(_) => None,
        }
    }

    /// Enters the signed outcome; without one the pass stays pending.
    pub(super) fn enter_outcome(&mut self, outcome: Option<(OutcomeVerdict, Digest)>) {
        let Some((verdict, sha256)) = outcome else { return };
        self.row.operator_outcome = match verdict {
            OutcomeVerdict::Accepted => OperatorOutcome::Accepted,
            OutcomeVerdict::Rejected => OperatorOutcome::Rejected,
        };
        self.row.operator_outcome_sha256 = Some(sha256);
    }
}

/// The comparison of stage 6 before the refresh.
#[derive(Debug, Clone)]
pub(super) struct PriorFacts {
    /// Path of its document.
    pub(super) path: String,
    pub(super) comparison: PriorComparison,
    pub(super) identity: EngineIdentity,
    /// The operator's signed outcome, if there is one.
    pub(super) outcome: Option<OutcomeVerdict>,
    pub(super) lanes: Vec<RefreshLane>,
    pub(super) failure_closure: CarriedVerdict,
    pub(super) failure_matrix: CarriedVerdict,
    pub(super) default_activation: bool,
    pub(super) promoted: bool,
    pub(super) secret_fields: BTreeSet<String>,
}

/// A sealed comparison whose bundle is gone or does not verify.
#[derive(Debug, Clone)]
pub(super) struct DamagedPrior {
    pub(super) run_id: RunId,
    pub(super) seq: u64,
    pub(super) why: String,
}

/// A verdict of the prior comparison.
#[derive(Debug, Clone)]
pub(super) struct CarriedVerdict {
    pub(super) verdict: Status,
    pub(super) text: String,
}

/// The admission of the passes' source as it is now.
#[derive(Debug, Clone)]
pub(super) enum AdmissionFacts {
    Current,
    /// The admission does not hold for that source, for this reason.
    Stale(String),
    /// There is no pass whose source could be admitted.
    Unknown,
}

/// Targets of the passes as they are now.
#[derive(Debug, Clone)]
pub(super) enum TargetsFacts {
    Read(Vec<RefreshTarget>),
    /// No sandbox to hold a verification in: the lack, and its remedy.
    NoSandbox(String, String),
}
