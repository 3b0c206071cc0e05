//! The report as the findings make it.

use contract::engine::EngineSetting;
use contract::model::ModelReport;
use contract::report::{
    ApprovalStatus, CaseReport, EngineFacts, OperatorOutcome, Report, SandboxSummary, SecretScan, SourceAdmissionStatus,
};
use contract::{BUNDLE_VERSION, Decision, Digest, EventKind, RENDERER_VERSION, RULES_VERSION};
use evidence::render::failure_reason;

use super::Account;
use crate::home::engines::{CASE, FAKE};
use crate::run::file::RunFile;
use crate::run::posture;
use crate::work::engines::RUNTIME_PROVIDER;

pub(super) fn duration_ms(run: &RunFile<'_>) -> u64 {
    u64::try_from(run.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Everything but what only the seal knows.
pub(super) fn compose(
    run: &RunFile<'_>,
    account: &Account,
    missing: Option<EventKind>,
    secret_scan: SecretScan,
    probe_sha256: Option<Digest>,
) -> Report {
    let contract = &run.task.contract;
    let Account { decision, engine, taken, checked, .. } = account;
    let target = decision.inputs.target.as_ref();
    let finished = run.clock.now();
    let bundle = run.harness.home.bundles().bundle_dir(run.id()).display().to_string();
    let exit = engine.exit();
    let worst = run.standing.blockers().first();
    let attempts = run.sandboxes.attempts();
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
        allowed_mutation_mode: decision.allowed_mutation_mode,
        allowed_mutation_scope: run.ask.stage.allowed_mutation_scope().to_owned(),
        contract_digest: run.contract_digest,
        decision_id: decision.decision_id,
        run_started_at: run.clock.started(),
        run_finished_at: finished,
        duration_ms: duration_ms(run),
        backend_exit_code: exit,
        artifacts_dir: bundle.clone(),
        run_artifact_dir: bundle,
        runtime_workspace_root: run.harness.home.work_run(run.id()).join("tree").display().to_string(),
        disposable_repository_dir: None,
        baseline_commit: target.and_then(|target| target.baseline_commit.clone()),
        baseline_tree: target.and_then(|target| target.baseline_tree.clone()),
        result_commit: None,
        result_tree: taken.tree().cloned(),
        changed_files: taken.changed_files().to_vec(),
        litter: taken.litter().to_vec(),
        dirty_paths: taken.dirty_paths().to_vec(),
        allowed_writes_passed: taken.has_allowed_writes_only(),
        forbidden_paths_passed: taken.has_no_forbidden_path(),
        forbidden_actions_attempted: posture::forbidden_actions(attempts),
        required_events: run.task.required_events.clone(),
        required_events_passed: missing.is_none(),
        missing_events: missing.into_iter().collect(),
        approval_status: ApprovalStatus::NotRequired,
        tests_command: tests_command(run),
        tests_passed: checked.verification().tests_passed(),
        verification: checked.verification().clone(),
        blockers: run.standing.blockers().to_vec(),
        blocker_reasons: run.standing.reasons(),
        failure_reason: worst.map(|blocker| failure_reason(blocker.reason, &blocker.text, &run.ask.engine, exit)),
        coverage: run.standing.coverage(),
        claims: checked.claims().to_vec(),
        source_admission_status: source_status(run, decision),
        source_repository_mutated: taken.is_source_mutated(),
        engine: engine_facts(run, account),
        case: case_report(run, account),
        model: account.model_report(run),
        sandbox: SandboxSummary {
            asked: run.ask.sandbox,
            profile: run.sandboxes.applied(),
            probe_sha256,
            violations: posture::violations(attempts),
        },
        secret_scan,
        branch_policy: contract.branch_policy.clone(),
        operator_outcome: OperatorOutcome::Pending,
        success_criteria: contract.success_criteria.clone(),
        rollback_expectation: contract.rollback_expectation.clone(),
        host: run.harness.host.clone(),
        not_applicable: run.standing.not_applicable().clone(),
        artifact_paths: std::collections::BTreeMap::new(),
        artifact_digests: std::collections::BTreeMap::new(),
        freshness: std::collections::BTreeMap::new(),
        runtime_default_activation: false,
        core_promotion_status: contract::decision::NotPromoted::NotPromoted,
    };
    report.status = report.judged_status();
    report
}

impl Account {
    fn model_report(&self, run: &RunFile<'_>) -> Option<ModelReport> {
        self.preparation.model().report(&self.decision.inputs, run.standing.engine_started())
    }
}

/// The flat names of one engine.
fn case_report(run: &RunFile<'_>, account: &Account) -> Option<CaseReport> {
    let model = account.model_report(run);
    let pair = model.as_ref().and_then(|model| model.requested.as_ref());
    (run.ask.engine == CASE).then(|| CaseReport {
        case_process_started: run.standing.engine_started(),
        case_model_provider: pair.map(|pair| pair.provider.clone()),
        case_model: pair.map(|pair| pair.model.clone()),
        case_runtime_model_provider: run.standing.engine_started().then(|| RUNTIME_PROVIDER.to_owned()),
        case_model_admission_status: model.as_ref().map(|model| model.admission_status),
    })
}

fn tests_command(run: &RunFile<'_>) -> Option<String> {
    let commands = &run.task.contract.verification_commands;
    (!commands.is_empty())
        .then(|| commands.iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>().join(" && "))
}

pub(super) fn source_status(run: &RunFile<'_>, decision: &Decision) -> SourceAdmissionStatus {
    let inputs = &decision.inputs;
    // A run that died before its engine was looked at.
    if inputs.settings.engine.is_none() && run.ask.engine != FAKE {
        return SourceAdmissionStatus::NotAdmitted;
    }
    gate::engine::source_status(inputs.settings.engine.as_ref(), inputs.stage, inputs.time)
}

fn engine_facts(run: &RunFile<'_>, account: &Account) -> EngineFacts {
    let engine = &account.engine;
    let host = &run.harness.host;
    let setting = account.decision.inputs.settings.engine.as_ref();
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
        argv_sha256: engine.argv_sha256(),
        process_started: run.standing.engine_started(),
        exit_code: engine.exit(),
        duration_ms: engine.duration_ms(),
        leftover_processes: engine.limits().leftovers.to_vec(),
        ended_by_harness: engine.ended_by_harness().cloned(),
        notes: engine.notes().to_vec(),
    }
}
