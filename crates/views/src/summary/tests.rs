//! A summary of an empty home, for tests.

use contract::Status;
use contract::approval::PacketStatus;
use contract::stage6::refresh::TargetReadOnlyStatus;
use contract::status::NotPromoted;

use super::{CandidateDefault, ControlSummary, GovernedExecution, SUMMARY_VERSION, SummaryHealth, SummaryPacket};
use crate::ladder::RungStatus;

pub(super) fn sample() -> ControlSummary {
    ControlSummary {
        schema_version: SUMMARY_VERSION.to_owned(),
        generated_at: "2026-11-18T12:00:00Z".parse().unwrap(),
        ladder: Vec::new(),
        ladder_cut: false,
        health: SummaryHealth {
            status: Status::Blocked,
            reason: None,
            halted: false,
            running_runs: 0,
            interrupted_runs: 0,
            total_runs: 0,
        },
        failure_closure_report_paths: Vec::new(),
        matrix_path: None,
        comparison_path: None,
        candidate_default: CandidateDefault {
            engine: "case".to_owned(),
            stage6_status: RungStatus::NotStarted,
            eligible: false,
            missing: None,
        },
        runtime_default_activation: false,
        case_runtime_default_active: false,
        case_stage6_real_governed_refresh: Status::Blocked,
        stage6_real_governed_refresh_comparison_path: None,
        real_stage5_pass_report: None,
        real_stage5_proof: None,
        repeat_stage5_pass_report: None,
        repeat_stage5_proof: None,
        target_read_only_status: TargetReadOnlyStatus::NotRead,
        target_repository_mutation: false,
        repeatability_count: 0,
        repeatability_status: Status::Blocked,
        candidate_default_repeatability_eligible: false,
        core_promotion_status: NotPromoted::NotPromoted,
        blocked_lanes: Vec::new(),
        next_operator_action: "cto status".to_owned(),
        approval_required: true,
        approval_granted: false,
        execution_allowed: false,
        approval_reason: "nothing was requested".to_owned(),
        allowed_next_actions: Vec::new(),
        blocked_next_actions: Vec::new(),
        approval_packet: SummaryPacket {
            status: PacketStatus::NotReady,
            request: None,
            approval_command_text: None,
            required_evidence_paths: Vec::new(),
            allowed_paths: Vec::new(),
            blocked_actions: Vec::new(),
            executable: false,
        },
        governed_execution: GovernedExecution {
            approval_consumed: false,
            consumed_by_pass_evidence: false,
            consumed_pass_report_path: None,
            consumed_proof_path: None,
        },
    }
}
