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
use crate::remedy::fill_places;
use crate::stage::{MutationMode, Stage};
use crate::status::{Purpose, Status};
use crate::time::Stamp;

/// One problem of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    /// Stable code of the reason.
    pub reason: Reason,
    /// Sentence about this run, with names and figures.
    pub text: String,
    /// One action for the operator, with its command if there is one.
    pub remedy: String,
    /// The artifact that shows it.
    pub evidence: String,
}

/// State of the human approval of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalStatus {
    NotRequired,
    Requested,
    Granted,
    Denied,
}

/// State of the admission of the engine's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceAdmissionStatus {
    /// An admission holds for this program at this stage.
    Admitted,
    /// There is no admission that can be used.
    NotAdmitted,
    /// The admission is no longer valid.
    Stale,
    /// The engine is part of the harness.
    BuiltIn,
}

/// Verdict of an operator on the finished work. A sealed report always has `Pending`; later
/// verdicts are signed statements of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperatorOutcome {
    Pending,
    Accepted,
    Rejected,
}

/// Times on the run's own clock at which an artifact was written and last checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Freshness {
    /// Time at which the artifact was finished.
    pub written_at: Stamp,
    /// Time of the last check before sealing.
    pub checked_at: Stamp,
}

/// Kind of a verification pass.
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
    /// Spelling in reports and statements.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exam => "exam",
            Self::Change => "change",
            Self::Control => "control",
            Self::Blind => "blind",
        }
    }

    /// Tree on which the pass ran, in words.
    pub const fn ran_on(self) -> &'static str {
        match self {
            Self::Exam => "baseline + patch, the exam set as in the baseline",
            Self::Change => "baseline + patch, as patched",
            Self::Control => "the exam, altered so that it must fail",
            Self::Blind => "the exam's tree; what is expected never enters it",
        }
    }

    /// Conclusion that a successful pass allows, in words.
    pub const fn shows(self) -> &'static str {
        match self {
            Self::Exam => "the tests that were there before pass with the change",
            Self::Change => "the tests pass as the patch leaves them",
            Self::Control => "a failing test is seen to fail",
            Self::Blind => "the program gives answers it was not told",
        }
    }
}

/// Result of one check. `NotRun` never counts as a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Pass,
    Fail,
    NotRun,
}

/// Test counts as the runner reports them, after the harness's own consistency checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    /// Tests that ran, with any outcome.
    pub executed: u64,
    pub passed: u64,
    /// Tests that failed, those with an excuse included.
    pub failed: u64,
    pub skipped: u64,
}

/// Test results of the baseline beside those of the result. A test that vanished or is
/// newly skipped counts against the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestComparison {
    /// Counts on the baseline; null if its output could not be read.
    pub baseline: Option<TestCounts>,
    /// Counts on the result; null if its output could not be read.
    pub result: Option<TestCounts>,
    /// Tests that ran in the baseline and not in the result, at most 1,000.
    pub missing: Vec<String>,
    /// Tests that ran in the baseline and are skipped in the result, at most 1,000.
    pub newly_skipped: Vec<String>,
    /// Tests that failed, each with its runner's message; the first of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedTest>,
}

/// A test that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTest {
    /// Identity of the test, as its runner names it.
    pub name: String,
    /// Message of the runner, shortened and printable.
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
    /// It fails now and then in the baseline too, and passed with the patch when it was
    /// repeated.
    Flaky,
}

/// One command of the verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationPass {
    pub kind: PassKind,
    /// Name with its number, such as `exam 1`.
    pub name: String,
    /// Command line, as it was run.
    pub argv: Vec<String>,
    /// Exit code; null if the command did not start or was killed.
    pub exit: Option<i32>,
    pub duration_ms: u64,
    /// True if the time limit ended the command.
    pub timed_out: bool,
    /// Test results beside those of the baseline.
    pub tests: TestComparison,
    /// Result of the pass. A control passes if the altered exam fails.
    pub result: CheckResult,
}

/// All verification passes of a run and the result that follows from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    pub passes: Vec<VerificationPass>,
    /// Pass only if every pass that was needed passed.
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
    pub fn of_passes(passes: Vec<VerificationPass>, poisoned: Vec<PoisonedFile>) -> Self {
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
    /// Path relative to the root of the repository.
    pub path: String,
    pub outcome: PoisonOutcome,
}

/// Result of the poison control for one changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoisonOutcome {
    /// The exam failed: it rests on this file.
    Exercised,
    /// The exam failed with this file and others replaced together: it rests on at least
    /// one of them.
    ExercisedInGroup,
    /// The exam passed although this file cannot compile.
    NotExercised,
    /// There was no time left.
    NotTried,
}

/// Entry of `not_applicable` where it is not known what an engine changed.
pub const CHANGED_FILES: &str = "changed_files";

/// Engine of the run, as the harness identified and ran it. Nothing here comes from the
/// engine's own words except `notes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFacts {
    /// Name under which the engine was asked for.
    pub id: String,
    /// Version of the program, as it or its package states.
    pub version: String,
    /// Identity of the source, which rungs of the ladder are earned for.
    pub source_id: String,
    /// Digest of the file that was executed.
    pub executable_sha256: Digest,
    /// Digest of everything that belongs to it; absent for a built-in engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha256: Option<Digest>,
    /// Digest of the interpreter, if the program is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter_sha256: Option<Digest>,
    /// Digest of the whole command line; null if nothing was started.
    pub argv_sha256: Option<Digest>,
    pub process_started: bool,
    /// Exit code; null if the engine was killed or never started.
    pub exit_code: Option<i32>,
    /// Wall time of the process, in milliseconds.
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

/// Requested and applied confinement. The measurements themselves are in `sandbox.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxSummary {
    /// Profile that the operator or the contract asked for.
    pub asked: Profile,
    /// Profile that was in force.
    pub profile: Profile,
    /// Digest of the measured postures in `sandbox.json`.
    #[serde(default)]
    pub probe_sha256: Option<Digest>,
    /// Attempts that count as violations, each with its program.
    pub violations: Vec<String>,
}

/// Result of scanning every artifact for secrets before sealing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretScan {
    pub status: ScanStatus,
    /// Number of artifacts, the ones without a hit included.
    pub files_scanned: u64,
    /// Hits without their values, bounded in number.
    pub hits: Vec<SecretHit>,
    /// Hits beyond those that are listed.
    #[serde(default)]
    pub hits_left_out: u64,
}

impl SecretScan {
    /// True if the scan found a secret of this class.
    pub fn has_class(&self, class: HitClass) -> bool {
        self.hits.iter().any(|hit| hit.class == class)
    }
}

/// State of the secret scan. This version writes the first two only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScanStatus {
    /// No hit in any artifact.
    Clean,
    /// Every hit was replaced by a marker before it was written.
    Redacted,
    /// Made by a version that did not scan; nothing may be concluded.
    NotScanned,
}

/// Position of a found secret; never its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SecretHit {
    /// Artifact, relative to the bundle.
    pub file: String,
    /// Before redaction; of a line of events or trace, where that line begins.
    pub offset: u64,
    /// Id of the rule, or the name of a known value.
    pub rule: String,
    /// Consequence of the hit for the run.
    #[serde(default)]
    pub class: HitClass,
}

/// Consequence of a found secret for the run.
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
    /// Shape that occurs in the baseline already.
    Baseline,
    /// A shape that the contract allows.
    Allowed,
}

/// Machine and harness that made the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Operating system.
    pub system: String,
    pub kernel: String,
    pub architecture: String,
    /// Version of the git that the harness uses.
    pub git: String,
    pub harness_version: String,
    /// Digest of the harness's own executable.
    pub harness_sha256: Digest,
}

/// A tree that no run may change, before the run and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectedRoot {
    /// Absolute path, as the configuration names it.
    pub path: String,
    pub before: RootState,
    /// Absent where the run ended before anybody looked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RootState>,
}

impl ProtectedRoot {
    /// True if the digest after the run differs from the one before. Unknown states do not
    /// count as changed here.
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
    /// Digest of HEAD and of every path, mode and content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Reason for which it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The flat names that tools around the engine `case` read. The admitted pair and the values given
/// to the engine are different things, and the second never becomes the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// True if Case was started.
    pub case_process_started: bool,
    /// Provider that was admitted.
    pub case_model_provider: Option<String>,
    /// Model that was admitted.
    pub case_model: Option<String>,
    /// Provider name that Case itself was configured with.
    pub case_runtime_model_provider: Option<String>,
    pub case_model_admission_status: Option<AdmissionStatus>,
}

/// HEAD and references of a source that was taken from a commit, before the run and after
/// it. A move is listed, and no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceAt {
    /// Commit that the run was made from.
    pub commit: String,
    /// Name by which the person asked for the commit.
    pub named: String,
    /// HEAD of the source when the run started.
    pub head_before: String,
    /// Absent if it could no longer be read.
    pub head_after: Option<String>,
    /// Digest of the names and values of HEAD and every reference.
    pub references_before: String,
    /// Digest of all references after the run; null if they cannot be read any more.
    pub references_after: Option<String>,
    /// References that were made, moved or removed meanwhile; the first of many.
    pub moved: Vec<String>,
}

/// A sealed run that another goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuedFrom {
    pub run_id: RunId,
    /// Digest of the patch that the workspace began with.
    pub patch_sha256: Digest,
}

/// `report.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Run report")]
pub struct Report {
    /// Version of the bundle's format.
    pub schema_version: String,
    /// Version of the rules that made the decision.
    pub rules_version: String,
    /// Version of the text in `report.md`.
    pub renderer_version: String,
    /// Repeats `task_id` for older readers.
    pub case_id: TaskId,
    pub task_id: TaskId,
    /// Item of the workboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<WorkId>,
    /// Title of the contract.
    pub title: String,
    pub run_id: RunId,
    /// Verdict, computed from the blockers and from nothing else.
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
    /// Id of the engine; for a document the engine that it is about, or `none` if it is
    /// about several.
    pub backend: String,
    /// Stage that was asked for, from 1 to 6.
    pub stage: Stage,
    pub purpose: Purpose,
    /// The status that its case declares, where that is no pass: such a run shows how
    /// something fails, and counts on no rung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_status: Option<Status>,
    /// The set of built-in cases that its program ships; absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture_set: Option<String>,
    /// Reach that the decision permits.
    pub allowed_mutation_mode: MutationMode,
    /// Exact text of the stage about its scope.
    pub allowed_mutation_scope: String,
    /// Identity of the resolved contract.
    pub contract_digest: Digest,
    /// Digest of the inputs of the decision.
    pub decision_id: Digest,
    pub run_started_at: Stamp,
    pub run_finished_at: Stamp,
    /// Wall time of the whole run, in milliseconds.
    pub duration_ms: u64,
    /// Exit code of the engine; null if it was killed or never started.
    pub backend_exit_code: Option<i32>,
    /// Folder of the bundle; repeats `run_artifact_dir` for older readers.
    pub artifacts_dir: String,
    /// Folder of the bundle, when it was sealed.
    pub run_artifact_dir: String,
    /// Work tree of the run on the host; removed after the run unless it was kept.
    pub runtime_workspace_root: String,
    /// Repository that the run made for itself at stage 4.
    pub disposable_repository_dir: Option<String>,
    /// Commit that the engine started from.
    pub baseline_commit: Option<String>,
    /// Tree that the engine started from.
    pub baseline_tree: Option<String>,
    /// The one commit of a run that passed at stage 4, 5 or 6; null otherwise.
    pub result_commit: Option<String>,
    /// Tree that was captured after all processes were dead; null if nothing was captured.
    pub result_tree: Option<String>,
    /// Paths that differ, from comparing trees and not from the patch.
    pub changed_files: Vec<String>,
    /// Files ignored by the baseline's own rules: left behind, not carried, no failure.
    pub litter: Vec<String>,
    /// Changed paths that a patch cannot carry.
    pub dirty_paths: Vec<String>,
    /// True if every changed path is allowed.
    pub allowed_writes_passed: bool,
    /// True if no changed path is forbidden.
    pub forbidden_paths_passed: bool,
    /// Attempts of the engine at actions that the contract forbids.
    pub forbidden_actions_attempted: Vec<String>,
    /// Events that the task requires.
    pub required_events: Vec<EventKind>,
    pub required_events_passed: bool,
    /// Required events that are missing.
    pub missing_events: Vec<EventKind>,
    pub approval_status: ApprovalStatus,
    /// The request that the run rests on; absent where it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<Digest>,
    /// The first of the approvals that it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_digest: Option<Digest>,
    /// Verification commands, joined into one line; null if there are none.
    pub tests_command: Option<String>,
    /// Result of the verification; null if nothing was run.
    pub tests_passed: Option<bool>,
    pub verification: Verification,
    /// Every problem of the run, worst first.
    pub blockers: Vec<Blocker>,
    /// Codes of the blockers, in the same order.
    pub blocker_reasons: Vec<Reason>,
    /// Text of the worst blocker; null for a pass.
    pub failure_reason: Option<String>,
    /// Gaps in the proof, as codes.
    pub coverage: Vec<Coverage>,
    /// Claims of the engine, each beside the harness's observation.
    #[serde(default, deserialize_with = "claims_or_none")]
    pub claims: Vec<JudgedClaim>,
    pub source_admission_status: SourceAdmissionStatus,
    /// True if the source repository changed during the run; null without one.
    pub source_repository_mutated: Option<bool>,
    /// Commit that the source was taken from, if its work tree was not read.
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
    /// Engine as the harness identified and ran it.
    pub engine: EngineFacts,
    /// Use of the model; absent for an engine that needs none.
    pub model: Option<ModelReport>,
    /// Block for tools that read runs of the engine `case`; absent for all other engines.
    #[serde(flatten)]
    pub case: Option<CaseReport>,
    pub sandbox: SandboxSummary,
    pub secret_scan: SecretScan,
    /// Template of the branch name, from the contract.
    pub branch_policy: String,
    pub operator_outcome: OperatorOutcome,
    /// Criteria of the contract, for the person who judges the work.
    pub success_criteria: Vec<String>,
    /// Rollback plan of the contract.
    pub rollback_expectation: Option<String>,
    pub host: HostFacts,
    /// Artifact or event to the reason why it does not apply.
    pub not_applicable: BTreeMap<String, String>,
    /// Files of the bundle, each under its relative name.
    pub artifact_paths: BTreeMap<String, String>,
    /// SHA-256 of every file but the attestation; this file's own with this entry empty.
    pub artifact_digests: BTreeMap<String, String>,
    /// Times of each file.
    pub freshness: BTreeMap<String, Freshness>,
    /// Always false: no run activates a default.
    pub runtime_default_activation: bool,
    /// Always `not-promoted`: no run promotes anything.
    pub core_promotion_status: NotPromoted,
}

/// True if changed files were poisoned and none of them is known to be exercised: such an
/// exam says nothing about the change.
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

    /// Paths of the poisoned files with this outcome.
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

/// Reads claims. Format 1.0 had the engine's unjudged words here; anything but a list of
/// judged claims counts as no claim.
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

    /// A remedy with this run and its task in the places of `RUN` and `TASK`.
    pub fn fill_remedy(&self, remedy: &str) -> String {
        self.fill_remedy_for(remedy, self.task_id.as_str())
    }

    /// A remedy with this run, and the words that name its task on a command line here.
    pub fn fill_remedy_for(&self, remedy: &str, task: &str) -> String {
        fill_places(remedy, self.run_id.suffix(), task)
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
