//! A bundle about other bundles: a matrix, a race, a repetition, a comparison, a refresh.
//! Sealed like a run, by the same steps, without an engine.

use contract::decision::Profile;
use contract::statement::SealedBy;
use contract::task::{ContractVersion, Environment, ForbiddenAction, Limits, RiskClass};
use contract::{CollectionKind, EventKind, MutationMode, Purpose, Reason, Stage, TaskContract, TaskId};
use evidence::seal::Sealed;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::gather::decide::DecidedRun;
use crate::home::ask::Ask;
use crate::home::model_settings::ModelAsk;
use crate::home::task::{Task, TreeOrigin};
use crate::home::watch::{Quiet, Watch};
use crate::run::about::DocumentSubject;
use crate::run::file::{OpenRunError, RunFile, Stopped};
use crate::run::harness::Harness;
use crate::seal::dead::seal_stopped;
use crate::seal::report::Evidence;
use crate::spine::GovernError;

/// A document about other bundles: its name, its subject, and the words of its contract.
/// Its file is that of its kind.
#[derive(Debug, Clone)]
pub struct CollectionDocument<'a> {
    /// Part of the run's id.
    pub name: &'a str,
    pub title: &'a str,
    pub brief: &'a str,
    pub success: &'a str,
    /// The engine that it is about, or `none` where it is about several.
    pub engine: &'a str,
    pub stage: Stage,
    pub purpose: Purpose,
    pub subject: DocumentSubject,
}

/// Fault of a collection.
#[derive(Debug)]
pub struct CollectionProblem {
    pub reason: Reason,
    pub text: String,
}

/// Seals `document` in a directory of its own under `harness-runs/`. `wrong` says what does
/// not hold, if so.
pub fn seal_collection<T: Serialize>(
    harness: &Harness,
    collection: &CollectionDocument<'_>,
    document: &T,
    wrong: Option<CollectionProblem>,
) -> Result<Sealed, GovernError> {
    let refused = |error| GovernError::Open(OpenRunError::Io(collection.name.into(), std::io::Error::other(error)));
    let task = task(collection).map_err(refused)?;
    let ask = Ask {
        engine: collection.engine.to_owned(),
        stage: collection.stage,
        purpose: collection.purpose,
        sandbox: Profile::None,
        timeout_seconds: None,
        keep_workspace: false,
        model: ModelAsk::default(),
        target: None,
        request_command: String::new(),
        work: None,
        at: None,
    };
    let cancel = AtomicBool::new(false);
    let (watch, subject) = (Watch { cancel: &cancel, observer: &Quiet }, collection.subject.clone());
    let run = RunFile::open_document(harness, &task, &ask, watch, subject).map_err(GovernError::Open)?;
    let run_id = run.id().clone();
    collect(run, collection.subject.kind, document, wrong)
        .or_else(|stopped| seal_stopped(harness, &run_id, &stopped).map_err(GovernError::Seal))
}

fn collect<T: Serialize>(
    run: RunFile<'_>,
    kind: CollectionKind,
    document: &T,
    wrong: Option<CollectionProblem>,
) -> Result<Sealed, Stopped> {
    let file = kind.file();
    let evidence: Evidence<'_> = match run.decide_document(kind)? {
        DecidedRun::Preflight(mut preflight) => {
            let run = preflight.run_mut();
            let at = run.clock().now();
            run.draft.write_json(file, document, at)?;
            if let Some(CollectionProblem { reason, text }) = wrong {
                run.standing.block_run(reason, text, file);
                // The last event carries its own.
                if reason.event() != EventKind::RunCompleted {
                    run.add_unchecked(reason.event())?;
                }
            }
            preflight.into()
        }
        DecidedRun::Refused(refused) => refused.into(),
        DecidedRun::Admitted(..) => return Err(Stopped::Impossible("a document has no target")),
    };
    evidence.report()?.seal_run(SealedBy::Run)
}

/// The contract of a collection: it changes nothing and says why it has no test of its own.
fn task(collection: &CollectionDocument<'_>) -> Result<Task, contract::id::ParseIdError> {
    let task_id = TaskId::try_from(collection.name.to_owned())?;
    let contract = TaskContract {
        schema_version: ContractVersion::One,
        title: format!("{}: {task_id}", collection.title),
        brief: collection.brief.to_owned(),
        branch_policy: "current".to_owned(),
        task_id,
        target_repository: None,
        source_repository: None,
        source_owner: None,
        source_classification: None,
        authority_basis: None,
        risk_class: RiskClass::Low,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        protected_paths: Vec::new(),
        exam_may_change: Vec::new(),
        tests_may_go: Vec::new(),
        forbidden_actions: ForbiddenAction::ALL.to_vec(),
        mutation_mode: MutationMode::None,
        approval_required: false,
        diff_required: false,
        verification_commands: Vec::new(),
        no_test_rationale: Some("each bundle that it reads has its own verification".to_owned()),
        blind_checks: Vec::new(),
        control_patch: None,
        verification_files: Vec::new(),
        environment: Environment::default(),
        success_criteria: vec![collection.success.to_owned()],
        rollback_expectation: None,
        limits: Limits {
            wall_seconds: 1800,
            memory_bytes: 1 << 32,
            processes: 512,
            disk_bytes: 1 << 32,
            output_bytes: 32 << 20,
            model_requests: None,
            model_tokens: None,
            money_micros: None,
        },
        evidence_expectations: Vec::new(),
        must_pass: Vec::new(),
        may_stay_red: Vec::new(),
        flaky_retries: None,
        retry: None,
        secret_allowances: Vec::new(),
        work_id: None,
    };
    let origin = TreeOrigin::Case(BTreeMap::new());
    Ok(Task::from_contract(contract, origin))
}
