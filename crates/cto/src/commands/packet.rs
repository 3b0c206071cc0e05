//! `cto packet`: what a person reads before approving, byte for byte what is signed, and
//! around it how the request stands.

use std::fmt::Write as _;

use contract::approval::{ConsumedBy, PacketStatus, render_packet};
use contract::decision::Refusal;
use contract::task::ForbiddenAction;
use contract::text::show_controls;
use contract::{Digest, Stamp, Status};
use harness::OpenedRequest;
use schemars::JsonSchema;
use serde::Serialize;
use views::{RequestState, find_consumer};

use crate::approvals_view::{
    PAST_POLICY, age_text, find_news, find_opened, ledger_to_read, run_command, seconds_until, sentence_of,
};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

/// Output of `cto packet --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Packet of a request")]
pub(crate) struct PacketDocument {
    /// The sentence that approves the request.
    approval_command_text: String,
    approval_consumed: bool,
    /// Its approvals are enough, or a run has used them up.
    approval_granted: bool,
    approvals: Vec<RecordedApproval>,
    approvals_required: u8,
    /// Actions that no approval allows.
    blocked_actions: Vec<ForbiddenAction>,
    /// The run that used it up.
    consumed_by: Option<ConsumedBy>,
    /// A run of exactly this plan would start now.
    execution_allowed: bool,
    /// The end of the request itself.
    lapses_at: Stamp,
    /// Gates that refused when it was requested, beside that of the approval.
    missing_gates: Vec<Refusal>,
    /// Differences to the last approved request of the same task.
    new_since: Option<NewFields>,
    next_allowed_action: String,
    /// The text that is digested and signed.
    packet: String,
    packet_digest: Digest,
    packet_status: PacketStatus,
    /// `req-<entry>`.
    request: String,
    request_digest: Digest,
    state: RequestState,
}

/// One recorded approval. Whether its key counts now is the gate's question.
#[derive(Debug, Serialize, JsonSchema)]
struct RecordedApproval {
    /// `apr-<entry>`.
    approval_id: String,
    /// It passes over the policy, in an emergency.
    break_glass: bool,
    expires_at: Stamp,
    /// Fingerprint of the key that signed it.
    key: String,
    sha256: Digest,
}

/// Fields of a plan that are new since an approved request.
#[derive(Debug, Serialize, JsonSchema)]
struct NewFields {
    fields: Vec<String>,
    request: String,
}

/// Prints the packet of a request and the request's state.
pub(crate) fn show_packet(context: &Context, reference: &str) -> Result<u8, CommandError> {
    let opened = find_opened(context, reference)?;
    let ledger = ledger_to_read(context)?.ok_or_else(|| CommandError::usage("there is no ledger"))?;
    let news = find_news(&ledger, &opened.record)?;
    let consumer = find_consumer(&ledger, &opened.record.row)?;
    let text = render_packet(&opened.request.plan)?;
    let around = PacketFrame { opened: &opened, news: news.as_ref(), consumer: consumer.as_ref() };
    let output = context.output;
    if output.json {
        output.print_json(&around.document(&text))?;
    } else {
        output.print(&text);
        output.print(&around.packet_lines(output));
    }
    Ok(0)
}

/// Lines around the packet, which are no part of what is signed.
pub(super) struct PacketFrame<'a> {
    pub(super) opened: &'a OpenedRequest,
    pub(super) news: Option<&'a (String, Vec<String>)>,
    pub(super) consumer: Option<&'a ConsumedBy>,
}

impl PacketFrame<'_> {
    fn status(&self) -> PacketStatus {
        let passed = self.consumer.is_some_and(|by| by.status == Some(Status::Pass));
        match self.opened.state {
            RequestState::Used if passed => PacketStatus::ConsumedByPassEvidence,
            RequestState::Open | RequestState::Approved if self.opened.record.missing.is_empty() => {
                PacketStatus::ProofReady
            }
            _ => PacketStatus::NotReady,
        }
    }

    fn next(&self) -> String {
        let name = self.opened.record.name();
        let again = || self.opened.record.command.clone().unwrap_or_else(|| "cto approvals".to_owned());
        match self.opened.state {
            RequestState::Open => format!("cto approve {name}     or  cto deny {name} --reason \"...\""),
            RequestState::Approved => run_command(&self.opened.record).unwrap_or_else(again),
            RequestState::Held => format!("cto hold {name} --release --reason \"...\""),
            RequestState::Denied | RequestState::Revoked | RequestState::Expired | RequestState::Used => again(),
        }
    }

    /// Lines of the form `key value`, on a terminal with a rule before them.
    pub(super) fn packet_lines(&self, output: Output) -> String {
        let OpenedRequest { record, request, terms, counted, state, now, .. } = self.opened;
        let mut out = String::from("\n");
        let status = match self.status() {
            PacketStatus::NotReady => "not_ready",
            PacketStatus::ProofReady => "proof_ready",
            PacketStatus::ConsumedByPassEvidence => "consumed_by_pass_evidence",
        };
        // Writing to a String cannot fail, so the results below are dropped.
        let mut fact = |label: &str, text: &str| {
            let label = if output.terminal { format!("{label:<14}") } else { label.to_owned() };
            let _ = writeln!(out, "{} {text}", output.paint.dim(&label));
        };
        fact("packet_status", status);
        fact("packet_digest", &request.packet_digest.to_string());
        let asked = age_text(seconds_until(record.recorded_at, *now));
        let left = age_text(seconds_until(*now, counted.lapses_at));
        fact("request", &format!("{} {} asked {asked} ago, lapses in {left}", record.name(), state.as_str()));
        let signed = match &record.signature {
            Some(signature) => format!("signed by {}", signature.fingerprint()),
            None => "not signed by who asked".to_owned(),
        };
        fact("asked", &signed);
        fact("approvals", &format!("{} of {}", counted.keys.len(), terms.approvals_required));
        for approval in &record.approvals {
            let (key, until) = (approval.signature.fingerprint(), approval.document.expires_at);
            let glass = approval.document.break_glass_reason.as_deref().map_or_else(String::new, |reason| {
                format!(", {}: {}", output.paint.break_glass(PAST_POLICY), show_controls(reason))
            });
            fact("approved", &format!("apr-{} {key} until {until}{glass}", approval.seq));
        }
        for denial in &record.denials {
            fact("denied", &format!("{} {}", denial.signature.fingerprint(), show_controls(&denial.document.reason)));
        }
        for revocation in &record.revocations {
            let (key, reason) = (revocation.signature.fingerprint(), show_controls(&revocation.document.reason));
            fact("revoked", &format!("{key} {reason}"));
        }
        if let Some(hold) = record.holds.last().filter(|_| *state == RequestState::Held) {
            fact("held", &format!("{} {}", hold.signature.fingerprint(), show_controls(&hold.document.reason)));
        }
        for refusal in &record.missing {
            let (text, remedy) = (show_controls(&refusal.text), show_controls(&refusal.remedy));
            fact("missing", &format!("{} {} {text} fix: {remedy}", refusal.gate, refusal.reason));
        }
        if let Some((earlier, news)) = self.news {
            fact("new_since", &format!("{earlier}, whose approval does not carry over"));
            news.iter().for_each(|one| fact("+", one));
        }
        if let Some(by) = self.consumer {
            let status = by.status.map_or("running", Status::as_str);
            fact("consumed_by", &format!("{} {status}", by.run_id));
        }
        fact("next", &self.next());
        out
    }

    fn document(&self, packet: &str) -> PacketDocument {
        let OpenedRequest { record, request, terms, counted, state, .. } = self.opened;
        let approvals = record.approvals.iter().map(|approval| RecordedApproval {
            approval_id: format!("apr-{}", approval.seq),
            break_glass: approval.document.break_glass_reason.is_some(),
            expires_at: approval.document.expires_at,
            key: approval.signature.fingerprint(),
            sha256: approval.sha256(),
        });
        PacketDocument {
            approval_command_text: sentence_of(self.opened),
            approval_consumed: *state == RequestState::Used,
            approval_granted: counted.is_enough || *state == RequestState::Used,
            approvals: approvals.collect(),
            approvals_required: terms.approvals_required,
            blocked_actions: request.blocked_actions.clone(),
            consumed_by: self.consumer.cloned(),
            execution_allowed: *state == RequestState::Approved,
            lapses_at: counted.lapses_at,
            missing_gates: record.missing.clone(),
            new_since: self.news.map(|(earlier, news)| NewFields { fields: news.clone(), request: earlier.clone() }),
            next_allowed_action: self.next(),
            packet: packet.to_owned(),
            packet_digest: request.packet_digest,
            packet_status: self.status(),
            request: record.name(),
            request_digest: request.request_digest,
            state: *state,
        }
    }
}
