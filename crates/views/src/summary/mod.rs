//! The control summary: one bounded document for other tools with the facts that an
//! operator needs. It holds no secret, no endpoint and no content of a target, and is the
//! same bytes for the same ledger, except for its time.

mod approval;
mod bound;
mod check;
mod compose;
mod facts;
#[cfg(test)]
mod tests;

use contract::approval::PacketStatus;
use contract::stage6::refresh::TargetReadOnlyStatus;
use contract::{Stage, Stamp, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::RungStatus;

pub use check::{SummaryProblem, check_summary};
pub use compose::ComposeSummaryError;
pub use facts::{ClimberFacts, SummaryFacts};

/// Version of the document.
pub(crate) const SUMMARY_VERSION: &str = "0.2.0";
/// Most bytes of the document.
pub const LARGEST_SUMMARY: usize = 256 << 10;
/// Name of the document in the home's folder for matrices.
pub const SUMMARY_FILE: &str = "webui-summary.json";

/// The control summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Control summary")]
pub struct ControlSummary {
    pub schema_version: String,
    pub generated_at: Stamp,
    /// One for each engine and model that climbs.
    pub ladder: Vec<SummaryLadder>,
    /// True if more engines and models climb than are listed.
    pub ladder_cut: bool,
    pub health: SummaryHealth,
    /// Reports that show how runs fail, of the newest matrix; relative to the home.
    pub failure_closure_report_paths: Vec<String>,
    pub matrix_path: Option<String>,
    /// Comparison of stage 6.
    pub comparison_path: Option<String>,
    pub candidate_default: CandidateDefault,
    pub runtime_default_activation: bool,
    pub case_runtime_default_active: bool,
    pub case_stage6_real_governed_refresh: Status,
    pub stage6_real_governed_refresh_comparison_path: Option<String>,
    pub real_stage5_pass_report: Option<String>,
    pub real_stage5_proof: Option<String>,
    pub repeat_stage5_pass_report: Option<String>,
    pub repeat_stage5_proof: Option<String>,
    pub target_read_only_status: TargetReadOnlyStatus,
    pub target_repository_mutation: bool,
    pub repeatability_count: u64,
    pub repeatability_status: Status,
    pub candidate_default_repeatability_eligible: bool,
    pub core_promotion_status: contract::status::NotPromoted,
    pub blocked_lanes: Vec<BlockedLane>,
    pub next_operator_action: String,
    pub approval_required: bool,
    pub approval_granted: bool,
    pub execution_allowed: bool,
    pub approval_reason: String,
    pub allowed_next_actions: Vec<String>,
    pub blocked_next_actions: Vec<String>,
    pub approval_packet: SummaryPacket,
    pub governed_execution: GovernedExecution,
}

impl ControlSummary {
    /// The document as it is printed, written and served.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// One engine and model with its rungs, lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryLadder {
    pub engine: String,
    pub source_id: Option<String>,
    pub model: Option<String>,
    pub rungs: Vec<SummaryRung>,
}

/// Rung of an engine in the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryRung {
    pub stage: Stage,
    pub name: String,
    pub status: RungStatus,
    /// Absent where the rung is validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// State of the home: the newest matrix, runs that died, the kill switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryHealth {
    pub status: Status,
    pub reason: Option<String>,
    pub halted: bool,
    pub running_runs: u64,
    pub interrupted_runs: u64,
    pub total_runs: u64,
}

/// Eligibility of the engine that is discussed as a default. It activates nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateDefault {
    pub engine: String,
    pub stage6_status: RungStatus,
    pub eligible: bool,
    pub missing: Option<String>,
}

/// An engine whose next rung is not validated, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedLane {
    pub engine: String,
    pub model: Option<String>,
    pub stage: Stage,
    pub status: RungStatus,
    pub rationale: String,
}

/// The newest packet. It is read, never executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryPacket {
    pub status: PacketStatus,
    pub request: Option<String>,
    pub approval_command_text: Option<String>,
    pub required_evidence_paths: Vec<String>,
    pub allowed_paths: Vec<String>,
    pub blocked_actions: Vec<String>,
    pub executable: bool,
}

/// The run that used the newest approval up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GovernedExecution {
    pub approval_consumed: bool,
    pub consumed_by_pass_evidence: bool,
    pub consumed_pass_report_path: Option<String>,
    pub consumed_proof_path: Option<String>,
}
