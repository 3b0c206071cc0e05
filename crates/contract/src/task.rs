//! The task contract: as a person writes it ([`TaskFile`]) and resolved ([`TaskContract`]).
//!
//! Resolution writes every default out and reads the files a contract names; the digest of the resolved form is the
//! contract's identity and is never resolved again.

use std::collections::BTreeMap;

use base64::Engine as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::{Digest, canonical_digest};
use crate::exam;
use crate::id::TaskId;
use crate::paths::{ParseGlobError, PathRules, PathSet};
use crate::source::{Problem, Rule, Spans};
use crate::stage::MutationMode;

/// How much harm a mistake could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(title = "risk class")]
pub enum RiskClass {
    Low,
    Medium,
    High,
    Critical,
}

/// What no engine can do; naming them states the intent and lets an attempt be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(title = "forbidden action")]
pub enum ForbiddenAction {
    Push,
    Merge,
    Deploy,
    Close,
    PrOpen,
    IssueClose,
    PublicPublication,
    CredentialChange,
    VendorSourceMutation,
    CortexCoreMutation,
}

impl ForbiddenAction {
    pub const ALL: &'static [Self] = &[
        Self::Push,
        Self::Merge,
        Self::Deploy,
        Self::Close,
        Self::PrOpen,
        Self::IssueClose,
        Self::PublicPublication,
        Self::CredentialChange,
        Self::VendorSourceMutation,
        Self::CortexCoreMutation,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(title = "source classification")]
pub enum SourceClassification {
    OwnedLocal,
}

/// The version of the contract's own format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "contract version")]
pub enum ContractVersion {
    #[default]
    #[serde(rename = "1")]
    One,
}

/// A task contract as a person writes it, in YAML or JSON.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Task contract", transform = require_keys)]
pub struct TaskFile {
    /// Always "1".
    pub schema_version: ContractVersion,
    #[schemars(with = "TaskId")]
    pub task_id: String,
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    /// What the engine gets to read.
    #[schemars(length(min = 1, max = 65536))]
    pub brief: String,
    #[serde(default)]
    pub target_repository: Option<String>,
    #[serde(default)]
    pub source_repository: Option<String>,
    #[serde(default)]
    pub source_owner: Option<String>,
    #[serde(default)]
    pub source_classification: Option<SourceClassification>,
    /// The record that this task rests on.
    #[serde(default)]
    pub authority_basis: Option<String>,
    pub risk_class: RiskClass,
    /// Globs that may change. Without any, the decision is a refusal.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub allowed_paths: Vec<String>,
    /// Globs that must not change, at any depth unless they begin with `/`.
    #[serde(default)]
    pub forbidden_paths: Vec<String>,
    /// Globs added to the exam set.
    #[serde(default)]
    pub protected_paths: Vec<String>,
    /// Globs released from the exam set.
    #[serde(default)]
    pub exam_may_change: Vec<String>,
    /// Names of tests that may disappear.
    #[serde(default)]
    pub tests_may_go: Vec<String>,
    /// Without any, the decision is a refusal.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub forbidden_actions: Vec<ForbiddenAction>,
    pub mutation_mode: MutationMode,
    #[serde(default)]
    pub approval_required: Option<bool>,
    #[serde(default)]
    pub diff_required: Option<bool>,
    #[serde(default)]
    pub verification_commands: Vec<CommandFile>,
    /// Why there is no verification. Such a run never counts on the ladder.
    #[serde(default)]
    pub no_test_rationale: Option<String>,
    #[serde(default)]
    pub blind_checks: Vec<BlindFile>,
    /// A patch beside the contract that alters the exam so that it must fail.
    #[serde(default)]
    pub control_patch: Option<String>,
    /// Files beside the contract that are laid on top of the exam.
    #[serde(default)]
    pub verification_files: Vec<ExamFile>,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub success_criteria: Vec<String>,
    #[serde(default)]
    pub rollback_expectation: Option<String>,
    #[serde(default)]
    pub limits: LimitsFile,
    /// Name pattern of the result branch, or `current`.
    #[serde(default)]
    pub branch_policy: Option<String>,
    /// Extra artifacts that must exist for a pass.
    #[serde(default)]
    pub evidence_expectations: Vec<String>,
}

/// The keys a contract must have; absence of the two scopes is a refusal, not an error (`x-cto-absent`).
pub(crate) fn require_keys(schema: &mut schemars::Schema) {
    let required = [
        "schema_version",
        "task_id",
        "title",
        "brief",
        "risk_class",
        "allowed_paths",
        "forbidden_actions",
        "mutation_mode",
    ];
    schema.insert("required".into(), required.as_slice().into());
}

/// A command of the exam: words, or an argv array, or an object.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandFile {
    Words(String),
    Argv(#[schemars(length(min = 1))] Vec<String>),
    Full(FullCommand),
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullCommand {
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// Split by shell words, never run through a shell unless `shell: true`.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default)]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub cwd: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindFile {
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    #[serde(default)]
    pub stdin: String,
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub expect_exit: u8,
    #[serde(default)]
    pub expect_stdout: Option<String>,
    #[serde(default)]
    pub expect_stdout_sha256: Option<Digest>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
}

/// A file beside the contract, and where it lies in the exam.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExamFile {
    Same(String),
    Placed(PlacedFile),
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedFile {
    pub file: String,
    pub path: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsFile {
    #[schemars(range(min = 1, max = 604800))]
    pub wall_seconds: Option<u64>,
    #[schemars(range(min = 1048576))]
    pub memory_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub processes: Option<u64>,
    #[schemars(range(min = 1))]
    pub disk_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    pub output_bytes: Option<u64>,
    pub model_requests: Option<u64>,
    pub model_tokens: Option<u64>,
    pub money_micros: Option<u64>,
}

/// What the repository needs to build and test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    pub mounts: Vec<Mount>,
    /// Directories put before the system's on PATH.
    pub path: Vec<String>,
    /// Never a secret.
    pub variables: BTreeMap<String, String>,
    pub setup: Vec<Command>,
    pub setup_inputs: Vec<String>,
    pub setup_network: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    pub target: String,
}

/// A command, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: u64,
    #[serde(default)]
    pub cwd: Option<String>,
}

fn default_timeout() -> u64 {
    300
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindCheck {
    pub argv: Vec<String>,
    pub stdin: String,
    pub expect_exit: u8,
    pub expect_stdout_sha256: Option<Digest>,
    pub timeout_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchContent {
    pub file: String,
    pub sha256: Digest,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileContent {
    pub path: String,
    pub sha256: Digest,
    pub base64: String,
}

impl FileContent {
    pub fn bytes(&self) -> Option<Vec<u8>> {
        base64::engine::general_purpose::STANDARD.decode(&self.base64).ok()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub wall_seconds: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    pub disk_bytes: u64,
    pub output_bytes: u64,
    pub model_requests: Option<u64>,
    pub model_tokens: Option<u64>,
    pub money_micros: Option<u64>,
}

/// A contract with every default written out; its canonical digest is its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Resolved task contract")]
pub struct TaskContract {
    pub schema_version: ContractVersion,
    pub task_id: TaskId,
    pub title: String,
    pub brief: String,
    pub target_repository: Option<String>,
    pub source_repository: Option<String>,
    pub source_owner: Option<String>,
    pub source_classification: Option<SourceClassification>,
    pub authority_basis: Option<String>,
    pub risk_class: RiskClass,
    pub allowed_paths: Vec<String>,
    pub forbidden_paths: Vec<String>,
    pub protected_paths: Vec<String>,
    pub exam_may_change: Vec<String>,
    pub tests_may_go: Vec<String>,
    pub forbidden_actions: Vec<ForbiddenAction>,
    pub mutation_mode: MutationMode,
    pub approval_required: bool,
    pub diff_required: bool,
    pub verification_commands: Vec<Command>,
    pub no_test_rationale: Option<String>,
    pub blind_checks: Vec<BlindCheck>,
    pub control_patch: Option<PatchContent>,
    pub verification_files: Vec<FileContent>,
    pub environment: Environment,
    pub success_criteria: Vec<String>,
    pub rollback_expectation: Option<String>,
    pub limits: Limits,
    pub branch_policy: String,
    pub evidence_expectations: Vec<String>,
}

impl TaskContract {
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical_digest(self)
    }

    /// The compiled paths of this contract, the default exam set included.
    pub fn path_rules(&self) -> Result<PathRules, ParseGlobError> {
        let mut protected: Vec<String> = exam::DEFAULT.iter().map(ToString::to_string).collect();
        protected.extend(self.protected_paths.iter().cloned());
        Ok(PathRules {
            allowed: PathSet::rooted(&self.allowed_paths)?,
            forbidden: PathSet::any_depth(&self.forbidden_paths)?,
            protected: PathSet::any_depth(&protected)?,
            released: PathSet::any_depth(&self.exam_may_change)?,
        })
    }
}

/// Reads a file that a contract names, relative to the contract.
pub type ReadBeside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Collects what is wrong with a contract whose shape is right.
struct Resolver<'a> {
    spans: &'a Spans,
    read: ReadBeside<'a>,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    fn problem(&mut self, path: &[&str], message: impl Into<String>) {
        self.problems.push(self.spans.problem(path, Rule::Invalid, message.into()));
    }

    fn globs(&mut self, key: &str, globs: &[String], rooted: bool) {
        for (index, glob) in globs.iter().enumerate() {
            let one = std::slice::from_ref(glob);
            let compiled = if rooted { PathSet::rooted(one) } else { PathSet::any_depth(one) };
            if let Err(error) = compiled {
                self.problem(&[key, &index.to_string()], error.to_string());
            }
        }
    }

    fn command(&mut self, path: &[&str], file: CommandFile) -> Option<Command> {
        let full = match file {
            CommandFile::Words(words) => {
                FullCommand { argv: None, command: Some(words), shell: false, timeout_seconds: None, cwd: None }
            }
            CommandFile::Argv(argv) => {
                FullCommand { argv: Some(argv), command: None, shell: false, timeout_seconds: None, cwd: None }
            }
            CommandFile::Full(full) => full,
        };
        let argv = match (full.argv, full.command) {
            (Some(argv), None) if full.shell => {
                self.problem(path, format!("`shell: true` goes with `command`, not with `argv` {argv:?}"));
                return None;
            }
            (Some(argv), None) => argv,
            (None, Some(command)) if full.shell => vec!["/bin/sh".to_owned(), "-c".to_owned(), command],
            (None, Some(command)) => match shell_words::split(&command) {
                Ok(argv) => argv,
                Err(error) => {
                    self.problem(
                        path,
                        format!("`{}` cannot be split into words: {error}", crate::text::shown(&command)),
                    );
                    return None;
                }
            },
            _ => {
                self.problem(path, "a command has either `argv` or `command`");
                return None;
            }
        };
        if argv.first().is_none_or(String::is_empty) || argv.iter().any(|word| word.contains('\0')) {
            self.problem(path, "a command needs a program, and no NUL");
            return None;
        }
        if let Some(cwd) = &full.cwd {
            self.relative(path, cwd);
        }
        Some(Command {
            argv,
            shell: full.shell,
            timeout_seconds: full.timeout_seconds.unwrap_or_else(default_timeout),
            cwd: full.cwd,
        })
    }

    /// A path inside the repository, given by a person.
    fn relative(&mut self, path: &[&str], text: &str) -> bool {
        let good = !text.is_empty()
            && !text.contains('\0')
            && text.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !good {
            self.problem(path, format!("`{}` is not a plain relative path", crate::text::shown(text)));
        }
        good
    }

    fn beside(&mut self, path: &[&str], file: &str) -> Option<Vec<u8>> {
        if !self.relative(path, file) {
            return None;
        }
        match (self.read)(file) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.problem(path, format!("`{}` cannot be read: {error}", crate::text::shown(file)));
                None
            }
        }
    }

    fn control_patch(&mut self, file: Option<String>) -> Option<PatchContent> {
        let file = file?;
        let bytes = self.beside(&["control_patch"], &file)?;
        let sha256 = Digest::of(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Some(PatchContent { file, sha256, text }),
            Err(_) => {
                self.problem(&["control_patch"], "a control patch is UTF-8 text");
                None
            }
        }
    }

    fn exam_file(&mut self, index: usize, file: ExamFile) -> Option<FileContent> {
        let at = index.to_string();
        let at = ["verification_files", at.as_str()];
        let (file, path) = match file {
            ExamFile::Same(file) => (file.clone(), file),
            ExamFile::Placed(placed) => (placed.file, placed.path),
        };
        if !self.relative(&at, &path) {
            return None;
        }
        let bytes = self.beside(&at, &file)?;
        Some(FileContent {
            path,
            sha256: Digest::of(&bytes),
            base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
        })
    }

    fn blind(&mut self, index: usize, file: BlindFile) -> BlindCheck {
        if file.expect_stdout.is_some() && file.expect_stdout_sha256.is_some() {
            self.problem(
                &["blind_checks", &index.to_string()],
                "a blind check has `expect_stdout` or `expect_stdout_sha256`, not both",
            );
        }
        BlindCheck {
            argv: file.argv,
            stdin: file.stdin,
            expect_exit: file.expect_exit,
            expect_stdout_sha256: file
                .expect_stdout
                .map(|text| Digest::of(text.as_bytes()))
                .or(file.expect_stdout_sha256),
            timeout_seconds: file.timeout_seconds.unwrap_or_else(default_timeout),
        }
    }

    fn mode(&mut self, mode: MutationMode, approval_required: Option<bool>, risk: RiskClass) {
        if mode.needs_approval() && approval_required == Some(false) {
            self.problem(
                &["approval_required"],
                format!("`{mode}` always needs an approval; leave the key out or say true"),
            );
        }
        if risk == RiskClass::High && mode > MutationMode::CopiedFixture {
            self.problem(&["mutation_mode"], "a task of risk class `high` never goes beyond `copied-fixture`");
        }
        if risk != RiskClass::Low && mode >= MutationMode::OwnedNoncriticalRepo {
            self.problem(&["mutation_mode"], format!("`{mode}` takes only tasks of risk class `low`"));
        }
    }
}

impl TaskFile {
    /// Writes out defaults and reads the files it names; every problem at once.
    pub fn resolve(self, spans: &Spans, read: ReadBeside<'_>) -> Result<TaskContract, Vec<Problem>> {
        let mut resolver = Resolver { spans, read, problems: Vec::new() };
        let contract = self.resolve_with(&mut resolver);
        match contract {
            Some(contract) if resolver.problems.is_empty() => Ok(contract),
            _ => Err(resolver.problems),
        }
    }

    fn resolve_with(self, resolver: &mut Resolver<'_>) -> Option<TaskContract> {
        resolver.globs("allowed_paths", &self.allowed_paths, true);
        resolver.globs("forbidden_paths", &self.forbidden_paths, false);
        resolver.globs("protected_paths", &self.protected_paths, false);
        resolver.globs("exam_may_change", &self.exam_may_change, false);
        let task_id =
            TaskId::try_from(self.task_id).map_err(|error| resolver.problem(&["task_id"], error.to_string())).ok();
        let (mode, risk) = (self.mutation_mode, self.risk_class);
        resolver.mode(mode, self.approval_required, risk);
        let commands = self.verification_commands.into_iter().enumerate();
        let verification_commands = commands
            .filter_map(|(index, file)| resolver.command(&["verification_commands", &index.to_string()], file))
            .collect();
        let blind_checks =
            self.blind_checks.into_iter().enumerate().map(|(index, file)| resolver.blind(index, file)).collect();
        let exam_files = self.verification_files.into_iter().enumerate();
        let verification_files = exam_files.filter_map(|(index, file)| resolver.exam_file(index, file)).collect();
        let control_patch = resolver.control_patch(self.control_patch);
        let task_id = task_id?;
        Some(TaskContract {
            schema_version: self.schema_version,
            branch_policy: self.branch_policy.unwrap_or_else(|| format!("cto/{task_id}/<request>")),
            task_id,
            title: self.title,
            brief: self.brief,
            target_repository: self.target_repository,
            source_repository: self.source_repository,
            source_owner: self.source_owner,
            source_classification: self.source_classification,
            authority_basis: self.authority_basis,
            risk_class: risk,
            allowed_paths: self.allowed_paths,
            forbidden_paths: self.forbidden_paths,
            protected_paths: self.protected_paths,
            exam_may_change: self.exam_may_change,
            tests_may_go: self.tests_may_go,
            forbidden_actions: self.forbidden_actions,
            mutation_mode: mode,
            approval_required: self.approval_required.unwrap_or(mode.needs_approval()),
            diff_required: self.diff_required.unwrap_or(true),
            verification_commands,
            no_test_rationale: self.no_test_rationale,
            blind_checks,
            control_patch,
            verification_files,
            environment: self.environment,
            success_criteria: self.success_criteria,
            rollback_expectation: self.rollback_expectation,
            limits: self.limits.resolve(),
            evidence_expectations: self.evidence_expectations,
        })
    }
}

impl LimitsFile {
    fn resolve(self) -> Limits {
        const GIB: u64 = 1 << 30;
        Limits {
            wall_seconds: self.wall_seconds.unwrap_or(1800),
            memory_bytes: self.memory_bytes.unwrap_or(4 * GIB),
            processes: self.processes.unwrap_or(512),
            disk_bytes: self.disk_bytes.unwrap_or(4 * GIB),
            output_bytes: self.output_bytes.unwrap_or(32 << 20),
            model_requests: self.model_requests,
            model_tokens: self.model_tokens,
            money_micros: self.money_micros,
        }
    }
}
