//! Plan of a run: the one document that a request contains and that a run must equal. Made from the
//! contract, the digests of records, the target as it was observed, and settings; making it probes
//! nothing.

use std::path::{Path, PathBuf};

use contract::approval::{
    EvidencePointer, Nonce, PACKET_RENDERER_VERSION, Plan, PlanSchema, PlannedBranch, PlannedEngine, PlannedMount,
    PlannedRepository, PlannedSandbox, PolicyTerms, RepositoryKind, find_marks,
};
use contract::decision::SettingFacts;
use contract::engine::RungFact;
use contract::record::SourceAdmission;
use contract::statement::SignedHarness;
use contract::task::Limits;
use contract::{Digest, Stage, canonical_digest};
use evidence::names;
use ledger::FoundRuns as FoundRun;

use crate::gather::ladder;
use crate::gather::people::{Policies, ReadTrustError};
use crate::gather::plan_records::list_planned_records;
use crate::gather::target::Target;
use crate::home::ask::Ask;
use crate::home::engines::FAKE;
use crate::home::task::{ContinuedRun, Task, TreeOrigin};
use crate::judge::environment;
use crate::run::file::Stopped;
use crate::run::harness::Harness;

/// Branch policy that moves the branch which is checked out.
const CURRENT: &str = "current";
/// Owner and risk of a repository that the harness makes and throws away.
const OWN_REPOSITORY: (&str, &str) = ("the run itself", "disposable");

/// Failure to build a plan.
#[derive(Debug, thiserror::Error)]
pub enum BuildPlanError {
    /// A fact is missing that a gate refuses for as well.
    #[error("there is nothing to approve yet: {0}")]
    Incomplete(String),
    #[error(transparent)]
    Trust(#[from] ReadTrustError),
    #[error(transparent)]
    Tree(#[from] tree::TreeError),
    #[error("environment.mounts cannot be read: {0}")]
    Mounts(String),
    #[error(transparent)]
    Globs(#[from] contract::paths::ParseGlobError),
    #[error("the plan cannot be written down: {0}")]
    Encode(#[from] serde_json::Error),
}

/// Everything that a plan is made from.
pub(crate) struct PlanScene<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) task: &'a Task,
    pub(crate) ask: &'a Ask,
    /// Digest of the task's contract.
    pub(crate) contract_digest: Digest,
    pub(crate) settings: &'a SettingFacts,
    pub(crate) target: &'a Target,
}

/// A plan and the terms on which it can be approved.
#[derive(Debug, Clone)]
pub(crate) struct PlanOnTerms {
    pub(crate) plan: Plan,
    pub(crate) terms: PolicyTerms,
}

impl PlanOnTerms {
    /// Same plan with requester and nonce of another request; everything else must match by
    /// itself.
    pub(crate) fn as_requested(&self, requester_fingerprint: &str, nonce: &Nonce) -> Plan {
        Plan { requester_fingerprint: requester_fingerprint.to_owned(), nonce: nonce.clone(), ..self.plan.clone() }
    }
}

/// Makes the plan. The same function makes it for a request and for the run.
pub(crate) fn build_plan(
    scene: &PlanScene<'_>,
    requester_fingerprint: &str,
    nonce: Nonce,
) -> Result<PlanOnTerms, BuildPlanError> {
    let PlanScene { harness, task, ask, contract_digest, settings, target } = scene;
    let contract = &task.contract;
    let repository = plan_repository(scene)?;
    let listing = target.copy.as_ref().map(|copy| &copy.baseline.listing).ok_or_else(|| unread(target))?;
    let head_paths: Vec<&[u8]> = listing.0.keys().map(Vec::as_slice).collect();
    let terms = Policies::read_files(&harness.records)?.terms(ask.stage, repository.path.as_deref());
    let engine = plan_engine(scene)?;
    let ledger_id = harness.ledger().ledger_id().to_owned();
    let plan = Plan {
        schema: PlanSchema::V1,
        stage: ask.stage,
        mutation_mode: ask.stage.mutation_mode(),
        work_id: contract.work_id.clone(),
        contract_digest: *contract_digest,
        contract: contract.clone(),
        branch: plan_branch(task, &repository)?,
        continues: task.continued.as_ref().map(ContinuedRun::facts),
        model: settings.model.as_ref().and_then(|model| model.requested.clone()),
        limits: plan_limits(&contract.limits, ask),
        sandbox: PlannedSandbox { profile: ask.sandbox, mounts: plan_mounts(harness, task)? },
        records: list_planned_records(harness, ask, settings),
        settings: harness.settings.clone(),
        marks: find_marks(contract, &repository, &head_paths)?,
        evidence: find_evidence(scene, &engine.source_id),
        engine,
        repository,
        harness: SignedHarness::of_host(&harness.host),
        ledger_id,
        instance_id: harness.instance,
        requester_fingerprint: requester_fingerprint.to_owned(),
        policy_digest: terms.digest()?,
        packet_renderer: PACKET_RENDERER_VERSION.to_owned(),
        nonce,
    };
    Ok(PlanOnTerms { plan, terms })
}

fn unread(target: &Target) -> BuildPlanError {
    let why = target.facts.unreadable.clone();
    BuildPlanError::Incomplete(why.unwrap_or_else(|| "the repository cannot be read".to_owned()))
}

fn plan_repository(scene: &PlanScene<'_>) -> Result<PlannedRepository, BuildPlanError> {
    let facts = &scene.target.facts;
    let (Some(head_commit), Some(head_tree)) = (facts.baseline_commit.clone(), facts.baseline_tree.clone()) else {
        return Err(unread(scene.target));
    };
    let source = scene.target.copy.as_ref().and_then(|copy| copy.source.as_ref()).map(|(source, _)| source);
    let identity = match source {
        Some(source) => source.identity()?,
        // The files of a case: the tree says everything about them.
        None => format!("case\n{head_tree}\n"),
    };
    let checked_out = source.map(tree::SourceRepository::checked_out).transpose()?.flatten();
    let observed = PlannedRepository {
        kind: RepositoryKind::Disposable,
        name: String::new(),
        path: None,
        identity: Digest::of_bytes(identity.as_bytes()),
        owner: String::new(),
        risk_classification: String::new(),
        head_commit,
        head_tree,
        clean: facts.dirty_paths.is_empty(),
        checked_out,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        forbidden_actions: Vec::new(),
    };
    if scene.ask.stage <= Stage::DISPOSABLE_REPOSITORY {
        Ok(name_disposable(scene.task, observed))
    } else {
        name_admitted(scene.settings, observed)
    }
}

/// A repository that is made for the run, from the files of a case or from a source.
fn name_disposable(task: &Task, observed: PlannedRepository) -> PlannedRepository {
    let made_from = match &task.origin {
        TreeOrigin::Repository(path) | TreeOrigin::Target(path) => last_part(path),
        TreeOrigin::Case(_) => task.contract.task_id.to_string(),
    };
    let (owner, risk) = OWN_REPOSITORY;
    PlannedRepository {
        name: format!("a disposable copy of {made_from}"),
        path: origin_path(task),
        owner: task.contract.source_owner.clone().unwrap_or_else(|| owner.to_owned()),
        risk_classification: risk.to_owned(),
        ..observed
    }
}

fn origin_path(task: &Task) -> Option<String> {
    match &task.origin {
        TreeOrigin::Repository(path) | TreeOrigin::Target(path) => Some(path.display().to_string()),
        TreeOrigin::Case(_) => None,
    }
}

/// Path by which a policy's terms for one target are found: that of the plan's repository.
pub(crate) fn policy_path(task: &Task, stage: Stage, target: Option<&str>) -> Option<String> {
    match stage <= Stage::DISPOSABLE_REPOSITORY {
        true => origin_path(task),
        false => target.map(str::to_owned),
    }
}

/// The admitted target, in the words of its admission.
fn name_admitted(settings: &SettingFacts, observed: PlannedRepository) -> Result<PlannedRepository, BuildPlanError> {
    let admission = settings.target_admission.as_ref();
    let Some((facts, record)) = admission.and_then(|facts| Some((facts, facts.admission.record()?))) else {
        return Err(BuildPlanError::Incomplete("the target repository is not admitted".to_owned()));
    };
    Ok(PlannedRepository {
        kind: RepositoryKind::Admitted,
        name: last_part(Path::new(&facts.path)),
        path: Some(facts.path.clone()),
        owner: record.repository_owner.clone(),
        risk_classification: record.risk_classification.clone(),
        allowed_paths: record.allowed_paths.clone(),
        forbidden_paths: record.forbidden_paths.clone(),
        forbidden_actions: record.forbidden_actions.clone(),
        ..observed
    })
}

fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn plan_branch(task: &Task, repository: &PlannedRepository) -> Result<PlannedBranch, BuildPlanError> {
    let policy = task.contract.branch_policy.clone();
    let name = match (policy.as_str(), &repository.checked_out) {
        (CURRENT, Some(branch)) => branch.clone(),
        (CURRENT, None) => {
            let why = "branch_policy is `current`, and HEAD names no branch".to_owned();
            return Err(BuildPlanError::Incomplete(why));
        }
        _ => policy.replace("<task>", task.contract.task_id.as_str()),
    };
    Ok(PlannedBranch { policy, name })
}

/// The engine by its admission: the run's own gates check that the copy is that.
fn plan_engine(scene: &PlanScene<'_>) -> Result<PlannedEngine, BuildPlanError> {
    let PlanScene { harness, task, ask, settings, .. } = scene;
    let host = &harness.host;
    if ask.engine == FAKE {
        // The case says what it does, so that those words are part of its command.
        let steps = task.fake.as_ref().map(|fake| &fake.steps);
        return Ok(PlannedEngine {
            id: FAKE.to_owned(),
            source_id: format!("{FAKE}@{}", host.harness_version),
            tree_sha256: host.harness_sha256,
            argv_template: vec!["__fake".to_owned(), format!("sha256:{}", canonical_digest(&steps)?)],
        });
    }
    let admitted = settings.engine.as_ref().and_then(|engine| engine.admission.record());
    let record: &SourceAdmission = admitted
        .ok_or_else(|| BuildPlanError::Incomplete(format!("the source of engine `{}` is not admitted", ask.engine)))?;
    Ok(PlannedEngine {
        id: ask.engine.clone(),
        source_id: record.source_id.clone(),
        tree_sha256: record.source_tree_sha256,
        argv_template: record.command_shape.clone(),
    })
}

/// The smaller of `--timeout` and the contract's own time holds.
fn plan_limits(limits: &Limits, ask: &Ask) -> Limits {
    let wall_seconds = ask.timeout_seconds.map_or(limits.wall_seconds, |asked| asked.min(limits.wall_seconds));
    Limits { wall_seconds, ..limits.clone() }
}

fn plan_mounts(harness: &Harness, task: &Task) -> Result<Vec<PlannedMount>, BuildPlanError> {
    let mounts = &task.contract.environment.mounts;
    let digests = environment::digests(harness, mounts).map_err(|stopped| match stopped {
        Stopped::Io(path, error) => BuildPlanError::Mounts(format!("`{}`: {error}", path.display())),
        other => BuildPlanError::Mounts(other.to_string()),
    })?;
    let planned = mounts.iter().zip(digests).map(|(mount, digest)| PlannedMount {
        source: mount.source.clone(),
        target: digest.target,
        tree_sha256: digest.tree_sha256,
    });
    Ok(planned.collect())
}

/// The attestation of the run that the rung below rests on. The fake engine climbs nothing.
fn find_evidence(scene: &PlanScene<'_>, source_id: &str) -> Vec<EvidencePointer> {
    let PlanScene { harness, ask, settings, .. } = scene;
    if ask.engine == FAKE {
        return Vec::new();
    }
    let pair = settings.model.as_ref().and_then(|model| model.requested.as_ref());
    let rung = ladder::rung_below(harness, &ask.engine, source_id, pair, ask.stage);
    let Some(RungFact::Validated { run_id, .. }) = rung else { return Vec::new() };
    let Ok(FoundRun::One(row)) = harness.ledger().run_find(&run_id) else { return Vec::new() };
    let path = PathBuf::from(run_id).join(names::ATTESTATION).display().to_string();
    row.attestation_sha256.map(|sha256| EvidencePointer { path, sha256 }).into_iter().collect()
}
