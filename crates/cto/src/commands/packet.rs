//! `cto packet`: what a person reads before approving, byte for byte what is signed, and
//! around it how the request stands.

use std::fmt::Write as _;

use contract::Status;
use contract::approval::{ConsumedBy, PacketStatus, render_packet};
use contract::text::show_controls;
use harness::OpenedRequest;
use serde_json::json;
use views::{RequestState, find_consumer};

use crate::approvals_view::{
    age_text, find_news, find_opened, ledger_to_read, run_command, seconds_until, sentence_of,
};
use crate::context::Context;
use crate::error::CommandError;
use crate::output::Output;

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
            let glass = if approval.document.break_glass_reason.is_some() { ", past the policy" } else { "" };
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

    fn document(&self, packet: &str) -> serde_json::Value {
        let OpenedRequest { record, request, terms, counted, state, .. } = self.opened;
        let is_granted = counted.is_enough || *state == RequestState::Used;
        let approvals: Vec<_> = record
            .approvals
            .iter()
            .map(|approval| {
                json!({
                    "approval_id": format!("apr-{}", approval.seq),
                    "break_glass": approval.document.break_glass_reason.is_some(),
                    "expires_at": approval.document.expires_at,
                    "key": approval.signature.fingerprint(),
                    "sha256": approval.sha256(),
                })
            })
            .collect();
        json!({
            "approval_command_text": sentence_of(self.opened),
            "approval_consumed": *state == RequestState::Used,
            "approval_granted": is_granted,
            "approvals": approvals,
            "approvals_required": terms.approvals_required,
            "blocked_actions": request.blocked_actions,
            "consumed_by": self.consumer,
            "execution_allowed": *state == RequestState::Approved,
            "lapses_at": counted.lapses_at,
            "missing_gates": record.missing,
            "new_since": self.news.map(|(earlier, news)| json!({"fields": news, "request": earlier})),
            "next_allowed_action": self.next(),
            "packet": packet,
            "packet_digest": request.packet_digest,
            "packet_status": self.status(),
            "request": record.name(),
            "request_digest": request.request_digest,
            "state": state,
        })
    }
}
