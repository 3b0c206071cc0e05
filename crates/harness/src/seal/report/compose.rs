//! The report as the findings make it.

use contract::collection::NO_ENGINE;
use contract::engine::EngineSetting;
use contract::model::{AdmissionStatus, ModelReport};
use contract::record::target_admission_status;
use contract::report::{
    ApprovalStatus, CaseReport, EngineFacts, OperatorOutcome, Report, SandboxSummary, SecretScan, SourceAdmissionStatus,
};
use contract::{
    BUNDLE_VERSION, Decision, Digest, EventKind, Gate, RENDERER_VERSION, RULES_VERSION, Reason, Stage, Status,
};
use evidence::render::failure_reason;
use evidence::stop;
use gate::approval::counted_approvals;

use super::RunAccount;
use crate::gather::landing::DISPOSABLE;
use crate::home::engines::{CASE, FAKE};
use crate::home::task::ContinuedRun;
use crate::run::about::DocumentSubject;
use crate::run::file::RunFile;
use crate::run::posture;
use crate::seal::landing::approval_of;
use crate::work::engines::RUNTIME_PROVIDER;

/// Duration of the run so far in milliseconds.
pub(super) fn duration_ms(run: &RunFile<'_>) -> u64 {
    u64::try_from(run.clock().elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Everything but what only the seal knows.
pub(super) fn compose_report(
    run: &RunFile<'_>,
    account: &RunAccount,
    missing: Option<EventKind>,
    secret_scan: SecretScan,
    probe_sha256: Option<Digest>,
) -> Report {
    let contract = &run.task().contract;
    let RunAccount { decision, engine, taken, checked, landing, .. } = account;
    let target = decision.inputs.target.as_ref();
    let request = approval_of(decision).and_then(|facts| facts.request.as_ref());
    let request = request.filter(|_| decision.passed_gates.contains(&Gate::Approval));
    let is_target = run.ask().stage >= Stage::OWNED_REPOSITORY;
    let finished = run.clock().now();
    let bundle = run.harness().home.bundles().bundle_dir(run.id()).display().to_string();
    let exit = engine.exit();
    let worst = run.standing.blockers().first();
    let attempts = run.sandboxes().attempts();
    let mut report = Report {
        schema_version: BUNDLE_VERSION.to_owned(),
        rules_version: RULES_VERSION.to_owned(),
        renderer_version: RENDERER_VERSION.to_owned(),
        case_id: contract.task_id.clone(),
        task_id: contract.task_id.clone(),
        work_id: contract.work_id.clone(),
        title: contract.title.clone(),
        run_id: run.id().clone(),
        status: Status::Blocked,
        kind: run.document().map(|document| document.kind),
        bundles: run.document().map(|document| document.bundles.clone()).unwrap_or_default(),
        subject_model: run.document().and_then(|document| document.model.clone()),
        backend: run.ask().engine.clone(),
        stage: run.ask().stage,
        purpose: run.ask().purpose,
        expected_status: run
            .task()
            .expect
            .as_ref()
            .map(|expect| expect.status)
            .filter(|status| *status != Status::Pass),
        fixture_set: contract::version::recorded_fixture_set(),
        allowed_mutation_mode: decision.allowed_mutation_mode,
        allowed_mutation_scope: run.ask().stage.allowed_mutation_scope().to_owned(),
        contract_digest: run.contract_digest(),
        decision_id: decision.decision_id,
        run_started_at: run.clock().started(),
        run_finished_at: finished,
        duration_ms: duration_ms(run),
        backend_exit_code: exit,
        artifacts_dir: bundle.clone(),
        run_artifact_dir: bundle,
        runtime_workspace_root: run.harness().home.work_run(run.id()).join("tree").display().to_string(),
        disposable_repository_dir: disposable_dir(run, decision),
        baseline_commit: target.and_then(|target| target.baseline_commit.clone()),
        baseline_tree: target.and_then(|target| target.baseline_tree.clone()),
        result_commit: landing.commit().map(|landed| landed.commit.clone()),
        result_tree: taken.tree().cloned(),
        changed_files: taken.changed_files().to_vec(),
        litter: taken.litter().to_vec(),
        dirty_paths: taken.dirty_paths().to_vec(),
        allowed_writes_passed: taken.has_allowed_writes_only(),
        forbidden_paths_passed: taken.has_no_forbidden_path(),
        forbidden_actions_attempted: posture::forbidden_actions(attempts),
        required_events: run.task().required_events.clone(),
        required_events_passed: missing.is_none(),
        missing_events: missing.into_iter().collect(),
        approval_status: approval_status(run, decision),
        request_digest: request.map(|request| request.request_digest),
        approval_digest: request.and_then(|_| counted_approvals(&decision.inputs)?.approval_digest()),
        tests_command: tests_command(run),
        tests_passed: checked.verification().tests_passed(),
        verification: checked.verification().clone(),
        blockers: run.standing.blockers().to_vec(),
        blocker_reasons: run.standing.reasons(),
        failure_reason: worst.map(|blocker| failure_reason(blocker.reason, &blocker.text, &run.ask().engine, exit)),
        coverage: run.standing.coverage(),
        claims: checked.claims().to_vec(),
        source_admission_status: source_status(run, decision),
        source_repository_mutated: taken.is_source_mutated(),
        source_at: taken.source_at().cloned(),
        continues: run.task().continued.as_ref().map(ContinuedRun::facts),
        target_repository_admission_status: target_status(decision),
        target_commit: landing.commit().filter(|_| is_target).map(|landed| landed.commit.clone()),
        result_branch: landing.commit().map(|landed| landed.branch.clone()),
        protected_roots: landing.protected_roots().to_vec(),
        engine: engine_facts(run, account),
        case: case_report(run, account),
        model: account.model_report(run),
        sandbox: SandboxSummary {
            asked: run.ask().sandbox,
            profile: run.sandboxes().applied(),
            probe_sha256,
            violations: posture::violations(attempts),
        },
        secret_scan,
        branch_policy: contract.branch_policy.clone(),
        operator_outcome: OperatorOutcome::Pending,
        success_criteria: contract.success_criteria.clone(),
        rollback_expectation: contract.rollback_expectation.clone(),
        host: run.harness().host.clone(),
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

/// Repository that was made for the run at stage 4, once the target was read.
fn disposable_dir(run: &RunFile<'_>, decision: &Decision) -> Option<String> {
    let is_made = run.ask().stage == Stage::DISPOSABLE_REPOSITORY && decision.inputs.target.is_some();
    is_made.then(|| run.harness().home.work_run(run.id()).join(DISPOSABLE).display().to_string())
}

/// Granted where the run rests on an approval and started, or was only stopped by something
/// else.
fn approval_status(run: &RunFile<'_>, decision: &Decision) -> ApprovalStatus {
    let Some(request) = approval_of(decision).map(|facts| facts.request.as_ref()) else {
        return match decision.inputs.approval {
            None => ApprovalStatus::NotRequired,
            Some(_) => ApprovalStatus::Requested,
        };
    };
    match request {
        _ if run.standing.has_reason(Reason::ApprovalDenied) => ApprovalStatus::Denied,
        Some(_) if decision.passed_gates.contains(&Gate::Approval) => ApprovalStatus::Granted,
        _ => ApprovalStatus::Requested,
    }
}

/// Status of the target's admission; absent where no target was to be changed.
fn target_status(decision: &Decision) -> Option<AdmissionStatus> {
    let facts = decision.inputs.settings.target_admission.as_ref()?;
    Some(target_admission_status(&facts.admission, &facts.path))
}

impl RunAccount {
    fn model_report(&self, run: &RunFile<'_>) -> Option<ModelReport> {
        self.preparation.model().report(&self.decision.inputs, run.standing.engine_started())
    }
}

/// The flat names of one engine.
fn case_report(run: &RunFile<'_>, account: &RunAccount) -> Option<CaseReport> {
    let model = account.model_report(run);
    let pair = model.as_ref().and_then(|model| model.requested.as_ref());
    let told = match pair {
        Some(pair) if stop::has_defect("one_provider_name") => pair.provider.clone(),
        _ => RUNTIME_PROVIDER.to_owned(),
    };
    (run.ask().engine == CASE && run.document().is_none()).then(|| CaseReport {
        case_process_started: run.standing.engine_started(),
        case_model_provider: pair.map(|pair| pair.provider.clone()),
        case_model: pair.map(|pair| pair.model.clone()),
        case_runtime_model_provider: run.standing.engine_started().then_some(told),
        case_model_admission_status: model.as_ref().map(|model| model.admission_status),
    })
}

fn tests_command(run: &RunFile<'_>) -> Option<String> {
    let commands = &run.task().contract.verification_commands;
    (!commands.is_empty())
        .then(|| commands.iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>().join(" && "))
}

/// State of the engine's source admission for the report.
pub(super) fn source_status(run: &RunFile<'_>, decision: &Decision) -> SourceAdmissionStatus {
    let inputs = &decision.inputs;
    // The harness itself writes it.
    if run.document().is_some() {
        return SourceAdmissionStatus::BuiltIn;
    }
    // A run that died before its engine was looked at.
    if inputs.settings.engine.is_none() && run.ask().engine != FAKE {
        return SourceAdmissionStatus::NotAdmitted;
    }
    gate::engine::source_status(inputs.settings.engine.as_ref(), inputs.stage, inputs.time)
}

/// Facts of the engine that a document is about: nothing of it was started for the document.
fn subject_facts(run: &RunFile<'_>, document: &DocumentSubject) -> EngineFacts {
    let (id, host) = (run.ask().engine.clone(), &run.harness().host);
    let facts = document.engine.as_ref();
    let (version, source_id, executable_sha256) = match facts {
        Some(facts) => (facts.version.clone(), facts.source_id.clone(), facts.executable_sha256),
        None if id == FAKE => {
            (host.harness_version.clone(), format!("{id}@{}", host.harness_version), host.harness_sha256)
        }
        None if id == NO_ENGINE => (NO_ENGINE.to_owned(), NO_ENGINE.to_owned(), Digest::ZERO),
        None => ("unknown".to_owned(), format!("{id}@unknown"), Digest::ZERO),
    };
    EngineFacts {
        id,
        version,
        source_id,
        executable_sha256,
        tree_sha256: facts.and_then(|facts| facts.tree_sha256),
        interpreter_sha256: facts.and_then(|facts| facts.interpreter_sha256),
        argv_sha256: None,
        process_started: false,
        exit_code: None,
        duration_ms: None,
        leftover_processes: Vec::new(),
        ended_by_harness: None,
        notes: Vec::new(),
    }
}

fn engine_facts(run: &RunFile<'_>, account: &RunAccount) -> EngineFacts {
    if let Some(document) = run.document() {
        return subject_facts(run, document);
    }
    let engine = &account.engine;
    let host = &run.harness().host;
    let setting = account.decision.inputs.settings.engine.as_ref();
    let found = setting.and_then(EngineSetting::found);
    let unknown = || "unknown".to_owned();
    let (version, source_id) = match (setting, found) {
        (_, Some(found)) => (found.version.clone(), found.source_id.clone()),
        (Some(_), None) => (unknown(), format!("{}@unknown", run.ask().engine)),
        (None, None) if run.ask().engine != FAKE => (unknown(), format!("{}@unknown", run.ask().engine)),
        (None, None) => (host.harness_version.clone(), format!("{}@{}", run.ask().engine, host.harness_version)),
    };
    EngineFacts {
        id: run.ask().engine.clone(),
        version,
        source_id,
        executable_sha256: match (setting, found) {
            (_, Some(found)) => found.executable_sha256,
            (Some(_), None) => Digest::ZERO,
            (None, None) if run.ask().engine != FAKE => Digest::ZERO,
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
