//! The Eligibility Decision and what it was judged from.

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
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

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

/// Who can open what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    Approver,
    Operator,
    CoreRoute,
    Blocked,
}

impl Escalation {
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
    pub text: String,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeniedBackend {
    pub backend: String,
    pub reasons: Vec<Reason>,
}

/// What phase A looks at: settings and files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingFacts {
    /// Whether the engine needs an opened gate; `engine` says how that gate stands.
    pub gated: bool,
    /// Why the engine cannot run this task, if it cannot.
    pub engine_unavailable: Option<String>,
    /// Programs the contract's commands need and that were not found.
    pub missing_programs: Vec<String>,
    pub halted: bool,
    pub sandbox_asked: Profile,
    pub sandbox_available: Vec<Profile>,
    /// Why a profile that was asked for is not available.
    #[serde(default)]
    pub sandbox_shortfall: Option<Shortfall>,
    /// Programs that are there and that the sandbox does not show.
    #[serde(default)]
    pub hidden_programs: Vec<HiddenProgram>,
    /// Parts of the contract's environment that need a sandbox, where none was asked for.
    pub environment_unavailable: Vec<String>,
    /// What else stands against the contract's environment on this machine.
    #[serde(default)]
    pub environment_problems: Vec<Shortfall>,
    /// What an engine rests on that is not part of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSetting>,
    /// What a model-backed engine rests on; absent for an engine that needs no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// Admission of the repository that would be changed; absent where none would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_admission: Option<TargetAdmissionFacts>,
    /// Admission for which the contract's source repository is not copied; absent where nothing speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_target: Option<SourceTarget>,
}

impl SettingFacts {
    /// Settings of which nothing but the sandbox that was asked for is known.
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

    /// Paths that a run may change: those of the contract, narrowed by the target's admission where the run would change a target.
    /// Without a usable admission nothing may change.
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
    pub text: String,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenProgram {
    pub name: String,
    /// The directory it lies in.
    pub directory: String,
}

/// What phase B looks at: the tree the engine would work on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Whether it is a repository of the operator's, or the built-in baseline of a case.
    pub repository: bool,
    /// Why it cannot be read, if it cannot.
    pub unreadable: Option<String>,
    /// The command that helps, where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable_remedy: Option<String>,
    pub owner: Option<String>,
    pub owned_local: bool,
    pub baseline_commit: Option<String>,
    pub baseline_tree: Option<String>,
    pub dirty_paths: Vec<String>,
    /// Allowed paths whose content git does not hold.
    pub absent_allowed: Vec<String>,
    /// The run of the fake engine on the same case in the same invocation, which another engine is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_run: Option<BaselineRun>,
    /// What the baseline is built and tested with; decides the default exam set. Earlier rules had one set for all.
    #[serde(default = "every_ecosystem")]
    pub ecosystems: Vec<Ecosystem>,
    /// Absent where the result is not put into a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing: Option<LandingFacts>,
}

/// State of the place where the result's commit would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandingFacts {
    pub branch: String,
    /// Commit, branch or lock that stands where the branch would be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_the_way: Option<String>,
    /// Work tree that has the branch checked out, where an existing branch is to be moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_out_at: Option<String>,
    /// Key of git's configuration that says who commits, where nobody sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_missing: Option<String>,
    /// Number of the user whose repository it is, where that is not the one who runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_owner: Option<u32>,
    /// Tree for which nobody may change the repository, whatever its admission says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_limits: Option<OffLimitsTree>,
}

/// A tree that no run changes, and a repository that would change with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "path")]
pub enum OffLimitsTree {
    /// The repository, or the git directory that it shares, lies in a tree of `protected_roots`.
    ProtectedRoot(String),
    /// The repository lies in the harness's own home.
    Home(String),
    /// The workspace whose records the run rests on lies in the repository.
    Workspace(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRun {
    pub run_id: RunId,
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
    pub contract_digest: Digest,
    pub engine: String,
    pub stage: Stage,
    pub purpose: Purpose,
    /// Set for a document about other bundles, which starts and changes nothing; absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CollectionKind>,
    pub time: Stamp,
    pub settings: SettingFacts,
    /// Absent until phase A has passed.
    pub target: Option<TargetFacts>,
    /// What the model answered. Absent until phase B has passed, and where no model is needed.
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
    pub schema_version: String,
    pub rules_version: String,
    /// Digest of `inputs`.
    pub decision_id: Digest,
    pub task_id: TaskId,
    pub contract_digest: Digest,
    /// The engine that may run, or `none`.
    pub selected_backend: String,
    pub denied_backends: Vec<DeniedBackend>,
    pub risk_class: RiskClass,
    pub required_gates: Vec<Gate>,
    pub passed_gates: Vec<Gate>,
    pub missing_gates: Vec<Gate>,
    pub not_evaluated: Vec<Gate>,
    pub allowed_mutation_mode: MutationMode,
    pub approval_required: bool,
    pub reasons: Vec<Reason>,
    /// The same with words and remedies.
    pub refusals: Vec<Refusal>,
    pub escalation_path: Escalation,
    pub inputs: Inputs,
    pub runtime_default_activation: bool,
    pub core_promotion_status: NotPromoted,
}

impl Decision {
    pub fn is_eligible(&self) -> bool {
        self.missing_gates.is_empty() && self.not_evaluated.is_empty()
    }

    /// True if all that could be judged passed, and facts of a later phase are not gathered.
    pub fn is_pending(&self) -> bool {
        self.missing_gates.is_empty() && !self.not_evaluated.is_empty()
    }

    /// The ecosystems the exam set is made for; all of them where nobody looked.
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
