//! The Eligibility Decision and what it was judged from.

use std::fmt;

pub use sandbox_facts::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::baseline_exam::BaselineExamFacts;
use crate::digest::Digest;
use crate::engine::EngineSetting;
use crate::exam::Ecosystem;
use crate::id::{RunId, TaskId};
use crate::model::{AnswerFact, ModelFacts};
use crate::reason::Reason;
use crate::stage::{MutationMode, Stage};
use crate::status::{Purpose, Status};
use crate::task::RiskClass;
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
}

/// A constant: nothing the program writes promotes anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotPromoted {
    #[default]
    #[serde(rename = "not-promoted")]
    NotPromoted,
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
