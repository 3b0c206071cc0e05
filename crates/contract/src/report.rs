//! `report.json`: the machine summary and index of a bundle.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::JudgedClaim;
use crate::collection::{CitedBundle, CollectionKind};
use crate::coverage::Coverage;
use crate::decision::{NotPromoted, Profile};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::{RunId, TaskId, WorkId};
use crate::model::{AdmissionStatus, ModelPair, ModelReport};
use crate::reason::{Reason, verdict};
use crate::stage::{MutationMode, Stage};
use crate::status::{Purpose, Status};
use crate::time::Stamp;

/// One reason that stands against a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    pub reason: Reason,
    pub text: String,
    pub remedy: String,
    /// The artifact that shows it.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalStatus {
    NotRequired,
    Requested,
    Granted,
    Denied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceAdmissionStatus {
    Admitted,
    NotAdmitted,
    Stale,
    /// The engine is part of the harness.
    BuiltIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperatorOutcome {
    Pending,
    Accepted,
    Rejected,
}

/// When an artifact was written and when it was last checked, on the run's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Freshness {
    pub written_at: Stamp,
    pub checked_at: Stamp,
}

/// Which check of the verification a pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PassKind {
    /// The commands on the exam set of the baseline.
    Exam,
    /// The commands on the tree as patched.
    Change,
    /// The exam altered so that it must fail.
    Control,
    /// Input in, output compared by the harness.
    Blind,
}

impl PassKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exam => "exam",
            Self::Change => "change",
            Self::Control => "control",
            Self::Blind => "blind",
        }
    }

    /// What it was run on, in words.
    pub const fn ran_on(self) -> &'static str {
        match self {
            Self::Exam => "baseline + patch, the exam set as in the baseline",
            Self::Change => "baseline + patch, as patched",
            Self::Control => "the exam, altered so that it must fail",
            Self::Blind => "the exam's tree; what is expected never enters it",
        }
    }

    /// What it shows when it holds.
    pub const fn shows(self) -> &'static str {
        match self {
            Self::Exam => "the tests that were there before pass with the change",
            Self::Change => "the tests pass as the patch leaves them",
            Self::Control => "a failing test is seen to fail",
            Self::Blind => "the program gives answers it was not told",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Pass,
    Fail,
    NotRun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    pub executed: u64,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestComparison {
    pub baseline: Option<TestCounts>,
    pub result: Option<TestCounts>,
    pub missing: Vec<String>,
    pub newly_skipped: Vec<String>,
    /// Tests that failed, each with what its runner says of it; the first of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTest>,
}

/// A test that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTest {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Excuse, where it does not count against the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excused: Option<Excuse>,
}

/// Excuse of a failing test, which then does not count against the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Excuse {
    /// It failed in the baseline, and `may_stay_red` names it.
    KnownFailure,
    /// It fails now and then in the baseline too, and passed with the patch when it was held again.
    Flaky,
}

/// One command of the verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationPass {
    pub kind: PassKind,
    pub name: String,
    pub argv: Vec<String>,
    pub exit: Option<i32>,
    pub duration_ms: u64,
    pub timed_out: bool,
    pub tests: TestComparison,
    pub result: CheckResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    pub passes: Vec<VerificationPass>,
    pub result: CheckResult,
    /// Changed source files, each replaced by text that cannot compile; absent where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub poisoned: Vec<PoisonedFile>,
}

impl Default for Verification {
    fn default() -> Self {
        Self { passes: Vec::new(), result: CheckResult::NotRun, poisoned: Vec::new() }
    }
}

impl Verification {
    /// All commands that were held; the result is theirs.
    pub fn of(passes: Vec<VerificationPass>, poisoned: Vec<PoisonedFile>) -> Self {
        let result = match passes.as_slice() {
            [] => CheckResult::NotRun,
            passes if passes.iter().all(|pass| pass.result == CheckResult::Pass) => CheckResult::Pass,
            _ => CheckResult::Fail,
        };
        Self { passes, result, poisoned }
    }

    /// None where nothing was run.
    pub fn tests_passed(&self) -> Option<bool> {
        match self.result {
            CheckResult::Pass => Some(true),
            CheckResult::Fail => Some(false),
            CheckResult::NotRun => None,
        }
    }
}

/// A changed source file and what became of the exam without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoisonedFile {
    pub path: String,
    pub outcome: PoisonOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoisonOutcome {
    /// The exam failed: it rests on this file.
    Exercised,
    /// The exam failed with this file and others replaced together: it rests on at least one of them.
    ExercisedInGroup,
    /// The exam passed all the same.
    NotExercised,
    /// There was no time left.
    NotTried,
}

/// Entry of `not_applicable` where it is not known what an engine changed.
pub const CHANGED_FILES: &str = "changed_files";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFacts {
    pub id: String,
    pub version: String,
    pub source_id: String,
    pub executable_sha256: Digest,
    /// Of everything that belongs to it, where it is not part of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha256: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter_sha256: Option<Digest>,
    pub argv_sha256: Option<Digest>,
    pub process_started: bool,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// Processes the engine left behind and the harness ended.
    pub leftover_processes: Vec<String>,
    /// Reason for which the harness ended it, where it did not end itself although it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_harness: Option<String>,
    /// Remarks of its own log that decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxSummary {
    pub asked: Profile,
    pub profile: Profile,
    /// Digest of the measured postures in `sandbox.json`.
    #[serde(default)]
    pub probe_sha256: Option<Digest>,
    pub violations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretScan {
    pub status: ScanStatus,
    pub files_scanned: u64,
    pub hits: Vec<SecretHit>,
    /// Hits beyond those that are listed.
    #[serde(default)]
    pub hits_left_out: u64,
}

impl SecretScan {
    /// Whether something of this class was found.
    pub fn has(&self, class: HitClass) -> bool {
        self.hits.iter().any(|hit| hit.class == class)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScanStatus {
    Clean,
    Redacted,
    /// Made by a version that did not scan; nothing may be concluded.
    NotScanned,
}

/// Where a secret stood; never its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SecretHit {
    pub file: String,
    /// Before redaction; of a line of events or trace, where that line begins.
    pub offset: u64,
    pub rule: String,
    #[serde(default)]
    pub class: HitClass,
}

/// What a found secret is to the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitClass {
    /// A credential, an endpoint value or a well-known shape: `secret_leak`.
    #[default]
    Leak,
    /// The secret of a decoy: `canary_touched`.
    Canary,
    /// The run's own token, which is worth nothing after the run.
    Token,
    /// A shape that stands in the baseline already.
    Baseline,
    /// A shape that the contract allows.
    Allowed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    pub system: String,
    pub kernel: String,
    pub architecture: String,
    pub git: String,
    pub harness_version: String,
    pub harness_sha256: Digest,
}

/// A tree that no run may change, before the run and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedRoot {
    pub path: String,
    pub before: RootState,
    /// Absent where the run ended before anybody looked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RootState>,
}

impl ProtectedRoot {
    pub fn is_changed(&self) -> bool {
        self.after.as_ref().is_some_and(|after| *after != self.before)
    }
}

/// State of a protected tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootState {
    /// Absent where it is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// False where git calls it dirty; absent where it is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// Of HEAD and of every path, mode and content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Reason for which it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The flat names that tools around the engine `case` read. The admitted pair and what the engine was told are different
/// things, and the second never becomes the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    pub case_process_started: bool,
    pub case_model_provider: Option<String>,
    pub case_model: Option<String>,
    pub case_runtime_model_provider: Option<String>,
    pub case_model_admission_status: Option<AdmissionStatus>,
}

/// HEAD and references of a source that was taken from a commit, before the run and after it. A move is listed, and no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceAt {
    pub commit: String,
    /// Name by which the person asked for the commit.
    pub named: String,
    pub head_before: String,
    /// Absent if it could no longer be read.
    pub head_after: Option<String>,
    /// Digest of the names and values of HEAD and every reference.
    pub references_before: String,
    pub references_after: Option<String>,
    /// References that were made, moved or removed meanwhile; the first of many.
    pub moved: Vec<String>,
}

/// A sealed run that another goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuedFrom {
    pub run_id: RunId,
    pub patch_sha256: Digest,
}

/// `report.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Run report")]
pub struct Report {
    pub schema_version: String,
    pub rules_version: String,
    pub renderer_version: String,
    pub case_id: TaskId,
    pub task_id: TaskId,
    /// Item of the workboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    pub title: String,
    pub run_id: RunId,
    pub status: Status,
    /// Kind of a document about other bundles; absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CollectionKind>,
    /// Bundles that such a document read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<CitedBundle>,
    /// Model of the engine that such a document is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_model: Option<ModelPair>,
    /// The engine; of a document the one that it is about, or `none` where it is about several.
    pub backend: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// The status that its case declares, where that is no pass: such a run shows how something fails, and counts on no rung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_status: Option<Status>,
    /// The set of built-in cases that its program ships; absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture_set: Option<String>,
    pub allowed_mutation_mode: MutationMode,
    pub allowed_mutation_scope: String,
    pub contract_digest: Digest,
    pub decision_id: Digest,
    pub run_started_at: Stamp,
    pub run_finished_at: Stamp,
    pub duration_ms: u64,
    pub backend_exit_code: Option<i32>,
    pub artifacts_dir: String,
    pub run_artifact_dir: String,
    pub runtime_workspace_root: String,
    pub disposable_repository_dir: Option<String>,
    pub baseline_commit: Option<String>,
    pub baseline_tree: Option<String>,
    pub result_commit: Option<String>,
    pub result_tree: Option<String>,
    pub changed_files: Vec<String>,
    /// Files ignored by the baseline's own rules: left behind, not carried, no failure.
    pub litter: Vec<String>,
    /// What the patch cannot carry.
    pub dirty_paths: Vec<String>,
    pub allowed_writes_passed: bool,
    pub forbidden_paths_passed: bool,
    pub forbidden_actions_attempted: Vec<String>,
    pub required_events: Vec<EventKind>,
    pub required_events_passed: bool,
    pub missing_events: Vec<EventKind>,
    pub approval_status: ApprovalStatus,
    /// The request that the run rests on; absent where it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<Digest>,
    /// The first of the approvals that it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_digest: Option<Digest>,
    pub tests_command: Option<String>,
    pub tests_passed: Option<bool>,
    pub verification: Verification,
    pub blockers: Vec<Blocker>,
    pub blocker_reasons: Vec<Reason>,
    pub failure_reason: Option<String>,
    pub coverage: Vec<Coverage>,
    /// What the engine says of itself, each beside what the harness saw.
    #[serde(default, deserialize_with = "claims_or_none")]
    pub claims: Vec<JudgedClaim>,
    pub source_admission_status: SourceAdmissionStatus,
    pub source_repository_mutated: Option<bool>,
    /// The commit that the source was taken from, where its work tree was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_at: Option<SourceAt>,
    /// The run whose patch the engine's workspace began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<ContinuedFrom>,
    /// Admission of the repository that the run was to change; absent below stage 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository_admission_status: Option<AdmissionStatus>,
    /// The one commit that the run put into the admitted target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_commit: Option<String>,
    /// The branch that names it; of the disposable repository at stage 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_branch: Option<String>,
    /// Trees that no run may change; absent where none is named or no engine started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_roots: Vec<ProtectedRoot>,
    pub engine: EngineFacts,
    pub model: Option<ModelReport>,
    /// What other tools read of a run of the engine `case`; absent for all others.
    #[serde(flatten)]
    pub case: Option<CaseReport>,
    pub sandbox: SandboxSummary,
    pub secret_scan: SecretScan,
    pub branch_policy: String,
    pub operator_outcome: OperatorOutcome,
    pub success_criteria: Vec<String>,
    pub rollback_expectation: Option<String>,
    pub host: HostFacts,
    /// Artifact or event to the reason why it does not apply.
    pub not_applicable: BTreeMap<String, String>,
    pub artifact_paths: BTreeMap<String, String>,
    /// SHA-256 of every file but the attestation; this file's own with this entry empty.
    pub artifact_digests: BTreeMap<String, String>,
    pub freshness: BTreeMap<String, Freshness>,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}

/// True if changed files were poisoned and none of them is known to be exercised: such an exam says nothing about the change.
pub fn no_change_exercised(poisoned: &[PoisonedFile]) -> bool {
    let exercised = |file: &PoisonedFile| match file.outcome {
        PoisonOutcome::Exercised | PoisonOutcome::ExercisedInGroup => true,
        PoisonOutcome::NotExercised | PoisonOutcome::NotTried => false,
    };
    !poisoned.is_empty() && !poisoned.iter().any(exercised)
}

impl Verification {
    /// Changed files with which the exam passes although they cannot compile.
    pub fn not_exercised(&self) -> impl Iterator<Item = &str> {
        self.with_outcome(PoisonOutcome::NotExercised)
    }

    pub fn with_outcome(&self, outcome: PoisonOutcome) -> impl Iterator<Item = &str> {
        self.poisoned.iter().filter(move |file| file.outcome == outcome).map(|file| file.path.as_str())
    }

    /// The tests of the exam together, where its commands tell.
    pub fn exam_tests(&self) -> Option<TestCounts> {
        let exam = self.passes.iter().filter(|pass| pass.kind == PassKind::Exam);
        exam.filter_map(|pass| pass.tests.result).reduce(|sum, tests| TestCounts {
            executed: sum.executed.saturating_add(tests.executed),
            passed: sum.passed.saturating_add(tests.passed),
            failed: sum.failed.saturating_add(tests.failed),
            skipped: sum.skipped.saturating_add(tests.skipped),
        })
    }
}

/// Format 1.0 had the engine's words here, unjudged; what is not a list of judged claims is none.
fn claims_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<JudgedClaim>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    if value.is_array() { serde_json::from_value(value).map_err(serde::de::Error::custom) } else { Ok(Vec::new()) }
}

impl Report {
    /// The model that the engine was to use; of a document that of the engine that it is about.
    pub fn identity_model(&self) -> Option<&ModelPair> {
        match self.kind {
            None => self.model.as_ref().and_then(|model| model.requested.as_ref()),
            Some(_) => self.subject_model.as_ref(),
        }
    }

    /// The status that the blockers make, whatever `status` says.
    pub fn judged_status(&self) -> Status {
        verdict(self.blockers.iter().map(|blocker| blocker.reason), self.engine.process_started)
    }
}

/// Worst first, one of each reason.
pub fn sort_blockers(blockers: &mut [Blocker], engine_started: bool) {
    blockers.sort_by_key(|blocker| blocker.reason.rank(engine_started));
}
