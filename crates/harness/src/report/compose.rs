//! The report as the findings make it.

use contract::engine::EngineSetting;
use contract::report::{
    ApprovalStatus, CaseReport, EngineFacts, OperatorOutcome, Report, SandboxSummary, SecretScan, SourceAdmissionStatus,
};
use contract::{BUNDLE_VERSION, Digest, MutationMode, RENDERER_VERSION, RULES_VERSION};
use evidence::render::failure_reason;

use crate::engines::{CASE, FAKE, RUNTIME_PROVIDER};
use crate::run::Run;
use crate::{model, posture};

pub(super) fn duration_ms(run: &Run<'_>) -> u64 {
    u64::try_from(run.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Everything but what only the seal knows.
pub(super) fn compose(run: &Run<'_>, secret_scan: SecretScan, probe_sha256: Option<Digest>) -> Report {
    let contract = &run.task.contract;
    let findings = &run.findings;
    let decision = findings.decision.as_ref();
    let finished = run.clock.now();
    let bundle = run.harness.home.bundle(run.id()).display().to_string();
    let exit = findings.engine.exit;
    let worst = findings.blockers.first();
    let mut report = Report {
        schema_version: BUNDLE_VERSION.to_owned(),
        rules_version: RULES_VERSION.to_owned(),
        renderer_version: RENDERER_VERSION.to_owned(),
        case_id: contract.task_id.clone(),
        task_id: contract.task_id.clone(),
        title: contract.title.clone(),
        run_id: run.id().clone(),
        status: contract::Status::Blocked,
        backend: run.ask.engine.clone(),
        stage: run.ask.stage,
        purpose: run.ask.purpose,
        allowed_mutation_mode: decision.map_or(MutationMode::None, |decision| decision.allowed_mutation_mode),
        allowed_mutation_scope: run.ask.stage.allowed_mutation_scope().to_owned(),
        contract_digest: run.contract_digest,
        decision_id: decision.map_or(Digest::ZERO, |decision| decision.decision_id),
        run_started_at: run.clock.started(),
        run_finished_at: finished,
        duration_ms: duration_ms(run),
        backend_exit_code: exit,
        artifacts_dir: bundle.clone(),
        run_artifact_dir: bundle,
        runtime_workspace_root: run.harness.home.work_run(run.id()).join("tree").display().to_string(),
        disposable_repository_dir: None,
        baseline_commit: findings.baseline_commit.clone(),
        baseline_tree: findings.baseline_tree.clone(),
        result_commit: None,
        result_tree: findings.result_tree.clone(),
        changed_files: findings.changed_files.clone(),
        litter: findings.litter.clone(),
        dirty_paths: findings.dirty_paths.clone(),
        allowed_writes_passed: findings.allowed_writes_passed,
        forbidden_paths_passed: findings.forbidden_paths_passed,
        forbidden_actions_attempted: posture::forbidden_actions(&findings.attempts),
        required_events: run.task.required_events.clone(),
        required_events_passed: findings.missing_events.is_empty(),
        missing_events: findings.missing_events.clone(),
        approval_status: ApprovalStatus::NotRequired,
        tests_command: tests_command(run),
        tests_passed: findings.tests_passed(),
        verification: findings.verification.clone(),
        blockers: findings.blockers.clone(),
        blocker_reasons: findings.reasons(),
        failure_reason: worst.map(|blocker| failure_reason(blocker.reason, &blocker.text, &run.ask.engine, exit)),
        coverage: findings.coverage.iter().copied().collect(),
        claims: findings.judged_claims.clone(),
        source_admission_status: source_status(run),
        source_repository_mutated: findings.source_mutated,
        engine: engine_facts(run),
        case: case_report(run),
        model: model::report(run),
        sandbox: SandboxSummary {
            asked: run.ask.sandbox,
            profile: posture::applied(run),
            probe_sha256,
            violations: posture::violations(&findings.attempts),
        },
        secret_scan,
        branch_policy: contract.branch_policy.clone(),
        operator_outcome: OperatorOutcome::Pending,
        success_criteria: contract.success_criteria.clone(),
        rollback_expectation: contract.rollback_expectation.clone(),
        host: run.harness.host.clone(),
        not_applicable: findings.not_applicable.clone(),
        artifact_paths: std::collections::BTreeMap::new(),
        artifact_digests: std::collections::BTreeMap::new(),
        freshness: std::collections::BTreeMap::new(),
        runtime_default_activation: false,
        core_promotion_status: contract::decision::NotPromoted::NotPromoted,
    };
    report.status = report.judged_status();
    report
}

/// The flat names of one engine.
fn case_report(run: &Run<'_>) -> Option<CaseReport> {
    let model = model::report(run);
    let pair = model.as_ref().and_then(|model| model.requested.as_ref());
    (run.ask.engine == CASE).then(|| CaseReport {
        case_process_started: run.findings.engine.started,
        case_model_provider: pair.map(|pair| pair.provider.clone()),
        case_model: pair.map(|pair| pair.model.clone()),
        case_runtime_model_provider: run.findings.engine.started.then(|| RUNTIME_PROVIDER.to_owned()),
        case_model_admission_status: model.as_ref().map(|model| model.admission_status),
    })
}

fn tests_command(run: &Run<'_>) -> Option<String> {
    let commands = &run.task.contract.verification_commands;
    (!commands.is_empty())
        .then(|| commands.iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>().join(" && "))
}

pub(super) fn source_status(run: &Run<'_>) -> SourceAdmissionStatus {
    let Some(decision) = &run.findings.decision else { return SourceAdmissionStatus::NotAdmitted };
    let inputs = &decision.inputs;
    // A run that died before its engine was looked at.
    if inputs.settings.engine.is_none() && run.ask.engine != FAKE {
        return SourceAdmissionStatus::NotAdmitted;
    }
    gate::engine::source_status(inputs.settings.engine.as_ref(), inputs.stage, inputs.time)
}

fn engine_facts(run: &Run<'_>) -> EngineFacts {
    let engine = &run.findings.engine;
    let host = &run.harness.host;
    let setting = run.findings.decision.as_ref().and_then(|decision| decision.inputs.settings.engine.as_ref());
    let found = setting.and_then(EngineSetting::found);
    let unknown = || "unknown".to_owned();
    let (version, source_id) = match (setting, found) {
        (_, Some(found)) => (found.version.clone(), found.source_id.clone()),
        (Some(_), None) => (unknown(), format!("{}@unknown", run.ask.engine)),
        (None, None) if run.ask.engine != FAKE => (unknown(), format!("{}@unknown", run.ask.engine)),
        (None, None) => (host.harness_version.clone(), format!("{}@{}", run.ask.engine, host.harness_version)),
    };
    EngineFacts {
        id: run.ask.engine.clone(),
        version,
        source_id,
        executable_sha256: match (setting, found) {
            (_, Some(found)) => found.executable_sha256,
            (Some(_), None) => Digest::ZERO,
            (None, None) if run.ask.engine != FAKE => Digest::ZERO,
            (None, None) => host.harness_sha256,
        },
        tree_sha256: found.map(|found| found.tree_sha256),
        interpreter_sha256: found.and_then(|found| found.interpreter_sha256),
        argv_sha256: engine.argv_sha256,
        process_started: engine.started,
        exit_code: engine.exit,
        duration_ms: engine.duration_ms,
        leftover_processes: engine.leftovers.clone(),
        ended_by_harness: engine.ended_by_harness.clone(),
        notes: engine.notes.clone(),
    }
}
