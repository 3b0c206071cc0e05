//! The proofs of stages 4 and 5, made from the decision, the landing, and the recorders'
//! observations.

use contract::approval::{RepositoryKind, RequestFact, TargetAdmissionFacts};
use contract::proof::{
    ActionProof, AdmissionProof, ApprovalAnswer, ApprovalProof, CreationKind, CreationSource,
    DisposableRepositoryProof, OwnedRepositoryProof, PathProof, ProofSubject,
};
use contract::record::{FoundRecord, TargetAdmission, target_admission_status};
use contract::report::OperatorOutcome;
use contract::sandbox::AttemptVerdict;
use contract::task::ForbiddenAction;
use contract::{BUNDLE_VERSION, Coverage, Decision};
use evidence::names;
use gate::approval::counted_approvals;

use crate::home::engines::FAKE;
use crate::home::task::TreeOrigin;
use crate::run::file::{RunFile, Stopped};
use crate::seal::landing::{LandedIn, approval_of};
use crate::seal::report::RunAccount;

/// Writes the proof of the stage that the run's repository belongs to.
pub(super) fn write_proof(run: &mut RunFile<'_>, account: &RunAccount) -> Result<(), Stopped> {
    let Some(seen) = account.landing().repository() else { return Ok(()) };
    let Some(request) = approval_of(account.decision()).and_then(|facts| facts.request.as_ref()) else {
        return Ok(());
    };
    let at = run.clock().now();
    match seen.kind {
        RepositoryKind::Disposable => {
            let proof = disposable(run, account, seen, request);
            let proof = run.clean(names::STAGE_4, proof)?;
            Ok(run.draft.write_json(names::STAGE_4, &proof, at)?)
        }
        RepositoryKind::Admitted => {
            let Some(proof) = owned(run, account, seen, request) else { return Ok(()) };
            let file = names::owned_proof(run.ask().stage);
            let proof = run.clean(file, proof)?;
            Ok(run.draft.write_json(file, &proof, at)?)
        }
    }
}

fn proof_subject(run: &RunFile<'_>, account: &RunAccount) -> ProofSubject {
    let contract = &run.task().contract;
    ProofSubject {
        schema_version: BUNDLE_VERSION.to_owned(),
        run_id: run.id().clone(),
        task_id: contract.task_id.clone(),
        work_id: contract.work_id.clone(),
        stage: run.ask().stage,
        engine: run.ask().engine.clone(),
        mutation_mode: account.decision().allowed_mutation_mode,
        allowed_mutation_scope: run.ask().stage.allowed_mutation_scope().to_owned(),
    }
}

fn disposable(
    run: &RunFile<'_>,
    account: &RunAccount,
    seen: &LandedIn,
    request: &RequestFact,
) -> DisposableRepositoryProof {
    let contract = &run.task().contract;
    let (before, after) = account.taken().source();
    let kind = match run.task().origin {
        TreeOrigin::Case(_) => CreationKind::CaseFiles,
        TreeOrigin::Repository(_) | TreeOrigin::Target(_) => CreationKind::SourceRepository,
    };
    let target = account.decision().inputs.target.as_ref();
    let (actions, paths) = (action_proof(run), path_proof(account));
    let shown_dir = run.harness().home.work_run(run.id()).join(crate::gather::landing::DISPOSABLE);
    let passed = is_passed(run, account, seen, &actions);
    DisposableRepositoryProof {
        subject: proof_subject(run, account),
        disposable_repository_dir: shown_dir.display().to_string(),
        ownership: "the harness made it for this run, in the run's own work area".to_owned(),
        creation_source: CreationSource {
            kind,
            commit: seen.before.head.clone(),
            tree: target.and_then(|target| target.baseline_tree.clone()).unwrap_or_default(),
            before: before.cloned(),
            after: after.cloned(),
        },
        disposal_note: disposal_note(run.ask().keep_workspace).to_owned(),
        branch_policy: contract.branch_policy.clone(),
        approval: approval_proof(account.decision(), request),
        no_target_proof: (run.ask().engine != FAKE).then(|| names::STAGE_2.to_owned()),
        actions,
        paths,
        repository_head_before: seen.before.head.clone(),
        repository_head_after: seen.after.as_ref().map(|after| after.head.clone()),
        repository_start_clean: seen.start_clean,
        repository_ending_clean: seen.ending_clean,
        landed: account.landing().commit().cloned(),
        case_process_started: run.standing.engine_started(),
        verification: account.checked().verification().result,
        runtime_default_activation: false,
        passed,
    }
}

fn disposal_note(is_kept: bool) -> &'static str {
    match is_kept {
        true => "kept with the run's work area, as --keep-workspace asks",
        false => "removed with the run's work area when the run is sealed",
    }
}

fn owned(
    run: &RunFile<'_>,
    account: &RunAccount,
    seen: &LandedIn,
    request: &RequestFact,
) -> Option<OwnedRepositoryProof> {
    let contract = &run.task().contract;
    let target = account.decision().inputs.settings.target_admission.as_ref()?;
    let counted = counted_approvals(&account.decision().inputs)?;
    let first = counted.approvals.first()?;
    let (actions, paths) = (action_proof(run), path_proof(account));
    let passed = is_passed(run, account, seen, &actions);
    let landed = account.landing().commit().cloned();
    Some(OwnedRepositoryProof {
        subject: proof_subject(run, account),
        target_repository_path: target.path.clone(),
        target_repository_admission_status: target_admission_status(&target.admission, &target.path),
        admission: admission_proof(target)?,
        approval: approval_proof(account.decision(), request),
        approval_source: first.document.approval_source.clone(),
        approval_digest: first.sha256,
        branch_policy: contract.branch_policy.clone(),
        actions,
        paths,
        target_repository_head_before: seen.before.head.clone(),
        target_repository_head_after: seen.after.as_ref().map(|after| after.head.clone()),
        target_repository_before: seen.before.clone(),
        target_repository_after: seen.after.clone(),
        target_repository_start_clean: seen.start_clean,
        target_repository_ending_clean: seen.ending_clean,
        target_commit: landed.as_ref().map(|landed| landed.commit.clone()),
        landed,
        case_process_started: run.standing.engine_started(),
        verification: account.checked().verification().result,
        operator_outcome: OperatorOutcome::Pending,
        operator_outcome_required: true,
        runtime_default_activation: false,
        passed,
    })
}

fn admission_proof(target: &TargetAdmissionFacts) -> Option<AdmissionProof> {
    let FoundRecord::Record { sha256, record, signed_by } = &target.admission else { return None };
    let record = TargetAdmission::clone(record);
    Some(AdmissionProof {
        sha256: *sha256,
        signed_by: signed_by.clone(),
        repository_owner: record.repository_owner,
        ownership_evidence: record.ownership_evidence,
        risk_classification: record.risk_classification,
        approval_source: record.approval_source,
        approval_timestamp: record.approval_timestamp,
        review_trigger: record.review_trigger,
        allowed_paths: record.allowed_paths,
        forbidden_paths: record.forbidden_paths,
    })
}

/// A proof is only written of a run whose engine started, which used the approval up.
fn approval_proof(decision: &Decision, request: &RequestFact) -> ApprovalProof {
    let counted = counted_approvals(&decision.inputs);
    let approvals = counted.as_ref().map_or(&[][..], |counted| &counted.approvals);
    ApprovalProof {
        status: ApprovalAnswer::Granted,
        request_digest: request.request_digest,
        packet_digest: request.packet_digest,
        policy_digest: request.policy_digest,
        approval_digests: approvals.iter().map(|approval| approval.sha256).collect(),
        approved_by: approvals.iter().map(|approval| approval.signature.key_fingerprint.clone()).collect(),
        expires_at: counted.as_ref().map(|counted| counted.expires_at),
        approval_consumed: true,
    }
}

/// Actions that leave the machine or end other people's work.
const OUTWARD: &[ForbiddenAction] = &[
    ForbiddenAction::Push,
    ForbiddenAction::Merge,
    ForbiddenAction::Deploy,
    ForbiddenAction::Close,
    ForbiddenAction::PrOpen,
];

fn action_proof(run: &RunFile<'_>) -> ActionProof {
    let attempts = run.sandboxes().attempts().iter().filter(|it| it.judged == AttemptVerdict::ForbiddenAction);
    let tried: Vec<Option<ForbiddenAction>> = attempts.map(|attempt| attempt.action).collect();
    let is_tried = |action: &ForbiddenAction| tried.contains(&Some(*action));
    ActionProof {
        forbidden_actions: run.task().contract.forbidden_actions.clone(),
        no_forbidden_actions: tried.is_empty() && !run.standing.coverage().contains(&Coverage::ActionsNotObserved),
        public_publication_attempted: is_tried(&ForbiddenAction::PublicPublication),
        push_merge_deploy_close_pr_open_attempted: OUTWARD.iter().any(is_tried),
    }
}

fn path_proof(account: &RunAccount) -> PathProof {
    let taken = account.taken();
    PathProof {
        allowed_paths_passed: taken.has_allowed_writes_only(),
        forbidden_paths_passed: taken.has_no_forbidden_path(),
        changed_files: taken.changed_files().to_vec(),
    }
}

fn is_passed(run: &RunFile<'_>, account: &RunAccount, seen: &LandedIn, actions: &ActionProof) -> bool {
    let is_landed = account.landing().commit().is_some() || account.taken().changed_files().is_empty();
    !run.standing.is_blocked() && is_landed && seen.start_clean && seen.ending_clean && actions.no_forbidden_actions
}
