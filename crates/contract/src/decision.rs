//! The Eligibility Decision and its inputs.

use std::fmt;

pub use sandbox_facts::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalInput, TargetAdmissionFacts};
use crate::baseline_exam::BaselineExamFacts;
use crate::collection::CollectionKind;
use crate::digest::Digest;
use crate::engine::EngineSetting;
use crate::exam::Ecosystem;
use crate::id::{RunId, TaskId};
use crate::model::{AnswerFact, ModelFacts};
use crate::paths::{ParseGlobError, PathRules};
use crate::reason::Reason;
use crate::stage::{MutationMode, Stage};
pub use crate::status::NotPromoted;
use crate::status::{Purpose, Status};
use crate::task::{RiskClass, TaskContract};
use crate::time::Stamp;

macro_rules! gates {
    ($($variant:ident $id:literal,)*) => {
        /// A gate, named after its step of the preflight.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Gate {
            $($variant,)*
        }

        impl Gate {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable name of the gate in decisions, events and docs.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }
        }
    };
}

gates! {
    Gate "gate",
    Stage "stage",
    KillSwitch "kill_switch",
    Contract "contract",
    VerificationCommandPresent "verification_command_present",
    Records "records",
    SourceAdmissionAndTreeDigest "source_admission_and_tree_digest",
    Identity "identity",
    ModelDecisionAndAdmission "model_decision_and_admission",
    CredentialSourcePresent "credential_source_present",
    LocalEndpointConfigured "local_endpoint_configured",
    TargetAdmission "target_admission",
    Approval "approval",
    SandboxAvailable "sandbox_available",
    TargetIdentity "target_identity",
    Ownership "ownership",
    Head "head",
    CleanStart "clean_start",
    EndpointReachable "endpoint_reachable",
    ResponseShape "response_shape",
    BaselineExam "baseline_exam",
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Party who can supply a missing requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    Approver,
    Operator,
    CoreRoute,
    Blocked,
}

impl Escalation {
    /// Spelling in the decision document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::CoreRoute => "core_route",
            Self::Blocked => "blocked",
        }
    }
}

/// One gate that is missing, and what would satisfy it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    pub gate: Gate,
    pub reason: Reason,
    /// Sentence about this task, with names and figures.
    pub text: String,
    /// One action for the operator, with its command if there is one.
    pub remedy: String,
}

/// Engine that may not run this task, with every reason against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeniedBackend {
    /// Id of the engine.
    pub backend: String,
    /// Every reason, worst first.
    pub reasons: Vec<Reason>,
}

/// Facts of phase A: settings and files. No repository has been read and no program
/// started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingFacts {
    /// True if the engine needs an opened gate; `engine` then holds the state of that gate.
    pub gated: bool,
    /// Obstacle that keeps the engine from running this task; none if it can run.
    pub engine_unavailable: Option<String>,
    /// Programs the contract's commands need and that were not found.
    pub missing_programs: Vec<String>,
    /// True if the kill switch is set.
    pub halted: bool,
    /// Profile that the operator or the contract asks for.
    pub sandbox_asked: Profile,
    /// Profiles that this machine can apply.
    pub sandbox_available: Vec<Profile>,
    /// Obstacle that makes the requested sandbox profile unavailable.
    #[serde(default)]
    pub sandbox_shortfall: Option<Shortfall>,
    /// Programs that are there and that the sandbox does not show.
    #[serde(default)]
    pub hidden_programs: Vec<HiddenProgram>,
    /// Parts of the contract's environment that need a sandbox, where none was asked for.
    pub environment_unavailable: Vec<String>,
    /// Further obstacles on this machine to the contract's environment.
    #[serde(default)]
    pub environment_problems: Vec<Shortfall>,
    /// Facts about an engine that is not part of the harness; absent for a built-in engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSetting>,
    /// Facts about the model; absent for an engine that needs no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// Admission of the repository that would be changed; absent where none would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_admission: Option<TargetAdmissionFacts>,
    /// Admission for which the contract's source repository is not copied; absent where
    /// nothing speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_target: Option<SourceTarget>,
}

impl SettingFacts {
    /// Settings of which only the requested sandbox is known.
    pub fn unknown(sandbox_asked: Profile) -> Self {
        Self {
            gated: false,
            engine_unavailable: None,
            missing_programs: Vec::new(),
            halted: false,
            sandbox_asked,
            sandbox_available: vec![Profile::None, Profile::Strict],
            sandbox_shortfall: None,
            hidden_programs: Vec::new(),
            environment_problems: Vec::new(),
            environment_unavailable: Vec::new(),
            engine: None,
            model: None,
            target_admission: None,
            source_target: None,
        }
    }

    /// Paths that a run may change: those of the contract, narrowed by the target's
    /// admission where the run would change a target. Without a usable admission nothing
    /// may change.
    pub fn path_rules(&self, contract: &TaskContract, ecosystems: &[Ecosystem]) -> Result<PathRules, ParseGlobError> {
        let rules = contract.path_rules(ecosystems)?;
        match self.target_admission.as_ref().map(|facts| facts.admission.record()) {
            None => Ok(rules),
            Some(None) => rules.narrowed_by(&[], &[]),
            Some(Some(record)) => rules.narrowed_by(&record.allowed_paths, &record.forbidden_paths),
        }
    }
}

/// Target admission that speaks against copying a source repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SourceTarget {
    /// The source is the repository of an admission, or lies in it.
    Admitted {
        /// The admission's file.
        file: String,
        /// Top of the repository that would be copied.
        source: String,
        /// Top of the repository that the admission names.
        target: String,
    },
    /// An admission cannot be read, and could be for the source.
    Unread {
        /// The admission's file, or the folder of admissions.
        file: String,
        why: String,
    },
}

/// Something this machine does not give, and what a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shortfall {
    /// Problem in words.
    pub text: String,
    /// Action for a person.
    pub remedy: String,
}

/// Program that exists on the machine but not inside the sandbox, with the directory that
/// would have to be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenProgram {
    /// Name of the program, as the contract's command has it.
    pub name: String,
    /// The directory it lies in.
    pub directory: String,
}

/// Facts of phase B: the repository and the tree on which the engine would work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// True for a repository of the operator, false for the built-in baseline of a case.
    pub repository: bool,
    /// Error that makes the repository unreadable; none if it can be read.
    pub unreadable: Option<String>,
    /// The command that helps, where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_remedy: Option<String>,
    /// Owner of the repository, as declared.
    pub owner: Option<String>,
    /// True if the contract or the admission shows an owned local repository.
    pub owned_local: bool,
    /// Commit of HEAD; absent if the repository cannot be read.
    pub baseline_commit: Option<String>,
    /// Tree of that commit.
    pub baseline_tree: Option<String>,
    /// Paths that differ from HEAD or are untracked.
    pub dirty_paths: Vec<String>,
    /// Allowed paths whose content git does not hold.
    pub absent_allowed: Vec<String>,
    /// The run of the fake engine on the same case in the same invocation, which another
    /// engine is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_run: Option<BaselineRun>,
    /// Ecosystems of the baseline, which decide the default exam set. Earlier rules had one
    /// set for all.
    #[serde(default = "every_ecosystem")]
    pub ecosystems: Vec<Ecosystem>,
    /// Absent where the result is not put into a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing: Option<LandingFacts>,
}

/// State of the place where the result's commit would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandingFacts {
    /// Branch that the commit would go to.
    pub branch: String,
    /// Commit, branch or lock that stands where the branch would be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_the_way: Option<String>,
    /// Work tree that has the branch checked out, where an existing branch is to be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_out_at: Option<String>,
    /// Key of git's configuration that names the committer, if it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_missing: Option<String>,
    /// Number of the user whose repository it is, where that is not the one who runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_owner: Option<u32>,
    /// Protected tree that forbids any change to the repository, whatever its admission
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_limits: Option<OffLimitsTree>,
}

/// A tree that no run changes, and a repository that would change with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "path")]
pub enum OffLimitsTree {
    /// The repository, or the git directory that it shares, lies in a tree of
    /// `protected_roots`.
    ProtectedRoot(String),
    /// The repository lies in the harness's own home.
    Home(String),
    /// The workspace whose records the run rests on lies in the repository.
    Workspace(String),
}

/// Run of the fake engine on the same case, made in the same invocation. Another engine at
/// stage 2 is compared with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRun {
    /// Run whose bundle holds the comparison.
    pub run_id: RunId,
    /// Verdict of that run; anything but a pass refuses the task.
    pub status: Status,
    /// The worst of its blockers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

fn every_ecosystem() -> Vec<Ecosystem> {
    Ecosystem::ALL.to_vec()
}

/// Everything a decision is a function of, beside the contract itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// Identity of the resolved contract.
    pub contract_digest: Digest,
    /// Id of the engine that is asked for.
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// Set for a document about other bundles, which starts and changes nothing; absent for
    /// a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CollectionKind>,
    /// Time of the decision, on the run's own clock.
    pub time: Stamp,
    /// Facts of phase A.
    pub settings: SettingFacts,
    /// Absent until phase A has passed.
    pub target: Option<TargetFacts>,
    /// Answer of the model to the probe of phase C. Absent until phase B has passed, and
    /// for engines without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerFact>,
    /// The contract's commands on the baseline. Absent until every other gate has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_exam: Option<BaselineExamFacts>,
    /// Words of people on the run's plan. Absent where no approval is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalInput>,
}

/// `eligibility-decision.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Eligibility Decision")]
pub struct Decision {
    /// Version of the decision's format.
    pub schema_version: String,
    /// Version of the rules. Within a version the same inputs always give the same
    /// decision.
    pub rules_version: String,
    /// Digest of `inputs`.
    pub decision_id: Digest,
    pub task_id: TaskId,
    /// Identity of the resolved contract.
    pub contract_digest: Digest,
    /// The engine that may run, or `none`.
    pub selected_backend: String,
    /// Engines that may not run, each with its reasons.
    pub denied_backends: Vec<DeniedBackend>,
    /// Risk class of the contract, which limits the stages.
    pub risk_class: RiskClass,
    /// All gates of this task, in the order of judgement.
    pub required_gates: Vec<Gate>,
    /// Gates that were evaluated and refused nothing.
    pub passed_gates: Vec<Gate>,
    /// Gates that refused.
    pub missing_gates: Vec<Gate>,
    /// Gates that no phase reached. A single one makes the task ineligible.
    pub not_evaluated: Vec<Gate>,
    /// Lesser of the stage's and the contract's mode; `none` for a refusal.
    pub allowed_mutation_mode: MutationMode,
    /// True if stage or contract asks for an approval.
    pub approval_required: bool,
    /// Codes of the refusals, each once, worst first.
    pub reasons: Vec<Reason>,
    /// The same with words and remedies.
    pub refusals: Vec<Refusal>,
    /// Party who can supply what is missing.
    pub escalation_path: Escalation,
    /// Everything that the decision was computed from, so that it can be recomputed.
    pub inputs: Inputs,
    /// Always false: no decision activates a default.
    pub runtime_default_activation: bool,
    /// Always `not-promoted`.
    pub core_promotion_status: NotPromoted,
}

impl Decision {
    /// True if every gate was evaluated and passed. An unevaluated gate counts against the
    /// run.
    pub fn is_eligible(&self) -> bool {
        self.missing_gates.is_empty() && self.not_evaluated.is_empty()
    }

    /// True if all that could be judged passed, and facts of a later phase are not gathered.
    pub fn is_pending(&self) -> bool {
        self.missing_gates.is_empty() && !self.not_evaluated.is_empty()
    }

    /// Ecosystems that the exam set is made for; all of them if the baseline was not read.
    pub fn ecosystems(&self) -> &[Ecosystem] {
        self.inputs.target.as_ref().map_or(Ecosystem::ALL, |target| &target.ecosystems)
    }

    /// Paths that the run may change, by contract and admission together.
    pub fn path_rules(&self, contract: &TaskContract) -> Result<PathRules, ParseGlobError> {
        self.inputs.settings.path_rules(contract, self.ecosystems())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_id_is_the_serde_name() {
        for gate in Gate::ALL {
            assert_eq!(serde_json::to_value(gate).unwrap(), gate.id());
        }
    }
}
