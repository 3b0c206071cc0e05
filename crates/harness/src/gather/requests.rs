//! Requests: putting a plan up for approval, and recording what people sign about it. The ledger is the authority; the copies
//! below `requests/` are for people and other tools.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::approval::{ApprovalInput, Nonce, PolicyTerms, Request, RequestSchema, render_packet};
use contract::decision::{Inputs, Refusal};
use contract::{Decision, Gate, Reason, Stamp, canonical_bytes};
use evidence::sshsig::{VerifySignatureError, verify_signature};
use evidence::stop;
use ledger::{AppendEntryError, Position, ReadLedgerError, RequestIntent, RequestRow};
use serde_json::json;
use untrusted_fs::own_files;
use views::{RequestDetail, RequestRecord};

use crate::gather::approval::{FindApprovalError, build_unrequested, choose_request};
use crate::gather::people::ReadTrustError;
use crate::gather::plan::{BuildPlanError, PlanOnTerms, PlanScene};
use crate::gather::settings::settings;
use crate::gather::target::inspect;
use crate::home::ask::Ask;
use crate::home::clock::{ReadClockError, RunClock};
use crate::home::task::Task;
use crate::home::token::random_token;
use crate::run::continuity::{note_beginning, note_entry};
use crate::run::harness::Harness;
use crate::run::scan::{ContractSecret, secret_in};

/// Requests of a task that are looked through for an open one of the same plan.
const MOST_REQUESTS: usize = 1000;

/// Failure to propose a request.
#[derive(Debug, thiserror::Error)]
pub enum ProposeRequestError {
    /// Gates refuse for what no approval can change.
    #[error("there is nothing to approve yet")]
    Refused(Box<Decision>),
    #[error(transparent)]
    Find(#[from] FindApprovalError),
    #[error(transparent)]
    Clock(#[from] ReadClockError),
    #[error("cannot look at the target: {0}")]
    Target(#[source] tree::TreeError),
    #[error("the request cannot be written down: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("there are no random numbers: {0}")]
    Random(#[source] io::Error),
    #[error("the request would be over at once: an entry of the ledger is dated {latest}, and the clock says {clock}")]
    LedgerAhead { latest: Stamp, clock: Stamp },
    #[error("stage {0} needs no approval")]
    NotNeeded(contract::Stage),
    /// The contract contains a secret, which would get into the ledger, the packet and the
    /// summary.
    #[error(
        "`{}` of the contract looks like a secret ({}), and a request is kept in the ledger",
        contract::text::show_controls(&.0.field), .0.rule
    )]
    Secret(ContractSecret),
}

/// Failure to record a request.
#[derive(Debug, thiserror::Error)]
pub enum RecordRequestError {
    #[error("the signature does not hold: {0}")]
    Signature(#[from] VerifySignatureError),
    #[error("it is signed by {found}, and {expected} asked")]
    OtherKey { found: String, expected: String },
    #[error(transparent)]
    Append(#[from] AppendEntryError),
    #[error(transparent)]
    Read(#[from] ReadLedgerError),
    #[error(transparent)]
    Trust(#[from] ReadTrustError),
    #[error("{0}: {1}")]
    Write(PathBuf, #[source] io::Error),
}

/// A plan that could be requested.
#[derive(Debug)]
pub struct ProposedRequest {
    pub request: Request,
    /// Canonical text: exactly what a signature is made over.
    pub text: String,
    /// The open request for the same plan by the same person, where there is one: nothing new is recorded then.
    pub existing: Option<RequestRow>,
    /// Gates that refuse now, beside that of the approval.
    pub missing: Vec<Refusal>,
    pub terms: PolicyTerms,
    command: String,
    now: Stamp,
}

/// Gates that refuse for something that an approved plan could not outlive: it would be another plan.
fn is_fatal(refusal: &Refusal) -> bool {
    match refusal.gate {
        Gate::TargetAdmission | Gate::Contract | Gate::VerificationCommandPresent | Gate::TargetIdentity => true,
        Gate::Stage => refusal.reason == Reason::GateMissing,
        _ => false,
    }
}

/// Makes the request for a run. Nothing is run, and nothing stays but what `record_request` writes.
pub fn propose_request(
    harness: &Harness,
    task: &Task,
    ask: &Ask,
    requester_fingerprint: &str,
    scratch: &Path,
) -> Result<ProposedRequest, ProposeRequestError> {
    if !ask.stage.mutation_mode().needs_approval() {
        return Err(ProposeRequestError::NotNeeded(ask.stage));
    }
    if let Some(secret) = secret_in(&canonical_bytes(&task.contract)?)? {
        return Err(ProposeRequestError::Secret(secret));
    }
    let now = RunClock::start_clock()?.started();
    let (settings, _) = settings(harness, task, ask, now);
    let contract_digest = task.contract.digest()?;
    let inputs = Inputs {
        contract_digest,
        engine: ask.engine.clone(),
        stage: ask.stage,
        purpose: ask.purpose,
        kind: None,
        time: now,
        settings,
        target: None,
        answer: None,
        baseline_exam: None,
        approval: Some(ApprovalInput::Deferred),
    };
    let first = gate::decide(&task.contract, inputs)?;
    // A target that is not admitted is not looked at.
    if first.refusals.iter().any(is_fatal) {
        return Err(ProposeRequestError::Refused(Box::new(first)));
    }
    let inputs = first.inputs;
    let target = inspect(harness, task, ask, &inputs.settings, scratch).map_err(ProposeRequestError::Target)?;
    let decision = gate::decide(&task.contract, Inputs { target: Some(target.facts.clone()), ..inputs })?;
    let settings = &decision.inputs.settings;
    let scene = PlanScene { harness, task, ask, contract_digest, settings, target: &target };
    let unrequested = match build_unrequested(&scene) {
        Ok(unrequested) => unrequested,
        Err(FindApprovalError::Plan(BuildPlanError::Incomplete(_))) => {
            return Err(ProposeRequestError::Refused(Box::new(decision)));
        }
        Err(error) => return Err(error.into()),
    };
    if decision.refusals.iter().any(is_fatal) {
        return Err(ProposeRequestError::Refused(Box::new(decision)));
    }
    let missing = decision.refusals.into_iter().filter(|refusal| refusal.gate != Gate::Approval).collect();
    propose(&scene, &unrequested, requester_fingerprint, missing, now)
}

fn propose(
    scene: &PlanScene<'_>,
    unrequested: &PlanOnTerms,
    requester_fingerprint: &str,
    missing: Vec<Refusal>,
    now: Stamp,
) -> Result<ProposedRequest, ProposeRequestError> {
    let existing = find_open(scene, unrequested, requester_fingerprint, now)?;
    let (request, existing) = match existing {
        Some((request, row)) => (request, Some(row)),
        None => {
            refuse_ahead(scene.harness, unrequested.terms.max_ttl, now)?;
            let plan = unrequested.as_requested(requester_fingerprint, &make_nonce()?);
            (Request::new(plan, now)?, None)
        }
    };
    let text = String::from_utf8_lossy(&canonical_bytes(&request)?).into_owned();
    let command = scene.ask.request_command.clone();
    Ok(ProposedRequest { request, text, existing, missing, terms: unrequested.terms, command, now })
}

/// A request that is recorded now is over at once where an entry of the ledger is dated beyond its end.
fn refuse_ahead(harness: &Harness, max_ttl: u64, clock: Stamp) -> Result<(), ProposeRequestError> {
    let latest = harness.ledger().latest_time().map_err(FindApprovalError::from)?;
    match latest.filter(|latest| *latest >= clock.after(Duration::from_secs(max_ttl))) {
        Some(latest) => Err(ProposeRequestError::LedgerAhead { latest, clock }),
        None => Ok(()),
    }
}

/// The open request of this person for this very plan, unless it has lapsed.
fn find_open(
    scene: &PlanScene<'_>,
    unrequested: &PlanOnTerms,
    requester_fingerprint: &str,
    now: Stamp,
) -> Result<Option<(Request, RequestRow)>, ProposeRequestError> {
    let harness = scene.harness;
    let rows = harness.ledger().requests_recent(Some(&scene.task.contract.task_id), MOST_REQUESTS);
    let rows: Vec<RequestRow> = rows.map_err(FindApprovalError::from)?;
    let rows = rows.into_iter().filter(|row| row.stage == scene.ask.stage).collect();
    let now = harness.ledger().latest_time().map_err(FindApprovalError::from)?.map_or(now, |latest| latest.max(now));
    let chosen = choose_request(scene, unrequested, rows, now)?.filter(|chosen| chosen.is_same() && chosen.is_open());
    let Some(chosen) = chosen else { return Ok(None) };
    let row = chosen.record.row;
    let same = chosen.record.request.filter(|request| request.plan.requester_fingerprint == requester_fingerprint);
    Ok(same.map(|request| (request, row)))
}

/// 32 random hex digits.
pub(crate) fn make_nonce() -> Result<Nonce, ProposeRequestError> {
    let mut token = random_token().map_err(ProposeRequestError::Random)?;
    token.truncate(32);
    Nonce::try_from(token).map_err(|why| ProposeRequestError::Random(io::Error::other(why)))
}

/// Records a request, signed by who asked or by nobody. Recording one that is there already changes nothing.
pub fn record_request(
    harness: &Harness,
    proposed: &ProposedRequest,
    armour: Option<&str>,
) -> Result<RequestRecord, RecordRequestError> {
    let ProposedRequest { request, text, existing, missing, command, now, .. } = proposed;
    if let Some(row) = existing {
        return Ok(RequestRecord::read_request(&harness.ledger(), row.clone())?);
    }
    if let Some(armour) = armour {
        let found = verify_signature(armour, text.as_bytes(), RequestSchema::NAMESPACE)?.fingerprint();
        let expected = request.plan.requester_fingerprint.clone();
        if found != expected {
            return Err(RecordRequestError::OtherKey { found, expected });
        }
    }
    let detail = RequestDetail {
        command: Some(command.clone()),
        missing: Some(missing.clone()),
        ..RequestDetail::of_document(text, armour)
    };
    let intent = RequestIntent {
        request: request.request_digest,
        task_id: request.plan.contract.task_id.clone(),
        stage: request.plan.stage,
        detail: json!(detail),
    };
    let beginning = note_beginning(harness);
    beginning.map_err(|error| RecordRequestError::Write(harness.home.root().join("trust/continuity.json"), error))?;
    stop::pass_place("request.recording");
    let position = harness.ledger().request_recorded(*now, &intent)?;
    stop::pass_place("request.recorded");
    remember_entry(harness, position)?;
    stop::pass_place("request.remembered");
    let row = harness.ledger().request_row(request.request_digest)?;
    let unknown =
        AppendEntryError::RequestUnusable { request: request.request_digest, why: ledger::UnusableRequest::Unknown };
    let record = RequestRecord::read_request(&harness.ledger(), row.ok_or(unknown)?)?;
    keep_copy(harness, &record.name(), "request.json", text, armour)?;
    let packet = render_packet(&request.plan).map_err(AppendEntryError::from)?;
    keep_copy(harness, &record.name(), "packet.txt", &packet, None)?;
    stop::pass_place("request.copied");
    Ok(record)
}

/// Remembers the entry for the check of continuity.
pub(crate) fn remember_entry(harness: &Harness, position: Position) -> Result<(), RecordRequestError> {
    note_entry(harness, position)
        .map_err(|error| RecordRequestError::Write(harness.home.root().join("trust/continuity.json"), error))
}

/// Writes a document and its signature below `requests/`, for `ssh-keygen -Y verify` and people.
pub(crate) fn keep_copy(
    harness: &Harness,
    request: &str,
    name: &str,
    text: &str,
    armour: Option<&str>,
) -> Result<(), RecordRequestError> {
    let folder = requests_folder(harness, request);
    let failed = |error| RecordRequestError::Write(folder.clone(), error);
    DirBuilder::new().mode(0o700).recursive(true).create(&folder).map_err(failed)?;
    own_files::write_file(folder.join(name), text).map_err(failed)?;
    match armour {
        Some(armour) => own_files::write_file(folder.join(format!("{name}.sig")), armour).map_err(failed),
        None => Ok(()),
    }
}

/// Folder with the copies of a request's documents.
pub fn requests_folder(harness: &Harness, request: &str) -> PathBuf {
    harness.home.root().join("requests").join(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::two_sided;

    #[test]
    fn only_what_would_be_another_plan_ends_a_request() {
        let refusal = |gate, reason| Refusal { gate, reason, text: String::new(), remedy: String::new() };
        for (gate, reason, fatal) in [
            (Gate::Stage, Reason::GateMissing, true),
            (Gate::Stage, Reason::StageNotEarned, false),
            (Gate::Gate, Reason::GateMissing, false),
            (Gate::TargetAdmission, Reason::TargetNotAdmitted, true),
            (Gate::CleanStart, Reason::DirtyStartingTree, false),
        ] {
            assert_eq!(is_fatal(&refusal(gate, reason)), fatal, "{gate} {reason}");
        }
        let is_fatal = |gate, reason| is_fatal(&refusal(gate, reason));
        let another = is_fatal(Gate::Stage, Reason::StageNotEarned);
        two_sided(Reason::GateMissing, is_fatal(Gate::Stage, Reason::GateMissing), another);
    }
}
