//! Approval posture: the state of the newest request, and the actions that it permits.

use contract::Status;
use contract::approval::{PacketStatus, approval_sentence};
use evidence::names;
use ledger::{FoundRuns, RunRow};

use super::bound::{cut_list, cut_text};
use super::compose::{ComposeSummaryError, bundle_path};
use super::{GovernedExecution, SummaryFacts, SummaryPacket};
use crate::Views;
use crate::requests::{RequestQuery, RequestRecord, RequestState, RequestSummary, find_request};

/// Actions that no page, route or approval ever allows.
const NEVER_ALLOWED: &[&str] =
    &["activate_default", "promote_core", "push", "merge", "deploy", "open_pull_request", "run_from_console"];

/// State of the newest request.
pub(super) struct ApprovalPosture {
    pub(super) is_granted: bool,
    pub(super) is_executable: bool,
    pub(super) reason: String,
    pub(super) allowed: Vec<String>,
    pub(super) blocked: Vec<String>,
    pub(super) packet: SummaryPacket,
    pub(super) execution: GovernedExecution,
    /// The command that leads on, where a request waits.
    pub(super) next: Option<String>,
}

impl ApprovalPosture {
    /// Looks for the newest request and its state.
    pub(super) fn find_newest(views: &Views, facts: &SummaryFacts<'_>) -> Result<Self, ComposeSummaryError> {
        let query = RequestQuery { limit: 1, ..RequestQuery::default() };
        let newest = views.list_requests(&query, facts.rules, facts.now)?.requests.into_iter().next();
        let (Some(request), Some(ledger)) = (newest, views.ledger()) else { return Ok(Self::none()) };
        let Ok(row) = find_request(ledger, &request.request) else { return Ok(Self::none()) };
        let record = RequestRecord::read_request(ledger, row)?;
        let consumer = match &request.consumed_by {
            Some(by) => match ledger.run_find(by.run_id.as_str())? {
                FoundRuns::One(row) => Some(*row),
                FoundRuns::None | FoundRuns::Many(_) => None,
            },
            None => None,
        };
        Ok(Self::of(&request, &record, consumer.as_ref()))
    }

    /// The posture of a home in which nothing was requested.
    fn none() -> Self {
        Self {
            is_granted: false,
            is_executable: false,
            reason: "nothing was requested".to_owned(),
            allowed: vec!["cto request TASK --stage 4".to_owned()],
            blocked: never_allowed(),
            packet: SummaryPacket {
                status: PacketStatus::NotReady,
                request: None,
                approval_command_text: None,
                required_evidence_paths: Vec::new(),
                allowed_paths: Vec::new(),
                blocked_actions: Vec::new(),
                executable: false,
            },
            execution: GovernedExecution {
                approval_consumed: false,
                consumed_by_pass_evidence: false,
                consumed_pass_report_path: None,
                consumed_proof_path: None,
            },
            next: None,
        }
    }

    fn of(request: &RequestSummary, record: &RequestRecord, consumer: Option<&RunRow>) -> Self {
        let is_pass = request.consumed_by.as_ref().is_some_and(|by| by.status == Some(Status::Pass));
        let state = request.state;
        let allowed = allowed_actions(request, record);
        let waits = matches!(state, RequestState::Open | RequestState::Held | RequestState::Approved);
        Self {
            is_granted: matches!(state, RequestState::Approved | RequestState::Used),
            // Once it is used up, nothing may run by it again.
            is_executable: state == RequestState::Approved,
            reason: reason_text(request, is_pass),
            next: allowed.first().cloned().filter(|_| waits),
            allowed,
            blocked: never_allowed(),
            packet: packet_of(request, record, is_pass),
            execution: GovernedExecution {
                approval_consumed: state == RequestState::Used,
                consumed_by_pass_evidence: is_pass,
                consumed_pass_report_path: consumer.filter(|_| is_pass).and_then(|row| bundle_path(row, names::REPORT)),
                consumed_proof_path: consumer.filter(|_| is_pass).and_then(|row| bundle_path(row, proof_of(row))),
            },
        }
    }
}

fn never_allowed() -> Vec<String> {
    NEVER_ALLOWED.iter().map(|action| (*action).to_owned()).collect()
}

/// Proof that a landed run leaves at its stage.
fn proof_of(row: &RunRow) -> &'static str {
    match row.stage {
        contract::Stage::DISPOSABLE_REPOSITORY => names::STAGE_4,
        contract::Stage::CANDIDATE_DEFAULT => names::STAGE_6,
        _ => names::STAGE_5,
    }
}

fn reason_text(request: &RequestSummary, is_pass: bool) -> String {
    let name = &request.request;
    match request.state {
        RequestState::Open => format!("{name} has {} of {} approvals", request.approvals, request.approvals_required),
        RequestState::Approved => format!("{name} is approved and not used"),
        RequestState::Denied => format!("{name} was denied"),
        RequestState::Held => format!("{name} is held"),
        RequestState::Revoked => format!("{name} was revoked"),
        RequestState::Expired => format!("{name} lapsed"),
        RequestState::Used if is_pass => format!("{name} was used up by a run that passed"),
        RequestState::Used => format!("{name} was used up by a run that did not pass"),
    }
}

fn allowed_actions(request: &RequestSummary, record: &RequestRecord) -> Vec<String> {
    let name = &request.request;
    let command = record.command.as_deref().map(cut_text);
    let again = command.clone().unwrap_or_else(|| "cto approvals".to_owned());
    match request.state {
        RequestState::Open => vec![
            format!("cto packet {name}"),
            format!("cto approve {name}"),
            format!("cto deny {name} --reason \"...\""),
        ],
        RequestState::Held => vec![format!("cto hold {name} --release --reason \"...\"")],
        RequestState::Approved => {
            let run =
                command.map_or_else(|| "cto approvals".to_owned(), |text| text.replacen("cto request", "cto run", 1));
            vec![run, format!("cto revoke {name} --reason \"...\"")]
        }
        RequestState::Denied | RequestState::Revoked | RequestState::Expired | RequestState::Used => vec![again],
    }
}

fn packet_of(request: &RequestSummary, record: &RequestRecord, is_pass: bool) -> SummaryPacket {
    let document = record.request.as_ref();
    let plan = document.map(|document| &document.plan);
    let status = match request.state {
        RequestState::Used if is_pass => PacketStatus::ConsumedByPassEvidence,
        RequestState::Open | RequestState::Approved if record.missing.is_empty() => PacketStatus::ProofReady,
        _ => PacketStatus::NotReady,
    };
    SummaryPacket {
        status,
        request: Some(request.request.clone()),
        approval_command_text: plan.map(|plan| cut_text(&approval_sentence(plan))),
        required_evidence_paths: document
            .map_or_else(Vec::new, |document| cut_list(document.evidence_pointers.iter().map(|pointer| &pointer.path))),
        allowed_paths: plan.map_or_else(Vec::new, |plan| cut_list(&plan.contract.allowed_paths)),
        blocked_actions: document.map_or_else(Vec::new, |document| {
            document.blocked_actions.iter().map(|action| action.as_str().to_owned()).collect()
        }),
        executable: false,
    }
}
