//! Decisions of people on a request: approval, denial, hold, revocation. Each is drafted
//! here, signed by its person, checked and then recorded in the ledger.

use std::time::Duration;

use contract::approval::{
    Approval, ApprovalSchema, Denial, DenialSchema, ExecutionScope, Hold, HoldSchema, HoldState, PolicyTerms, Request,
    Revocation, RevocationSchema, SignedVia,
};
use contract::signer::SignerStanding;
use contract::{Digest, Stamp};
use cortex::RecordPlaces;
use evidence::sshsig::{SshSignature, VerifySignatureError, verify_signature};
use evidence::stop;
use ledger::{AppendEntryError, Ledger, Position, ReadLedgerError, RequestStep, UnusableRequest};
use serde_json::json;
use views::{
    ApprovalTally, FindRequestError, RequestDetail, RequestRecord, RequestState, count_approvals, find_request,
};

use crate::gather::people::{People, Policies, ReadTrustError};
use crate::gather::requests::{ProposeRequestError, RecordRequestError, keep_copy, make_nonce, remember_entry};
use crate::home::clock::{ReadClockError, RunClock};
use crate::run::harness::Harness;

/// Failure to open a request for a decision.
#[derive(Debug, thiserror::Error)]
pub enum OpenRequestError {
    #[error(transparent)]
    Find(#[from] FindRequestError),
    #[error(transparent)]
    Ledger(#[from] ReadLedgerError),
    #[error(transparent)]
    Trust(#[from] ReadTrustError),
    #[error(transparent)]
    Clock(#[from] ReadClockError),
    /// The request is of another version, or was edited.
    #[error("{0} is not a request that this version can read")]
    Unreadable(String),
}

/// Refusal to record what a person signed.
#[derive(Debug, thiserror::Error)]
pub enum RecordDecisionError {
    #[error("the signature does not hold: {0}")]
    Signature(#[from] VerifySignatureError),
    #[error("the document names {expected}, and {found} signed it")]
    OtherKey { found: String, expected: String },
    #[error("{fingerprint} {}", .standing.sentence())]
    NotAllowed { fingerprint: String, standing: SignerStanding },
    #[error("{0} asked for this; somebody else approves")]
    OwnRequest(String),
    #[error("{0} has approved it already")]
    Twice(String),
    #[error("the policy requires a touched security key; {0} is not a security key, or was not touched")]
    NoHardware(String),
    #[error("the policy allows no approval past it")]
    NoBreakGlass,
    #[error("an approval would be over before it begins: {0} to {1}")]
    EmptySpan(Stamp, Stamp),
    #[error("{name} {why}")]
    Closed { name: String, why: String },
    #[error("the request is over by the ledger's time: an entry is dated {latest}, and the clock says {clock}")]
    LedgerAhead { latest: Stamp, clock: Stamp },
    #[error(transparent)]
    Record(#[from] RecordRequestError),
    #[error(transparent)]
    Nonce(#[from] ProposeRequestError),
    #[error("the document cannot be written down: {0}")]
    Encode(#[from] serde_json::Error),
}

/// Request that is being decided on.
#[derive(Debug)]
pub struct OpenedRequest {
    pub record: RequestRecord,
    pub request: Request,
    pub terms: PolicyTerms,
    pub counted: ApprovalTally,
    pub state: RequestState,
    /// The later of the clock and the time that the ledger has reached.
    pub now: Stamp,
    clock: Stamp,
}

/// Opens the request that a person means.
pub fn open_request(
    ledger: &Ledger,
    places: &RecordPlaces,
    reference: &str,
) -> Result<OpenedRequest, OpenRequestError> {
    let row = find_request(ledger, reference)?;
    let record = RequestRecord::read_request(ledger, row)?;
    let request = record.request.clone().ok_or_else(|| OpenRequestError::Unreadable(record.name()))?;
    let clock = RunClock::start_clock()?.started();
    let now = ledger.latest_time()?.map_or(clock, |latest| latest.max(clock));
    let terms = Policies::read_files(places)?.terms(record.row.stage, request.plan.repository.path.as_deref());
    let people = People::read_lists(places)?;
    let counted = count_approvals(&record, &terms, &|key, namespace, at| people.judge_key(key, namespace, at), now);
    let state = RequestState::state_of(&record.row, &counted, now);
    Ok(OpenedRequest { record, request, terms, counted, state, now, clock })
}

/// Wishes of the person who approves.
#[derive(Debug, Clone)]
pub struct ApprovalWish {
    pub sentence: String,
    pub key_fingerprint: String,
    pub approval_source: String,
    pub signed_via: SignedVia,
    pub not_before: Option<Stamp>,
    /// Default: the policy's longest time.
    pub expires_at: Option<Stamp>,
    pub break_glass_reason: Option<String>,
}

impl OpenedRequest {
    /// The end of an approval that says nothing of its own: as late as policy and request
    /// allow.
    pub fn latest_end(&self) -> Stamp {
        self.now.after(Duration::from_secs(self.terms.max_ttl)).min(self.counted.lapses_at)
    }

    /// Drafts an approval; an end beyond what the policy allows is cut to it.
    pub fn draft_approval(&self, wish: ApprovalWish) -> Result<Approval, RecordDecisionError> {
        let plan = &self.request.plan;
        let not_before = wish.not_before.unwrap_or(self.now);
        let expires_at = wish.expires_at.unwrap_or(self.latest_end()).min(self.latest_end());
        if expires_at <= not_before {
            return Err(RecordDecisionError::EmptySpan(not_before, expires_at));
        }
        Ok(Approval {
            schema: ApprovalSchema::V1,
            request_digest: self.request.request_digest,
            ledger_id: plan.ledger_id.clone(),
            key_fingerprint: wish.key_fingerprint,
            sentence: wish.sentence,
            scope: plan.stage.allowed_mutation_scope().to_owned(),
            mutation_mode: plan.mutation_mode,
            approval_source: wish.approval_source,
            execution_scope: ExecutionScope::OneRun,
            packet_digest: self.request.packet_digest,
            policy_digest: plan.policy_digest,
            signed_via: wish.signed_via,
            granted_at: self.now,
            not_before,
            expires_at,
            nonce: make_nonce()?,
            break_glass_reason: wish.break_glass_reason,
        })
    }

    /// Draft of a denial, to be signed by its person.
    pub fn draft_denial(&self, key_fingerprint: &str, reason: &str) -> Result<Denial, RecordDecisionError> {
        Ok(Denial {
            schema: DenialSchema::V1,
            request_digest: self.request.request_digest,
            ledger_id: self.request.plan.ledger_id.clone(),
            key_fingerprint: key_fingerprint.to_owned(),
            reason: reason.to_owned(),
            denied_at: self.now,
            nonce: make_nonce()?,
        })
    }

    /// Draft of a hold or a release, to be signed by its person.
    pub fn draft_hold(&self, key: &str, state: HoldState, reason: &str) -> Result<Hold, RecordDecisionError> {
        Ok(Hold {
            schema: HoldSchema::V1,
            request_digest: self.request.request_digest,
            ledger_id: self.request.plan.ledger_id.clone(),
            key_fingerprint: key.to_owned(),
            state,
            reason: reason.to_owned(),
            held_at: self.now,
            nonce: make_nonce()?,
        })
    }

    /// Draft of a revocation, to be signed by its person.
    pub fn draft_revocation(&self, key_fingerprint: &str, reason: &str) -> Result<Revocation, RecordDecisionError> {
        Ok(Revocation {
            schema: RevocationSchema::V1,
            request_digest: self.request.request_digest,
            ledger_id: self.request.plan.ledger_id.clone(),
            key_fingerprint: key_fingerprint.to_owned(),
            reason: reason.to_owned(),
            revoked_at: self.now,
            nonce: make_nonce()?,
        })
    }

    /// Refuses a step that is no longer possible.
    pub fn refuse_step(&self, step: RequestStep) -> Result<(), RecordDecisionError> {
        let closed = |why: String| Err(RecordDecisionError::Closed { name: self.record.name(), why });
        match (self.record.row.closed(), step) {
            (Some(UnusableRequest::Used { by }), _) => closed(format!("was used by run {by}")),
            (Some(UnusableRequest::Denied), _) => closed("was denied, for good".to_owned()),
            (Some(UnusableRequest::Revoked), _) => closed("was revoked, for good".to_owned()),
            (Some(why @ UnusableRequest::Void { .. }), _) => closed(format!("is void: {why}")),
            (Some(UnusableRequest::Held), RequestStep::Granted) => closed("is held; release it first".to_owned()),
            (Some(UnusableRequest::Held), RequestStep::Held) => closed("is held already".to_owned()),
            (None, RequestStep::Released) => closed("is not held".to_owned()),
            _ if step != RequestStep::Granted || self.now < self.counted.lapses_at => Ok(()),
            _ if self.clock < self.counted.lapses_at => {
                Err(RecordDecisionError::LedgerAhead { latest: self.now, clock: self.clock })
            }
            _ => closed(format!("lapsed at {}", self.counted.lapses_at)),
        }
    }
}

/// A signed document on its way into the ledger.
#[derive(Debug)]
pub struct SignedStep<'a> {
    pub step: RequestStep,
    /// Canonical text, as it was signed.
    pub text: &'a str,
    pub armour: &'a str,
    /// The key that the document names.
    pub key_fingerprint: &'a str,
    /// True only for a break-glass approval.
    pub break_glass: bool,
    /// The key has no passphrase.
    pub unprotected: bool,
}

/// Checks a signed document once more and records it. Gives its place in the ledger.
pub fn record_decision(
    harness: &Harness,
    opened: &OpenedRequest,
    signed: &SignedStep<'_>,
) -> Result<Position, RecordDecisionError> {
    opened.refuse_step(signed.step)?;
    let signature = verify_signature(signed.armour, signed.text.as_bytes(), ApprovalSchema::NAMESPACE)?;
    let fingerprint = signature.fingerprint();
    if fingerprint != signed.key_fingerprint {
        let expected = signed.key_fingerprint.to_owned();
        return Err(RecordDecisionError::OtherKey { found: fingerprint, expected });
    }
    let people = People::read_lists(&harness.records).map_err(RecordRequestError::from)?;
    let standing = people.judge_signing_now(signature.key(), ApprovalSchema::NAMESPACE, opened.now);
    if standing != SignerStanding::Allowed {
        return Err(RecordDecisionError::NotAllowed { fingerprint, standing });
    }
    if signed.step == RequestStep::Granted {
        check_approver(opened, signature, signed.break_glass)?;
    }
    let detail = RequestDetail {
        unprotected: signed.unprotected,
        ..RequestDetail::of_document(signed.text, Some(signed.armour))
    };
    let digest: Digest = opened.request.request_digest;
    stop::pass_place("step.recording");
    let position = harness.ledger().request_stepped(digest, signed.step, opened.now, &json!(detail));
    let position = position.map_err(|error| match error {
        AppendEntryError::RequestUnusable { why, .. } => {
            RecordDecisionError::Closed { name: opened.record.name(), why: format!("cannot be decided on: {why}") }
        }
        other => RecordRequestError::from(other).into(),
    })?;
    stop::pass_place("step.recorded");
    remember_entry(harness, position)?;
    stop::pass_place("step.remembered");
    let name = copy_name(opened, signed.step);
    keep_copy(harness, &opened.record.name(), &name, signed.text, Some(signed.armour))?;
    stop::pass_place("step.copied");
    Ok(position)
}

/// Separation of duties, security keys and broken glass, as the policy wants them.
fn check_approver(
    opened: &OpenedRequest,
    signature: SshSignature,
    break_glass: bool,
) -> Result<(), RecordDecisionError> {
    let (terms, fingerprint) = (&opened.terms, signature.fingerprint());
    if break_glass && !terms.break_glass {
        return Err(RecordDecisionError::NoBreakGlass);
    }
    let is_own = opened.request.plan.requester_fingerprint == fingerprint;
    if is_own && terms.separates_duties() && !break_glass {
        return Err(RecordDecisionError::OwnRequest(fingerprint));
    }
    if opened.counted.keys.contains_key(&fingerprint) && !break_glass {
        return Err(RecordDecisionError::Twice(fingerprint));
    }
    if terms.require_hardware_key && !signature.into_fact(SignerStanding::Allowed).is_by_present_user() {
        return Err(RecordDecisionError::NoHardware(fingerprint));
    }
    Ok(())
}

fn copy_name(opened: &OpenedRequest, step: RequestStep) -> String {
    let record = &opened.record;
    match step {
        RequestStep::Granted => format!("approval-{}.json", record.approvals.len() + 1),
        RequestStep::Denied => "denial.json".to_owned(),
        RequestStep::Held | RequestStep::Released => format!("hold-{}.json", record.holds.len() + 1),
        RequestStep::Revoked => "revocation.json".to_owned(),
    }
}
