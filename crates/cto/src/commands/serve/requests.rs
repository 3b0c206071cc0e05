//! Requests for approval as the console shows them, and the decisions of an operator in the
//! browser.

use contract::approval::{PacketStatus, SignedVia, approval_sentence, render_packet};
use contract::text::show_controls;
use harness::{ApprovalWish, OpenedRequest, People, Policies};
use hermes::{RequestFacts, SessionCheck};
use ledger::RequestStep;
use views::{RequestPage, RequestQuery, RequestRules, RequestState, summarize_request};

use super::HomeSource;
use crate::approvals_view::{Deciding, check_reason, find_news, find_opened, ledger_to_read, run_command};
use crate::context::Context;
use crate::error::CommandError;
use crate::signing::OperatorKey;

/// Requests of a page.
const ROWS: usize = 50;

/// Page of requests.
pub(super) fn list_requests(source: &HomeSource, cursor: Option<&str>) -> Result<RequestPage, CommandError> {
    let (views, now) = source.look()?;
    let records = &source.context.config.records;
    let (people, policies) = (People::read_lists(records)?, Policies::read_files(records)?);
    let rules = RequestRules {
        standing: &|key, namespace, at| people.judge_key(key, namespace, at),
        terms: &|stage, target| policies.terms(stage, target),
    };
    let query = RequestQuery { cursor: cursor.map(str::to_owned), limit: ROWS, ..RequestQuery::default() };
    Ok(views.list_requests(&query, &rules, now)?)
}

/// One request with its packet and history.
pub(super) fn request_fact(source: &HomeSource, reference: &str) -> Result<RequestFacts, CommandError> {
    let context = &source.context;
    let opened = find_opened(context, reference)?;
    let ledger = ledger_to_read(context)?.ok_or_else(|| CommandError::usage("there is no ledger"))?;
    let news = find_news(&ledger, &opened.record)?;
    let records = &context.config.records;
    let (people, policies) = (People::read_lists(records)?, Policies::read_files(records)?);
    let rules = RequestRules {
        standing: &|key, namespace, at| people.judge_key(key, namespace, at),
        terms: &|stage, target| policies.terms(stage, target),
    };
    let summary = summarize_request(&ledger, opened.record.row.clone(), &rules, opened.now)?;
    Ok(RequestFacts {
        packet: render_packet(&opened.request.plan)?,
        packet_digest: opened.request.packet_digest,
        packet_status: packet_status(&opened, &summary),
        sentence_text: approval_sentence(&opened.request.plan),
        missing: missing_gates(&opened),
        history: history_of(&opened),
        news: news.map(|(_, news)| news.iter().map(|one| show_controls(one)).collect()).unwrap_or_default(),
        next: next_command(&opened),
        may_capture: context.config.hermes.capture_approvals,
        summary,
    })
}

fn packet_status(opened: &OpenedRequest, summary: &views::RequestSummary) -> PacketStatus {
    let passed = summary.consumed_by.as_ref().is_some_and(|by| by.status == Some(contract::Status::Pass));
    match opened.state {
        RequestState::Used if passed => PacketStatus::ConsumedByPassEvidence,
        RequestState::Open | RequestState::Approved if opened.record.missing.is_empty() => PacketStatus::ProofReady,
        _ => PacketStatus::NotReady,
    }
}

fn missing_gates(opened: &OpenedRequest) -> Vec<[String; 4]> {
    let row = |refusal: &contract::decision::Refusal| {
        [
            refusal.gate.to_string(),
            refusal.reason.to_string(),
            show_controls(&refusal.text),
            show_controls(&refusal.remedy),
        ]
    };
    opened.record.missing.iter().map(row).collect()
}

/// Everything that was signed about it, in the order of the ledger.
fn history_of(opened: &OpenedRequest) -> Vec<[String; 4]> {
    let record = &opened.record;
    let who = record.signature.as_ref().map_or_else(|| "not signed".to_owned(), |signature| signature.fingerprint());
    let mut rows = vec![(0, ["requested".to_owned(), who, String::new(), record.recorded_at.to_string()])];
    let mut add = |seq: u64, word: &str, key: String, text: &str, time: contract::Stamp| {
        rows.push((seq, [word.to_owned(), key, show_controls(text), time.to_string()]));
    };
    for one in &record.approvals {
        let (word, text) = match one.document.break_glass_reason.as_deref() {
            Some(reason) => ("approved past the policy", reason),
            None => ("approved", ""),
        };
        add(one.seq, word, one.signature.fingerprint(), text, one.recorded_at);
    }
    for one in &record.denials {
        add(one.seq, "denied", one.signature.fingerprint(), &one.document.reason, one.recorded_at);
    }
    for one in &record.holds {
        add(one.seq, "held or released", one.signature.fingerprint(), &one.document.reason, one.recorded_at);
    }
    for one in &record.revocations {
        add(one.seq, "revoked", one.signature.fingerprint(), &one.document.reason, one.recorded_at);
    }
    rows.sort_by_key(|(seq, _)| *seq);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn next_command(opened: &OpenedRequest) -> String {
    let again = || opened.record.command.clone().unwrap_or_else(|| "cto approvals".to_owned());
    show_controls(&match opened.state {
        RequestState::Open => format!("cto approve {}", opened.record.name()),
        RequestState::Approved => run_command(&opened.record).unwrap_or_else(again),
        RequestState::Held => format!("cto hold {} --release --reason \"...\"", opened.record.name()),
        RequestState::Denied | RequestState::Revoked | RequestState::Expired | RequestState::Used => again(),
    })
}

/// The request and the operator's key, which asks for nothing on the server's terminal.
fn open_deciding(context: &Context, reference: &str, step: RequestStep) -> Result<Deciding, CommandError> {
    let deciding = Deciding::open_request(context, reference, None, step)?;
    Ok(Deciding { key: deciding.key.unattended(), ..deciding })
}

/// Way in which a signature is made here: a security key says so itself.
fn signed_via_console(key: &OperatorKey) -> SignedVia {
    if key.kind().is_hardware() { SignedVia::Hardware } else { SignedVia::Console }
}

/// The same denial as `cto deny`.
pub(super) fn deny_waiting(
    context: &Context,
    reference: &str,
    reason: &str,
    may_still: SessionCheck<'_>,
) -> Result<(), CommandError> {
    let reason = check_reason(reason)?;
    let deciding = open_deciding(context, reference, RequestStep::Denied)?;
    let denial = deciding.opened.draft_denial(&deciding.key.fingerprint(), reason)?;
    deciding.record_if(RequestStep::Denied, &denial, false, may_still).map(drop)
}

/// Approves as `cto approve` does, with a key in an agent: a security key that the person
/// touches, or another one only if the configuration permits it.
pub(super) fn approve_waiting(
    context: &Context,
    reference: &str,
    sentence: &str,
    may_still: SessionCheck<'_>,
) -> Result<(), CommandError> {
    let settings = context.config.hermes;
    if !settings.capture_approvals {
        return Err(CommandError::blocked_with("approving in the browser is not switched on")
            .hint(format!("cto approve {}", show_controls(reference))));
    }
    let deciding = open_deciding(context, reference, RequestStep::Granted)?;
    if !deciding.key.is_held_by_agent() {
        let text = "the key is in a file; here only an ssh-agent or a security key can sign";
        return Err(CommandError::blocked_with(text).hint(format!("cto approve {}", deciding.request())));
    }
    if !deciding.key.kind().is_hardware() && !settings.capture_with_software_key {
        let text = "a software agent signs without asking you; here a security key is needed";
        return Err(CommandError::blocked_with(text).hint(format!("cto approve {}", deciding.request())));
    }
    let wanted = approval_sentence(&deciding.opened.request.plan);
    if sentence != wanted {
        return Err(CommandError::blocked_with("that is not the sentence; nothing was signed").hint("type it exactly"));
    }
    let wish = ApprovalWish {
        sentence: wanted,
        key_fingerprint: deciding.key.fingerprint(),
        approval_source: deciding.signer(),
        signed_via: signed_via_console(&deciding.key),
        not_before: None,
        expires_at: None,
        break_glass_reason: None,
    };
    let approval = deciding.opened.draft_approval(wish)?;
    deciding.record_if(RequestStep::Granted, &approval, false, may_still).map(drop)
}
